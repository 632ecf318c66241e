//! The role of the server in replication: it becomes a replica, or a master again.

use super::super::engine::Engine;
use crate::clients::{Closing, Peer, Slot};
use crate::locks::{HistoryCause, sessions};
use crate::spec::CommandError;
use crate::waits::TicketEnd;

/// The error for requests that waited on a master, now a replica.
const UNBLOCKED: &str =
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";

impl Engine {
    /// Becomes a replica if the configuration says so.
    pub(in crate::core) fn begin_replication(&mut self) {
        if let Some((host, port)) = self.config.replication.master_address() {
            self.follow(host, port, false);
        }
        self.change_replication(|control| control.rules_changed());
    }

    /// Becomes the replica of a master, also after each [`Engine::reset`].
    pub fn begin_as_replica_of(&mut self, host: &str, port: u16) {
        self.follow(host.to_owned(), port, false);
        self.start.config.replication.master.clone_from(&self.config.replication.master);
        self.commit();
    }

    /// Returns the host and port of the initial master; `None` if the server begins as a master or a cluster node.
    pub(crate) fn first_master(&self) -> Option<(String, u16)> {
        self.start.config.replication.master_address()
    }

    /// Returns to the initial role, since another server of the process was reset. A failover ends; data stay until a
    /// master sends others. Cluster nodes use [`Engine::return_to_first_view`].
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

    /// Becomes the replica of a master, possibly of a new one.
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

    /// Begins to follow a master. `knows_history`: a master may continue the data, unlike at the start of a server.
    pub(in crate::core) fn follow(&mut self, host: String, port: u16, knows_history: bool) {
        self.replicate();
        let slot = self.change_replication(|control| control.begin_to_follow());
        let slot = slot.unwrap_or_else(|| self.new_stream_session(&host, port));
        let in_process = self.member.place_of(&host, port).is_some();
        self.change_replication(|control| {
            control.set_master((host, port), knows_history, slot, in_process);
        });
        self.unblock_for_replica();
        // A replica neither renews nor releases its clients' leases. The new master owns them.
        self.sessions.take_leaving();
        sessions::drop_all(&mut self.keyspace, self.clock.now());
        self.change_replication(|control| control.begin_as_replica());
    }

    /// Stops being a replica. The server's own replicas reconnect and continue where they are.
    pub(crate) fn unfollow_master(&mut self) {
        if let Some(slot) = self.change_replication(|control| control.leave_master()) {
            self.disconnect(slot);
            self.change_replication(|control| control.begin_as_master());
        }
    }

    /// Ends replication for a reset: no master and no replica is left.
    pub(in crate::core) fn end_replication(&mut self) {
        if let Some(slot) = self.change_replication(|control| control.forget_master()) {
            self.disconnect(slot);
        }
        self.change_replication(|control| control.end());
    }

    /// Creates a session that runs the master's requests.
    fn new_stream_session(&mut self, host: &str, port: u16) -> Slot {
        let slot = self.connect(Peer { addr: format!("{host}:{port}"), ..Peer::default() });
        self.sessions.trust(slot);
        let session = self.sessions.get_mut(slot);
        session.is_master = true;
        // A master that continues its stream does not select the database again.
        session.db = self.replication.take_database();
        session.delivery.mode.turn_off();
        self.watch_idle(slot);
        slot
    }

    /// Ends all waits for keys: a client gets an error and is closed; one with a ticket stays.
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
