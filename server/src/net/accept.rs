//! Accepting clients, and listening elsewhere while the server runs.

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

/// What a client gets that is one too many.
const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// Other sockets for the network's clients.
struct Rebind {
    sockets: Vec<TcpListener>,
    /// Signalled when the former ones are closed.
    done: Option<SyncSender<()>>,
}

/// The network's listening sockets for plain clients, or for those over TLS, and how they are changed.
pub(super) struct Acceptor {
    endpoints: Mutex<Endpoints>,
    port: AtomicU16,
    rebinds: UnboundedSender<Rebind>,
    doors: Arc<Mutex<Doors>>,
}

/// The other end of a [`Acceptor`], for the thread that accepts.
pub(super) struct Rebinds {
    received: UnboundedReceiver<Rebind>,
    doors: Arc<Mutex<Doors>>,
}

impl Drop for Rebinds {
    /// Closes the sockets: nothing accepts any more.
    fn drop(&mut self) {
        *self.doors.lock() = Doors::default();
    }
}

impl Acceptor {
    /// An acceptor for these sockets, whose port is known.
    pub(super) fn new(listening: &Listening) -> (Self, Rebinds) {
        let (rebinds, received) = unbounded_channel();
        let endpoints = listening.endpoints.clone();
        let doors = Arc::new(Mutex::new(Doors::of(&listening.sockets, endpoints.backlog)));
        let port = AtomicU16::new(endpoints.port);
        let acceptor = Acceptor { endpoints: Mutex::new(endpoints), port, rebinds, doors: doors.clone() };
        (acceptor, Rebinds { received, doors })
    }

    /// Lets clients connect, or lets the system refuse them while the addresses stay this server's. Both take effect at
    /// once, on systems that end listening at once; elsewhere when the thread that accepts has closed its sockets.
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
        // It fails when the server ends and stops accepting.
        let _stops = self.rebinds.send(Rebind { sockets, done: None });
    }

    /// The port it listens on; 0: none.
    pub(super) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// Where it listens.
    pub(super) fn endpoints(&self) -> Endpoints {
        self.endpoints.lock().clone()
    }

    /// Listens there instead. When that fails, nothing changes.
    pub(super) fn move_to(&self, wanted: Endpoints) -> Result<(), BindError> {
        let mut endpoints = self.endpoints.lock();
        if *endpoints == wanted {
            return Ok(());
        }
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
        self.port.store(if wanted.addresses.is_empty() { 0 } else { wanted.port }, Ordering::Relaxed);
        *endpoints = wanted;
        Ok(())
    }

    /// Replaces the sockets; when this returns the former ones are closed.
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
        // Both fail when the server ends and stops accepting.
        sent.ok().and_then(|()| told.recv().ok()).ok_or(BindError::Nowhere)
    }
}

/// Accepts on all of them until the server ends. Must be called within a tokio runtime.
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

/// The network's clients of one kind.
#[derive(Clone)]
struct Clients {
    shared: Arc<Shared>,
    /// How connections over TLS are made; none: these are plain.
    tls: Option<Arc<CurrentTls>>,
}

impl Clients {
    /// Accepts on these sockets too.
    fn open(&self, sockets: Vec<TcpListener>, tasks: &mut JoinSet<()>) -> io::Result<()> {
        for socket in sockets {
            tasks.spawn(self.clone().accept(tokio::net::TcpListener::from_std(socket)?));
        }
        Ok(())
    }

    async fn accept(self, listener: tokio::net::TcpListener) {
        while let Some(accepted) = self.shared.shutdown.unless_requested(listener.accept()).await {
            let accepted = accepted.and_then(|(stream, _)| stream.into_std());
            // It listens no more.
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
    /// Refuses clients from other machines in protected mode. Over TLS, before the handshake, there is nothing to say.
    fn let_in(&self, accepted: io::Result<TcpStream>) -> Option<io::Result<TcpStream>> {
        match accepted {
            Ok(mut stream) if !self.shared.admission.admits(&stream) => {
                self.shared.defer(Job::count(ConnectionEvent::Refused));
                if self.tls.is_none()
                    && let Err(error) = stream.write_all(DENIED)
                {
                    tracing::debug!(%error, "a client left before it was refused");
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
                // Before the handshake there is nothing to say.
                let open = |stream, guard| NewConnection::tls(stream, &tls.get()?, guard);
                admit(&self.shared, accepted, b"", open).await;
            }
        }
    }
}

/// Accepts on these sockets, and on those that take their place.
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
            tracing::error!(%error, "a listening socket could not be watched");
        }
        // The caller may have given up.
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
