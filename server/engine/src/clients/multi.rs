//! A transaction between MULTI and EXEC.

use super::buffers::{ClientBuffers, HeldState};
use super::request::Request;
use crate::spec::CommandId;
use lockwheel_store::memory::vec_heap_bytes;
use std::sync::Arc;

/// The requests that a client has queued since MULTI. Their bytes count as memory of the client until this is dropped.
#[derive(Debug)]
pub(crate) struct Multi {
    queue: Vec<(CommandId, Request)>,
    held: HeldState,
    /// Whether a request could not be queued. EXEC then refuses the transaction.
    pub(crate) aborted: bool,
    /// Whether some of the requests must succeed before the transaction runs.
    pub(crate) has_preconditions: bool,
}

/// The transaction that EXEC is running, as CLIENT LIST describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningTransaction {
    pub(crate) commands: usize,
    /// Bytes of memory of all commands.
    pub(crate) memory: usize,
    /// Bytes of the arguments of EXEC itself.
    pub(crate) exec_bytes: usize,
}

impl Multi {
    /// An empty transaction of the client with these buffers.
    pub(crate) fn new(buffers: &Arc<ClientBuffers>) -> Self {
        Multi { queue: Vec::new(), held: HeldState::new(buffers), aborted: false, has_preconditions: false }
    }

    /// Queues a request with its command. O(1).
    pub(crate) fn push(&mut self, command: CommandId, request: Request) {
        let before = vec_heap_bytes(&self.queue);
        let bytes = self.held.bytes() + request.memory();
        self.queue.push((command, request));
        self.held.set(bytes + vec_heap_bytes(&self.queue) - before);
    }

    pub(crate) fn queue(&self) -> &[(CommandId, Request)] {
        &self.queue
    }

    /// Bytes of memory of all queued requests. O(1).
    pub(crate) fn memory(&self) -> usize {
        self.held.bytes()
    }
}
