//! The acceptors of plain clients and of clients over TLS, and their response to changed parameters.

use super::accept::{Acceptor, Rebinds};
use super::current_tls::CurrentTls;
use super::descriptors;
use super::listener::{BindError, Endpoints, Listeners};
use super::tls::TlsContext;
use lockwheel_engine::config::{Config, HostChanges, HostRefusal};
use std::sync::Arc;

pub(crate) struct Acceptors {
    tcp: Acceptor,
    tls: Acceptor,
    tls_context: Arc<CurrentTls>,
}

impl Acceptors {
    /// Creates the acceptors of `listeners`, and the other ends for the thread that accepts.
    pub(super) fn new(listeners: &Listeners) -> (Arc<Self>, [Rebinds; 2]) {
        let (tcp, tcp_rebinds) = Acceptor::new(&listeners.tcp);
        let (tls, tls_rebinds) = Acceptor::new(&listeners.tls);
        let tls_context = Arc::new(CurrentTls::new(listeners.tls_context.clone()));
        (Arc::new(Acceptors { tcp, tls, tls_context }), [tcp_rebinds, tls_rebinds])
    }

    /// Lets clients connect, or lets the system refuse them while the server keeps its ports.
    pub(crate) fn let_in(&self, are_let_in: bool) {
        self.tcp.let_in(are_let_in);
        self.tls.let_in(are_let_in);
    }

    pub(crate) fn port(&self) -> u16 {
        self.tcp.port()
    }

    pub(crate) fn tls_port(&self) -> Option<u16> {
        Some(self.tls.port()).filter(|&port| port != 0)
    }

    pub(super) fn tls_context(&self) -> &Arc<CurrentTls> {
        &self.tls_context
    }

    /// Applies changed parameters: all of them or none. Port 0 means no port here.
    pub(super) fn follow(&self, config: &Config, changes: HostChanges) -> Result<(), HostRefusal> {
        if changes.clients {
            let most = descriptors::make_room_for(config.maxclients);
            if most < config.maxclients {
                return Err(HostRefusal::Clients(most));
            }
        }
        let context = changes.tls.then(|| TlsContext::load(&config.tls)).transpose().map_err(|error| {
            tracing::warn!("{error}");
            HostRefusal::Tls
        })?;
        self.move_to(config).map_err(|error| {
            tracing::warn!("Warning: {error}");
            HostRefusal::Listening
        })?;
        if let Some(context) = context {
            self.tls_context.set(context);
        }
        Ok(())
    }

    fn move_to(&self, config: &Config) -> Result<(), BindError> {
        let before = self.tcp.endpoints();
        self.tcp.move_to(Endpoints::at(config, Some(config.port).filter(|&port| port != 0), false))?;
        let moved = self.tls.move_to(Endpoints::at(config, config.tls.port, true));
        moved.or_else(|error| self.tcp.move_to(before).and(Err(error)))
    }
}
