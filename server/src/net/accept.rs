//! Accepting clients, and listening elsewhere while the server runs.

use super::busy::Job;
use super::client_limit::ClientGuard;
use super::listener::{BindError, Endpoints, Listeners};
use super::messages::LoopMessage;
use super::new_connection::NewConnection;
use super::shared::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::config::BindAddress;
use parking_lot::Mutex;
use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// Other sockets for the network's clients.
struct Rebind {
    sockets: Vec<TcpListener>,
    /// Signalled when the former ones are closed.
    done: SyncSender<()>,
}

/// The network's listening sockets, and how they are changed.
pub(crate) struct Acceptor {
    endpoints: Mutex<Endpoints>,
    port: AtomicU16,
    rebinds: UnboundedSender<Rebind>,
}

/// The other end of a [`Acceptor`], for the thread that accepts.
pub(super) struct Rebinds(UnboundedReceiver<Rebind>);

impl Acceptor {
    /// An acceptor at `endpoints`, whose port is known now.
    pub(super) fn new(endpoints: Endpoints, port: u16) -> (Arc<Self>, Rebinds) {
        let (rebinds, received) = unbounded_channel();
        let acceptor = Acceptor {
            endpoints: Mutex::new(Endpoints { port, ..endpoints }),
            port: AtomicU16::new(port),
            rebinds,
        };
        (Arc::new(acceptor), Rebinds(received))
    }

    /// The port it listens on; 0: none.
    pub(crate) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// Listens on these addresses instead; port 0: on none. When that fails, nothing changes.
    pub(super) fn rebind_to(&self, addresses: &[BindAddress], port: u16) -> Result<(), BindError> {
        let mut endpoints = self.endpoints.lock();
        let addresses = if port == 0 { Vec::new() } else { addresses.to_vec() };
        let wanted = Endpoints { addresses, port, backlog: endpoints.backlog };
        match wanted.listen() {
            // Old and new addresses most likely overlap: the old sockets must be closed first.
            Err(error) if error.is_in_use() => {
                self.rebind(Vec::new())?;
                match wanted.listen() {
                    Ok(sockets) => self.rebind(sockets)?,
                    Err(error) => {
                        self.rebind(endpoints.listen()?)?;
                        return Err(error);
                    }
                }
            }
            sockets => self.rebind(sockets?)?,
        }
        self.port.store(if wanted.addresses.is_empty() { 0 } else { port }, Ordering::Relaxed);
        *endpoints = wanted;
        Ok(())
    }

    /// Replaces the sockets; when this returns the former ones are closed.
    fn rebind(&self, sockets: Vec<TcpListener>) -> Result<(), BindError> {
        let (done, told) = sync_channel(1);
        let sent = self.rebinds.send(Rebind { sockets, done });
        // Both fail when the server ends and stops accepting.
        sent.ok().and_then(|()| told.recv().ok()).ok_or(BindError::Nowhere)
    }
}

/// Accepts on all of them until the server ends. Must be called within a tokio runtime.
pub(super) fn serve(shared: &Arc<Shared>, listeners: Listeners, rebinds: Rebinds) -> io::Result<()> {
    let mut tcp = JoinSet::new();
    open(shared, listeners.tcp, &mut tcp)?;
    tokio::spawn(keep_accepting(shared.clone(), tcp, rebinds.0));
    #[cfg(unix)]
    if let Some((socket, path)) = listeners.unix {
        let socket = tokio::net::UnixListener::from_std(socket)?;
        tokio::spawn(accept_unix(shared.clone(), socket, path));
    }
    Ok(())
}

fn open(shared: &Arc<Shared>, sockets: Vec<TcpListener>, tasks: &mut JoinSet<()>) -> io::Result<()> {
    for socket in sockets {
        tasks.spawn(accept_tcp(shared.clone(), tokio::net::TcpListener::from_std(socket)?));
    }
    Ok(())
}

async fn keep_accepting(shared: Arc<Shared>, mut tasks: JoinSet<()>, mut rebinds: UnboundedReceiver<Rebind>) {
    loop {
        tokio::select! {
            () = shared.shutdown.requested() => return,
            rebind = rebinds.recv() => {
                let Some(Rebind { sockets, done }) = rebind else { return };
                tasks.shutdown().await;
                if let Err(error) = open(&shared, sockets, &mut tasks) {
                    tracing::error!(%error, "a listening socket could not be watched");
                }
                // The caller may have given up.
                let _unheard = done.send(());
            }
        }
    }
}

async fn accept_tcp(shared: Arc<Shared>, listener: tokio::net::TcpListener) {
    loop {
        tokio::select! {
            () = shared.shutdown.requested() => return,
            accepted = listener.accept() => {
                let accepted = accepted.and_then(|(stream, _)| stream.into_std());
                admit(&shared, accepted, NewConnection::new).await;
            }
        }
    }
}

#[cfg(unix)]
async fn accept_unix(shared: Arc<Shared>, listener: tokio::net::UnixListener, path: String) {
    loop {
        tokio::select! {
            () = shared.shutdown.requested() => return,
            accepted = listener.accept() => {
                let accepted = accepted.and_then(|(stream, _)| stream.into_std());
                admit(&shared, accepted, |stream, guard| Ok(NewConnection::unix(stream, &path, guard))).await;
            }
        }
    }
}

async fn admit<S: Write>(
    shared: &Arc<Shared>,
    accepted: io::Result<S>,
    open: impl FnOnce(S, ClientGuard) -> io::Result<NewConnection>,
) {
    match accepted {
        Ok(stream) => {
            if let Err(error) = hand_over(shared, stream, open) {
                tracing::debug!(%error, "a client left before it was accepted");
            }
        }
        Err(error) => {
            // Most likely out of descriptors: retry when some may be free again.
            tracing::warn!(%error, "accepting a connection failed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Gives a client to the loop with the fewest connections, or refuses it when there are too many.
fn hand_over<S: Write>(
    shared: &Arc<Shared>,
    mut stream: S,
    open: impl FnOnce(S, ClientGuard) -> io::Result<NewConnection>,
) -> io::Result<()> {
    let Some(guard) = shared.client_limit.try_acquire() else {
        shared.defer(Job::new(Engine::reject_connection));
        return stream.write_all(b"-ERR max number of clients reached\r\n");
    };
    let connection = open(stream, guard)?;
    let inbox = shared.inbox(shared.idlest());
    inbox.joined();
    inbox.post(LoopMessage::Accepted(connection));
    Ok(())
}
