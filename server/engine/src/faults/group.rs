//! A group of clients, as a test names it.

use lockwheel_store::keyspace::glob;

/// The properties of a client by which groups select it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client<'a> {
    pub(crate) id: u64,
    pub(crate) name: &'a [u8],
    /// The name of the client's library.
    pub(crate) library: &'a [u8],
    /// The address of the client, with the port.
    pub(crate) address: &'a str,
}

/// A set of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Id(u64),
    /// The clients whose name matches this pattern.
    Name(Box<[u8]>),
    /// The clients whose library name matches this pattern.
    Library(Box<[u8]>),
    /// The clients with this address, with or without a port.
    Address(Box<[u8]>),
    All,
}

impl Group {
    pub(crate) fn has(&self, client: Client<'_>) -> bool {
        match self {
            Group::Id(id) => *id == client.id,
            Group::Name(pattern) => glob::matches(pattern, client.name, false),
            Group::Library(pattern) => glob::matches(pattern, client.library, false),
            Group::Address(address) => {
                let (whole, host) = (client.address, client.address.rsplit_once(':').map(|(host, _)| host));
                let bare = host.map(|host| host.trim_start_matches('[').trim_end_matches(']'));
                [Some(whole), host, bare].into_iter().flatten().any(|one| one.as_bytes() == &**address)
            }
            Group::All => true,
        }
    }

    /// Returns the bytes of memory that the text of the group takes.
    pub(super) fn text_len(&self) -> usize {
        match self {
            Group::Name(text) | Group::Library(text) | Group::Address(text) => text.len(),
            Group::Id(_) | Group::All => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_matches_with_or_without_its_port() {
        let client = |address| Client { id: 1, name: b"", library: b"", address };
        let group = |text: &[u8]| Group::Address(text.into());
        for (text, address, is_in) in [
            ("10.0.0.1", "10.0.0.1:99", true),
            ("10.0.0.1:99", "10.0.0.1:99", true),
            ("10.0.0.1:9", "10.0.0.1:99", false),
            ("::1", "[::1]:99", true),
            ("[::1]:99", "[::1]:99", true),
            ("/tmp/socket", "/tmp/socket:0", true),
            ("", "", true),
        ] {
            assert_eq!(group(text.as_bytes()).has(client(address)), is_in, "{text} {address}");
        }
    }
}
