//! The address of a server and the login of a client, as URLs write them.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp { host: String, port: u16, tls: bool },
    Unix(PathBuf),
}

pub(crate) const PORT: u16 = 6379;

impl Default for Address {
    fn default() -> Self {
        Address::Tcp { host: "127.0.0.1".to_owned(), port: PORT, tls: false }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port, .. } => write!(f, "{host}:{port}"),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The arguments of AUTH.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// The user; `None` means the default user.
    pub(crate) user: Option<Vec<u8>>,
    /// The password. Without one, AUTH is not sent.
    pub(crate) password: Option<Vec<u8>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) login: Login,
    /// The number of the database, as the URL spells it.
    pub(crate) database: Option<String>,
}

impl Target {
    /// Parses `redis://[[user]:password@]host[:port][/database]`, `rediss://…` for TLS, or
    /// `unix://[[user]:password@]path`.
    pub(crate) fn from_url(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("Invalid URI scheme")?;
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        match scheme.to_ascii_lowercase().as_str() {
            "redis" | "valkey" => Self::network(rest, false),
            "rediss" | "valkeys" => Self::network(rest, true),
            "unix" | "redis+unix" | "redis-socket" => {
                let (login, path) = login(rest)?;
                let path = String::from_utf8(decoded(path)?).map_err(|_| "The path is no text")?;
                Ok(Target { address: Address::Unix(path.into()), login, database: None })
            }
            _ => Err("Invalid URI scheme".to_owned()),
        }
    }

    fn network(rest: &str, tls: bool) -> Result<Self, String> {
        let (authority, database) = match rest.split_once('/') {
            Some((authority, database)) => (authority, Some(database).filter(|number| !number.is_empty())),
            None => (rest, None),
        };
        let (login, place) = login(authority)?;
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => place.split_once(':').unwrap_or((place, "")),
        };
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let port = if port.is_empty() { Ok(PORT) } else { port.parse() };
        let port = port.map_err(|_| format!("Invalid port in the URI: {place}"))?;
        Ok(Target {
            address: Address::Tcp { host: host.to_owned(), port, tls },
            login,
            database: database.map(str::to_owned),
        })
    }
}

/// Splits a text at the last `@` into the login and the rest.
fn login(text: &str) -> Result<(Login, &str), String> {
    let Some((login, rest)) = text.rsplit_once('@') else { return Ok((Login::default(), text)) };
    let (user, password) = login.split_once(':').map_or((login, None), |(user, word)| (user, Some(word)));
    let user = Some(decoded(user)?).filter(|user| !user.is_empty());
    Ok((Login { user, password: password.map(decoded).transpose()? }, rest))
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
        out.push(match byte {
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => (high * 16 + low).to_le_bytes()[0],
                _ => return Err("Incomplete escape in the URI".to_owned()),
            },
            _ => byte,
        });
    }
    Ok(out)
}

pub(crate) fn encoded(text: &[u8]) -> String {
    text.iter().fold(String::new(), |url, &byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            url + &char::from(byte).to_string()
        }
        _ => url + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port, tls: false }
    }

    fn tls(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port, tls: true }
    }

    fn target(address: Address, user: &str, password: &str, database: &str) -> Target {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let bytes = |text| given(text).map(String::into_bytes);
        Target {
            address,
            login: Login { user: bytes(user), password: bytes(password) },
            database: given(database),
        }
    }

    #[test]
    fn urls_are_read() {
        for (url, expected) in [
            ("redis://", target(tcp("127.0.0.1", 6379), "", "", "")),
            ("redis://cache", target(tcp("cache", 6379), "", "", "")),
            ("REDIS://cache:7000/", target(tcp("cache", 7000), "", "", "")),
            ("valkey://cache:7000/3", target(tcp("cache", 7000), "", "", "3")),
            ("redis://:p%40ss:word@h:1/15?x=y#z", target(tcp("h", 1), "", "p@ss:word", "15")),
            ("redis://me:pw@[::1]:7000/1", target(tcp("::1", 7000), "me", "pw", "1")),
            ("redis://[::1]", target(tcp("::1", 6379), "", "", "")),
            ("redis://me@h", target(tcp("h", 6379), "me", "", "")),
            ("rediss://:pw@h:1/2", target(tls("h", 1), "", "pw", "2")),
            ("valkeys://[::1]", target(tls("::1", 6379), "", "", "")),
            ("unix:///run/a%20b.sock", target(Address::Unix("/run/a b.sock".into()), "", "", "")),
            ("unix://:pw@/run/s", target(Address::Unix("/run/s".into()), "", "pw", "")),
        ] {
            assert_eq!(Target::from_url(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn invalid_server_urls_are_reported() {
        for (url, reason) in [
            ("", "Invalid URI scheme"),
            ("127.0.0.1:6379", "Invalid URI scheme"),
            ("http://x", "Invalid URI scheme"),
            ("redis://x:port", "Invalid port in the URI: x:port"),
            ("redis://x:65536", "Invalid port in the URI: x:65536"),
            ("redis://:%4@x", "Incomplete escape in the URI"),
            ("redis://:%zz@x", "Incomplete escape in the URI"),
        ] {
            assert_eq!(Target::from_url(url), Err(reason.to_owned()), "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_password_passes_through_a_url(password in prop::collection::vec(any::<u8>(), 1..12)) {
            let read = Target::from_url(&format!("redis://:{}@h", encoded(&password))).unwrap();
            prop_assert_eq!(read.login.password, Some(password));
        }
    }
}
