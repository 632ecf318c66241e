//! What the engine asks of the world around it.

use super::engine::{Engine, Host};
use crate::time::Now;
use std::sync::Arc;

impl Engine {
    /// Names the world around the engine.
    pub fn set_host(&mut self, host: Arc<dyn Host>) {
        self.host = Some(host);
    }

    /// The system's clocks now, or at the start of the batch when nobody can tell.
    pub(crate) fn system_now(&self) -> Now {
        self.host.as_ref().map_or(self.time.system, |host| host.now())
    }
}
