//! One thread's sockets: waits for readiness, lets each ready connection run what it has read, writes the replies.
//!
//! A turn reads from all sockets that are ready, then runs what they have sent, connection by connection, and then
//! writes: the caches serve one thing at a time, and clients that wait for different connections are answered
//! together. Connections never change their loop.
//!
//! While a slow script of this thread runs, the interpreter's hook comes back here ([`serve_while_slow`]): the same
//! turn again, but with the engine that the script holds, so that the thread's other sockets are answered `BUSY`.
//! Therefore nothing here is borrowed while a connection runs, the connection itself is away from its place, and what
//! is still to be done in this turn stands in a queue that the inner turn goes on with.

use super::busy::Job;
use super::connection::{Connection, Next};
use super::contain::contained;
use super::hooks::Point;
use super::inbox::{Address, Client, LoopMessage, NewConnection};
use super::shared::{NEVER, Shared};
use super::timer::Timer;
use lockwheel_engine::Engine;
use mio::{Events, Interest, Poll, Token};
use parking_lot::MutexGuard;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The loop's own token: there are messages.
pub(super) const MESSAGES: Token = Token(usize::MAX);
/// The timer's: a deadline has come.
pub(super) const DEADLINE: Token = Token(usize::MAX - 1);
/// Events taken from the system at a time.
const EVENTS: usize = 1024;
/// Bytes read at a time, whoever sent them.
const READ: usize = 64 * 1024;
/// Connections whose keys are fetched together: all that they need stays in the caches until they have run.
const PREFETCHED: usize = 128;
/// How often a loop looks whether the engine is free again, in case nobody could tell it.
const RETRY_ENGINE: Duration = Duration::from_millis(50);

/// How the engine is come by.
pub(super) enum EngineAccess<'a> {
    /// By its lock.
    Lock,
    /// A slow script of this thread holds it, and lends it.
    Lent(&'a mut Engine),
}

/// Where a connection is kept.
enum Place {
    Here(Box<Connection>),
    /// It runs. Whether it has become ready meanwhile.
    Away {
        missed: bool,
    },
}

/// Something to be done in a turn.
enum Task {
    /// A socket is ready.
    Ready { key: usize, readable: bool, writable: bool, closed: bool },
    /// A connection may have more to read than was taken.
    Read { key: usize },
    /// A session may go on with requests that it has sent.
    Run { key: usize },
    /// All sockets have been read: what those that come behind this will touch is fetched.
    Prefetch,
    /// Another thread has left something.
    LoopMessage(LoopMessage),
}

/// The sockets of one thread.
pub(super) struct EventLoop {
    shared: Arc<Shared>,
    index: usize,
    poll: RefCell<Poll>,
    /// The first loop keeps the time for all.
    timer: Option<Timer>,
    places: RefCell<Slab<Place>>,
    /// What is still to be done in this turn.
    tasks: RefCell<VecDeque<Task>>,
    /// Connections that may have more to read than was taken.
    unread: RefCell<Vec<usize>>,
    /// Connections whose session has news.
    status: RefCell<Vec<usize>>,
    /// Sessions that are to be told.
    woken: RefCell<Vec<u64>>,
    /// Connections with something to be written.
    unwritten: RefCell<Vec<usize>>,
    /// What is read into; away while a connection runs what it holds.
    buffer: Cell<Vec<u8>>,
    /// Something could not be done because a slow script of another thread holds the engine.
    waits: Cell<bool>,
}

thread_local! {
    /// The loop that this thread runs.
    static CURRENT: RefCell<Option<Rc<EventLoop>>> = const { RefCell::new(None) };
}

/// Whether this thread runs the loop that keeps the time.
pub(super) fn is_first() -> bool {
    CURRENT.with(|current| current.borrow().as_ref().is_some_and(|current| current.timer.is_some()))
}

/// Lets this thread's loop, if it runs one, look soon whether the engine is free: whoever holds it may have let go just
/// before it could see that somebody waits.
pub(super) fn retry_engine() {
    CURRENT.with(|current| current.borrow().iter().for_each(|current| current.waits.set(true)));
}

/// Serves the sockets of this thread while its script is slow and lends the engine.
pub(super) fn serve_while_slow(engine: &mut Engine) {
    let current = CURRENT.with(|current| current.borrow().clone());
    if let Some(current) = current {
        current.turn_while_slow(engine);
    }
}

/// Runs loop number `index` on this thread until the server ends.
pub(super) fn run(shared: Arc<Shared>, index: usize, poll: Poll, timer: Option<Timer>) {
    let this = Rc::new(EventLoop {
        shared,
        index,
        poll: RefCell::new(poll),
        timer,
        places: RefCell::default(),
        tasks: RefCell::default(),
        unread: RefCell::default(),
        status: RefCell::default(),
        woken: RefCell::default(),
        unwritten: RefCell::default(),
        buffer: Cell::default(),
        waits: Cell::new(false),
    });
    CURRENT.with(|current| *current.borrow_mut() = Some(this.clone()));
    let mut events = Events::with_capacity(EVENTS);
    while !this.shared.end_asked.load(Ordering::Relaxed) {
        let timeout = this.timeout();
        if !this.wait(&mut events, timeout) {
            break;
        }
        contained("what had to wait", || this.retry_engine());
        this.turn(&events, &mut EngineAccess::Lock);
    }
    CURRENT.with(|current| *current.borrow_mut() = None);
    // The sockets close with the loop, whoever knows of them.
    this.shared.clients.retain(|_, client| client.address.index != index);
}

impl EventLoop {
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The number of this loop.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// How long nothing is to be done.
    fn timeout(&self) -> Option<Duration> {
        if !self.unread.borrow().is_empty() || (!self.waits.get() && !self.status.borrow().is_empty()) {
            return Some(Duration::ZERO);
        }
        if self.waits.get() {
            return Some(RETRY_ENGINE);
        }
        let at = self.shared.timer_at.load(Ordering::Relaxed);
        let timer = self.timer.as_ref().filter(|_| at != NEVER)?;
        let left = || Duration::from_micros(at.saturating_sub(self.shared.clock.now().monotonic_us));
        timer.set(at, left)
    }

    /// Waits for readiness; false when the system refuses, which it never does to a poll that is in order.
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

    /// Sees to what had to wait for the engine, and to deadlines.
    fn retry_engine(&self) {
        if self.waits.get() {
            self.waits.set(self.shared.run_deferred().is_err());
        }
        if self.timer.is_some() && !self.waits.get() && self.shared.fire_due().is_err() {
            self.waits.set(true);
        }
    }

    fn turn(&self, events: &Events, access: &mut EngineAccess<'_>) {
        self.collect(events);
        self.perform_all(access);
        if !self.waits.get() {
            contained("status", || self.tell_status(access));
            self.perform_all(access);
        }
        self.write_all(access);
    }

    fn turn_while_slow(&self, engine: &mut Engine) {
        let mut events = Events::with_capacity(EVENTS);
        if self.wait(&mut events, Some(Duration::ZERO)) {
            self.turn(&events, &mut EngineAccess::Lent(engine));
        }
    }

    /// Notes what there is to be done.
    fn collect(&self, events: &Events) {
        let mut tasks = self.tasks.borrow_mut();
        tasks.extend(self.unread.borrow_mut().drain(..).map(|key| Task::Read { key }));
        for event in events {
            match event.token() {
                // Even while a slow script runs, after which the loop must not wait for it again.
                DEADLINE => self.timer.iter().for_each(Timer::on_fired),
                MESSAGES => {
                    tasks.extend(self.shared.inbox(self.index).take().into_iter().map(Task::LoopMessage))
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

    fn perform_all(&self, access: &mut EngineAccess<'_>) {
        loop {
            let Some(task) = self.tasks.borrow_mut().pop_front() else { return };
            contained("a task", || self.perform(task, access));
        }
    }

    fn perform(&self, task: Task, access: &mut EngineAccess<'_>) {
        match task {
            Task::Ready { key, readable, writable, closed } => {
                self.with(key, access, |connection, _, buffer| {
                    self.shared.hooks.reach(Point::Read);
                    connection.ends |= closed;
                    if readable || closed {
                        return connection.read(buffer);
                    }
                    Ok(if writable && connection.has_output() { Next::Write } else { Next::Wait })
                });
            }
            Task::Read { key } => self.with(key, access, |connection, _, buffer| connection.read(buffer)),
            Task::Run { key } => self.with(key, access, |connection, access, _| {
                self.shared.hooks.reach(Point::Run);
                connection.run(self, access)
            }),
            Task::Prefetch => self.prefetch(access),
            Task::LoopMessage(message) => self.handle_message(message, access),
        }
    }

    /// Fetches what small batches will touch, those of all connections together.
    fn prefetch(&self, access: &EngineAccess<'_>) {
        let tasks = self.tasks.borrow();
        if tasks.len() < 2 || matches!(access, EngineAccess::Lent(_)) {
            return;
        }
        let Ok(mut engine) = self.shared.engine(self.index) else { return };
        let mut places = self.places.borrow_mut();
        for task in tasks.iter().take(PREFETCHED) {
            if let Task::Run { key } = task
                && let Some(Place::Here(connection)) = places.get_mut(*key)
            {
                connection.prefetch_few(&mut engine);
            }
        }
        engine.fetch();
        drop(places);
        self.let_go(engine);
    }

    /// Lets go of the engine, and tells the connections whose sessions have news.
    fn let_go(&self, engine: MutexGuard<'_, Engine>) {
        let mut woken = self.woken.take();
        self.shared.let_go(engine, &mut woken);
        self.tell(&mut woken);
        self.woken.replace(woken);
    }

    /// Tells the connections of these sessions that those have news.
    pub(super) fn tell(&self, woken: &mut Vec<u64>) {
        for id in woken.drain(..) {
            match self.shared.address(id) {
                Some(address) if address.index == self.index => self.has_status(address.key),
                Some(address) => self.shared.tell(address),
                None => {}
            }
        }
    }

    /// Takes a connection from its place, does something with it, and sees to what comes next. One that is away will
    /// be asked to read when it is back.
    fn with(
        &self,
        key: usize,
        access: &mut EngineAccess<'_>,
        run: impl FnOnce(&mut Connection, &mut EngineAccess<'_>, &mut [u8]) -> io::Result<Next>,
    ) {
        let Some(mut connection) = self.take(key) else { return };
        let mut buffer = self.buffer.take();
        buffer.resize(READ, 0);
        // A mistake of ours costs one connection, not the thread with all the others.
        let done = contained("a connection", || run(&mut connection, access, &mut buffer));
        self.buffer.set(buffer);
        match done {
            Some(Ok(next)) => self.put(key, connection, next),
            Some(Err(error)) => {
                tracing::debug!(id = connection.id, %error, "connection ended");
                self.close(key, *connection, access);
            }
            None => self.close(key, *connection, access),
        }
    }

    fn take(&self, key: usize) -> Option<Box<Connection>> {
        let mut places = self.places.borrow_mut();
        let place = places.get_mut(key)?;
        match std::mem::replace(place, Place::Away { missed: false }) {
            Place::Here(connection) => Some(connection),
            Place::Away { .. } => {
                *place = Place::Away { missed: true };
                None
            }
        }
    }

    fn put(&self, key: usize, mut connection: Box<Connection>, next: Next) {
        let place = &mut self.places.borrow_mut()[key];
        let missed = matches!(place, Place::Away { missed: true });
        if missed || next == Next::RunAndRead {
            connection.ends |= missed;
            self.unread.borrow_mut().push(key);
        }
        *place = Place::Here(connection);
        match next {
            Next::Wait => {}
            Next::Run | Next::RunAndRead => self.tasks.borrow_mut().push_back(Task::Run { key }),
            Next::Write => self.unwritten.borrow_mut().push(key),
        }
    }

    /// Gives the place and the session of a connection away. Its socket closes after that: as long as the session is
    /// there, the engine may ask whether its client is.
    fn close(&self, key: usize, mut connection: Connection, access: &mut EngineAccess<'_>) {
        self.places.borrow_mut().remove(key);
        self.shared.clients.remove(&connection.id);
        if let Some(socket) = Arc::get_mut(&mut connection.socket) {
            let _already_gone = self.poll.borrow().registry().deregister(socket);
        }
        self.shared.inbox(self.index).left();
        let (slot, shared) = (connection.slot, self.shared.clone());
        let disconnect = move |engine: &mut Engine| {
            let done = contained("the end of a session", || {
                shared.hooks.reach(Point::Disconnect);
                engine.disconnect(slot);
            });
            if done.is_none() {
                contained("the end of a session", || engine.forget(slot));
            }
        };
        match access {
            EngineAccess::Lent(engine) => disconnect(engine),
            EngineAccess::Lock => {
                if let Err(disconnect) = self.shared.run_unless_busy(self.index, disconnect) {
                    let socket = connection.socket;
                    self.shared.leave(Job::of(slot, move |engine| {
                        disconnect(engine);
                        drop(socket);
                    }));
                }
            }
        }
    }

    fn handle_message(&self, message: LoopMessage, access: &mut EngineAccess<'_>) {
        self.shared.hooks.reach(Point::LoopMessage);
        match message {
            LoopMessage::Open(connection) => self.open(connection, access),
            LoopMessage::Opened(connection, session) => {
                self.add(Connection::new(connection, session), access)
            }
            LoopMessage::SessionStatus { key } => self.has_status(key),
            LoopMessage::Answered { key, id, answer } => self.with(key, access, |connection, access, _| {
                if connection.id == id { connection.answered(self, access, answer) } else { Ok(Next::Wait) }
            }),
        }
    }

    /// Makes a session for a socket, here or in the slow script that holds the engine.
    fn open(&self, connection: NewConnection, access: &mut EngineAccess<'_>) {
        let connect = move |engine: &mut Engine| {
            let session = connection.connect(engine);
            (connection, session)
        };
        let connected = match access {
            EngineAccess::Lent(engine) => Ok(connect(engine)),
            EngineAccess::Lock => self.shared.run_unless_busy(self.index, connect),
        };
        match connected {
            Ok((connection, session)) => self.add(Connection::new(connection, session), access),
            Err(connect) => {
                let (shared, index) = (self.shared.clone(), self.index);
                self.shared.leave(Job::new(move |engine| {
                    let (connection, session) = connect(engine);
                    shared.inbox(index).post(LoopMessage::Opened(connection, session));
                }));
            }
        }
    }

    fn add(&self, mut connection: Connection, access: &mut EngineAccess<'_>) {
        let key = self.places.borrow().vacant_key();
        connection.key = key;
        let socket = Arc::get_mut(&mut connection.socket).expect("nobody else has a new connection's socket");
        let registered = self.poll.borrow().registry().register(
            socket,
            Token(key),
            Interest::READABLE | Interest::WRITABLE,
        );
        self.places.borrow_mut().insert(Place::Away { missed: false });
        if let Err(error) = registered {
            tracing::warn!(%error, "a connection could not be watched");
            return self.close(key, connection, access);
        }
        let (address, socket) = (Address { index: self.index, key }, connection.socket.clone());
        self.shared.clients.insert(connection.id, Client { address, socket });
        self.put(key, Box::new(connection), Next::Wait);
    }

    /// The session of a connection has output or news that its own requests did not cause.
    pub(super) fn has_status(&self, key: usize) {
        self.status.borrow_mut().push(key);
    }

    /// Takes the status of sessions; with the lock held once for all of them.
    fn tell_status(&self, access: &mut EngineAccess<'_>) {
        // What a script causes for others is theirs when it has ended.
        if matches!(access, EngineAccess::Lent(_)) || self.status.borrow().is_empty() {
            return;
        }
        let Ok(mut engine) = self.shared.engine(self.index) else {
            self.shared.wait_for_free();
            return self.waits.set(true);
        };
        let keys = std::mem::take(&mut *self.status.borrow_mut());
        let mut broken = Vec::new();
        for &key in &keys {
            let told = contained("status of a session", || {
                if let Some(Place::Here(connection)) = self.places.borrow_mut().get_mut(key) {
                    self.shared.hooks.reach(Point::SessionStatus);
                    connection.take_status(&mut engine);
                }
            });
            broken.extend(told.is_none().then_some(key));
        }
        self.tasks.borrow_mut().extend(keys.into_iter().map(|key| Task::Run { key }));
        self.let_go(engine);
        for key in broken {
            if let Some(connection) = self.take(key) {
                self.close(key, *connection, access);
            }
        }
    }

    fn write_all(&self, access: &mut EngineAccess<'_>) {
        let mut keys = std::mem::take(&mut *self.unwritten.borrow_mut());
        for key in keys.drain(..) {
            contained("writing", || {
                if let Some(connection) = self.take(key) {
                    self.write(key, connection, access);
                }
            });
        }
        // Keeps the memory, unless more came meanwhile.
        let mut unwritten = self.unwritten.borrow_mut();
        if unwritten.is_empty() {
            *unwritten = keys;
        }
    }

    fn write(&self, key: usize, mut connection: Box<Connection>, access: &mut EngineAccess<'_>) {
        let written = contained("writing to a connection", || {
            self.shared.hooks.reach(Point::Write);
            connection.write()
        });
        match written.unwrap_or(Ok(false)) {
            Ok(true) => {
                if connection.has_held_status() {
                    self.has_status(key);
                }
                self.put(key, connection, Next::Wait);
            }
            Ok(false) => self.close(key, *connection, access),
            Err(error) => {
                tracing::debug!(id = connection.id, %error, "connection ended");
                self.close(key, *connection, access);
            }
        }
    }
}
