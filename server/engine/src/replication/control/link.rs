//! The replica's side of replication: the link to the master begins and ends, and the data come from the master.

use super::super::effect::ReplicationEffect;
use super::super::last_heard::LastHeard;
use super::super::replica_link::ReplicaLink;
use super::super::replid::ReplicationId;
use super::ReplicationControl;
use crate::clients::{Peer, Slot};
use crate::outbound::{OutboundId, Purpose};

impl ReplicationControl<'_> {
    /// Begins to follow a master, and ends an earlier link. Returns the session of its stream, which is reused.
    pub(crate) fn begin_to_follow(&mut self) -> Option<Slot> {
        self.log_role(true);
        self.end_link()
    }

    /// Makes the server at an address the master. `knows_history`: the data belong to a history that a master may
    /// continue. `slot`: the session of its requests. `in_process`: it is a server of this process.
    pub(crate) fn set_master(
        &mut self,
        (host, port): (String, u16),
        knows_history: bool,
        slot: Slot,
        in_process: bool,
    ) {
        self.sessions.get_mut(slot).peer = Peer { addr: format!("{host}:{port}"), ..Peer::default() };
        self.config.replication.master = vec![host.clone(), port.to_string()];
        let heard = LastHeard::first(in_process, self.now());
        *self.link = Some(ReplicaLink::new((host, port), knows_history, slot, heard));
    }

    /// Begins to replicate from the master that was set. From now on the stream is the master's.
    pub(crate) fn begin_as_replica(&mut self) {
        self.history.begin_stream(self.config.replication.backlog_bytes());
        self.history.write_for(self.history.has_older());
        self.stream_changed();
        self.rules_changed();
        self.connect_to_master();
        self.set_timer();
    }

    /// Ends the link to the master and keeps the data. Returns the session of the stream, if it was a replica.
    pub(crate) fn leave_master(&mut self) -> Option<Slot> {
        let was_connected = self.link.as_ref().is_some_and(ReplicaLink::is_connected);
        let has_cached = self.link.as_ref().is_some_and(ReplicaLink::could_go_on);
        let slot = self.end_link()?;
        if was_connected {
            tracing::info!("Connection with master lost.");
            tracing::info!("Caching the disconnected master state.");
        }
        if has_cached {
            tracing::info!("Discarding previously cached master state.");
        }
        if let Some(link) = self.link.take() {
            let (host, port) = (link.host().to_owned(), link.port());
            let (id, offset) = (self.history.id(), self.history.offset());
            self.effects.push(ReplicationEffect::Promoted { host, port, id, offset });
        }
        self.log_role(false);
        Some(slot)
    }

    /// Becomes a master, after the session of the stream has gone. The replicas reconnect and continue.
    pub(crate) fn begin_as_master(&mut self) {
        self.config.replication.master.clear();
        self.history.begin_as_master(self.keyspace.rng());
        self.cut_replicas();
        let alone_ms = self.alone_ms();
        self.history.write_as_master(alone_ms);
        self.stream_changed();
        self.rules_changed();
    }

    /// Forgets the master for a reset. Returns the session of its stream, which must be closed.
    pub(crate) fn forget_master(&mut self) -> Option<Slot> {
        let slot = self.end_link()?;
        *self.link = None;
        self.log_role(false);
        self.history.resume_in(self.sessions.get(slot).db);
        Some(slot)
    }

    /// Cuts all replicas and stops the periodic checks, for a reset.
    pub(crate) fn end(&mut self) {
        self.cut_replicas();
        self.timer.cancel(self.clock.timers_mut());
    }

    /// Ends the link to the master, if there is one. The session of the stream stays.
    fn end_link(&mut self) -> Option<Slot> {
        let link = self.link.as_mut()?;
        let slot = link.slot();
        if let Some(id) = link.end() {
            self.outbound.close(id);
        }
        if self.sessions.get_mut(slot).multi.take().is_some() {
            self.effects.push(ReplicationEffect::TransactionCut);
        }
        Some(slot)
    }

    fn connect_to_master(&mut self) {
        if self.is_loading {
            return;
        }
        let now = self.now();
        let Some(link) = self.link.as_mut() else { return };
        let (endpoint, parameters) = link.introduction(self.history, self.config);
        let id = self.outbound.connect(endpoint, Purpose::Master);
        link.connect(id, parameters, now);
    }

    /// Reconnects to the master, which may be reachable again, if the link is down. Returns whether it was.
    pub(crate) fn retry_master(&mut self) -> bool {
        let is_down = self.link.as_ref().is_some_and(|link| link.state().is_none());
        if is_down {
            self.connect_to_master();
        }
        is_down
    }

    /// Whether the master sends forms that a replica of this server, perhaps as old as Redis 7.0, cannot read. If so,
    /// reconnects and asks for older forms; the replica comes back then.
    pub(crate) fn master_is_too_new_for(&mut self, reads_newer_forms: bool) -> bool {
        let is_newer = self.link.as_ref().is_some_and(ReplicaLink::has_newer_forms);
        let is_too_new = !reads_newer_forms && is_newer;
        if is_too_new {
            self.history.write_for(true);
            self.link_down(
                "a replica has come that may be as old as Redis 7.0: the master is to write for it",
            );
            self.connect_to_master();
        }
        is_too_new
    }

    /// Gives up a silent link to the master, connects if there is no link, or acknowledges the offset of this replica.
    pub(super) fn look_at_master(&mut self) {
        let (now, timeout_ms) = (self.now(), self.config.replication.timeout.saturating_mul(1000));
        let Some(link) = self.link.as_mut() else { return };
        if link.state().is_none() {
            return self.connect_to_master();
        }
        if let Some(why) = link.timed_out(now, timeout_ms) {
            return self.link_down(why);
        }
        link.report();
        self.flush_link();
    }

    /// Records that bytes have arrived. Returns the session of the master's stream if they are the master's.
    pub(crate) fn hear(&mut self, id: OutboundId) -> Option<Slot> {
        let now = self.now();
        let link = self.link.as_mut()?;
        link.hear(id, now).then_some(link.slot())
    }

    /// Records that the network to the master, if this connection is to it, is cut or works again.
    pub(crate) fn set_master_cut(&mut self, id: OutboundId, is_cut: bool) {
        let now = self.now();
        self.link.iter_mut().for_each(|link| link.set_cut(id, is_cut, now));
    }

    /// Sends pending output to the master.
    pub(crate) fn flush_link(&mut self) {
        let offset = self.history.offset();
        let synced = self.history.synced_offset(self.synced);
        if let Some((id, output)) = self.link.as_mut().and_then(|link| link.take_output(offset, synced)) {
            self.outbound.send(id, &output);
        }
    }

    /// Gives up the link, whose connection has ended. `reason` is the system's.
    pub(crate) fn link_closed(&mut self, reason: &str) {
        let why = self.link.as_ref().map(|link| link.reason_of_end(reason));
        why.into_iter().for_each(|why| self.link_down(&why));
    }

    /// Gives up the link; the next one begins soon. If a failover's successor has refused it, aborts the failover.
    pub(crate) fn link_down(&mut self, why: &str) {
        let now = self.now();
        let Some(link) = self.link.as_mut() else { return };
        if !why.is_empty() {
            tracing::warn!("{why}");
        }
        if link.asked_in_vain() && self.history.fails_over() {
            return self.abort_failover("Failover target rejected psync request");
        }
        link.go_down(now);
        self.end_link();
        self.set_timer();
    }

    /// Renames the history as the master has named it. If the name is new, the replicas reconnect and learn it.
    pub(crate) fn rename_history(&mut self, id: Option<ReplicationId>) {
        tracing::info!("Successful partial resynchronization with master.");
        if let Some(id) = id.filter(|id| *id != self.history.id()) {
            tracing::info!("Master replication ID changed to {id}");
            self.history.rename(id);
            self.cut_replicas();
        }
    }

    pub(crate) fn go_on_with_stream(&mut self) {
        tracing::info!("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.");
        self.come_up();
    }

    /// Handles a loaded snapshot of the master, which belongs to this history and ends at this offset. `selected`: the
    /// database in which the stream continues.
    pub(crate) fn loaded(&mut self, selected: Option<usize>, (id, offset): (ReplicationId, i64)) {
        let Some(link) = self.link.as_mut() else { return };
        let databases = self.keyspace.databases();
        self.sessions.get_mut(link.slot()).db = selected.filter(|db| *db < databases).unwrap_or(0);
        link.loaded();
        self.history.begin_history(id, offset);
        self.history.begin_stream(self.config.replication.backlog_bytes());
        tracing::info!("MASTER <-> REPLICA sync: Finished with success");
        self.come_up();
    }

    /// Marks the link as up: the data are the master's. A failover to the master has ended.
    fn come_up(&mut self) {
        self.end_failover();
        self.link.iter_mut().for_each(ReplicaLink::come_up);
    }

    /// Records that a request of the stream was not run completely: only a snapshot can repair that.
    #[cold]
    pub(crate) fn miss_change(&mut self) {
        self.link.iter_mut().for_each(ReplicaLink::miss_change);
        self.link_down("There is no memory for a change of the master: synchronizing anew");
    }

    /// Passes the executed requests of the stream on to the replicas, unless a transaction is open.
    pub(crate) fn pass_on_stream(&mut self) {
        let Some(link) = self.link.as_mut() else { return };
        if self.sessions.get(link.slot()).multi.is_some() {
            return;
        }
        let Some((applied, has_newer_forms)) = link.take_applied() else { return };
        let effects =
            self.history.send_changes((&applied, has_newer_forms), self.sessions, self.stream_bytes);
        self.effects.extend(effects);
    }
}
