//! A server that owns its process.

use super::crash;
use super::error::StartError;
use super::instance::{Builder, Server};
use crate::net::OsClock;
use std::time::Duration;

/// The time for which a shutdown waits for running commands. Supervisors expect a process to end within a second.
const PATIENCE: Duration = Duration::from_millis(500);

/// A stage in the life of a server, as [`Builder::serve`] reports it.
#[derive(Debug)]
pub enum Stage<'a> {
    /// The server accepts connections.
    Ready(&'a Server),
    /// The server was asked to end and is about to.
    Stopping,
}

impl Builder {
    /// Runs the server until SIGTERM, SIGINT, SHUTDOWN or [`Handle::shutdown`](crate::Handle::shutdown) ends it, as the
    /// program `lockwheel` does. `tell` is called at each stage, on this thread.
    ///
    /// ```
    /// use lockwheel::{Server, Stage, StartError};
    ///
    /// Server::builder().port(0).serve(|stage| {
    ///     if let Stage::Ready(server) = stage {
    ///         println!("connect to {}", server.url());
    ///         # server.handle().shutdown();
    ///     }
    ///     Ok::<(), StartError>(())
    /// })?;
    /// # Ok::<(), StartError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the server cannot be started, or if `tell` fails. In the latter case the server ends.
    pub fn serve<E: From<StartError>>(
        self,
        mut tell: impl FnMut(Stage<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let started_in = self.started_in.clone();
        let picks_port = self.config.port == 0;
        let (mut server, load) = Server::open(self.signals(true).with_seed_of_its_own(), OsClock::new())?;
        let picked_port = (picks_port && server.port() != 0).then(|| server.port());
        let beginning = crash::Beginning { started_in, picked_port };
        let end_process = move |how| crash::end_process(how, &beginning);
        let _set_once = server.handle().shared.on_crash.set(Box::new(end_process));
        server.load(load)?;
        // A client may have ended the server while it loaded its data.
        if !server.has_ended() {
            tell(Stage::Ready(&server))?;
        }
        server.wait();
        let told = tell(Stage::Stopping);
        server.stop(PATIENCE);
        told
    }
}
