//! The world as the engine sees it: the system's clocks and the sockets around it.

use super::busy::Jobs;
use super::event_loop;
use super::os_clock::OsClock;
use crate::engine::{Engine, Host};
use crate::time::Now;
use std::sync::Arc;

/// What the engine may ask while a request runs.
pub(super) struct World {
    pub(super) clock: OsClock,
    pub(super) jobs: Arc<Jobs>,
}

impl Host for World {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn serve_while_slow(&self, engine: &mut Engine) {
        self.jobs.drain(engine);
        event_loop::serve_while_slow(engine);
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }
}
