//! Connections that are frozen, cut off or lost.

use super::super::engine::Engine;
use super::subject::client_of;
use crate::clients::{Session, Slot};
use crate::clock::TimerKind;
use crate::faults::{Group, Link, Partition};
use crate::spec::CommandError;

/// The most partitions at a time.
pub(crate) const PARTITIONS_MAX: usize = 1000;
pub(crate) const TOO_MANY: CommandError = CommandError::text("ERR there can be no more than 1000 partitions");
/// The most bytes that all partitions may take.
const MAX_PARTITION_BYTES: usize = 1 << 20;
const TOO_LARGE: CommandError = CommandError::text("ERR all partitions can take no more than 1048576 bytes");

impl Engine {
    /// What becomes of the bytes of a session's connection. O(1) while all are carried as they are.
    #[inline]
    pub fn link(&self, slot: Slot) -> Link {
        if self.faults.has_links { self.link_of(self.sessions.get(slot)) } else { Link::default() }
    }

    #[cold]
    fn link_of(&self, session: &Session) -> Link {
        self.faults.link_of(client_of(session))
    }

    /// Whether a session is sent nothing any more.
    #[inline]
    pub(in crate::core) fn is_lost(&self, slot: Slot) -> bool {
        self.faults.has_links && self.link_of(self.sessions.get(slot)).is_lost
    }

    /// Whether nothing that a client does reaches the server, its close neither.
    pub(in crate::core) fn is_out_of_reach(&self, client: u64) -> bool {
        self.faults.has_links && self.sessions.find(client).is_some_and(|slot| self.link(slot).holds_input)
    }

    /// The clients of a group but `caller`, and but those that are exempt unless one is named by its number.
    pub(crate) fn members(&self, group: &Group, caller: u64) -> Vec<u64> {
        let is_one = matches!(group, Group::Id(_));
        let live = self.sessions.live().filter(|session| session.id != caller);
        live.filter(|session| is_one || !self.faults.exempt.contains(&session.id))
            .filter(|session| group.has(client_of(session)))
            .map(|session| session.id)
            .collect()
    }

    /// Freezes clients, for so many milliseconds or until they are thawed.
    pub(crate) fn freeze_clients(&mut self, clients: &[u64], ms: Option<u64>) {
        for &client in clients {
            let timer = ms.map(|ms| self.set_fault_timer(TimerKind::Thaw, client, ms));
            if let Some(Some(before)) = self.faults.frozen.insert(client, timer) {
                self.clock.timers_mut().cancel(before);
            }
        }
        self.links_changed();
    }

    /// Thaws those of the clients that are frozen; how many these were.
    pub(crate) fn thaw_clients(&mut self, clients: &[u64]) -> usize {
        let mut thawed = 0;
        for client in clients {
            if let Some(timer) = self.faults.frozen.remove(client) {
                thawed += 1;
                timer.into_iter().for_each(|timer| self.clock.timers_mut().cancel(timer));
            }
        }
        self.links_changed();
        thawed
    }

    /// The time of a frozen client is over; its timer has fired.
    pub(in crate::core) fn thaw(&mut self, client: u64) {
        self.faults.frozen.remove(&client);
        self.links_changed();
    }

    /// Cuts the server off from a group of clients.
    ///
    /// # Errors
    /// When there are too many or too large partitions.
    pub(crate) fn part(&mut self, partition: Partition) -> Result<(), CommandError> {
        if self.faults.partitions.len() == PARTITIONS_MAX {
            return Err(TOO_MANY);
        }
        if self.faults.partition_bytes() + partition.memory() > MAX_PARTITION_BYTES {
            return Err(TOO_LARGE);
        }
        self.faults.partitions.push(partition);
        self.links_changed();
        Ok(())
    }

    /// Ends all partitions; how many there were.
    pub(crate) fn heal(&mut self) -> usize {
        let healed = std::mem::take(&mut self.faults.partitions).len();
        self.links_changed();
        healed + std::mem::take(&mut self.faults.healed_ahead)
    }

    /// While a script runs: ends all partitions before the [`heal`](Self::heal) that waits for its end. A client that
    /// connects from now on may kill the script, which nobody could before. What becomes of the bytes of each client,
    /// by its id; of none if no script runs.
    pub fn heal_ahead(&mut self) -> Vec<(u64, Link)> {
        if !self.scripts.is_running() {
            return Vec::new();
        }
        self.faults.healed_ahead = self.heal();
        self.sessions.live().map(|session| (session.id, self.link(session.slot))).collect()
    }

    /// A connection becomes a black hole, which is cut after so many milliseconds. That of a server of the same process
    /// is cut at the latest when a replica would give it up: there is no other sign of its silence.
    pub(super) fn lose_connection(&mut self, slot: Slot, cut_after_ms: Option<u64>) {
        let session = self.sessions.get(slot);
        let id = session.id;
        let patience_ms = self.config.replication.timeout.max(1).unsigned_abs().saturating_mul(1000);
        let cut_after_ms = match session.peer.in_process {
            true => Some(cut_after_ms.map_or(patience_ms, |ms| ms.min(patience_ms))),
            false => cut_after_ms,
        };
        let timer = cut_after_ms.map(|ms| self.set_fault_timer(TimerKind::Cut, id, ms));
        self.faults.lost.insert(id, timer);
        self.faults.note_links();
        self.wake(slot);
    }

    /// A black hole is cut; its timer has fired.
    pub(in crate::core) fn cut_lost(&mut self, client: u64) {
        self.faults.lost.insert(client, None);
        if let Some(slot) = self.sessions.find(client) {
            self.cut_off(slot);
        }
    }

    /// Each connection looks anew at what it may read and write.
    pub(super) fn links_changed(&mut self) {
        self.faults.note_links();
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            self.wake(slot);
        }
    }

    /// A client has gone: nothing of it is kept.
    pub(in crate::core) fn forget_faults_of(&mut self, client: u64) {
        let frozen = self.faults.frozen.remove(&client).flatten();
        let lost = self.faults.lost.remove(&client).flatten();
        for timer in frozen.into_iter().chain(lost) {
            self.clock.timers_mut().cancel(timer);
        }
        self.faults.exempt.remove(&client);
        self.faults.orphans.remove(&client);
        self.faults.note_links();
    }
}
