//! Requests and replies that rules hold.

use super::action::Slices;
use super::rule::RuleId;
use crate::clients::{Delivery, Request};
use std::collections::{BTreeMap, VecDeque};

/// A request or reply of a client, and the rule that holds it.
#[derive(Debug)]
pub(crate) struct HeldTraffic {
    pub(crate) rule: RuleId,
    pub(crate) part: HeldPart,
}

/// A held request or reply.
#[derive(Debug)]
pub(crate) enum HeldPart {
    /// A request that has not been executed.
    Request,
    Reply(Vec<u8>),
    /// The unsent pieces of a reply.
    Slices(SlicedReply),
}

/// A reply that is sent in pieces.
#[derive(Debug)]
pub(crate) struct SlicedReply {
    bytes: Vec<u8>,
    /// The number of bytes that have been sent.
    sent: usize,
    slices: Slices,
}

/// The next bytes of a reply that is sent in pieces.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// A piece, and the milliseconds until the next one.
    Next(&'a [u8], u64),
    Last(&'a [u8]),
}

impl SlicedReply {
    /// Creates a held reply, no part of which has been sent.
    pub(super) fn new(bytes: Vec<u8>, slices: Slices) -> Self {
        SlicedReply { bytes, sent: 0, slices }
    }

    /// Returns the next piece and counts it as sent.
    fn next_piece(&mut self) -> Piece<'_> {
        let rest = &self.bytes[self.sent..];
        if rest.len() <= self.slices.bytes {
            return Piece::Last(rest);
        }
        self.sent += self.slices.bytes;
        Piece::Next(&rest[..self.slices.bytes], self.slices.every_ms)
    }
}

impl SlicedReply {
    /// Sends the next piece to a client. Returns the rest, and the milliseconds until its first piece is due.
    pub(super) fn send_piece(mut self, delivery: &mut Delivery) -> Option<(SlicedReply, u64)> {
        match self.next_piece() {
            Piece::Last(bytes) => {
                delivery.release(bytes);
                None
            }
            Piece::Next(bytes, then_ms) => {
                delivery.release_piece(bytes);
                Some((self, then_ms))
            }
        }
    }
}

impl HeldPart {
    /// Sends the part of a held reply that is due. Returns the rest, and the milliseconds until it is due.
    pub(crate) fn send(self, delivery: &mut Delivery) -> Option<(HeldPart, u64)> {
        match self {
            HeldPart::Request => None,
            HeldPart::Reply(bytes) => {
                delivery.release(&bytes);
                None
            }
            HeldPart::Slices(reply) => {
                let (rest, then_ms) = reply.send_piece(delivery)?;
                Some((HeldPart::Slices(rest), then_ms))
            }
        }
    }

    /// Returns the bytes of memory that the part takes, without the request.
    pub(crate) fn memory(&self) -> usize {
        match self {
            HeldPart::Request => 0,
            HeldPart::Reply(bytes) | HeldPart::Slices(SlicedReply { bytes, .. }) => {
                lockwheel_store::memory::vec_heap_bytes(bytes)
            }
        }
    }
}

/// The clients whose request or reply is held by a rule, and the pending requests of disconnected clients.
#[derive(Debug, Default)]
pub(crate) struct HeldClients {
    /// The clients of each rule, by order of arrival.
    by_rule: BTreeMap<RuleId, BTreeMap<u64, u64>>,
    /// The orphans: clients that have disconnected while a rule holds a request of theirs. The held request still
    /// arrives, followed by the requests that the client had sent after it.
    orphans: BTreeMap<u64, VecDeque<Request>>,
}

impl HeldClients {
    /// Records that a rule holds a request or reply of this client. Returns the number that the rule now holds.
    pub(crate) fn add(&mut self, rule: RuleId, arrival: u64, client: u64) -> usize {
        let clients = self.by_rule.entry(rule).or_default();
        clients.insert(arrival, client);
        clients.len()
    }

    /// Records that a rule no longer holds this request or reply.
    pub(crate) fn remove(&mut self, rule: RuleId, arrival: u64) {
        if let Some(clients) = self.by_rule.get_mut(&rule) {
            clients.remove(&arrival);
            if clients.is_empty() {
                self.by_rule.remove(&rule);
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_rule.is_empty()
    }

    /// Returns the number of requests and replies that a rule holds.
    pub(crate) fn count(&self, rule: RuleId) -> usize {
        self.by_rule.get(&rule).map_or(0, BTreeMap::len)
    }

    pub(crate) fn of(&self, rule: RuleId) -> Vec<u64> {
        self.by_rule.get(&rule).map_or_else(Vec::new, |clients| clients.values().copied().collect())
    }

    /// Returns all clients, the oldest rule first.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.by_rule.values().flat_map(BTreeMap::values).copied()
    }

    /// Whether a client has disconnected while a rule holds its request.
    pub(crate) fn is_orphan(&self, client: u64) -> bool {
        self.orphans.contains_key(&client)
    }

    /// Records a disconnected client, with the requests that it has sent after the held one.
    pub(crate) fn add_orphan(&mut self, client: u64, behind: VecDeque<Request>) {
        self.orphans.insert(client, behind);
    }

    /// Removes an orphan. Returns the requests that it has sent after the held one.
    pub(crate) fn take_orphan(&mut self, client: u64) -> Option<VecDeque<Request>> {
        self.orphans.remove(&client)
    }

    pub(super) fn forget_orphans(&mut self) {
        self.orphans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_held_in_order_of_arrival_by_the_age_of_their_rules() {
        let mut held = HeldClients::default();
        let [old, new] = [1, 2].map(RuleId);
        assert_eq!([held.add(new, 5, 50), held.add(old, 9, 90), held.add(old, 7, 70)], [1, 1, 2]);
        assert_eq!((held.of(old), held.all().collect::<Vec<_>>()), (vec![70, 90], vec![70, 90, 50]));
        held.remove(old, 9);
        held.remove(old, 7);
        assert_eq!((held.count(old), held.count(new), held.is_empty()), (0, 1, false));
        held.remove(new, 5);
        assert!(held.is_empty());
    }

    #[test]
    fn a_sliced_reply_has_pieces_of_one_size_except_the_last() {
        let mut reply = SlicedReply::new(b"abcde".to_vec(), Slices { bytes: 2, every_ms: 10 });
        assert_eq!(reply.next_piece(), Piece::Next(b"ab", 10));
        assert_eq!(reply.next_piece(), Piece::Next(b"cd", 10));
        assert_eq!(reply.next_piece(), Piece::Last(b"e"));
    }
}
