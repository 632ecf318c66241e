//! A clock that several engines of one process share: what each asks of it.

use super::planned_turns::PlannedTurn;
use super::together::{Together, TogetherAnswer, TogetherId};
use crate::config::Config;
use crate::locks::StampSource;
use crate::replication::ReplicationId;
use crate::spec::CommandError;
use crate::timers::TimerKey;
use std::collections::VecDeque;

/// What an engine asks of the clock that it shares.
#[derive(Debug)]
pub(crate) enum ClockRequest {
    /// It has begun anew, and its clock with it: the others follow that.
    Changed,
    /// It may announce another address now.
    Announced,
    /// It follows its master no longer, with the data that it has.
    Promoted(Promotion),
    /// A client of it moves a slot from one node of a cluster to another.
    SlotsMove,
    /// A client of it has had keys moved to the server at this place.
    Moved(usize),
    /// It has refused a client, since it is down, and the clock stands.
    Refused,
    /// It begins anew: faults of servers and between them end.
    Reset,
    /// Something arrives from another engine.
    Arrival,
    /// A turn that has stopped amid an instant has not gone on for long: its server may hang.
    Look,
    /// This client of it waits for a turn.
    Turn(u64),
    /// The turn of this number goes on, whose client has gone.
    LeftTurn(u64),
    /// A script or a transaction of it has asked for a turn.
    Planned(PlannedTurn),
    /// A client of it waits for something that all servers do together.
    Together(TogetherId, Together),
}

/// What a replica had when it became a master: whose data, of which history, and how far.
#[derive(Clone, Debug)]
pub(crate) struct Promotion {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) id: ReplicationId,
    pub(crate) offset: i64,
}

/// The number of announcements of a server that are known.
const MAX_ANNOUNCEMENTS: usize = 16;

/// The port of a server of this process, and the addresses at which others are told to find it.
#[derive(Clone, Debug)]
pub(crate) struct MemberAddress {
    /// The port that it listens on.
    pub(crate) port: u16,
    /// The addresses that it announces and has announced, the latest first. An earlier one still leads to it, as a port
    /// stays mapped.
    announcements: VecDeque<Announcement>,
    /// Whether it is a sentinel, which has no locks.
    pub(crate) is_sentinel: bool,
}

impl MemberAddress {
    /// Of a server that listens on this port and announces nothing.
    pub(crate) fn new(port: u16) -> Self {
        MemberAddress { port, announcements: VecDeque::new(), is_sentinel: false }
    }

    /// Notes the address that these parameters announce, which may be the outer side of mapped ports. `sentinel` is the
    /// address that it announces as a sentinel: the host may be empty, and the port 0.
    pub(crate) fn announce(&mut self, config: &Config, sentinel: (String, u16)) {
        self.is_sentinel = config.is_sentinel();
        let announcement = Announcement::of(config, sentinel);
        self.announcements.retain(|earlier| *earlier != announcement);
        self.announcements.push_front(announcement);
        self.announcements.truncate(MAX_ANNOUNCEMENTS);
    }

    /// Whether this host and port lead to it: by what it announces, or has announced so many times before.
    fn is(&self, host: &str, port: u16, age: usize) -> bool {
        let announcement = self.announcements.get(age);
        let is_here = matches!(host, "127.0.0.1" | "localhost" | "::1" | "[::1]")
            || announcement.is_some_and(|announcement| announcement.hosts.iter().any(|its| its == host));
        is_here
            && (port == self.port
                || announcement.is_some_and(|announcement| announcement.ports.contains(&port)))
    }
}

/// An address that a server tells others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Announcement {
    /// Names and addresses of its host beside those of the loopback interface.
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

/// The place of the server that a host and a port lead to, of these servers of one process. Of two that have announced
/// them, the one that has done so later.
pub(crate) fn place_of(members: &[MemberAddress], host: &str, port: u16) -> Option<usize> {
    let found = |age| members.iter().position(|member| port != 0 && member.is(host, port, age));
    (0..MAX_ANNOUNCEMENTS).find_map(found)
}

/// Whether an engine shares its clock, and what it has asked for, in order.
#[derive(Debug, Default)]
pub(crate) struct SharedClock {
    pub(super) is_shared: bool,
    /// Where the servers that share it listen, and which of them this one is.
    pub(super) members: Vec<MemberAddress>,
    pub(super) place: usize,
    /// What orders the entries of their histories.
    pub(super) stamps: Option<StampSource>,
    /// The number of requests to all servers that its clients have made.
    asked: u64,
    /// What a client is answered that waits for what all do together.
    pub(super) answer: Option<Result<TogetherAnswer, CommandError>>,
    /// The client that reads the histories of all servers in pieces from now on.
    pub(super) begins_to_read: Option<u64>,
    pub(super) requests: VecDeque<ClockRequest>,
    /// The servers that it is cut off from, by their places.
    pub(super) cut_from: Vec<usize>,
    /// When something arrives from another engine, and its timer.
    pub(super) arrival: Option<(i64, TimerKey)>,
}

impl SharedClock {
    /// The next request of a client to all servers.
    pub(super) fn next_together(&mut self, client: u64) -> TogetherId {
        self.asked += 1;
        TogetherId { client, number: self.asked }
    }

    /// Drops the requests to all servers that have not been taken up.
    pub(super) fn forget_together(&mut self) {
        self.requests.retain(|request| !matches!(request, ClockRequest::Together(..)));
    }
}
