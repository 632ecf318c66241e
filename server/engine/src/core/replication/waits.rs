//! Waits for replicas, and their retries.

use super::super::call::{Call, Origin};
use super::super::engine::Engine;
use crate::replication::ReplicaWait;
use crate::spec::{Flow, Null, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// Answers a client that waits for replicas at once, or blocks it and asks the replicas for their offsets.
    pub(in crate::core) fn await_replicas(
        &mut self,
        call: Call<'_>,
        (wait, timeout_ms): (ReplicaWait, Option<u64>),
        reply: &mut dyn Reply,
    ) -> Flow<Retry> {
        if wait.try_answer(&self.replication, reply) {
            return Flow::Done;
        }
        if call.origin() != Origin::Client {
            wait.answer((wait.is_local(&self.replication), wait.reached(&self.replication)), reply);
            return Flow::Done;
        }
        self.change_replication(|control| control.ask_replicas());
        if wait.local
            && let Some(log) = self.environment.host.as_deref().and_then(|host| host.append_log())
        {
            log.announce_syncs(wait.file_bytes);
        }
        let null = if wait.on_disk { Null::TwoZeros } else { Null::Zero };
        Wait::new(Retry::Always(Box::new(wait)), timeout_ms, null).into()
    }
}
