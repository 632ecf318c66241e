//! A group of clients, as a test names it.

use lockwheel_store::keyspace::glob;

/// What a group knows of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client<'a> {
    /// Its number.
    pub(crate) id: u64,
    /// Its name.
    pub(crate) name: &'a [u8],
    /// The name of its library.
    pub(crate) library: &'a [u8],
    /// Its address, with its port.
    pub(crate) address: &'a str,
}

/// Some clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// One.
    Id(u64),
    /// Those whose name matches.
    Name(Box<[u8]>),
    /// Those whose library's name matches.
    Library(Box<[u8]>),
    /// Those with this address, with or without a port.
    Address(Box<[u8]>),
    /// All.
    All,
}

impl Group {
    /// Whether a client belongs to it.
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

    /// Bytes of memory that its text takes.
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
    fn an_address_is_named_with_its_port_or_without() {
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
