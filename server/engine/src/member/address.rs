//! The addresses of the servers of one process.

use crate::config::Config;
use std::collections::VecDeque;

/// The most announcements of a server that are kept.
const MAX_ANNOUNCEMENTS: usize = 16;

/// The port of a server of this process, and the addresses that it announces to others.
#[derive(Clone, Debug)]
pub(crate) struct MemberAddress {
    /// The port that the server listens on.
    pub(crate) port: u16,
    /// The announced addresses, the latest first. Earlier ones still lead here, because a port stays mapped.
    announcements: VecDeque<Announcement>,
    /// Whether the server is a sentinel, which has no locks.
    pub(crate) is_sentinel: bool,
}

impl MemberAddress {
    /// Returns the address of a server that listens on this port and announces nothing.
    pub(crate) fn new(port: u16) -> Self {
        MemberAddress { port, announcements: VecDeque::new(), is_sentinel: false }
    }

    /// Records the address that these parameters announce, which may be the outer side of mapped ports. `sentinel` is
    /// the address that the server announces as a sentinel: the host may be empty, and the port 0.
    pub(crate) fn announce(&mut self, config: &Config, sentinel: (String, u16)) {
        self.is_sentinel = config.is_sentinel();
        let announcement = Announcement::of(config, sentinel);
        self.announcements.retain(|earlier| *earlier != announcement);
        self.announcements.push_front(announcement);
        self.announcements.truncate(MAX_ANNOUNCEMENTS);
    }

    /// Whether this host and port lead to the server, by its own port or the announcement of this age (0: the latest).
    fn is(&self, host: &str, port: u16, age: usize) -> bool {
        let announcement = self.announcements.get(age);
        let is_here = matches!(host, "127.0.0.1" | "localhost" | "::1" | "[::1]")
            || announcement.is_some_and(|announcement| announcement.hosts.iter().any(|its| its == host));
        is_here
            && (port == self.port
                || announcement.is_some_and(|announcement| announcement.ports.contains(&port)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Announcement {
    /// Names and addresses of the server's host, in addition to the loopback interface.
    hosts: Vec<String>,
    ports: Vec<u16>,
}

impl Announcement {
    fn of(config: &Config, (sentinel_ip, sentinel_port): (String, u16)) -> Self {
        let (node, replica) = (&config.cluster, &config.replication);
        let hosts = [&node.announce_ip, &node.announce_hostname, &replica.announce_ip, &sentinel_ip];
        let ports = [node.announce_port, node.announce_tls_port, replica.announce_port, sentinel_port];
        Announcement {
            hosts: hosts.into_iter().filter(|host| !host.is_empty()).cloned().collect(),
            ports: ports.into_iter().filter(|port| *port != 0).collect(),
        }
    }
}

/// The place of the server, out of these servers of one process, that a host and a port lead to. If two servers have
/// announced the same address, the later announcement wins.
pub(crate) fn place_of(members: &[MemberAddress], host: &str, port: u16) -> Option<usize> {
    let found = |age| members.iter().position(|member| port != 0 && member.is(host, port, age));
    (0..MAX_ANNOUNCEMENTS).find_map(found)
}
