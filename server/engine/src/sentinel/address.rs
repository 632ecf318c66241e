//! The address at which a watched server listens.

use std::net::IpAddr;

/// An address: the host as it was given, its IP, and the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstanceAddress {
    /// The host as it was given: a name or an IP.
    pub(crate) host: Box<str>,
    /// The IP. Empty for a name that could not be resolved.
    pub(crate) ip: Box<str>,
    /// The port. 0: the address is no longer valid.
    pub(crate) port: u16,
}

impl InstanceAddress {
    /// Whether both addresses are the same, by IP or by name.
    pub(super) fn is(&self, other: &InstanceAddress) -> bool {
        self.port == other.port
            && ((self.ip == other.ip && !self.ip.is_empty()) || self.host.eq_ignore_ascii_case(&other.host))
    }
}

/// Resolves a name to its address, if it has one.
pub(crate) type Resolve = dyn Fn(&str) -> Option<IpAddr> + Send;

/// The resolver of host names.
pub(super) struct Resolver(pub(super) Box<Resolve>);

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

impl Resolver {
    /// The IP of a host. Names are resolved only if `names` is true.
    pub(super) fn ip(&self, host: &str, names: bool) -> Option<Box<str>> {
        let ip = host.parse::<IpAddr>().ok();
        let ip = ip.or_else(|| if names { (self.0)(host) } else { None })?;
        Some(ip.to_string().into())
    }
}
