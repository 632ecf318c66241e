//! The embedding API: a server in this process.

use crate::net::{self, AcceptRuntime, Acceptor, BindError, Endpoints, Listeners, Shared, Threads};
use lockwheel_engine::Engine;
use lockwheel_engine::config::Config;
use lockwheel_engine::core::RedissonWaiters;
use lockwheel_engine::time::ClockError;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

pub use lockwheel_engine::config::TimeMode as Time;
pub use lockwheel_engine::statistics::AllocatorUsage;

/// A server cannot be started.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Bind(BindError),
    /// The system refuses threads, sockets or signals.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Bind(error) => error.fmt(f),
            StartError::System(error) => write!(f, "Could not start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<BindError> for StartError {
    fn from(error: BindError) -> Self {
        StartError::Bind(error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        StartError::System(error)
    }
}

/// A server to be started.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    config: Config,
    signals: bool,
    allocator: Option<fn() -> AllocatorUsage>,
}

impl Builder {
    /// All parameters at once, as read from a command line; the methods below change single ones.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The port; 0 picks a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.config.port = port;
        self
    }

    /// Whether time runs by itself.
    pub fn time(mut self, time: Time) -> Self {
        self.config.time = time;
        self
    }

    /// What decides every random choice; without it the system does.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(seed);
        self
    }

    /// How many threads serve connections, at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads.max(1);
        self
    }

    /// The password of the default user.
    pub fn password(mut self, password: &str) -> Self {
        self.config.requirepass = password.as_bytes().to_vec();
        self
    }

    /// Lets SIGTERM and SIGINT end it: for a process that is nothing else.
    pub fn signals(mut self, signals: bool) -> Self {
        self.signals = signals;
        self
    }

    /// What INFO tells of the process' allocator, which this asks: for a process that is nothing else.
    pub fn allocator(mut self, usage: fn() -> AllocatorUsage) -> Self {
        self.allocator = Some(usage);
        self
    }

    /// Starts it; it accepts connections when this returns.
    pub fn start(self) -> Result<Server, StartError> {
        Server::start(self)
    }
}

/// How long dropping a server waits for its threads.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running server. Dropping it closes its connections and frees everything; see [`Server::stop`] for how long that
/// takes at most.
pub struct Server {
    shared: Arc<Shared>,
    acceptor: Arc<Acceptor>,
    patience: Duration,
    /// Removed when all threads have ended.
    #[cfg(unix)]
    _socket_file: Option<net::SocketFile>,
}

impl Server {
    /// A server with Redis' defaults, but for what is set on the builder.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn start(builder: Builder) -> Result<Self, StartError> {
        let Builder { mut config, signals, allocator } = builder;
        let accepting = AcceptRuntime::new(signals)?;
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only a unix socket has a file"))]
        let mut listeners = Listeners::bind(&config)?;
        #[cfg(unix)]
        let _socket_file = listeners.take_file();
        let endpoints = Endpoints::of(&config);
        let port = listeners.port();
        config.port = port;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let seed = config.seed.unwrap_or_else(random_seed);
        let threads = Threads::new(config.thread_count(cores), endpoints, listeners, |now| {
            let mut engine = Engine::new(config, seed, now);
            engine.set_process(net::this_process(port, allocator));
            engine
        })?;
        let (shared, acceptor) = (threads.shared().clone(), threads.acceptor().clone());
        threads.start(accepting)?;
        Ok(Server {
            shared,
            acceptor,
            patience: PATIENCE,
            #[cfg(unix)]
            _socket_file,
        })
    }

    /// The port it listens on; 0 when it does not listen for clients of the network.
    pub fn port(&self) -> u16 {
        self.acceptor.port()
    }

    /// Its address on the loopback interface.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port())
    }

    /// Its address as clients write it: `redis://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Waits until a signal or SHUTDOWN ends it.
    pub fn wait(&self) {
        self.shared.shutdown.wait();
    }

    /// Ends it as dropping it does, but waits no longer than `patience` for its threads, where dropping waits for up to
    /// five seconds. A thread that is within a command may then go on until that has ended: for a process that ends.
    pub fn stop(mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Stops both hands of the clock. The wall hand, in milliseconds since the epoch.
    pub fn freeze(&self) -> i64 {
        self.shared.with_engine(Engine::freeze)
    }

    /// Lets both hands run again from where they stand.
    pub fn resume(&self) -> i64 {
        self.shared.with_engine(Engine::resume)
    }

    /// Moves both hands, firing every deadline on the way at its own instant, in order. How many fired.
    ///
    /// What it causes for clients is in their sockets' way when this returns.
    ///
    /// # Errors
    /// When a hand would leave its range, some 146,000 years; then nothing has moved.
    pub fn advance(&self, by: Duration) -> Result<u64, ClockError> {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.shared.with_engine(|engine| engine.advance(ms, RedissonWaiters::Woken))
    }

    /// Moves both hands to the next deadline and fires it; `None` when none is pending.
    pub fn next(&self) -> Option<u64> {
        self.shared.with_engine(|engine| engine.advance_to_next(RedissonWaiters::Woken))
    }

    /// Moves the wall hand alone, as when the system's clock is set. In milliseconds; negative: backward.
    ///
    /// # Errors
    /// When the hand would leave its range.
    pub fn step(&self, ms: i64) -> Result<i64, ClockError> {
        self.shared.with_engine(|engine| engine.step_wall(ms))
    }

    /// The wall hand, in milliseconds since the epoch.
    pub fn wall_ms(&self) -> i64 {
        self.shared.with_engine(|engine| engine.now().wall_ms())
    }

    /// How many waiting clients have been woken since the start: by keys, not by timeouts.
    pub fn unblocked_clients(&self) -> u64 {
        self.shared.with_engine(|engine| engine.unblocked_clients())
    }

    /// How often a timer has woken the process since the start: never before a deadline.
    pub fn timer_wakes(&self) -> u64 {
        self.shared.timer_wakes()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("port", &self.port()).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.end();
        self.shared.shutdown.join(self.patience);
    }
}

/// 64 bits that the system chooses anew for each server.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
