//! Waits for replicas, as the engine retries them.

use super::super::call::{Call, Origin};
use super::super::engine::{Engine, EngineAttempt, Retry};
use super::super::state_kinds::StateOf;
use crate::replication::ReplicaWait;
use crate::spec::{Answer, Flow, Null, Wait};
use lockwheel_resp::Reply;

impl EngineAttempt for ReplicaWait {
    fn watches(&self) -> StateOf {
        StateOf::Replicas
    }

    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        self.try_answer(&engine.replication, reply)
    }

    fn is_counted(&self) -> bool {
        true
    }

    /// Tells how far the replicas have come.
    fn in_vain(&self, engine: &Engine) -> Option<Answer> {
        let (wait, reached) = (*self, self.reached(&engine.replication));
        Some(Box::new(move |reply| wait.answer(reached, reply)))
    }
}

impl Engine {
    /// Answers a client that waits for replicas at once, or lets it wait: then replicas are asked how far they are.
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
            wait.answer(wait.reached(&self.replication), reply);
            return Flow::Done;
        }
        self.change_replication(|control| control.ask_replicas());
        let null = if wait.on_disk { Null::TwoZeros } else { Null::Zero };
        Wait::new(Retry::Always(Box::new(wait)), timeout_ms, null).into()
    }
}
