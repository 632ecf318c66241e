//! The event loop of one thread: waits for ready sockets, runs the requests of each connection, writes the replies.
//!
//! A turn reads all ready sockets, then runs the requests connection by connection, then writes. This keeps the caches
//! warm, and waiting clients get their replies together. Connections never change their loop.
//!
//! While a slow script of this thread runs, the interpreter's hook calls this module again ([`CurrentLoop`]): an inner
//! turn, with the engine that the script lends, replies `BUSY` to the other sockets. Therefore nothing is borrowed
//! while a connection runs, it is taken out of the table, and the inner turn continues this turn's tasks.

use super::busy::Job;
use super::connection::{Connection, Next};
use super::connections::Connections;
use super::contain::contained;
use super::current_loop::{self, CurrentLoop};
use super::hooks::Point;
use super::messages::{Address, LoopMessage};
use super::new_connection::{NewConnection, NewSession};
use super::shared::{Client, NEVER, Notices, Shared};
use super::stopwatch::Stopwatch;
use super::timer::Timer;
use super::turn::{EngineAccess, Turn};
use lockwheel_engine::Engine;
use mio::{Events, Interest, Poll, Token};
use parking_lot::MutexGuard;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) const MESSAGES: Token = Token(usize::MAX);
pub(super) const DEADLINE: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;
const READ: usize = 64 * 1024;
/// The number of connections whose keys are fetched together, and stay in the caches until the connections have run.
const PREFETCHED: usize = 128;
/// The interval at which a loop that waits for the engine tries again, in case it was not woken.
const RETRY_ENGINE: Duration = Duration::from_millis(50);

/// A task of a turn. `Prefetch` fetches the keys of the requests queued behind it, when all sockets have been read.
enum Task {
    Ready { key: usize, readable: bool, writable: bool, closed: bool },
    Read { key: usize },
    Run { key: usize },
    Prefetch,
    Message(LoopMessage),
}

pub(super) struct EventLoop {
    shared: Arc<Shared>,
    index: usize,
    poll: RefCell<Poll>,
    /// The timer of the first loop, which keeps the time for all.
    timer: Option<Timer>,
    connections: RefCell<Connections>,
    tasks: RefCell<VecDeque<Task>>,
    unread: RefCell<Vec<usize>>,
    /// Connections whose sessions have changed.
    changed: RefCell<Vec<usize>>,
    unwritten: RefCell<Vec<usize>>,
    /// The read buffer; taken while a connection runs its content.
    buffer: Cell<Vec<u8>>,
    /// Whether work waits for the engine, which a slow script of another thread holds.
    awaits_engine: Cell<bool>,
    stopwatch: Stopwatch,
}

/// Runs loop number `index` on this thread until the server ends.
pub(super) fn run(shared: Arc<Shared>, index: usize, poll: Poll, timer: Option<Timer>) {
    let this = Rc::new(EventLoop {
        shared,
        index,
        poll: RefCell::new(poll),
        timer,
        connections: RefCell::default(),
        tasks: RefCell::default(),
        unread: RefCell::default(),
        changed: RefCell::default(),
        unwritten: RefCell::default(),
        buffer: Cell::default(),
        awaits_engine: Cell::new(false),
        stopwatch: Stopwatch::new(),
    });
    current_loop::set(Some(this.clone()));
    let mut events = Events::with_capacity(EVENTS);
    while !this.shared.shutdown.is_requested() {
        let timeout = this.timeout();
        if !this.wait(&mut events, timeout) {
            break;
        }
        let began_ns = this.stopwatch.ns();
        // Collect events before anything that may run a slow script: a socket reports only once that it is ready.
        this.collect(&events);
        contained("what had to wait", || this.retry_engine());
        this.turn(EngineAccess::Lock);
        this.shared.traffic[index].has_turned(this.stopwatch.ns() - began_ns);
    }
    current_loop::set(None);
    // Other threads share the sockets: close them together with the loop.
    this.shared.clients.retain(|_, client| client.address.index != index);
}

impl CurrentLoop for EventLoop {
    fn serve_while_slow(&self, shared: &Shared, engine: &mut Engine) {
        // A thread that advances the clock of several servers, or carries messages between them, may run another
        // server's script. That engine does not know the clients of this thread, so they wait.
        if !std::ptr::eq(&raw const *self.shared, shared) {
            return;
        }
        let mut events = Events::with_capacity(EVENTS);
        if self.wait(&mut events, Some(Duration::ZERO)) {
            self.collect(&events);
            self.turn(EngineAccess::Lent(engine));
        }
    }
}

impl EventLoop {
    fn timeout(&self) -> Option<Duration> {
        if !self.unread.borrow().is_empty()
            || (!self.awaits_engine.get() && !self.changed.borrow().is_empty())
        {
            return Some(Duration::ZERO);
        }
        if self.awaits_engine.get() {
            return Some(RETRY_ENGINE);
        }
        let at = self.shared.timer_at.load(Ordering::Relaxed);
        let timer = self.timer.as_ref().filter(|_| at != NEVER)?;
        let left = || Duration::from_micros(at.saturating_sub(self.shared.clock.now().monotonic_us));
        timer.set(at, left)
    }

    /// Waits for ready sockets. Returns false if the system refuses, which never happens with a valid poll.
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> bool {
        match self.poll.borrow_mut().poll(events, timeout) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                true
            }
            Err(error) => {
                tracing::error!(%error, "waiting for sockets failed");
                self.shared.end();
                false
            }
        }
    }

    /// Retries work that had to wait for the engine, and fires due deadlines.
    fn retry_engine(&self) {
        if self.awaits_engine.get() {
            self.awaits_engine.set(self.shared.run_deferred(self.index).is_err());
        }
        if self.timer.is_some() && !self.awaits_engine.get() && self.shared.fire_due().is_err() {
            self.awaits_engine.set(true);
        }
    }

    fn turn(&self, access: EngineAccess<'_>) {
        let turn = &mut Turn {
            shared: &self.shared,
            index: self.index,
            access,
            changed: &self.changed,
            awaits_engine: &self.awaits_engine,
        };
        self.perform_all(turn);
        if !self.awaits_engine.get() {
            contained("changed sessions", || self.refresh_changed(turn));
            self.perform_all(turn);
        }
        self.write_all(turn);
        if self.shared.has_large_clients() && !turn.is_lent() {
            self.evict_clients();
        }
    }

    /// Evicts clients if their unread replies and incomplete requests exceed `maxmemory-clients`.
    #[cold]
    fn evict_clients(&self) {
        // A slow script prevents the eviction. The next turn after the script checks again.
        let _looked = self.shared.run_unless_busy(self.index, |engine: &mut Engine| engine.evict_clients());
    }

    fn collect(&self, events: &Events) {
        let mut tasks = self.tasks.borrow_mut();
        tasks.extend(self.unread.borrow_mut().drain(..).map(|key| Task::Read { key }));
        for event in events {
            match event.token() {
                // Handled even while a slow script runs, since the loop must not wait for the timer again afterwards.
                DEADLINE => self.timer.iter().for_each(Timer::on_fired),
                MESSAGES => {
                    tasks.extend(self.shared.inbox(self.index).take().into_iter().map(Task::Message));
                }
                Token(key) => tasks.push_back(Task::Ready {
                    key,
                    readable: event.is_readable(),
                    writable: event.is_writable(),
                    closed: event.is_read_closed() || event.is_error(),
                }),
            }
        }
        tasks.push_back(Task::Prefetch);
    }

    fn perform_all(&self, turn: &mut Turn<'_>) {
        loop {
            let Some(task) = self.tasks.borrow_mut().pop_front() else { return };
            contained("a task", || self.perform(task, turn));
        }
    }

    fn perform(&self, task: Task, turn: &mut Turn<'_>) {
        match task {
            Task::Ready { key, readable, writable, closed } => {
                self.with(key, turn, |connection, _, buffer| {
                    self.shared.hooks.reach(Point::Read);
                    connection.ends |= closed;
                    if readable || closed {
                        return connection.read(buffer);
                    }
                    Ok(if writable && connection.has_output() { Next::Write } else { Next::Wait })
                });
            }
            Task::Read { key } => self.with(key, turn, |connection, _, buffer| connection.read(buffer)),
            Task::Run { key } if self.shared.lets_requests_go_on() && self.lets_go_before(key, turn) => {}
            Task::Run { key } => self.with(key, turn, |connection, turn, _| {
                self.shared.hooks.reach(Point::Run);
                connection.run(turn)
            }),
            Task::Prefetch => self.prefetch(turn),
            Task::Message(message) => self.handle_message(message, turn),
        }
    }

    /// Runs formerly paused requests before those of a connection, which is in the table and gets `BUSY` if one is an
    /// endless script. Returns false if the engine is not available.
    #[cold]
    fn lets_go_before(&self, key: usize, turn: &Turn<'_>) -> bool {
        if turn.is_lent() {
            return false;
        }
        self.tasks.borrow_mut().push_front(Task::Run { key });
        let went = self.shared.run_unless_busy(self.index, |_: &mut Engine| ()).is_ok();
        if !went {
            self.tasks.borrow_mut().pop_front();
        }
        went
    }

    /// Fetches the keys of small batches, for all connections together.
    fn prefetch(&self, turn: &Turn<'_>) {
        let tasks = self.tasks.borrow();
        if tasks.len() < 2 || turn.is_lent() {
            return;
        }
        let Ok(mut engine) = self.shared.engine(self.index) else { return };
        let mut connections = self.connections.borrow_mut();
        for task in tasks.iter().take(PREFETCHED) {
            if let Task::Run { key } = task
                && let Some(connection) = connections.get_mut(*key)
            {
                connection.prefetch_few(&mut engine);
            }
        }
        engine.prefetch().fetch();
        drop(connections);
        self.unlock(engine, turn);
    }

    fn unlock(&self, engine: MutexGuard<'_, Engine>, turn: &Turn<'_>) {
        let mut notices = Notices::default();
        self.shared.unlock(engine, &mut notices);
        turn.pass_on(&mut notices);
    }

    /// Takes a connection out, runs `run` on it, and puts it back or closes it. If it is out, it is read when back.
    fn with(
        &self,
        key: usize,
        turn: &mut Turn<'_>,
        run: impl FnOnce(&mut Connection, &mut Turn<'_>, &mut [u8]) -> io::Result<Next>,
    ) {
        let Some(mut connection) = self.connections.borrow_mut().take(key) else { return };
        let mut buffer = self.buffer.take();
        buffer.resize(READ, 0);
        // A panic costs one connection, not the thread with all its connections.
        let done = contained("a connection", || run(&mut connection, turn, &mut buffer));
        self.buffer.set(buffer);
        match done {
            Some(Ok(next)) => self.put_back(key, connection, next),
            Some(Err(error)) => {
                tracing::debug!(id = connection.id, %error, "connection ended");
                self.close(key, *connection, turn);
            }
            None => self.close(key, *connection, turn),
        }
    }

    fn put_back(&self, key: usize, connection: Box<Connection>, next: Next) {
        let was_ready = self.connections.borrow_mut().put_back(key, connection);
        if was_ready || next == Next::RunAndRead {
            self.unread.borrow_mut().push(key);
        }
        match next {
            Next::Wait => {}
            Next::Run | Next::RunAndRead => self.tasks.borrow_mut().push_back(Task::Run { key }),
            Next::Write => self.unwritten.borrow_mut().push(key),
        }
    }

    /// Ends a connection and its session. The socket closes last, since the engine may ask whether the client did.
    fn close(&self, key: usize, mut connection: Connection, turn: &mut Turn<'_>) {
        self.connections.borrow_mut().remove(key);
        self.shared.clients.remove(&connection.id);
        if let Some(socket) = Arc::get_mut(&mut connection.socket) {
            let _already_gone = self.poll.borrow().registry().deregister(socket);
        }
        self.shared.inbox(self.index).left();
        connection.prepare_end();
        let (slot, shared, unrun) = (connection.slot, self.shared.clone(), connection.take_unrun());
        let disconnect = move |engine: &mut Engine| {
            let done = contained("the end of a session", || {
                shared.hooks.reach(Point::Disconnect);
                engine.disconnect_behind(slot, unrun);
            });
            if done.is_none() {
                contained("the end of a session", || engine.forget(slot));
            }
        };
        match &mut turn.access {
            EngineAccess::Lent(engine) if engine.scripts().run_for(slot) => {
                let socket = connection.socket;
                self.shared.put_off(Job::of(slot, move |engine| {
                    disconnect(engine);
                    drop(socket);
                }));
            }
            EngineAccess::Lent(engine) => disconnect(engine),
            EngineAccess::Lock => {
                if let Err(disconnect) = self.shared.run_unless_busy(self.index, disconnect) {
                    let socket = connection.socket;
                    turn.defer(Job::of(slot, move |engine| {
                        disconnect(engine);
                        drop(socket);
                    }));
                }
            }
        }
    }

    fn handle_message(&self, message: LoopMessage, turn: &mut Turn<'_>) {
        self.shared.hooks.reach(Point::LoopMessage);
        match message {
            LoopMessage::Accepted(connection) => self.connect(connection, turn),
            LoopMessage::Connected(connection, session) => {
                self.add(self.connection(connection, session), turn);
            }
            LoopMessage::SessionChanged { key } => self.changed.borrow_mut().push(key),
            LoopMessage::Relinked { key, id, link } => self.with(key, turn, |connection, _, _| {
                if connection.id == id {
                    connection.relink(link);
                }
                Ok(if connection.take_unread() { Next::RunAndRead } else { Next::Run })
            }),
            LoopMessage::Answered { key, id, answer } => self.with(key, turn, |connection, turn, _| {
                if connection.id == id { connection.answered(turn, answer) } else { Ok(Next::Wait) }
            }),
        }
    }

    /// Creates a session for a new connection, here or in the slow script that holds the engine.
    fn connect(&self, connection: NewConnection, turn: &mut Turn<'_>) {
        let connect = move |engine: &mut Engine| {
            let session = connection.connect(engine);
            (connection, session)
        };
        let connected = match &mut turn.access {
            EngineAccess::Lent(engine) => Ok(connect(engine)),
            EngineAccess::Lock => self.shared.run_unless_busy(self.index, connect),
        };
        match connected {
            Ok((connection, session)) => self.add(self.connection(connection, session), turn),
            Err(connect) => {
                let (shared, index) = (self.shared.clone(), self.index);
                turn.defer(Job::new(move |engine| {
                    let (connection, session) = connect(engine);
                    shared.inbox(index).post(LoopMessage::Connected(connection, session));
                }));
            }
        }
    }

    fn connection(&self, connection: NewConnection, session: NewSession) -> Connection {
        Connection::new(connection, session, self.shared.traffic[self.index].clone())
    }

    fn add(&self, mut connection: Connection, turn: &mut Turn<'_>) {
        self.shared.hooks.reach(Point::Connected);
        let key = self.connections.borrow_mut().reserve();
        connection.key = key;
        let socket = Arc::get_mut(&mut connection.socket).expect("nobody else has a new connection's socket");
        let interests = Interest::READABLE | Interest::WRITABLE;
        let registered = self.poll.borrow().registry().register(socket, Token(key), interests);
        if let Err(error) = registered {
            tracing::warn!(%error, "cannot wait for events of a connection");
            return self.close(key, connection, turn);
        }
        let (address, socket) = (Address { index: self.index, key }, connection.socket.clone());
        self.shared.clients.insert(connection.id, Client { address, socket });
        if let Some(link) = self.shared.take_link_of_new(connection.id) {
            connection.relink(link);
        }
        let next = if connection.is_closing() { Next::Write } else { Next::Wait };
        self.put_back(key, Box::new(connection), next);
        // A change since the session began could not be reported to any connection.
        self.changed.borrow_mut().push(key);
    }

    /// Passes pushed output to the connections, and takes the lock once for all of them.
    fn refresh_changed(&self, turn: &mut Turn<'_>) {
        // Output of a script for other clients is delivered when the script has ended.
        if turn.is_lent() || self.changed.borrow().is_empty() {
            return;
        }
        let Ok(mut engine) = self.shared.engine(self.index) else {
            self.shared.wake_when_free();
            return self.awaits_engine.set(true);
        };
        let keys = std::mem::take(&mut *self.changed.borrow_mut());
        let mut broken = Vec::new();
        for &key in &keys {
            let refreshed = contained("a changed session", || {
                if let Some(connection) = self.connections.borrow_mut().get_mut(key) {
                    self.shared.hooks.reach(Point::Refresh);
                    connection.refresh(&mut engine);
                    if connection.take_unread() {
                        self.tasks.borrow_mut().push_back(Task::Read { key });
                    }
                }
            });
            broken.extend(refreshed.is_none().then_some(key));
        }
        self.tasks.borrow_mut().extend(keys.into_iter().map(|key| Task::Run { key }));
        self.unlock(engine, turn);
        for key in broken {
            let connection = self.connections.borrow_mut().take(key);
            if let Some(connection) = connection {
                self.close(key, *connection, turn);
            }
        }
    }

    fn write_all(&self, turn: &mut Turn<'_>) {
        self.shared.log.flush();
        let mut keys = std::mem::take(&mut *self.unwritten.borrow_mut());
        for key in keys.drain(..) {
            contained("writing", || {
                let connection = self.connections.borrow_mut().take(key);
                if let Some(connection) = connection {
                    self.write(key, connection, turn);
                }
            });
        }
        // Keeps the memory for reuse, unless more connections were added meanwhile.
        let mut unwritten = self.unwritten.borrow_mut();
        if unwritten.is_empty() {
            *unwritten = keys;
        }
    }

    fn write(&self, key: usize, mut connection: Box<Connection>, turn: &mut Turn<'_>) {
        let written = contained("writing to a connection", || {
            self.shared.hooks.reach(Point::Write);
            connection.write()
        });
        match written.unwrap_or(Ok(false)) {
            Ok(true) => {
                if connection.may_take_output() {
                    self.changed.borrow_mut().push(key);
                }
                self.put_back(key, connection, Next::Wait);
            }
            Ok(false) => self.close(key, *connection, turn),
            Err(error) => {
                tracing::debug!(id = connection.id, %error, "connection ended");
                self.close(key, *connection, turn);
            }
        }
    }
}
