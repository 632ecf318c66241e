//! The execution of clients' replication requests.

use super::super::call::Call;
use super::super::engine::Engine;
use crate::clients::Slot;
use crate::persistence::Content;
use crate::replication::{NO_MASTER_LINK, ReplicationRequest, SyncPlan, SyncRequest};
use crate::spec::{Args, CommandError, Outcome};
use crate::waits::TicketEnd;
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::FlushedKeys;

impl Engine {
    /// Executes a replication request. Fails if a client cannot become a replica now.
    pub(in crate::core) fn run_replication_request(
        &mut self,
        request: ReplicationRequest<'_>,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        match request {
            ReplicationRequest::Nothing => return Ok(()),
            ReplicationRequest::Sync(sync) => return self.run_sync(sync, call, args),
            ReplicationRequest::Copy { tells_offset } => return self.copy_data(call.slot, tells_offset),
            ReplicationRequest::Follow { host, port } => {
                let client = self.client_list().asking(call.slot, args);
                let place = format!("{host}:{port}");
                self.follow_master(host, port);
                tracing::info!("REPLICAOF {place} enabled (user request from '{client}')");
            }
            ReplicationRequest::Unfollow if self.following.is_some() => {
                self.unfollow_master();
                let client = self.client_list().asking(call.slot, args);
                tracing::info!("MASTER MODE enabled (user request from '{client}')");
            }
            ReplicationRequest::Unfollow => {}
            ReplicationRequest::Failover(failover) => {
                self.replicate();
                self.change_replication(|control| control.begin_failover(failover));
                self.change_replication(|control| control.check_successor_or_ask());
            }
            ReplicationRequest::AbortFailover => {
                self.change_replication(|control| control.abort_failover("Failover manually aborted"));
            }
        }
        reply.ok();
        Ok(())
    }

    /// Turns a client into a replica. A server whose master is that client takes over first.
    fn run_sync(&mut self, sync: SyncRequest<'_>, call: Call<'_>, args: Args<'_>) -> Outcome {
        if sync.takes_over {
            self.unfollow_master();
            let client = self.client_list().asking(call.slot, args);
            tracing::info!("MASTER MODE enabled (failover request from '{client}')");
        }
        // A client that uses SYNC only reads the stream and does not ask again.
        let reads_newer_forms = self.replication.reads_newer_forms(call.session);
        if sync.from.is_some()
            && self.change_replication(|control| control.master_is_too_new_for(reads_newer_forms))
        {
            return Err(CommandError::text(NO_MASTER_LINK));
        }
        self.attach_replica(call.slot, sync)
    }

    /// Turns a client into a replica, which gets the missing data and then the stream. O(a piece of the data); O(data)
    /// within this process. Returns `LOADING`, to be retried, if no more snapshots can be sent.
    fn attach_replica(&mut self, slot: Slot, sync: SyncRequest<'_>) -> Outcome {
        self.replicate();
        let (newcomer, plan) = self.change_replication(|control| control.plan_sync(slot, sync))?;
        let plan = match plan {
            // A server of this process gets its snapshot now, so that the order of events does not depend on real time.
            SyncPlan::NewSnapshot if newcomer.is_in_process() => {
                let for_7_0 = newcomer.is_for_7_0();
                let db = self.change_replication(|control| control.prepare_snapshot(for_7_0));
                let file = self.data_file().write_for_replica(for_7_0, db);
                let (place, snapshot) = self.replication.add_snapshot(file, for_7_0, &self.memory.stream);
                SyncPlan::Shared(place, snapshot)
            }
            plan => plan,
        };
        let is_new = matches!(plan, SyncPlan::NewSnapshot);
        let answer = self.change_replication(|control| control.take_on(newcomer, sync, plan));
        // From now on, only the stream is sent.
        self.end_tickets(self.sessions.get(slot).id, TicketEnd::GivenUp);
        let session = self.sessions.get_mut(slot);
        session.is_replica = true;
        session.delivery.mode.serve_replica();
        answer.push(&mut session.delivery);
        self.watch_idle(slot);
        self.change_replication(|control| control.follow_newcomer(answer.has_snapshot()));
        if is_new {
            if self.persistence.background.is_some() {
                tracing::info!(
                    "Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC"
                );
            }
            self.begin_replica_snapshot();
        }
        Ok(())
    }

    /// Begins the snapshot that replicas or other clients wait for, unless a snapshot, save or script is in progress; a
    /// later call tries again. O(a piece).
    pub(in crate::core) fn begin_replica_snapshot(&mut self) {
        if self.persistence.background.is_some() || self.scripts.is_running() {
            return;
        }
        self.replicate();
        let due = self.change_replication(|control| control.begin_due_snapshot());
        let Some((for_7_0, db)) = due else { return };
        let file = allocation::contain(|| self.data_file().begin_for_replica(for_7_0, db));
        let Ok(file) = file else { return self.change_replication(|control| control.end_snapshot(None)) };
        // A replica's stream comes from its master, without local flushes. No stream follows a copy.
        let needs_flushed = self.replication().is_replica() || self.replication.copies_pending();
        let flushed = if needs_flushed { FlushedKeys::Written } else { FlushedKeys::LeftOut };
        let process = self.environment.identity.process.id;
        self.change_saves(|control| control.begin_for_replicas(file, flushed, process));
    }

    /// Sends a client a copy of the data, or of a part, without a stream. All data are copied in pieces, as for
    /// replicas. Returns `LOADING` if too many snapshots are being sent. O(a piece).
    fn copy_data(&mut self, slot: Slot, tells_offset: bool) -> Outcome {
        let content = self.sessions.get(slot).replica.content;
        if content != Content::All {
            let file = self.data_file().write(content);
            self.replication.send_part(file, tells_offset, self.sessions.get_mut(slot));
            return Ok(());
        }
        self.change_replication(|control| control.await_copy(slot, tells_offset))?;
        self.begin_replica_snapshot();
        Ok(())
    }
}
