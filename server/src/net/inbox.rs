//! The messages for a loop, and its waker.

use super::messages::LoopMessage;
use mio::Waker;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Inbox {
    messages: Mutex<Vec<LoopMessage>>,
    waker: Waker,
    connections: AtomicUsize,
}

impl Inbox {
    pub(super) fn new(waker: Waker) -> Self {
        Inbox { messages: Mutex::default(), waker, connections: AtomicUsize::new(0) }
    }

    /// Queues a message, and wakes the loop unless it has been woken already.
    pub(super) fn post(&self, message: LoopMessage) {
        let first = {
            let mut waiting = self.messages.lock();
            waiting.push(message);
            waiting.len() == 1
        };
        if first {
            self.wake();
        }
    }

    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "cannot wake an event loop");
        }
    }

    pub(super) fn take(&self) -> Vec<LoopMessage> {
        std::mem::take(&mut *self.messages.lock())
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts a connection that is on its way to the loop.
    pub(super) fn joined(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection of the loop that is gone.
    pub(super) fn left(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
