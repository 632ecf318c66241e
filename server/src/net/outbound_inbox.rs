//! Messages from threads that hold the engine to the thread that connects to other servers.

use lockwheel_engine::outbound::OutboundId;
use mio::{Poll, Token, Waker};
use parking_lot::Mutex;
use std::io;

pub(super) const MESSAGES: Token = Token(usize::MAX);

type Start = dyn Fn(Poll) -> io::Result<()> + Send + Sync;

/// The connections that have work, and the start of the thread that serves them.
pub(super) struct OutboundInbox {
    pending: Mutex<Vec<OutboundId>>,
    /// Wakes the thread; `None` before the thread exists.
    waker: Mutex<Option<Waker>>,
    start: Box<Start>,
}

impl OutboundInbox {
    pub(super) fn new(start: Box<Start>) -> Self {
        OutboundInbox { pending: Mutex::default(), waker: Mutex::default(), start }
    }

    #[inline]
    pub(super) fn post(&self, ids: Vec<OutboundId>) {
        if !ids.is_empty() {
            self.post_some(ids);
        }
    }

    #[cold]
    fn post_some(&self, ids: Vec<OutboundId>) {
        self.pending.lock().extend(ids);
        if let Err(error) = self.start_once() {
            tracing::error!(%error, "cannot connect to other servers");
        }
        self.wake();
    }

    pub(super) fn take(&self) -> Vec<OutboundId> {
        std::mem::take(&mut *self.pending.lock())
    }

    /// Starts the thread, if there is none. If that fails, the next connection tries again.
    fn start_once(&self) -> io::Result<()> {
        let mut waker = self.waker.lock();
        if waker.is_none() {
            let poll = Poll::new()?;
            let new = Waker::new(poll.registry(), MESSAGES)?;
            (self.start)(poll)?;
            *waker = Some(new);
        }
        Ok(())
    }

    /// Makes the thread check its work, and whether the server ends.
    pub(super) fn wake(&self) {
        if let Some(waker) = &*self.waker.lock() {
            let _it_runs = waker.wake();
        }
    }
}
