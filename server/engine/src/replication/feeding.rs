//! The delivery of the stream to replicas: at once if they keep up, behind the earlier output of slow ones.

use super::effect::ReplicationEffect;
use super::last_heard::LinkClocks;
use super::replica::{Replica, ReplicaState};
use super::state::Replication;
use crate::clients::{Closing, Session, Sessions, Slot};
use lockwheel_resp::allocation;
use lockwheel_store::memory::BufferBytes;

/// The maximum unread output of a replica that keeps up, in bytes.
const MAX_UNREAD_BYTES: usize = 64 * 1024;
/// The growth of the unread output of such a replica after which the output is checked against its limits, in bytes.
const CHECKED_BYTES: usize = 4096;
/// The request that asks replicas for their offsets.
const GETACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";
/// The request that keeps connections alive.
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

enum SendResult {
    /// Nothing was sent: the connection is closing.
    Closing,
    /// The part was sent. `is_much`: the output must be checked against its limits.
    Sent { is_much: bool },
    /// Nothing was sent: the replica lacks the stream from here on.
    Behind,
    /// Nothing was sent: there was no memory for the part.
    NoMemory,
}

impl Replication {
    /// Appends these bytes to the stream and sends them, after the part that was appended before. Returns the effects
    /// on replicas, in order.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let mut effects = self.deliver(sessions, account);
        self.append(bytes);
        effects.append(&mut self.pass_on(bytes, sessions, account));
        effects
    }

    /// Sends the end of the stream to each replica that keeps up. A replica becomes slow if too much of its output is
    /// unread, or if the bytes are many. It lacks the stream from here on until it has read its earlier output. The
    /// stream is kept once for all slow replicas. Returns the effects on replicas, in order. O(replicas that keep up),
    /// beside the bytes.
    pub(super) fn pass_on(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let mut effects = Vec::new();
        let fallen_behind = match self.replicas.len() > self.slow_replicas.len() {
            true => self.send_to_those_keeping_up(bytes, sessions, account, &mut effects),
            false => Vec::new(),
        };
        if !self.slow_replicas.is_empty() {
            self.keep_for_those_behind(bytes, sessions, account, &mut effects);
            effects.extend(fallen_behind.into_iter().map(ReplicationEffect::CheckOutput));
        }
        effects
    }

    /// Sends these bytes to all replicas that keep up. Returns those that have become slow.
    fn send_to_those_keeping_up(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
        effects: &mut Vec<ReplicationEffect>,
    ) -> Vec<Slot> {
        let mut fallen_behind = Vec::new();
        let Replication { replicas, slow_replicas, .. } = self;
        for (&id, replica) in replicas {
            if slow_replicas.has(id) || replica.state.awaits_snapshot() {
                continue;
            }
            let Some(slot) = sessions.find(id) else { continue };
            match feed(replica, sessions.get_mut(slot), bytes) {
                SendResult::Closing => continue,
                SendResult::Sent { is_much: false } => {}
                SendResult::Sent { is_much: true } => effects.push(ReplicationEffect::CheckOutput(slot)),
                SendResult::Behind => {
                    slow_replicas.add(id, account);
                    fallen_behind.push(slot);
                }
                SendResult::NoMemory => {
                    effects.push(cut_for_lack_of_memory(slot));
                    continue;
                }
            }
            // The connection of a slow replica asks for more once it has sent everything.
            sessions.wake(slot);
        }
        fallen_behind
    }

    /// Keeps a part of the stream once for all slow replicas. Cuts those with too much unread output.
    fn keep_for_those_behind(
        &mut self,
        bytes: &[u8],
        sessions: &mut Sessions,
        account: &BufferBytes,
        effects: &mut Vec<ReplicationEffect>,
    ) {
        let slow_replicas = &mut self.slow_replicas;
        let kept = allocation::contain(|| slow_replicas.append(bytes, account));
        if kept == Ok(false) {
            return;
        }
        for id in slow_replicas.sessions() {
            match (sessions.find(id), &kept) {
                (Some(slot), Ok(_)) => {
                    effects.push(ReplicationEffect::CheckOutput(slot));
                    sessions.wake(slot);
                }
                (Some(slot), Err(_)) => effects.push(cut_for_lack_of_memory(slot)),
                // No part of the stream is kept for a forgotten session.
                (None, _) => slow_replicas.remove(id),
            }
        }
    }

    /// Asks replicas for their offsets, unless they have been asked since the stream last grew.
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

    /// Appends a PING to the stream if one is due, so that connections stay alive. Servers that share a process need
    /// none. `now_ms` is in real monotonic milliseconds.
    pub(crate) fn ping_replicas(
        &mut self,
        (now_ms, period_s): (i64, i64),
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        // During a failover, a PING would put a replica that has the whole stream behind again.
        if self.fails_over()
            || self.replicas.values().all(|replica| replica.heard.is_in_process())
            || now_ms - self.pinged_ms < period_s.saturating_mul(1000)
        {
            return Vec::new();
        }
        self.pinged_ms = now_ms;
        self.send(PING, sessions, account)
    }

    /// Sends a slow replica the part that it lacks, after all its earlier output. A replica that is being disconnected
    /// gets nothing, since it has lost some of that output. A replica that waits for its snapshot gets that first.
    /// Returns false if there is no memory: the replica must be disconnected.
    pub(crate) fn feed_lacked(&mut self, session: &mut Session, account: &BufferBytes) -> bool {
        let is_behind = self.slow_replicas.has(session.id);
        if !is_behind || session.closing == Some(Closing::Now) || self.awaits_snapshot(session.id) {
            return true;
        }
        let lacked = self.slow_replicas.take(session.id, account);
        let delivery = &mut session.delivery;
        let pushed = allocation::contain(|| lacked.iter().for_each(|block| delivery.push_shared(block)));
        if pushed.is_err() {
            log_lack_of_memory();
        }
        pushed.is_ok()
    }

    /// Returns the bytes that a client has not been sent, including those of the stream if it is a replica. O(log n).
    pub(crate) fn unsent(&self, session: &Session) -> usize {
        session.delivery.pending() + self.slow_replicas.unsent(session.id)
    }

    /// Returns the bytes and the blocks of the stream that are kept for a slow replica. O(log n).
    pub(crate) fn lacked(&self, session: u64) -> (usize, usize) {
        (self.slow_replicas.unsent(session), self.slow_replicas.unsent_blocks(session))
    }

    /// Drops the kept part of the stream for a replica that is being disconnected.
    pub(crate) fn forget_lacked(&mut self, session: u64) {
        self.slow_replicas.remove(session);
    }

    /// Checks the replicas. Silent ones and those that do not read are cut. The output of other slow replicas is
    /// checked against its limits, since the stream may not grow.
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
            let unsent = session.delivery.pending() + self.slow_replicas.unsent(id);
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
        let slow = self.slow_replicas.sessions().into_iter().filter_map(|id| sessions.find(id));
        effects.extend(slow.map(ReplicationEffect::CheckOutput));
        effects
    }
}

/// Sends a part of the stream to a replica that has kept up, unless its unread output would become too large.
fn feed(replica: &mut Replica, session: &mut Session, bytes: &[u8]) -> SendResult {
    if session.closing == Some(Closing::Now) {
        return SendResult::Closing;
    }
    let pending = session.delivery.pending();
    if pending + bytes.len() > MAX_UNREAD_BYTES {
        return SendResult::Behind;
    }
    if allocation::contain(|| session.delivery.push_bytes(bytes)).is_err() {
        return SendResult::NoMemory;
    }
    replica.checked = replica.checked.min(pending);
    let is_much =
        pending + bytes.len() - replica.checked >= CHECKED_BYTES || session.over_soft_since.is_some();
    if is_much {
        replica.checked = pending + bytes.len();
    }
    SendResult::Sent { is_much }
}

/// Returns the effect on a replica for which a part of the stream found no memory.
pub(super) fn cut_for_lack_of_memory(slot: Slot) -> ReplicationEffect {
    log_lack_of_memory();
    ReplicationEffect::Cut(slot)
}

fn log_lack_of_memory() {
    tracing::warn!("Out of memory for the output of a replica: the replica is disconnected");
}

#[cfg(test)]
mod tests;
