//! Accepting clients, and moving to other addresses while the server runs.

use super::admission::DENIED;
use super::busy::Job;
use super::client_limit::ClientGuard;
use super::current_tls::CurrentTls;
use super::doors::Doors;
use super::listener::{BindError, Endpoints, Listeners, Listening};
use super::messages::LoopMessage;
use super::new_connection::NewConnection;
use super::shared::Shared;
use lockwheel_engine::statistics::ConnectionEvent;
use parking_lot::Mutex;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

struct Rebind {
    sockets: Vec<TcpListener>,
    /// Signalled when the former sockets are closed.
    done: Option<SyncSender<()>>,
}

/// The listening sockets for plain clients, or for clients over TLS, and the means to change them.
pub(super) struct Acceptor {
    endpoints: Mutex<Endpoints>,
    port: AtomicU16,
    rebinds: UnboundedSender<Rebind>,
    doors: Arc<Mutex<Doors>>,
}

/// The other end of an [`Acceptor`], for the thread that accepts.
pub(super) struct Rebinds {
    received: UnboundedReceiver<Rebind>,
    doors: Arc<Mutex<Doors>>,
}

impl Drop for Rebinds {
    /// Closes the sockets: no connection is accepted any more.
    fn drop(&mut self) {
        *self.doors.lock() = Doors::default();
    }
}

impl Acceptor {
    /// Creates an acceptor for these sockets, whose port is known.
    pub(super) fn new(listening: &Listening) -> (Self, Rebinds) {
        let (rebinds, received) = unbounded_channel();
        let endpoints = listening.endpoints.clone();
        let doors = Arc::new(Mutex::new(Doors::of(&listening.sockets, endpoints.backlog)));
        let port = AtomicU16::new(endpoints.port);
        let acceptor = Acceptor { endpoints: Mutex::new(endpoints), port, rebinds, doors: doors.clone() };
        (acceptor, Rebinds { received, doors })
    }

    /// Lets clients connect, or the system refuse them while the server keeps its addresses. Where a system cannot stop
    /// listening, that begins when the accepting thread has closed its sockets.
    pub(super) fn let_in(&self, are_let_in: bool) {
        let mut doors = self.doors.lock();
        if are_let_in != doors.are_closed() {
            return;
        }
        let sockets = match are_let_in {
            true => doors.open(),
            false => {
                doors.close();
                Vec::new()
            }
        };
        // Fails if the server has ended and stopped accepting.
        let _stops = self.rebinds.send(Rebind { sockets, done: None });
    }

    pub(super) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    pub(super) fn endpoints(&self) -> Endpoints {
        self.endpoints.lock().clone()
    }

    /// Listens on other addresses instead. If that fails, nothing changes.
    pub(super) fn move_to(&self, wanted: Endpoints) -> Result<(), BindError> {
        let mut endpoints = self.endpoints.lock();
        if *endpoints == wanted {
            return Ok(());
        }
        match wanted.listen() {
            // The old and new addresses most likely overlap: the old sockets must be closed first.
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
        self.port.store(if wanted.addresses.is_empty() { 0 } else { wanted.port }, Ordering::Relaxed);
        *endpoints = wanted;
        Ok(())
    }

    /// Replaces the sockets. The former sockets are closed when this function returns.
    fn rebind(&self, sockets: Vec<TcpListener>) -> Result<(), BindError> {
        let mut sockets = sockets;
        {
            let mut doors = self.doors.lock();
            let next = Doors::of(&sockets, doors.backlog());
            if std::mem::replace(&mut *doors, next).are_closed() {
                doors.close();
                sockets.clear();
            }
        }
        let (done, told) = sync_channel(1);
        let sent = self.rebinds.send(Rebind { sockets, done: Some(done) });
        // Both steps fail if the server has ended and stopped accepting.
        sent.ok().and_then(|()| told.recv().ok()).ok_or(BindError::Nowhere)
    }
}

/// Accepts on all listeners until the server ends. Must be called within a tokio runtime.
pub(super) fn serve(
    shared: &Arc<Shared>,
    listeners: Listeners,
    current_tls: Arc<CurrentTls>,
    [tcp_rebinds, tls_rebinds]: [Rebinds; 2],
) -> io::Result<()> {
    let Listeners { tcp, tls, .. } = listeners;
    keep_accepting(Clients { shared: shared.clone(), tls: None }, tcp.sockets, tcp_rebinds)?;
    let over_tls = Clients { shared: shared.clone(), tls: Some(current_tls) };
    keep_accepting(over_tls, tls.sockets, tls_rebinds)?;
    #[cfg(unix)]
    if let Some((socket, path)) = listeners.unix {
        let socket = tokio::net::UnixListener::from_std(socket)?;
        tokio::spawn(accept_unix(shared.clone(), socket, path));
    }
    Ok(())
}

#[derive(Clone)]
struct Clients {
    shared: Arc<Shared>,
    /// The parameters of connections over TLS; `None` for plain connections.
    tls: Option<Arc<CurrentTls>>,
}

impl Clients {
    fn open(&self, sockets: Vec<TcpListener>, tasks: &mut JoinSet<()>) -> io::Result<()> {
        for socket in sockets {
            tasks.spawn(self.clone().accept(tokio::net::TcpListener::from_std(socket)?));
        }
        Ok(())
    }

    async fn accept(self, listener: tokio::net::TcpListener) {
        while let Some(accepted) = self.shared.shutdown.unless_requested(listener.accept()).await {
            let accepted = accepted.and_then(|(stream, _)| stream.into_std());
            // The socket listens no more.
            if accepted.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput) {
                return;
            }
            if let Some(accepted) = self.let_in(accepted) {
                self.admit(accepted).await;
            }
        }
    }
}

impl Clients {
    /// Refuses clients from other machines in protected mode. Over TLS no reply is possible before the handshake.
    fn let_in(&self, accepted: io::Result<TcpStream>) -> Option<io::Result<TcpStream>> {
        match accepted {
            Ok(mut stream) if !self.shared.admission.admits(&stream) => {
                self.shared.defer(Job::count(ConnectionEvent::Refused));
                if self.tls.is_none()
                    && let Err(error) = stream.write_all(DENIED)
                {
                    tracing::debug!(%error, "a client disconnected before it was refused");
                }
                None
            }
            Ok(stream) => {
                self.shared.admission.keep_alive(&stream);
                Some(Ok(stream))
            }
            Err(error) => Some(Err(error)),
        }
    }

    async fn admit(&self, accepted: io::Result<TcpStream>) {
        match &self.tls {
            None => admit(&self.shared, accepted, TOO_MANY, NewConnection::new).await,
            Some(tls) => {
                let open = |stream, guard| NewConnection::tls(stream, &tls.get()?, guard);
                admit(&self.shared, accepted, b"", open).await;
            }
        }
    }
}

/// Accepts on these sockets, and later on the sockets that replace them.
fn keep_accepting(clients: Clients, sockets: Vec<TcpListener>, rebinds: Rebinds) -> io::Result<()> {
    let mut tasks = JoinSet::new();
    clients.open(sockets, &mut tasks)?;
    tokio::spawn(follow(clients, tasks, rebinds));
    Ok(())
}

async fn follow(clients: Clients, mut tasks: JoinSet<()>, mut rebinds: Rebinds) {
    let shared = Arc::clone(&clients.shared);
    while let Some(Some(rebind)) = shared.shutdown.unless_requested(rebinds.received.recv()).await {
        let Rebind { sockets, done } = rebind;
        tasks.shutdown().await;
        if let Err(error) = clients.open(sockets, &mut tasks) {
            tracing::error!(%error, "cannot wait for connections on a listening socket");
        }
        // The caller may have stopped waiting.
        let _unheard = done.map(|done| done.send(()));
    }
}

#[cfg(unix)]
async fn accept_unix(shared: Arc<Shared>, listener: tokio::net::UnixListener, path: String) {
    while let Some(accepted) = shared.shutdown.unless_requested(listener.accept()).await {
        let accepted = accepted.and_then(|(stream, _)| stream.into_std());
        let open = |stream, guard| Ok(NewConnection::unix(stream, &path, guard));
        admit(&shared, accepted, TOO_MANY, open).await;
    }
}

async fn admit<S: Write>(
    shared: &Arc<Shared>,
    accepted: io::Result<S>,
    refusal: &[u8],
    open: impl FnOnce(S, ClientGuard) -> io::Result<NewConnection>,
) {
    match accepted {
        Ok(stream) => {
            if let Err(error) = hand_over(shared, stream, refusal, open) {
                tracing::debug!(%error, "a client disconnected before it was accepted");
            }
        }
        Err(error) => {
            // Most likely the process has run out of descriptors: retry when some may be free again.
            tracing::warn!(%error, "accepting a connection failed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Passes a client to the loop with the fewest connections, or refuses it if there are too many clients.
fn hand_over<S: Write>(
    shared: &Arc<Shared>,
    mut stream: S,
    refusal: &[u8],
    open: impl FnOnce(S, ClientGuard) -> io::Result<NewConnection>,
) -> io::Result<()> {
    let Some(guard) = shared.client_limit.try_acquire() else {
        shared.defer(Job::count(ConnectionEvent::Refused));
        return stream.write_all(refusal);
    };
    let connection = open(stream, guard)?;
    let inbox = shared.inbox(shared.idlest());
    inbox.joined();
    inbox.post(LoopMessage::Accepted(connection));
    Ok(())
}
