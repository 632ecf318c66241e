//! The replica's side: the link to the master, the snapshot, the stream.

use super::super::engine::Engine;
use super::super::outbound::OutboundEvent;
use crate::clients::{Closing, Peer, Slot};
use crate::finally::finally;
use crate::locks::{HistoryCause, sessions};
use crate::member::{Promotion, TopologyMember, TopologyRequest};
use crate::outbound::{OutboundId, Purpose};
use crate::replication::{
    LastHeard, LinkClocks, LinkStep, ReplicaLink, ReplicationId, is_streamed, to_be_run,
};
use crate::spec::{Args, CommandError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The target of the events that say, by a field, whether the server is a replica from now on: they are no lines of a
/// log.
pub const ROLE_CHANGES: &str = "lockwheel::role";

/// Who waited as a client of a master is not served by a replica.
const UNBLOCKED: &str =
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";

impl Engine {
    /// Becomes the replica that the configuration says, if any.
    pub(in crate::core) fn begin_replication(&mut self) {
        if let Some((host, port)) = self.config.replication.master_address() {
            self.follow(host, port, false);
        }
        self.replication_rules_changed();
    }

    /// Becomes the replica of a master, and is that again after [`Engine::reset`].
    pub fn begin_as_replica_of(&mut self, host: &str, port: u16) {
        self.follow(host.to_owned(), port, false);
        self.start.config.replication.master.clone_from(&self.config.replication.master);
        self.commit();
    }

    /// Returns the host and the port of the master that it begins as a replica of. `None`: it begins as a master, or
    /// as a node of a cluster.
    pub(crate) fn first_master(&self) -> Option<(String, u16)> {
        self.start.config.replication.master_address()
    }

    /// Returns to the role that it began with, since another server of the process has begun anew. A failover of its
    /// own ends. Its data stay until a master sends others. Nodes of a cluster have
    /// [`Engine::return_to_first_view`] for that.
    pub(crate) fn return_to_first_role(&mut self) {
        self.end_failover();
        if self.is_node() || self.config.replication.master == self.start.config.replication.master {
            return;
        }
        match self.first_master() {
            Some((host, port)) => self.follow_master(host, port),
            None => self.unfollow_master(),
        }
        self.commit();
    }

    /// Becomes the replica of a master, or of another one than before.
    pub(crate) fn follow_master(&mut self, host: String, port: u16) {
        let knows_history = self.replication().knows_its_history();
        if self.following.is_none() {
            tracing::info!(
                "Before turning into a replica, using my own master parameters to synthesize a cached master: I may \
                 be able to synchronize with the new master with just a partial transfer."
            );
        }
        self.follow(host, port, knows_history);
    }

    /// Begins to follow a master. `knows_history`: its data are of a history that a master may go on from; those of a
    /// server that begins are not.
    pub(in crate::core) fn follow(&mut self, host: String, port: u16, knows_history: bool) {
        self.replicate();
        log_role(&self.member, true);
        let slot = self.end_link().unwrap_or_else(|| self.new_stream_session(&host, port));
        self.sessions.get_mut(slot).peer = Peer { addr: format!("{host}:{port}"), ..Peer::default() };
        self.config.replication.master = vec![host.clone(), port.to_string()];
        let heard =
            LastHeard::first(self.member.place_of(&host, port).is_some(), LinkClocks::of(&self.clock));
        self.following = Some(ReplicaLink::new((host, port), knows_history, slot, heard));
        self.unblock_for_replica();
        // A replica neither renews what its clients lease nor gives it back. That is the new master's, until its time
        // is over.
        self.sessions.take_leaving();
        sessions::drop_all(&mut self.keyspace, self.clock.now());
        self.replication.begin_stream(self.config.replication.backlog_bytes());
        self.replication.write_for(self.replication.has_older());
        self.stream_changed();
        self.replication_rules_changed();
        self.connect_to_master();
        self.set_replication_timer();
    }

    /// Is nobody's replica any more. Its replicas come back, and go on where they are.
    pub(crate) fn unfollow_master(&mut self) {
        let was_connected = self.following.as_ref().is_some_and(ReplicaLink::is_connected);
        let has_cached = self.following.as_ref().is_some_and(ReplicaLink::could_go_on);
        let Some(slot) = self.end_link() else { return };
        if was_connected {
            tracing::info!("Connection with master lost.");
            tracing::info!("Caching the disconnected master state.");
        }
        if has_cached {
            tracing::info!("Discarding previously cached master state.");
        }
        if let Some(link) = self.following.take() {
            let (host, port) = (link.host().to_owned(), link.port());
            let (id, offset) = (self.replication.id(), self.replication.offset());
            self.member.ask(TopologyRequest::Promoted(Promotion { host, port, id, offset }));
        }
        log_role(&self.member, false);
        self.disconnect(slot);
        self.config.replication.master.clear();
        self.replication.begin_as_master(self.keyspace.rng());
        self.cut_replicas();
        self.replication.write_as_master(LinkClocks::of(&self.clock).alone_ms(self.member.is_joined()));
        self.stream_changed();
        self.replication_rules_changed();
    }

    /// Everything begins anew: there is no master and no replica.
    pub(in crate::core) fn end_replication(&mut self) {
        if let Some(slot) = self.end_link() {
            self.following = None;
            log_role(&self.member, false);
            self.replication.resume_in(self.sessions.get(slot).db);
            self.disconnect(slot);
        }
        self.cut_replicas();
        self.replication_timer.cancel(self.clock.timers_mut());
    }

    /// The history of the data is another one, and nobody follows it yet.
    pub(in crate::core) fn replication_begins_anew(&mut self) {
        self.stream_changed();
        self.replication_rules_changed();
    }

    /// Connects to the master anew, if the link is down: it may be there again. Whether it was down.
    pub(crate) fn retry_master(&mut self) -> bool {
        let is_down = self.following.as_ref().is_some_and(|link| link.state().is_none());
        if is_down {
            self.connect_to_master();
        }
        is_down
    }

    /// Whether the master sends what a replica of this one cannot read that may be as old as Redis 7.0. Then it is
    /// followed anew, as one by whom such ones are served, and the replica comes back when that is so.
    pub(crate) fn master_is_too_new_for(&mut self, reads_newer_forms: bool) -> bool {
        let is_newer = self.following.as_ref().is_some_and(ReplicaLink::has_newer_forms);
        let is_too_new = !reads_newer_forms && is_newer;
        if is_too_new {
            self.replication.write_for(true);
            self.link_down(
                "a replica has come that may be as old as Redis 7.0: the master is to write for it",
            );
            self.connect_to_master();
        }
        is_too_new
    }

    /// A session that runs what the master sends.
    fn new_stream_session(&mut self, host: &str, port: u16) -> Slot {
        let slot = self.connect(Peer { addr: format!("{host}:{port}"), ..Peer::default() });
        self.trust(slot);
        let session = self.sessions.get_mut(slot);
        session.is_master = true;
        // A master that goes on with its stream does not say again which database that is in.
        session.db = self.replication.take_database();
        session.delivery.mode.turn_off();
        self.watch_idle(slot);
        slot
    }

    /// Whoever waits to change keys waits no longer, by a ticket neither: that ends, and its client stays.
    fn unblock_for_replica(&mut self) {
        let error = CommandError::text(UNBLOCKED);
        for ticket in self.keyspace.waiters.tickets.all() {
            self.cancel_ticket(ticket, &error, HistoryCause::Unblocked);
        }
        for id in self.waiting_clients() {
            self.cancel_wait(id, &error);
            if let Some(slot) = self.sessions.find(id) {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
            }
        }
    }

    /// Ends the link to the master, if there is one; the session of the stream stays.
    fn end_link(&mut self) -> Option<Slot> {
        let following = self.following.as_mut()?;
        let slot = following.slot();
        if let Some(id) = following.end() {
            self.outbound.close(id);
        }
        self.sessions.get_mut(slot).multi = None;
        Some(slot)
    }

    /// Begins to connect to the master.
    pub(super) fn connect_to_master(&mut self) {
        let Some(following) = &self.following else { return };
        let (endpoint, parameters) = following.introduction(&self.replication, &self.config);
        let id = self.connect_to(endpoint, Purpose::Master);
        let now = LinkClocks::of(&self.clock);
        if let Some(following) = &mut self.following {
            following.connect(id, parameters, now);
        }
    }

    /// What comes from the master.
    pub(in crate::core) fn master_link(&mut self, id: OutboundId, event: OutboundEvent<'_>) {
        let now = LinkClocks::of(&self.clock);
        let Some(following) = self.following.as_mut() else { return };
        if !following.hear(id, now) {
            return;
        }
        let slot = following.slot();
        if let OutboundEvent::Closed { reason } = event {
            let why = following.reason_of_end(reason);
            return self.link_down(&why);
        }
        if catch_unwind(AssertUnwindSafe(|| self.follow_link(event))).is_err() {
            self.miss_change();
            self.recover(slot);
        }
        self.flush_link();
        self.commit();
    }

    /// Goes on with what has come.
    fn follow_link(&mut self, event: OutboundEvent<'_>) {
        match (self.following.as_mut(), event) {
            (Some(following), OutboundEvent::Opened) => following.opened(),
            (Some(following), OutboundEvent::Received(bytes)) => following.received(bytes),
            _ => {}
        }
        while let Some(step) = self.following.as_mut().and_then(ReplicaLink::next_step) {
            match step {
                LinkStep::TakenOn => self.end_failover(),
                LinkStep::GoOn(id) => self.go_on_with_stream(id),
                LinkStep::Load { file, id, offset } => self.take_snapshot(&file, (id, offset)),
                LinkStep::Run(words) => self.run_streamed(&words),
                LinkStep::Down(why) => return self.link_down(&why),
            }
        }
    }

    /// Sends the master what is to be sent.
    pub(super) fn flush_link(&mut self) {
        let offset = self.replication.offset();
        if let Some((id, output)) =
            self.following.as_mut().and_then(|following| following.take_output(offset))
        {
            self.outbound.send(id, &output);
        }
    }

    /// The link is of no use any more; the next one begins soon.
    pub(in crate::core) fn link_down(&mut self, why: &str) {
        let now = LinkClocks::of(&self.clock);
        let Some(following) = self.following.as_mut() else { return };
        if !why.is_empty() {
            tracing::warn!("{why}");
        }
        if following.asked_in_vain() && self.replication.fails_over() {
            let why = "Failover target rejected psync request";
            let effect = self.replication.abort_failover(why, self.clock.timers_mut());
            return self.follow_failover(effect);
        }
        following.go_down(now);
        self.end_link();
        self.set_replication_timer();
    }

    /// The stream goes on where it was left, perhaps under another name.
    fn go_on_with_stream(&mut self, id: Option<ReplicationId>) {
        tracing::info!("Successful partial resynchronization with master.");
        if let Some(id) = id.filter(|id| *id != self.replication.id()) {
            tracing::info!("Master replication ID changed to {id}");
            self.replication.rename(id);
            self.cut_replicas();
        }
        tracing::info!("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.");
        self.link_up();
    }

    fn link_up(&mut self) {
        self.end_failover();
        self.following.iter_mut().for_each(ReplicaLink::come_up);
    }

    /// The snapshot is complete: all of it becomes the data, or nothing of it.
    fn take_snapshot(&mut self, file: &[u8], (id, offset): (ReplicationId, i64)) {
        let Some(slot) = self.following.as_ref().map(ReplicaLink::slot) else { return };
        tracing::info!("MASTER <-> REPLICA sync: Flushing old data");
        tracing::info!("MASTER <-> REPLICA sync: Loading DB in memory");
        let selected = match self.as_another_did(|engine| engine.replace_data(file)) {
            Ok(selected) => selected,
            Err(why) => {
                let why = format!("Failed trying to load the MASTER synchronization DB from disk: {why}");
                return self.link_down(&why);
            }
        };
        let databases = self.keyspace.databases();
        self.sessions.get_mut(slot).db = selected.filter(|db| *db < databases).unwrap_or(0);
        self.cut_replicas();
        self.following.iter_mut().for_each(ReplicaLink::loaded);
        self.replication.begin_history(id, offset);
        self.replication.begin_stream(self.config.replication.backlog_bytes());
        tracing::info!("MASTER <-> REPLICA sync: Finished with success");
        self.link_up();
    }

    /// Runs a request of the master. What is over is for the master to say.
    fn run_as_master(&mut self, slot: Slot, argv: &[&[u8]]) {
        let hidden = self.keyspace.set_expiry_backlog(None);
        finally(
            self,
            |engine| engine.as_another_did(|engine| engine.execute_request(slot, argv)),
            |engine| _ = engine.keyspace.set_expiry_backlog(hidden),
        );
        if self.following.as_ref().is_some_and(ReplicaLink::lacks_change) {
            self.miss_change();
        }
    }

    /// A session's command is answered with this error: the session may be that of the master's stream.
    #[cold]
    pub(in crate::core) fn note_missed_change(&mut self, slot: Slot, error: &[u8]) {
        self.following.iter_mut().for_each(|following| following.note_error(slot, error));
    }

    /// A request of the stream has not been run, or not to its end, since there is no memory for it. Only a snapshot
    /// makes up for that.
    #[cold]
    fn miss_change(&mut self) {
        self.following.iter_mut().for_each(ReplicaLink::miss_change);
        self.link_down("There is no memory for a change of the master: synchronizing anew");
    }

    /// Runs a request of the stream, if it has words, and passes it on as it came.
    fn run_streamed(&mut self, words: &[Vec<u8>]) {
        let Some(slot) = self.following.as_ref().map(ReplicaLink::slot) else { return };
        if let Some(name) = words.first() {
            let argv = to_be_run(words);
            if is_streamed(&self.commands, Args::new(&argv)) {
                self.run_as_master(slot, &argv);
            } else {
                tracing::warn!("The master has sent what is no change: {}", name.escape_ascii());
            }
        }
        if self.sessions.get(slot).multi.is_some() {
            return;
        }
        let applied = self.following.as_mut().and_then(ReplicaLink::take_applied);
        let Some((applied, has_newer_forms)) = applied else { return };
        let applied = (&*applied, has_newer_forms);
        let effects = self.replication.send_changes(applied, &mut self.sessions, &self.memory.stream);
        self.follow_feeding(effects);
    }
}

/// The log says of each line what the process is, if that is one server.
fn log_role(member: &TopologyMember, is_replica: bool) {
    if !member.is_joined() {
        tracing::info!(target: ROLE_CHANGES, is_replica);
    }
}
