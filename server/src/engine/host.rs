//! What the engine asks of the world around it: the system's time within a script, and the sockets of its clients.

use super::Engine;
use super::config::BindAddress;
use crate::time::Now;
use std::sync::Arc;

/// The world around an engine. An engine without one knows the instants that it is given, and no client ever goes by
/// itself.
pub trait Host: Send + Sync {
    /// The system's clocks, now: for what must not wait until the next batch begins.
    fn now(&self) -> Now;

    /// Called from time to time while a script is slow: runs what other clients ask for meanwhile.
    fn serve_while_slow(&self, engine: &mut Engine);

    /// Listens for clients of the network on these addresses from now on, and on no others; port 0: on none. False when
    /// that cannot be: then all stays as it is.
    fn listen(&self, addresses: &[BindAddress], port: u16) -> bool;

    /// Whether the client of this session has closed its connection, even if nobody has read so far yet. Asked when
    /// something is about to be given to a client that waits, never on the way of a request.
    fn is_gone(&self, session: u64) -> bool;
}

impl Engine {
    /// Names the world around the engine.
    pub fn set_host(&mut self, host: Arc<dyn Host>) {
        self.host = Some(host);
    }

    /// The system's clocks now, or at the start of the batch when nobody can tell.
    pub(crate) fn system_now(&self) -> Now {
        self.host.as_ref().map_or(self.system, |host| host.now())
    }
}
