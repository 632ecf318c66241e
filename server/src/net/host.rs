//! The world as the engine sees it: the system's clocks and the sockets around it.

use super::accept::Acceptor;
use super::event_loop;
use super::hooks::Point;
use super::os_clock::OsClock;
use super::shared::Shared;
use super::stopwatch::Stopwatch;
use lockwheel_engine::Engine;
use lockwheel_engine::config::BindAddress;
use lockwheel_engine::core::Host;
use lockwheel_engine::time::Now;
use std::sync::{Arc, Weak};

/// What the engine may ask while a request runs.
pub(super) struct World {
    pub(super) clock: OsClock,
    pub(super) stopwatch: Stopwatch,
    pub(super) acceptor: Arc<Acceptor>,
    /// The engine lives within, hence weakly.
    pub(super) shared: Weak<Shared>,
}

impl Host for World {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn stopwatch_ns(&self) -> u64 {
        self.stopwatch.ns()
    }

    fn serve_while_slow(&self, engine: &mut Engine) {
        if let Some(shared) = self.shared.upgrade() {
            shared.work_off(engine);
            event_loop::serve_while_slow(engine);
            shared.hooks.reach(Point::Slow);
        }
    }

    fn listen(&self, addresses: &[BindAddress], port: u16) -> bool {
        let moved = self.acceptor.rebind_to(addresses, port);
        moved.inspect_err(|error| tracing::warn!("Warning: {error}")).is_ok()
    }

    fn is_gone(&self, session: u64) -> bool {
        // A client that is not there any more has left before its session could.
        self.shared.upgrade().is_some_and(|shared| {
            shared.clients.get(&session).is_none_or(|client| client.socket.is_closed_by_peer())
        })
    }
}
