//! The stream on its way to replicas: one that keeps up is sent it at once, another one when it has read the rest.

use super::effect::ReplicationEffect;
use super::last_heard::LinkClocks;
use super::replica::ReplicaState;
use super::state::Replication;
use crate::clients::{Closing, Session, Sessions, Slot};
use lockwheel_resp::allocation;
use lockwheel_store::memory::BufferBytes;

/// A replica that would have more bytes unread than this does not keep up.
const BEHIND_MIN: usize = 64 * 1024;
/// The request that asks replicas how far they are.
const GETACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";
/// The request that keeps connections alive.
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// The outcome of sending a replica a part of the stream.
enum Fed {
    /// Nothing was sent: its connection is ending.
    Closing,
    /// The part was sent. `is_much`: its output is to be checked against its limits.
    Sent { is_much: bool },
    /// Nothing was sent: it lacks the stream from here on.
    Behind,
    /// Nothing was sent: the part found no memory.
    NoMemory,
}

impl Replication {
    /// Goes on with the stream by these bytes. A replica that has kept up is sent them; if it does not any more, or
    /// they are many, it lacks the stream from here on until it has read what it was sent. For all such replicas the
    /// stream is kept once. Returns what is to be done with replicas, in order. O(replicas that keep up), beside the
    /// bytes.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        self.append(bytes);
        let mut effects = Vec::new();
        let fallen_behind = match self.replicas.len() > self.behind.len() {
            true => self.send_to_those_keeping_up(bytes, sessions, account, &mut effects),
            false => Vec::new(),
        };
        if !self.behind.is_empty() {
            self.keep_for_those_behind(bytes, sessions, account, &mut effects);
            effects.extend(fallen_behind.into_iter().map(ReplicationEffect::CheckOutput));
        }
        effects
    }

    /// Sends these bytes to all replicas that keep up; returns those that do not any more.
    fn send_to_those_keeping_up(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
        effects: &mut Vec<ReplicationEffect>,
    ) -> Vec<Slot> {
        let mut fallen_behind = Vec::new();
        let Replication { replicas, behind, .. } = self;
        for (&id, replica) in &*replicas {
            if behind.has(id) || replica.state.awaits_snapshot() {
                continue;
            }
            let Some(slot) = sessions.find(id) else { continue };
            match feed(sessions.get_mut(slot), bytes) {
                Fed::Closing => continue,
                Fed::Sent { is_much: false } => {}
                Fed::Sent { is_much: true } => effects.push(ReplicationEffect::CheckOutput(slot)),
                Fed::Behind => {
                    behind.add(id, account);
                    fallen_behind.push(slot);
                }
                Fed::NoMemory => {
                    effects.push(cut_for_lack_of_memory(slot));
                    continue;
                }
            }
            // The connection of one that is behind asks for more once it has sent everything.
            sessions.wake(slot);
        }
        fallen_behind
    }

    /// Keeps a part of the stream, once, for all replicas that do not keep up. Those that have left too much unread
    /// are cut.
    fn keep_for_those_behind(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
        effects: &mut Vec<ReplicationEffect>,
    ) {
        let behind = &mut self.behind;
        let kept = allocation::contain(|| behind.append(bytes, account));
        if kept == Ok(false) {
            return;
        }
        for id in behind.sessions() {
            match (sessions.find(id), &kept) {
                (Some(slot), Ok(_)) => {
                    effects.push(ReplicationEffect::CheckOutput(slot));
                    sessions.wake(slot);
                }
                (Some(slot), Err(_)) => effects.push(cut_for_lack_of_memory(slot)),
                // Nothing is kept for a session that has been forgotten.
                (None, _) => behind.remove(id),
            }
        }
    }

    /// Asks replicas how far they are, unless they have been asked since the stream last went on.
    pub(crate) fn ask_replicas(
        &mut self,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        if !self.has_stream() || self.replicas.is_empty() || self.asked_at == self.offset {
            return Vec::new();
        }
        let effects = self.send(GETACK, sessions, account);
        self.asked_at = self.offset;
        effects
    }

    /// Keeps the connections of replicas alive, if it is time: the stream has a PING. Servers that share a process need
    /// none. `now_ms` is in real monotonic milliseconds.
    pub(crate) fn ping_replicas(
        &mut self,
        (now_ms, period_s): (i64, i64),
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        // Who has everything when the master's part is handed over must not lack a PING.
        if self.fails_over()
            || self.replicas.values().all(|replica| replica.heard.is_in_process())
            || now_ms - self.pinged_ms < period_s.saturating_mul(1000)
        {
            return Vec::new();
        }
        self.pinged_ms = now_ms;
        self.send(PING, sessions, account)
    }

    /// Gives a replica that did not keep up what it lacks, now that it has been sent everything else. One that is being
    /// disconnected has lost some of that, and gets nothing; one that waits for its snapshot gets that first. Returns
    /// false if there is no memory for it: then the replica is to be disconnected.
    pub(crate) fn feed_lacked(&mut self, session: &mut Session, account: &BufferBytes) -> bool {
        let is_behind = self.behind.has(session.id);
        if !is_behind || session.closing == Some(Closing::Now) || self.awaits_snapshot(session.id) {
            return true;
        }
        let lacked = self.behind.take(session.id, account);
        let delivery = &mut session.delivery;
        let pushed = allocation::contain(|| lacked.iter().for_each(|block| delivery.push_shared(block)));
        if pushed.is_err() {
            log_lack_of_memory();
        }
        pushed.is_ok()
    }

    /// Returns the bytes that a client has not been sent; of the stream too, if it is a replica. O(log n).
    pub(crate) fn unsent(&self, session: &Session) -> usize {
        session.delivery.pending() + self.behind.unsent(session.id)
    }

    /// Returns the bytes and the blocks of the stream that are kept for a replica that does not keep up. O(log n).
    pub(crate) fn lacked(&self, session: u64) -> (usize, usize) {
        (self.behind.unsent(session), self.behind.unsent_blocks(session))
    }

    /// Keeps nothing of the stream any more for a replica that is being disconnected.
    pub(crate) fn forget_lacked(&mut self, session: u64) {
        self.behind.remove(session);
    }

    /// Looks at replicas: those that say nothing, or do not read, are cut; the output of the others that do not keep up
    /// is held against its limits, as the stream may not go on.
    pub(crate) fn check_replicas(
        &mut self,
        sessions: &Sessions,
        now: LinkClocks,
        timeout_ms: i64,
    ) -> Vec<ReplicationEffect> {
        let (mut effects, stream) = (Vec::new(), self.offset);
        for (&id, replica) in &mut self.replicas {
            let Some(slot) = sessions.find(id) else { continue };
            if replica.state.awaits_snapshot() {
                replica.heard.hear(now);
                continue;
            }
            let session = sessions.get(slot);
            let unsent = session.delivery.pending() + self.behind.unsent(id);
            let lacks_snapshot = !replica.answers && replica.unread_snapshot(unsent, stream) > 0;
            let is_sent_snapshot = replica.state == ReplicaState::SendBulk || lacks_snapshot;
            let moves =
                is_sent_snapshot && (unsent == 0 || unsent < std::mem::replace(&mut replica.unsent, unsent));
            if moves {
                replica.heard.hear(now);
            }
            let is_silent =
                (replica.answers || lacks_snapshot) && replica.heard.is_timed_out(now, timeout_ms);
            if is_silent && session.closing != Some(Closing::Now) {
                let phase = if is_sent_snapshot { "full" } else { "streaming" };
                tracing::warn!("Disconnecting timedout replica ({phase} sync): {}", replica.name());
                effects.push(ReplicationEffect::Cut(slot));
            }
        }
        let behind = self.behind.sessions().into_iter().filter_map(|id| sessions.find(id));
        effects.extend(behind.map(ReplicationEffect::CheckOutput));
        effects
    }
}

/// Sends a part of the stream to a replica that has kept up, unless it would have much unread then.
fn feed(session: &mut Session, bytes: &[u8]) -> Fed {
    if session.closing == Some(Closing::Now) {
        return Fed::Closing;
    }
    if session.delivery.pending() + bytes.len() > BEHIND_MIN {
        return Fed::Behind;
    }
    if allocation::contain(|| session.delivery.push_bytes(bytes)).is_err() {
        return Fed::NoMemory;
    }
    Fed::Sent { is_much: !session.keeps_up() }
}

/// The effect on a replica for whose part of the stream there is no memory.
pub(super) fn cut_for_lack_of_memory(slot: Slot) -> ReplicationEffect {
    log_lack_of_memory();
    ReplicationEffect::Cut(slot)
}

fn log_lack_of_memory() {
    tracing::warn!("There is no memory for what a replica is to be told: it is disconnected");
}

#[cfg(test)]
mod tests;
