//! A server as one of several in its process.

use super::address::{MemberAddress, place_of};
use super::broadcast::{ALONE, Broadcast, BroadcastAnswer, BroadcastId};
use super::request::{Promotion, TopologyRequest};
use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use crate::faults::NodeFault;
use crate::locks::StampSource;
use crate::spec::syntax::Shown;
use crate::spec::{CommandError, atoi};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Order;
use std::collections::VecDeque;

/// The knowledge that a server has of the other servers of its process, and its requests to all of them, in order. The
/// only server of a process asks nothing.
#[derive(Debug, Default)]
pub struct TopologyMember {
    is_joined: bool,
    /// The addresses of all servers, and the place of this server among them.
    members: Vec<MemberAddress>,
    place: usize,
    /// The order of the entries of all servers' histories.
    stamps: Option<StampSource>,
    /// The number of broadcasts that clients of this server have asked for.
    broadcasts: u64,
    /// The answer to a client that waits for a broadcast.
    answer: Option<Result<BroadcastAnswer, CommandError>>,
    requests: VecDeque<TopologyRequest>,
    /// The servers that this server is cut off from, by their places.
    cut_from: Vec<usize>,
    /// The instant at which a message from another server arrives, and the timer for this instant.
    arrival: Option<(i64, TimerKey)>,
}

/// The view of the servers of the process.
impl TopologyMember {
    /// Makes the server the one at `place` of several with one clock and one history, in the order of `stamps`.
    pub(crate) fn join(&mut self, members: &[MemberAddress], place: usize, stamps: StampSource) {
        (self.is_joined, self.members, self.place) = (true, members.to_vec(), place);
        self.stamps = Some(stamps);
    }

    /// Whether the server is one of several, which share a clock; the driver of all carries out its advances.
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// The place of the server in its process.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    pub(crate) fn addresses(&self) -> &[MemberAddress] {
        &self.members
    }

    /// Records the addresses of all servers.
    pub(crate) fn note_addresses(&mut self, members: &[MemberAddress]) {
        self.members = members.to_vec();
    }

    pub(crate) fn stamps(&self) -> Option<&StampSource> {
        self.stamps.as_ref()
    }

    /// The place of the server that a host and a port lead to.
    pub(crate) fn place_of(&self, host: &str, port: u16) -> Option<usize> {
        place_of(&self.members, host, port)
    }

    /// The place of the server that two words of a request, a host and a port, lead to.
    pub(crate) fn place_named(&self, host: &[u8], port: &[u8]) -> Option<usize> {
        self.place_of(std::str::from_utf8(host).ok()?, u16::try_from(atoi(port)).ok()?)
    }

    /// The server that a word names, by place (from 0), or by host and port. Fails without such a server, or others.
    pub(crate) fn find(&self, word: &[u8]) -> Result<usize, CommandError> {
        if !self.is_joined {
            return Err(CommandError::text(ALONE));
        }
        let unknown = || {
            let (last, word) = (self.members.len() - 1, Shown(word));
            let servers = format!("the server must be a number from 0 to {last} or host:port, not '{word}'");
            CommandError::new(format!("ERR there is no such server in this topology: {servers}"))
        };
        let text = std::str::from_utf8(word).map_err(|_| unknown())?;
        let number = |digits: &str| number::parse_i64(digits.as_bytes());
        let found = match text.rsplit_once(':') {
            Some((host, port)) => {
                let port = number(port).and_then(|port| u16::try_from(port).ok());
                port.and_then(|port| self.place_of(host, port))
            }
            None => {
                let place = number(text).and_then(|at| usize::try_from(at).ok());
                place.filter(|at| *at < self.members.len())
            }
        };
        found.ok_or_else(unknown)
    }

    /// Cuts the server off from the servers at these places, and from no others.
    pub(crate) fn set_cut_from(&mut self, places: Vec<usize>) {
        self.cut_from = places;
    }

    pub(crate) fn is_cut_from(&self, place: usize) -> bool {
        self.cut_from.contains(&place)
    }

    /// Sets a timer for this instant of the monotonic clock, in milliseconds, at which a message from another server
    /// arrives. An earlier expected arrival is kept. `order` is the order of a deadline that is made now.
    pub(crate) fn expect_arrival(&mut self, at_ms: i64, order: Order, timers: &mut Timers) {
        if let Some((earlier_ms, timer)) = self.arrival {
            if earlier_ms <= at_ms {
                return;
            }
            timers.cancel(timer);
        }
        let timer = Timer { kind: TimerKind::Arrival, client: 0, order };
        self.arrival = Some((at_ms, timers.insert(timer, at_ms)));
    }

    /// Records that the instant of the arrival has come.
    pub(crate) fn arrived(&mut self) {
        self.arrival = None;
        self.ask(TopologyRequest::Arrival);
    }
}

/// The requests to the driver of all servers.
impl TopologyMember {
    /// Adds a request, if there are other servers.
    pub(crate) fn ask(&mut self, request: TopologyRequest) {
        if self.is_joined {
            self.requests.push_back(request);
        }
    }

    /// Asks all servers to carry out the request of a client of this server. Returns the number of the request.
    pub(crate) fn broadcast(&mut self, client: u64, broadcast: Broadcast) -> u64 {
        self.broadcasts += 1;
        let id = BroadcastId { client, number: self.broadcasts };
        self.ask(TopologyRequest::Broadcast(id, broadcast));
        id.number
    }

    /// Whether there are requests.
    pub fn is_asking(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Whether a client of this server waits for the end of all partitions.
    pub fn asks_to_heal(&self) -> bool {
        let heals = |asked: &TopologyRequest| {
            matches!(asked, TopologyRequest::Broadcast(_, Broadcast::Fault(NodeFault::Heal)))
        };
        self.requests.iter().any(heals)
    }

    /// The servers, by their places, that clients of this server have asked to kill.
    pub fn asks_to_kill(&self) -> impl Iterator<Item = usize> {
        self.requests.iter().filter_map(|asked| match asked {
            TopologyRequest::Broadcast(_, Broadcast::Fault(NodeFault::Down { node, .. })) => Some(*node),
            _ => None,
        })
    }

    /// Whether a change of the server's clock is still to be handled.
    pub(crate) fn has_changed_clock(&self) -> bool {
        self.requests.iter().any(|asked| matches!(asked, TopologyRequest::ClockChanged))
    }

    pub(crate) fn next_request(&mut self) -> Option<TopologyRequest> {
        self.requests.pop_front()
    }

    /// Takes the request about the server's own promotion to a master, if there is one. Mostly O(1).
    pub(crate) fn take_promotion(&mut self) -> Option<Promotion> {
        let at = self.requests.iter().position(|asked| matches!(asked, TopologyRequest::Promoted(_)))?;
        match self.requests.remove(at) {
            Some(TopologyRequest::Promoted(promotion)) => Some(promotion),
            _ => None,
        }
    }

    /// Whether the server has been reset since the last call.
    pub(crate) fn take_reset(&mut self) -> bool {
        self.take(|asked| matches!(asked, TopologyRequest::Reset))
    }

    /// Whether the server may have announced a new address since the last call.
    pub(crate) fn take_announcement(&mut self) -> bool {
        self.take(|asked| matches!(asked, TopologyRequest::Announced))
    }

    /// Removes all requests of a kind. Returns whether there was one.
    fn take(&mut self, is_meant: impl Fn(&TopologyRequest) -> bool) -> bool {
        let before = self.requests.len();
        self.requests.retain(|asked| !is_meant(asked));
        self.requests.len() < before
    }

    /// Drops the broadcasts that are still to be handled.
    pub(crate) fn forget_broadcasts(&mut self) {
        self.requests.retain(|request| !matches!(request, TopologyRequest::Broadcast(..)));
    }

    /// Keeps the answer to a client until it is written. `None` removes it.
    pub(crate) fn set_answer(&mut self, answer: Option<Result<BroadcastAnswer, CommandError>>) {
        self.answer = answer;
    }

    pub(crate) fn take_answer(&mut self) -> Option<Result<BroadcastAnswer, CommandError>> {
        self.answer.take()
    }
}
