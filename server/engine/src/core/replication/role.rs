//! The part that the server has in replication: it becomes a replica, or a master again.

use super::super::engine::Engine;
use crate::clients::{Closing, Peer, Slot};
use crate::locks::{HistoryCause, sessions};
use crate::spec::CommandError;
use crate::waits::TicketEnd;

/// The error of requests that waited at a master, which serves them no more as a replica.
const UNBLOCKED: &str =
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";

impl Engine {
    /// Becomes the replica that the configuration says, if any.
    pub(in crate::core) fn begin_replication(&mut self) {
        if let Some((host, port)) = self.config.replication.master_address() {
            self.follow(host, port, false);
        }
        self.change_replication(|control| control.rules_changed());
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
        self.change_replication(|control| control.end_failover());
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
        let slot = self.change_replication(|control| control.begin_to_follow());
        let slot = slot.unwrap_or_else(|| self.new_stream_session(&host, port));
        let in_process = self.member.place_of(&host, port).is_some();
        self.change_replication(|control| {
            control.set_master((host, port), knows_history, slot, in_process);
        });
        self.unblock_for_replica();
        // A replica neither renews what its clients lease nor gives it back. That is the new master's, until its time
        // is over.
        self.sessions.take_leaving();
        sessions::drop_all(&mut self.keyspace, self.clock.now());
        self.change_replication(|control| control.begin_as_replica());
    }

    /// Is nobody's replica any more. Its replicas come back, and go on where they are.
    pub(crate) fn unfollow_master(&mut self) {
        if let Some(slot) = self.change_replication(|control| control.leave_master()) {
            self.disconnect(slot);
            self.change_replication(|control| control.begin_as_master());
        }
    }

    /// Everything begins anew: there is no master and no replica.
    pub(in crate::core) fn end_replication(&mut self) {
        if let Some(slot) = self.change_replication(|control| control.forget_master()) {
            self.disconnect(slot);
        }
        self.change_replication(|control| control.end());
    }

    /// A session that runs what the master sends.
    fn new_stream_session(&mut self, host: &str, port: u16) -> Slot {
        let slot = self.connect(Peer { addr: format!("{host}:{port}"), ..Peer::default() });
        self.sessions.trust(slot);
        let session = self.sessions.get_mut(slot);
        session.is_master = true;
        // A master that goes on with its stream does not say again which database that is in.
        session.db = self.replication.take_database();
        session.delivery.mode.turn_off();
        self.watch_idle(slot);
        slot
    }

    /// Ends all waits for keys. A client that waits is closed after its error; that of a ticket stays.
    fn unblock_for_replica(&mut self) {
        let error = CommandError::text(UNBLOCKED);
        for ticket in self.keyspace.waiters.tickets.all() {
            self.end_ticket(ticket, TicketEnd::Cancelled(&error, HistoryCause::Unblocked));
        }
        for id in self.waits.blocked_clients() {
            self.cancel_wait(id, &error, HistoryCause::Unblocked);
            if let Some(slot) = self.sessions.find(id) {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
            }
        }
    }
}
