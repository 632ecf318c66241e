//! A server in this process: how it is configured, started and ended.

use super::error::StartError;
use super::greeting;
use super::handle::{Handle, Turned};
use super::steering::{Clock, Faults, History, Level, Refused, Reply, Until, Verdict};
use crate::net::{self, AcceptRuntime, Acceptors, Listeners, OsClock, Threads};
use lockwheel_engine::Engine;
use lockwheel_engine::clock::Settle;
use lockwheel_engine::config::{ChannelDefault, Config, TimeMode, TlsParameters};
use lockwheel_engine::core::OtherClients;
use lockwheel_engine::locks::LockSnapshot;
use lockwheel_engine::spec::Version;
use lockwheel_engine::statistics::Allocator;
use lockwheel_store::time::ClockError;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A server to be started.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) config: Config,
    signals: bool,
    allocator: Option<Allocator>,
    verify: Option<Level>,
    begins_with_saved: bool,
    /// Clients of the network are refused until they are let in.
    is_closed: bool,
    pub(super) started_in: Option<PathBuf>,
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
    pub fn time(mut self, time: TimeMode) -> Self {
        self.config.time = time;
        self
    }

    /// The seed of every random choice; without it the system chooses one.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(seed);
        self
    }

    /// How many threads serve connections, at least 1; without it there is one. With several, what a client sends over
    /// one connection without waiting for its reply may run after what it then sends over another.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads.max(1);
        self
    }

    /// Connections over TLS, beside plain ones or instead of them.
    pub fn tls(mut self, tls: TlsParameters) -> Self {
        self.config.tls = tls;
        self
    }

    /// The password of the default user.
    pub fn password(mut self, password: &str) -> Self {
        self.config.requirepass = password.as_bytes().to_vec();
        self
    }

    /// Whether it remembers what happens to locks, for [`Handle::history`] and [`Handle::verify`].
    pub fn lock_history(mut self, kept: bool) -> Self {
        self.config.lock_history = kept;
        self
    }

    /// Refuses commands and options that are newer than this version, and tells clients that it is this one. The
    /// server's own families stay. By default there is all that it knows.
    pub fn compat(mut self, version: Version) -> Self {
        self.config.compat = version;
        self.config.acl_pubsub_default = ChannelDefault::of(version);
        self
    }

    /// Lets a test fail by what [`Handle::verify`] finds from this level on: dropping the server then panics, with the
    /// findings and the report. A test that panics for another reason prints the report. Keeps the history of locks.
    pub fn verify(mut self, level: Level) -> Self {
        self.verify = Some(level);
        self.lock_history(true)
    }

    /// The keys and libraries that it begins with: a file that SAVE has written, here or on a real server. A path that
    /// is relative is one below the process' directory.
    pub fn load(mut self, path: impl AsRef<Path>) -> Self {
        let path = path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        self.config.saves.load = path.to_string_lossy().into_owned();
        self
    }

    /// Refuses clients of the network until [`Server::let_clients_in`].
    pub(super) fn closed(mut self) -> Self {
        self.is_closed = true;
        self
    }

    /// It begins with what was saved, `dbfilename` in `dir`, if there is such a file: for a dedicated process.
    pub fn begins_with_saved(mut self, begins: bool) -> Self {
        self.begins_with_saved = begins;
        self
    }

    /// The directory that the process was started in, if it has left that since: DEBUG RESTART runs it anew there.
    /// For a dedicated process.
    pub fn started_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.started_in = Some(directory.into());
        self
    }

    /// Lets SIGTERM and SIGINT end it, and a second one the process, with exit code 1: for a dedicated process.
    pub fn signals(mut self, signals: bool) -> Self {
        self.signals = signals;
        self
    }

    /// The process' allocator, for INFO and MEMORY: for a dedicated process.
    pub fn allocator(mut self, allocator: Allocator) -> Self {
        self.allocator = Some(allocator);
        self
    }

    /// The same for a server at this place among those of one process: the first keeps the port and the rest that there
    /// is only one of, and with one seed each makes choices of its own. Where mapped ports are announced, the others
    /// have the ports that follow, inside and outside; else they choose free ones. None has a configuration file, which
    /// would be that of all.
    pub(super) fn at_place(mut self, place: usize) -> Self {
        self.config.file.clear();
        if self.config.replication.masterauth.is_empty() {
            self.config.replication.masterauth.clone_from(&self.config.requirepass);
        }
        if place == 0 {
            return self;
        }
        self.config.seed = self.config.seed.map(|seed| seed ^ (place as u64).wrapping_mul(ODD));
        // The first judges the history of all.
        self.verify = None;
        self.config.unixsocket.clear();
        self.signals = false;
        let is_mapped = announced_ports(&mut self.config).into_iter().any(|port| *port != 0);
        let next = |port: u16| if port == 0 { 0 } else { port.saturating_add(place as u16) };
        announced_ports(&mut self.config).into_iter().for_each(|port| *port = next(*port));
        let listens = |port: u16| if is_mapped { next(port) } else { 0 };
        self.config.tls.port = self.config.tls.port.map(listens);
        let port = listens(self.config.port);
        self.port(port)
    }

    /// Whether so many servers have ports to announce and to listen on by [`Builder::at_place`].
    pub(super) fn has_ports_for(&self, announcing: usize, listening: usize) -> bool {
        let mut config = self.config.clone();
        let announced = announced_ports(&mut config).map(|port| *port);
        let has_room = |port: u16, servers: usize| usize::from(port) + servers <= usize::from(u16::MAX) + 1;
        let listened = [config.port, config.tls.port.unwrap_or(0)];
        announced == [0; 4]
            || announced.into_iter().all(|port| port == 0 || has_room(port, announcing))
                && listened.into_iter().all(|port| port == 0 || has_room(port, listening))
    }

    /// The same as a node of a cluster, which keeps what it knows in no file; and where replicas need a password, they
    /// know it.
    pub(super) fn in_cluster(mut self) -> Self {
        self.config.cluster.enabled = true;
        self.config.cluster.config_file.clear();
        if self.config.replication.masterauth.is_empty() {
            self.config.replication.masterauth.clone_from(&self.config.requirepass);
        }
        self
    }

    /// Servers that follow or watch one another, and nodes of a cluster, choose names by which they tell one another
    /// apart: with one seed for all of them each chooses by its port.
    fn with_seed_of_its_own(mut self) -> Self {
        let config = &self.config;
        if config.is_sentinel() || config.cluster.enabled || !config.replication.master.is_empty() {
            let port = u64::from(config.shown_port());
            self.config.seed = config.seed.map(|seed| seed ^ port.wrapping_mul(ODD));
        }
        self
    }

    /// The seed of every random choice.
    pub(super) fn seed_or_random(&self) -> u64 {
        self.config.seed.unwrap_or_else(random_seed)
    }

    /// The same for a sentinel.
    pub(super) fn into_sentinel(mut self) -> Self {
        self.config = self.config.into_sentinel();
        self.config.lock_history = false;
        self
    }

    /// Starts it; it accepts connections when this returns.
    pub fn start(self) -> Result<Server, StartError> {
        Server::start(self.with_seed_of_its_own(), OsClock::new())
    }
}

/// Spreads small numbers over all bits of a seed.
const ODD: u64 = 0xd134_2543_de82_ef95;

/// How long dropping a server waits for its threads.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running server. Dropping it closes its connections and frees everything; see [`Server::stop`] for how long that
/// takes at most.
pub struct Server {
    handle: Handle,
    verify: Option<Level>,
    acceptors: Arc<Acceptors>,
    patience: Duration,
    loopback: IpAddr,
    /// Removed when all threads have ended.
    #[cfg(unix)]
    _socket_file: Option<net::SocketFile>,
}

impl Server {
    /// A server with Redis' defaults, except for what the builder sets.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// With a clock that other servers of this process may have too.
    pub(super) fn start(builder: Builder, clock: OsClock) -> Result<Self, StartError> {
        let Builder { mut config, signals, allocator, verify, begins_with_saved, is_closed, .. } = builder;
        let file = Some(config.saves.load.clone()).filter(|path| !path.is_empty());
        let accepting = AcceptRuntime::new(signals)?;
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only a unix socket has a file"))]
        let mut listeners = Listeners::bind(&config)?;
        #[cfg(unix)]
        let _socket_file = listeners.take_file();
        let idle_exit =
            Some(config.shutdown.idle_exit).filter(|&seconds| seconds > 0).map(Duration::from_secs);
        config.maxclients = net::fit_clients(config.maxclients)?;
        config.port = listeners.port();
        config.tls.port = listeners.tls_port();
        let (shown_port, loopback) = (config.shown_port(), config.loopback());
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let seed = config.seed.unwrap_or_else(random_seed);
        let process = net::this_process(shown_port, allocator);
        if begins_with_saved {
            greeting::log(&config, &process);
        }
        let threads = Threads::new(config.thread_count(cores), listeners, clock, |now| {
            let mut engine = Engine::new(config, seed, now);
            *engine.process_mut() = process;
            engine
        })?;
        let (shared, acceptors) = (threads.shared().clone(), threads.acceptors().clone());
        if is_closed {
            acceptors.let_in(false);
        }
        shared.with_engine(Engine::begin_with_users_file).map_err(StartError::Users)?;
        let is_sentinel = shared.with_engine(|engine| engine.config.is_sentinel());
        if (begins_with_saved && !is_sentinel) || file.is_some() {
            shared.with_engine(|engine| engine.begin_with_file(file.as_deref())).map_err(StartError::Load)?;
        }
        shared.with_engine(Engine::begin_as_node).map_err(StartError::Cluster)?;
        shared.with_engine(Engine::begin_as_sentinel);
        threads.start(accepting, idle_exit)?;
        Ok(Server {
            handle: Handle::new(shared),
            verify,
            acceptors,
            patience: PATIENCE,
            loopback,
            #[cfg(unix)]
            _socket_file,
        })
    }

    /// Lets clients of the network in, if it has started closed.
    pub(super) fn let_clients_in(&self) {
        self.acceptors.let_in(true);
    }

    /// The port it listens on; 0 when it does not listen for plain clients of the network.
    pub fn port(&self) -> u16 {
        self.acceptors.port()
    }

    /// The port it listens on for clients over TLS; none when it does not.
    pub fn tls_port(&self) -> Option<u16> {
        self.acceptors.tls_port()
    }

    /// Its address on the loopback interface: of IPv4, unless it listens on IPv6 alone.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::new(self.loopback, self.port())
    }

    /// Its address as clients write it: `redis://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Waits until a signal or SHUTDOWN ends it.
    pub fn wait(&self) {
        self.handle.shared.shutdown.wait();
    }

    /// Whether a client has ended it, rather than a signal or its process.
    pub(super) fn is_shut_down(&self) -> bool {
        self.handle.shared.is_shut_down()
    }

    /// Ends it as dropping it does, but waits no longer than `patience` for its threads, where dropping waits for up to
    /// five seconds. A thread that runs a command may then continue until it ends: for a process that is about to exit.
    pub fn stop(mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Its clock and its locks, for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// As [`Handle::freeze`].
    pub fn freeze(&self) -> i64 {
        self.handle.freeze()
    }

    /// As [`Handle::resume`].
    pub fn resume(&self) -> i64 {
        self.handle.resume()
    }

    /// As [`Handle::advance`].
    ///
    /// # Errors
    /// When a hand would leave its range; then nothing has moved.
    pub fn advance(&self, by: Duration) -> Result<u64, ClockError> {
        self.handle.advance(by)
    }

    /// As [`Handle::next`].
    pub fn next(&self) -> Option<u64> {
        self.handle.next()
    }

    /// As [`Handle::advance_settled`].
    ///
    /// # Errors
    /// When a hand would leave its range; then nothing has moved.
    pub fn advance_settled(&self, by: Duration, settle: Settle) -> Result<Turned, ClockError> {
        self.handle.advance_settled(by, settle)
    }

    /// As [`Handle::next_settled`].
    pub fn next_settled(&self, settle: Settle) -> Option<Turned> {
        self.handle.next_settled(settle)
    }

    /// As [`Handle::reset`].
    pub fn reset(&self, clients: OtherClients) {
        self.handle.reset(clients);
    }

    /// As [`Handle::step`].
    ///
    /// # Errors
    /// When the hand would leave its range.
    pub fn step(&self, ms: i64) -> Result<i64, ClockError> {
        self.handle.step(ms)
    }

    /// As [`Handle::wall_ms`].
    pub fn wall_ms(&self) -> i64 {
        self.handle.wall_ms()
    }

    /// As [`Handle::lock`].
    pub fn lock(&self, name: impl AsRef<[u8]>) -> LockSnapshot {
        self.handle.lock(name)
    }

    /// As [`Handle::unblocked_clients`].
    pub fn unblocked_clients(&self) -> u64 {
        self.handle.unblocked_clients()
    }

    /// As [`Handle::timer_wakes`].
    pub fn timer_wakes(&self) -> u64 {
        self.handle.timer_wakes()
    }
}

/// What a test steers beside the clock and the locks.
impl Server {
    /// As [`Handle::command`].
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn command(&self, words: &[&str]) -> Result<Reply, Refused> {
        self.handle.command(words)
    }

    /// As [`Handle::until`].
    pub fn until(&self) -> Until {
        self.handle.until()
    }

    /// As [`Handle::clock`].
    pub fn clock(&self) -> Clock {
        self.handle.clock()
    }

    /// As [`Handle::faults`].
    pub fn faults(&self) -> Faults {
        self.handle.faults()
    }

    /// As [`Handle::history`].
    pub fn history(&self) -> History {
        self.handle.history()
    }

    /// As [`Handle::verify`].
    ///
    /// # Errors
    /// When the server cannot be steered.
    pub fn verify(&self, level: Level, key: Option<&str>) -> Result<Verdict, Refused> {
        self.handle.verify(level, key)
    }

    /// As [`Handle::report`].
    pub fn report(&self) -> String {
        self.handle.report()
    }

    /// What is to be said at the end of a test, and whether that fails it.
    fn end_of_test(&self) -> Option<(String, bool)> {
        let level = self.verify?;
        if std::thread::panicking() {
            return Some((self.report(), false));
        }
        let findings = self.verify(level, None).map_or_else(|_| Vec::new(), |verdict| verdict.findings);
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        (!lines.is_empty()).then(|| (format!("{}\n{}", lines.join("\n"), self.report()), true))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("port", &self.port()).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let told = self.end_of_test();
        self.handle.shared.end();
        self.handle.shared.shutdown.join(self.patience);
        self.handle.shared.give_up_files();
        match told {
            Some((findings, true)) => panic!("{findings}"),
            Some((report, false)) => report_of_failure(&report),
            None => {}
        }
    }
}

/// Prints what a server knew when its test failed, beside what the test itself has said.
#[expect(clippy::print_stderr, reason = "a test's output is where its failure is told")]
fn report_of_failure(report: &str) {
    eprintln!("{report}");
}

/// 64 bits that the system chooses anew for each server.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The ports that a server announces, each 0 where it announces none.
fn announced_ports(config: &mut Config) -> [&mut u16; 4] {
    let (node, replica) = (&mut config.cluster, &mut config.replication);
    [
        &mut node.announce_port,
        &mut node.announce_tls_port,
        &mut node.announce_bus_port,
        &mut replica.announce_port,
    ]
}
