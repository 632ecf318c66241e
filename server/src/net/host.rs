//! The world as the engine sees it: the system's clocks and the sockets around it.

use super::event_loop;
use super::shared::Shared;
use crate::engine::{Engine, Host};
use crate::time::Now;
use std::sync::Weak;

/// What the engine may ask while a request runs. The engine lives within what this looks at, hence weakly.
pub(super) struct World(pub(super) Weak<Shared>, pub(super) super::os_clock::OsClock);

impl Host for World {
    fn now(&self) -> Now {
        self.1.now()
    }

    fn serve_while_slow(&self, engine: &mut Engine) {
        if let Some(shared) = self.0.upgrade() {
            shared.serve_while_slow(engine);
            event_loop::serve_while_slow(engine);
        }
    }

    fn is_gone(&self, session: u64) -> bool {
        // A client that is not there any more has left before its session could.
        self.0.upgrade().is_some_and(|shared| {
            shared.clients.get(&session).is_none_or(|client| client.socket.is_closed_by_peer())
        })
    }
}
