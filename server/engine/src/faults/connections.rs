//! Connections that a test freezes, loses or cuts off, and the clients that it exempts from that.

use super::group::{Client, Group};
use super::partition::{Link, Partition};
use super::step::{FaultEffect, FaultStep};
use crate::clients::{Session, Sessions, Slot};
use crate::clock::{TimerKey, TimerKind};
use crate::spec::CommandError;
use std::collections::{BTreeMap, BTreeSet};

/// The most partitions at a time.
pub(crate) const MAX_PARTITIONS: usize = 1000;
/// The error of a partition beyond [`MAX_PARTITIONS`].
pub(crate) const TOO_MANY_PARTITIONS: CommandError =
    CommandError::text("ERR there can be no more than 1000 partitions");
/// The most bytes that all partitions may take.
const MAX_PARTITION_BYTES: usize = 1 << 20;
const TOO_LARGE: CommandError = CommandError::text("ERR all partitions can take no more than 1048576 bytes");

/// Connections that are not carried as they are.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// The clients whose requests rules and partitions do not see.
    exempt: BTreeSet<u64>,
    /// The clients that are frozen, with the timer that ends it.
    frozen: BTreeMap<u64, Option<TimerKey>>,
    /// The clients whose connections are black holes, with the timer that cuts them.
    lost: BTreeMap<u64, Option<TimerKey>>,
    /// The clients from which the server is cut off.
    partitions: Vec<Partition>,
    /// The partitions that have ended before `FAULT.HEAL` was run, which counts them.
    healed_ahead: usize,
    /// Whether a connection is not carried as it is.
    has_any: bool,
}

impl Connections {
    /// Whether a connection is not carried as it is.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.has_any
    }

    /// Returns what becomes of the bytes of a client's connection. O(1) while all are carried as they are.
    #[inline]
    pub(crate) fn link(&self, session: &Session) -> Link {
        if self.has_any { self.link_of(Client::of(session)) } else { Link::default() }
    }

    /// Whether a client is sent nothing any more. O(1) while all connections are carried as they are.
    #[inline]
    pub(crate) fn is_lost(&self, session: &Session) -> bool {
        self.link(session).is_lost
    }

    #[cold]
    fn link_of(&self, client: Client<'_>) -> Link {
        let is_lost = self.lost.contains_key(&client.id);
        let is_frozen = self.frozen.contains_key(&client.id);
        let mut link = if is_frozen { Link::FROZEN } else { Link::default() };
        link.is_lost = is_lost;
        if self.is_exempt(client.id) {
            return link;
        }
        self.partitions.iter().map(|partition| partition.link_of(client)).fold(link, Link::and)
    }

    /// Whether a client has said FAULT.EXEMPT.
    pub(crate) fn is_exempt(&self, client: u64) -> bool {
        self.exempt.contains(&client)
    }

    /// Exempts a client from rules and partitions, or does so no longer.
    pub(crate) fn set_exempt(&mut self, client: u64, is_exempt: bool, step: &mut FaultStep<'_>) {
        if is_exempt {
            self.exempt.insert(client);
        } else {
            self.exempt.remove(&client);
        }
        if self.has_any {
            self.look_anew(step);
        }
    }

    /// Returns the clients of a group but `caller`, and but those that are exempt unless one is named by its number.
    pub(crate) fn members(&self, sessions: &Sessions, group: &Group, caller: u64) -> Vec<u64> {
        let is_one = matches!(group, Group::Id(_));
        let live = sessions.live().filter(|session| session.id != caller);
        live.filter(|session| is_one || !self.is_exempt(session.id))
            .filter(|session| group.has(Client::of(session)))
            .map(|session| session.id)
            .collect()
    }

    /// Freezes clients, for so many milliseconds or until they are thawed.
    pub(crate) fn freeze(&mut self, clients: &[u64], ms: Option<u64>, step: &mut FaultStep<'_>) {
        for &client in clients {
            let timer = ms.map(|ms| step.set_timer(TimerKind::Thaw, client, ms));
            let before = self.frozen.insert(client, timer);
            step.cancel(before.flatten());
        }
        self.look_anew(step);
    }

    /// Thaws those of the clients that are frozen; returns their number.
    pub(crate) fn thaw(&mut self, clients: &[u64], step: &mut FaultStep<'_>) -> usize {
        let mut thawed = 0;
        for client in clients {
            if let Some(timer) = self.frozen.remove(client) {
                thawed += 1;
                step.cancel(timer);
            }
        }
        self.look_anew(step);
        thawed
    }

    /// Thaws a client: its timer has fired.
    pub(crate) fn thaw_due(&mut self, client: u64, step: &mut FaultStep<'_>) {
        self.frozen.remove(&client);
        self.look_anew(step);
    }

    /// Cuts the server off from a group of clients.
    ///
    /// # Errors
    /// Returns an error if there are too many or too large partitions.
    pub(crate) fn part(
        &mut self,
        partition: Partition,
        step: &mut FaultStep<'_>,
    ) -> Result<(), CommandError> {
        if self.partitions.len() == MAX_PARTITIONS {
            return Err(TOO_MANY_PARTITIONS);
        }
        if self.memory() + partition.memory() > MAX_PARTITION_BYTES {
            return Err(TOO_LARGE);
        }
        self.partitions.push(partition);
        self.look_anew(step);
        Ok(())
    }

    /// Ends all partitions; returns their number, with those that have ended ahead.
    pub(crate) fn heal(&mut self, step: &mut FaultStep<'_>) -> usize {
        let healed = std::mem::take(&mut self.partitions).len();
        self.look_anew(step);
        healed + std::mem::take(&mut self.healed_ahead)
    }

    /// Ends all partitions before the [`heal`](Self::heal) that will count them.
    pub(crate) fn heal_ahead(&mut self, step: &mut FaultStep<'_>) {
        self.healed_ahead = self.heal(step);
    }

    /// Makes a connection a black hole, which is cut after so many milliseconds.
    pub(crate) fn lose(&mut self, session: &Session, cut_after_ms: Option<u64>, step: &mut FaultStep<'_>) {
        let timer = cut_after_ms.map(|ms| step.set_timer(TimerKind::Cut, session.id, ms));
        self.lost.insert(session.id, timer);
        self.note_any();
        step.add(FaultEffect::Wake(session.slot));
    }

    /// Cuts a black hole: its timer has fired.
    pub(crate) fn cut_due(&mut self, client: u64, slot: Option<Slot>, step: &mut FaultStep<'_>) {
        self.lost.insert(client, None);
        slot.into_iter().for_each(|slot| step.add(FaultEffect::CutOff(slot)));
    }

    /// Whether the connection of a client is a black hole.
    pub(super) fn is_black_hole(&self, client: u64) -> bool {
        self.lost.contains_key(&client)
    }

    /// Forgets a client that has gone.
    pub(crate) fn forget(&mut self, client: u64, step: &mut FaultStep<'_>) {
        let frozen = self.frozen.remove(&client);
        let lost = self.lost.remove(&client);
        step.cancel(frozen.flatten());
        step.cancel(lost.flatten());
        self.exempt.remove(&client);
        self.note_any();
    }

    /// Carries all connections as they are. Exempt clients stay so.
    pub(super) fn reset(&mut self, step: &mut FaultStep<'_>) {
        let had_any = self.has_any;
        let exempt = std::mem::take(&mut self.exempt);
        let before = std::mem::replace(self, Connections { exempt, ..Connections::default() });
        before.frozen.into_values().chain(before.lost.into_values()).for_each(|timer| step.cancel(timer));
        if had_any {
            self.look_anew(step);
        }
    }

    fn look_anew(&mut self, step: &mut FaultStep<'_>) {
        self.note_any();
        step.add(FaultEffect::LookAnew);
    }

    fn note_any(&mut self) {
        self.has_any = !(self.frozen.is_empty() && self.lost.is_empty() && self.partitions.is_empty());
    }

    /// Bytes of memory that the partitions take. O(partitions).
    pub(crate) fn memory(&self) -> usize {
        self.partitions.iter().map(Partition::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MonotonicTimers, Timers};
    use lockwheel_store::keyspace::Keyspace;

    /// The parts around connections, and what has been done to these so far.
    struct Room {
        connections: Connections,
        timers: Timers,
        keyspace: Keyspace,
    }

    impl Room {
        fn new() -> Self {
            let (connections, timers) = (Connections::default(), Timers::default());
            Room { connections, timers, keyspace: Keyspace::new(1, 7) }
        }

        /// Changes the connections at this instant; returns the effects.
        fn change(
            &mut self,
            now_ms: i64,
            change: impl FnOnce(&mut Connections, &mut FaultStep<'_>),
        ) -> Vec<FaultEffect> {
            let mut step = FaultStep::new(MonotonicTimers::new(now_ms, &mut self.timers, &mut self.keyspace));
            change(&mut self.connections, &mut step);
            step.end()
        }

        fn link(&self, id: u64) -> Link {
            self.connections.link_of(Client { id, name: b"name", library: b"", address: "" })
        }
    }

    fn all_but(spared: u64) -> Partition {
        Partition { group: Group::All, link: Link::HELD, spared }
    }

    #[test]
    fn a_frozen_client_thaws_when_its_last_timer_fires() {
        let mut room = Room::new();
        assert_eq!(
            room.change(100, |all, step| all.freeze(&[1, 2], Some(50), step)),
            [FaultEffect::LookAnew]
        );
        assert!(room.link(1).is_frozen && room.connections.has_any());
        room.change(110, |all, step| all.freeze(&[1], Some(10), step));
        assert_eq!(room.timers.count(TimerKind::Thaw), 2);
        let first = room.timers.pop_due(false, 120).expect("it is due");
        room.change(120, |all, step| all.thaw_due(first.client, step));
        assert_eq!((room.link(1), room.link(2)), (Link::default(), Link::FROZEN));
        room.change(130, |all, step| assert_eq!(all.thaw(&[1, 2], step), 1));
        assert_eq!((room.timers.count(TimerKind::Thaw), room.connections.has_any()), (0, false));
    }

    #[test]
    fn a_timer_of_no_milliseconds_fires_at_once() {
        let effects = Room::new().change(0, |all, step| all.freeze(&[1], Some(0), step));
        assert_eq!(effects, [FaultEffect::FireAtOnce, FaultEffect::LookAnew]);
    }

    #[test]
    fn partitions_spare_their_caller_and_exempt_clients() {
        let mut room = Room::new();
        room.change(0, |all, step| all.set_exempt(3, true, step));
        room.change(0, |all, step| all.part(all_but(1), step).expect("there is room"));
        assert_eq!([1, 2, 3].map(|id| room.link(id).holds_input), [false, true, false]);
        room.change(0, |all, step| all.heal_ahead(step));
        assert_eq!(room.link(2), Link::default());
        room.change(0, |all, step| all.part(all_but(1), step).expect("there is room"));
        room.change(0, |all, step| assert_eq!(all.heal(step), 2));
        room.change(0, |all, step| assert_eq!(all.heal(step), 0));
    }

    #[test]
    fn a_reset_cancels_timers_and_keeps_exempt_clients() {
        let mut room = Room::new();
        room.change(0, |all, step| all.set_exempt(3, true, step));
        assert!(room.change(0, Connections::reset).is_empty());
        room.change(0, |all, step| all.freeze(&[1], Some(50), step));
        assert_eq!(room.change(0, Connections::reset), [FaultEffect::LookAnew]);
        assert_eq!(room.timers.count(TimerKind::Thaw), 0);
        assert!(room.connections.is_exempt(3) && !room.connections.has_any());
    }

    #[test]
    fn there_are_no_more_partitions_than_the_limit() {
        let mut room = Room::new();
        for _ in 0..MAX_PARTITIONS {
            room.change(0, |all, step| all.part(all_but(1), step).expect("there is room"));
        }
        room.change(0, |all, step| assert!(all.part(all_but(1), step).is_err()));
    }
}
