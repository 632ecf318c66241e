//! Requests of clients on replication, carried out.

use super::super::call::Call;
use super::super::engine::Engine;
use crate::replication::{NO_MASTER_LINK, ReplicationRequest, SyncRequest};
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Carries out a request on replication.
    ///
    /// # Errors
    /// Returns an error if a client cannot become a replica now.
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
            ReplicationRequest::Copy { tells_offset } => return self.send_copy(call.slot, tells_offset),
            ReplicationRequest::Follow { host, port } => {
                let client = self.asking_client(call.slot, args);
                let place = format!("{host}:{port}");
                self.follow_master(host, port);
                tracing::info!("REPLICAOF {place} enabled (user request from '{client}')");
            }
            ReplicationRequest::Unfollow if self.following.is_some() => {
                self.unfollow_master();
                let client = self.asking_client(call.slot, args);
                tracing::info!("MASTER MODE enabled (user request from '{client}')");
            }
            ReplicationRequest::Unfollow => {}
            ReplicationRequest::Failover(failover) => self.begin_failover(failover),
            ReplicationRequest::AbortFailover => {
                let why = "Failover manually aborted";
                let effect = self.replication.abort_failover(why, self.clock.timers_mut());
                self.follow_failover(effect);
            }
        }
        reply.ok();
        Ok(())
    }

    /// A client becomes a replica, after the server has taken its part over if it is the master.
    fn run_sync(&mut self, sync: SyncRequest<'_>, call: Call<'_>, args: Args<'_>) -> Outcome {
        if sync.takes_over {
            self.unfollow_master();
            let client = self.asking_client(call.slot, args);
            tracing::info!("MASTER MODE enabled (failover request from '{client}')");
        }
        // Who asks by SYNC looks at the stream, and does not ask again.
        let reads_newer_forms = self.replication.reads_newer_forms(call.session);
        if sync.from.is_some() && self.master_is_too_new_for(reads_newer_forms) {
            return Err(CommandError::text(NO_MASTER_LINK));
        }
        self.attach_replica(call.slot, sync)
    }

    /// Gives the history of the data another name, of which no replica knows.
    pub(crate) fn change_history_id(&mut self) {
        self.replication.change_id(self.keyspace.rng());
    }
}
