//! What the engine wants done outside: one queue, drained after each batch.

use super::engine::Engine;
use super::progress::Stop;
use crate::keyspace::Garbage;
use std::time::Duration;

/// Something that the engine wants done, by whoever drives it.
#[derive(Debug)]
pub enum Output {
    /// The whole server sleeps for so long before anybody sees what the batch has done: DEBUG SLEEP.
    Sleep(Duration),
    /// The session of this id has output that its own requests did not cause, or its state has changed: it waits no
    /// longer, or is to be closed. Its connection calls [`Engine::take_output`], now or later, and looks at
    /// [`Engine::session`].
    Session(u64),
    /// What takes long to free: to be dropped where nobody waits for it.
    Garbage(Garbage),
    /// The server ends: SHUTDOWN.
    Shutdown,
    /// Nothing more for now. [`Engine::begin`] is to be called at this instant at the latest, in microseconds of the
    /// system's monotonic clock; `None`: not before there is a request.
    Idle {
        /// The instant.
        deadline_us: Option<u64>,
    },
}

impl Engine {
    /// The next thing that the engine wants done. To be called after a batch until it gives [`Output::Idle`].
    ///
    /// Whoever runs requests of a session takes what those were answered by [`Engine::take_output`] when they have run:
    /// that is no news to its connection. All else that a batch has caused comes from here, in the order in which it is
    /// to be done. While a script runs only [`Output::Shutdown`] comes: what the script has caused is not seen before
    /// its end.
    #[inline]
    pub fn poll_output(&mut self) -> Output {
        if self.stop.is_some() || self.scripts.is_running() {
            return self.poll_stop();
        }
        self.poll_effects().unwrap_or_else(|| Output::Idle { deadline_us: self.next_deadline() })
    }

    /// What sessions have been sent and what is to be freed.
    fn poll_effects(&mut self) -> Option<Output> {
        let session = self.sessions.next_woken().map(Output::Session);
        session.or_else(|| self.keyspace.take_garbage().map(Output::Garbage))
    }

    #[cold]
    fn poll_stop(&mut self) -> Output {
        if self.scripts.is_running() {
            let shutdown = self.stop.take_if(|stop| *stop == Stop::Shutdown);
            return shutdown.map_or(Output::Idle { deadline_us: None }, |_| Output::Shutdown);
        }
        if let Some(Stop::Sleep(time)) = self.stop {
            self.stop = None;
            return Output::Sleep(time);
        }
        self.poll_effects().unwrap_or_else(|| {
            self.stop = None;
            Output::Shutdown
        })
    }
}
