//! Where a watched server listens.

use std::net::IpAddr;

/// An address: the text that named it, and what that means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// What it was called.
    pub(crate) host: Box<str>,
    /// Its IP; of a name that could not be resolved nothing.
    pub(crate) ip: Box<str>,
    /// Its port; 0: it is not valid any more.
    pub(crate) port: u16,
}

impl Address {
    /// Whether both are one place, by IP or by name.
    pub(super) fn is(&self, other: &Address) -> bool {
        self.port == other.port
            && ((self.ip == other.ip && !self.ip.is_empty()) || self.host.eq_ignore_ascii_case(&other.host))
    }
}

/// The address of a name, if it has one.
pub(crate) type Resolve = dyn Fn(&str) -> Option<IpAddr> + Send;

/// How names become addresses.
pub(super) struct Resolver(pub(super) Box<Resolve>);

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    /// The IP of a host; of a name only where `names` are allowed.
    pub(super) fn ip(&self, host: &str, names: bool) -> Option<Box<str>> {
        let ip = host.parse::<IpAddr>().ok();
        let ip = ip.or_else(|| if names { (self.0)(host) } else { None })?;
        Some(ip.to_string().into())
    }
}
