//! Connections that a test freezes, loses or cuts off, and the clients that it exempts from faults.

use super::group::{Client, Group};
use super::partition::{Link, Partition};
use super::step::{FaultEffect, FaultStep};
use crate::clients::{Session, Sessions, Slot};
use crate::clock::{TimerKey, TimerKind};
use crate::spec::CommandError;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of simultaneous partitions.
pub(crate) const MAX_PARTITIONS: usize = 1000;
/// The error of a partition beyond [`MAX_PARTITIONS`].
pub(crate) const TOO_MANY_PARTITIONS: CommandError =
    CommandError::text("ERR too many partitions: the maximum is 1000");
/// The maximum memory of all partitions, in bytes.
const MAX_PARTITION_BYTES: usize = 1 << 20;
const TOO_LARGE: CommandError =
    CommandError::text("ERR the partitions would take more than 1048576 bytes together");

/// The connections whose traffic a fault affects.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// The clients that rules and partitions ignore.
    exempt: BTreeSet<u64>,
    /// The frozen clients, each with the timer that thaws it.
    frozen: BTreeMap<u64, Option<TimerKey>>,
    /// The clients whose connections are black holes, with the timer that cuts them.
    lost: BTreeMap<u64, Option<TimerKey>>,
    /// The clients from which the server is cut off.
    partitions: Vec<Partition>,
    /// The number of partitions that ended before the `FAULT.HEAL` that will count them.
    healed_ahead: usize,
    has_any: bool,
}

impl Connections {
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.has_any
    }

    /// Returns how a client's connection carries its bytes. O(1) while no fault affects a connection.
    #[inline]
    pub(crate) fn link(&self, session: &Session) -> Link {
        if self.has_any { self.link_of(Client::of(session)) } else { Link::default() }
    }

    /// Whether everything sent to a client is lost. O(1) while no fault affects a connection.
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

    /// Whether a client has run `FAULT.EXEMPT`.
    pub(crate) fn is_exempt(&self, client: u64) -> bool {
        self.exempt.contains(&client)
    }

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

    /// Returns the clients of a group except `caller`, and exempt ones unless the group names one by its id.
    pub(crate) fn members(&self, sessions: &Sessions, group: &Group, caller: u64) -> Vec<u64> {
        let is_one = matches!(group, Group::Id(_));
        let live = sessions.live().filter(|session| session.id != caller);
        live.filter(|session| is_one || !self.is_exempt(session.id))
            .filter(|session| group.has(Client::of(session)))
            .map(|session| session.id)
            .collect()
    }

    /// Freezes clients for this number of milliseconds, or until they are thawed if there is none.
    pub(crate) fn freeze(&mut self, clients: &[u64], ms: Option<u64>, step: &mut FaultStep<'_>) {
        for &client in clients {
            let timer = ms.map(|ms| step.set_timer(TimerKind::Thaw, client, ms));
            let before = self.frozen.insert(client, timer);
            step.cancel(before.flatten());
        }
        self.look_anew(step);
    }

    /// Thaws the frozen clients out of these. Returns their number.
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

    pub(crate) fn thaw_due(&mut self, client: u64, step: &mut FaultStep<'_>) {
        self.frozen.remove(&client);
        self.look_anew(step);
    }

    /// Cuts the server off from a group of clients. Fails if the partitions are too many or too large.
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

    /// Ends all partitions. Returns their number, including those that [`heal_ahead`](Self::heal_ahead) has ended.
    pub(crate) fn heal(&mut self, step: &mut FaultStep<'_>) -> usize {
        let healed = std::mem::take(&mut self.partitions).len();
        self.look_anew(step);
        healed + std::mem::take(&mut self.healed_ahead)
    }

    /// Ends all partitions early; the next [`heal`](Self::heal) counts them.
    pub(crate) fn heal_ahead(&mut self, step: &mut FaultStep<'_>) {
        self.healed_ahead = self.heal(step);
    }

    /// Turns a connection into a black hole that is cut after this number of milliseconds, if one is given.
    pub(crate) fn lose(&mut self, session: &Session, cut_after_ms: Option<u64>, step: &mut FaultStep<'_>) {
        let timer = cut_after_ms.map(|ms| step.set_timer(TimerKind::Cut, session.id, ms));
        self.lost.insert(session.id, timer);
        self.note_any();
        step.add(FaultEffect::Wake(session.slot));
    }

    /// Cuts a black hole whose timer has fired.
    pub(crate) fn cut_due(&mut self, client: u64, slot: Option<Slot>, step: &mut FaultStep<'_>) {
        self.lost.insert(client, None);
        slot.into_iter().for_each(|slot| step.add(FaultEffect::CutOff(slot)));
    }

    /// Whether the connection of a client is a black hole.
    pub(super) fn is_black_hole(&self, client: u64) -> bool {
        self.lost.contains_key(&client)
    }

    pub(crate) fn forget(&mut self, client: u64, step: &mut FaultStep<'_>) {
        let frozen = self.frozen.remove(&client);
        let lost = self.lost.remove(&client);
        step.cancel(frozen.flatten());
        step.cancel(lost.flatten());
        self.exempt.remove(&client);
        self.note_any();
    }

    /// Removes the faults of all connections. Exempt clients stay exempt.
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

    /// Returns the bytes of memory that the partitions take. O(partitions).
    pub(crate) fn memory(&self) -> usize {
        self.partitions.iter().map(Partition::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MonotonicTimers, Timers};
    use lockwheel_store::keyspace::Keyspace;

    /// A fixture: connections with the timers and the keyspace that they need.
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
