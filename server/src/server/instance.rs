//! A server in this process: configuration, start and end.

use super::error::StartError;
use super::greeting;
use super::handle::{Handle, Turned};
use super::steering::{Clock, Faults, History, Level, Refused, Reply, Until, Verdict};
use crate::net::{self, AcceptRuntime, Acceptors, Listeners, OsClock, Threads};
use lockwheel_engine::Engine;
use lockwheel_engine::clock::Settle;
use lockwheel_engine::config::{ChannelDefault, Config, TimeMode, TlsParameters};
use lockwheel_engine::core::{DataLoad, LoadAccess, LoadError, OtherClients};
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

/// The configuration of a server to be started.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) config: Config,
    signals: bool,
    allocator: Option<Allocator>,
    verify: Option<Level>,
    begins_with_saved: bool,
    /// Whether the server refuses clients of the network until [`Server::let_clients_in`].
    is_closed: bool,
    pub(super) started_in: Option<PathBuf>,
}

impl Builder {
    /// Sets all parameters at once. The methods below change single parameters.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the port. 0 picks a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.config.port = port;
        self
    }

    /// Sets whether time runs by itself.
    pub fn time(mut self, time: TimeMode) -> Self {
        self.config.time = time;
        self
    }

    /// Sets the seed of every random choice. Without this call the system chooses a seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(seed);
        self
    }

    /// Sets the number of threads that serve connections, at least 1; the default is 1. With several threads, order
    /// between connections is guaranteed only if the client waits for replies.
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads.max(1);
        self
    }

    /// Enables connections over TLS, beside plain connections or instead of them.
    pub fn tls(mut self, tls: TlsParameters) -> Self {
        self.config.tls = tls;
        self
    }

    /// Sets the password of the default user.
    pub fn password(mut self, password: &str) -> Self {
        self.config.requirepass = password.as_bytes().to_vec();
        self
    }

    /// Sets whether the server records lock events, for [`Handle::history`] and [`Handle::verify`].
    pub fn lock_history(mut self, kept: bool) -> Self {
        self.config.lock_history = kept;
        self
    }

    /// Emulates an older version (by default the newest known) towards clients: refuses newer commands and options. The
    /// server's own command families stay available.
    pub fn compat(mut self, version: Version) -> Self {
        self.config.compat = version;
        self.config.acl_pubsub_default = ChannelDefault::of(version);
        self
    }

    /// Enables the history of locks. Dropping the server panics with the findings and the report if [`Handle::verify`]
    /// finds anything of at least this level. If the test panics for another reason, the report is printed.
    pub fn verify(mut self, level: Level) -> Self {
        self.verify = Some(level);
        self.lock_history(true)
    }

    /// Sets the file of a SAVE, here or by Redis, whose keys and libraries are loaded at the start. A relative path is
    /// resolved against the working directory.
    pub fn load(mut self, path: impl AsRef<Path>) -> Self {
        let path = path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        self.config.saves.load = path.to_string_lossy().into_owned();
        self
    }

    /// Makes the server refuse clients of the network until [`Server::let_clients_in`].
    pub(super) fn closed(mut self) -> Self {
        self.is_closed = true;
        self
    }

    /// Sets whether the server loads `dbfilename` in `dir`, if it exists, at the start. Meant for a dedicated process.
    pub fn begins_with_saved(mut self, begins: bool) -> Self {
        self.begins_with_saved = begins;
        self
    }

    /// Sets the directory in which the process was started, for DEBUG RESTART. Meant for a dedicated process.
    pub fn started_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.started_in = Some(directory.into());
        self
    }

    /// Sets whether SIGTERM and SIGINT end the server, a second one with exit code 1. Meant for a dedicated process.
    pub fn signals(mut self, signals: bool) -> Self {
        self.signals = signals;
        self
    }

    /// Sets the allocator of the process, for INFO and MEMORY. Meant for a dedicated process.
    pub fn allocator(mut self, allocator: Allocator) -> Self {
        self.allocator = Some(allocator);
        self
    }

    /// Derives the configuration of the server at this place in one process. The first keeps the port and whatever can
    /// exist only once; no server has a configuration file. The others get the following ports if mapped ports are
    /// announced, or else free ones. With a common seed, each server makes its own random choices.
    pub(super) fn at_place(mut self, place: usize) -> Self {
        self.config.file.clear();
        if self.config.replication.masterauth.is_empty() {
            self.config.replication.masterauth.clone_from(&self.config.requirepass);
        }
        if place == 0 {
            return self;
        }
        self.config.seed = self.config.seed.map(|seed| seed ^ (place as u64).wrapping_mul(ODD));
        // The first server verifies the history of all.
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

    /// Whether all ports that [`Builder::at_place`] assigns to these numbers of servers are below 65536.
    pub(super) fn has_ports_for(&self, announcing: usize, listening: usize) -> bool {
        let mut config = self.config.clone();
        let announced = announced_ports(&mut config).map(|port| *port);
        let has_room = |port: u16, servers: usize| usize::from(port) + servers <= usize::from(u16::MAX) + 1;
        let listened = [config.port, config.tls.port.unwrap_or(0)];
        announced == [0; 4]
            || announced.into_iter().all(|port| port == 0 || has_room(port, announcing))
                && listened.into_iter().all(|port| port == 0 || has_room(port, listening))
    }

    /// Turns the server into a cluster node without a configuration file. Replicas get a password that they need.
    pub(super) fn in_cluster(mut self) -> Self {
        self.config.cluster.enabled = true;
        self.config.cluster.config_file.clear();
        if self.config.replication.masterauth.is_empty() {
            self.config.replication.masterauth.clone_from(&self.config.requirepass);
        }
        self
    }

    /// Makes the seed depend on the port in servers that replicate, are sentinels or belong to a cluster: they identify
    /// themselves by random ids, which must differ.
    pub(super) fn with_seed_of_its_own(mut self) -> Self {
        let config = &self.config;
        if config.is_sentinel() || config.cluster.enabled || !config.replication.master.is_empty() {
            let port = u64::from(config.shown_port());
            self.config.seed = config.seed.map(|seed| seed ^ port.wrapping_mul(ODD));
        }
        self
    }

    pub(super) fn seed_or_random(&self) -> u64 {
        self.config.seed.unwrap_or_else(random_seed)
    }

    pub(super) fn into_sentinel(mut self) -> Self {
        self.config = self.config.into_sentinel();
        self.config.lock_history = false;
        self
    }

    /// Starts the server. The server accepts connections when this function returns, and has the data of its file.
    ///
    /// # Errors
    /// Returns a [`StartError`] if the server cannot be started.
    pub fn start(self) -> Result<Server, StartError> {
        Server::start(self.with_seed_of_its_own(), OsClock::new())
    }
}

/// An odd multiplier that spreads small numbers over all bits of a seed.
const ODD: u64 = 0xd134_2543_de82_ef95;

/// The longest time for which dropping a server waits for its threads.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running server. Dropping it closes its connections and frees everything, as [`Server::stop`] describes.
pub struct Server {
    handle: Handle,
    verify: Option<Level>,
    acceptors: Arc<Acceptors>,
    patience: Duration,
    loopback: IpAddr,
    /// The file of the Unix socket, which is removed when all threads have ended.
    #[cfg(unix)]
    _socket_file: Option<net::SocketFile>,
}

impl Server {
    /// Returns a builder with Redis' defaults.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a server on a clock that other servers of this process may share.
    pub(super) fn start(builder: Builder, clock: OsClock) -> Result<Self, StartError> {
        let (mut server, load) = Server::open(builder, clock)?;
        server.load(load)?;
        Ok(server)
    }

    /// Starts a server up to the loading of its data. Clients are accepted, and get `LOADING`.
    pub(super) fn open(builder: Builder, clock: OsClock) -> Result<(Self, Option<DataLoad>), StartError> {
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
        // One batch, so that no master is followed before the data are there.
        let load = shared.with_engine(|engine| {
            engine.begin_with_users_file().map_err(StartError::Users)?;
            let keeps_log = begins_with_saved && !engine.config.is_sentinel();
            let begins = keeps_log || file.is_some();
            let load = begins.then(|| DataLoad::begin(engine, file.as_deref(), keeps_log)).transpose();
            match load.map_err(StartError::Load)? {
                Some(load) if load.has_data() => Ok(Some(load)),
                load => begin(engine, load).map(|()| None),
            }
        })?;
        threads.start(accepting, idle_exit)?;
        let server = Server {
            handle: Handle::new(shared),
            verify,
            acceptors,
            patience: PATIENCE,
            loopback,
            #[cfg(unix)]
            _socket_file,
        };
        Ok((server, load))
    }

    /// Loads the data of the start on this thread, in slices, unless the server ends meanwhile.
    pub(super) fn load(&mut self, load: Option<DataLoad>) -> Result<(), StartError> {
        let Some(load) = load else { return Ok(()) };
        let mut loader = net::Loader::new(&self.handle.shared);
        let loaded = load.run(&mut loader).and_then(|()| loader.with(|engine| begin(engine, Some(load))));
        let done = match loaded {
            Ok(begun) => begun,
            Err(LoadError::Failed(why)) => Err(StartError::Load(why)),
            Err(LoadError::Ended) => Ok(()),
        };
        drop(loader);
        if done.is_err() {
            // Nothing has been tested yet.
            self.verify = None;
        }
        done
    }

    /// Lets clients of the network in, if the server was started closed.
    pub(super) fn let_clients_in(&self) {
        self.acceptors.let_in(true);
    }

    /// Returns the port for plain clients of the network; 0 if the server does not listen for them.
    pub fn port(&self) -> u16 {
        self.acceptors.port()
    }

    /// Returns the port for clients over TLS; `None` if the server does not listen for them.
    pub fn tls_port(&self) -> Option<u16> {
        self.acceptors.tls_port()
    }

    /// Returns the address on the loopback interface. The address is of IPv4, unless the server listens on IPv6 alone.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::new(self.loopback, self.port())
    }

    /// Returns the address as clients write it: `redis://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Waits until a signal or SHUTDOWN ends the server.
    pub fn wait(&self) {
        self.handle.shared.shutdown.wait();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.handle.shared.has_ended()
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.handle.shared.is_shut_down()
    }

    /// Ends the server as dropping does, but waits for its threads for at most `patience` instead of five seconds. A
    /// thread may outlive it until its command ends. Meant for a process that is about to exit.
    pub fn stop(mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Returns a handle to the clock and the locks, for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Does what [`Handle::freeze`] does.
    pub fn freeze(&self) -> i64 {
        self.handle.freeze()
    }

    /// Does what [`Handle::resume`] does.
    pub fn resume(&self) -> i64 {
        self.handle.resume()
    }

    /// Does what [`Handle::advance`] does.
    ///
    /// # Errors
    /// Returns a [`ClockError`] if a clock would leave its range. Neither clock has moved then.
    pub fn advance(&self, by: Duration) -> Result<u64, ClockError> {
        self.handle.advance(by)
    }

    /// Does what [`Handle::next`] does.
    pub fn next(&self) -> Option<u64> {
        self.handle.next()
    }

    /// Does what [`Handle::advance_settled`] does.
    ///
    /// # Errors
    /// Returns a [`ClockError`] if a clock would leave its range. Neither clock has moved then.
    pub fn advance_settled(&self, by: Duration, settle: Settle) -> Result<Turned, ClockError> {
        self.handle.advance_settled(by, settle)
    }

    /// Does what [`Handle::next_settled`] does.
    pub fn next_settled(&self, settle: Settle) -> Option<Turned> {
        self.handle.next_settled(settle)
    }

    /// Does what [`Handle::reset`] does.
    pub fn reset(&self, clients: OtherClients) {
        self.handle.reset(clients);
    }

    /// Does what [`Handle::step`] does.
    ///
    /// # Errors
    /// Returns a [`ClockError`] if the wall clock would leave its range.
    pub fn step(&self, ms: i64) -> Result<i64, ClockError> {
        self.handle.step(ms)
    }

    /// Returns what [`Handle::wall_ms`] returns.
    pub fn wall_ms(&self) -> i64 {
        self.handle.wall_ms()
    }

    /// Returns what [`Handle::lock`] returns.
    pub fn lock(&self, name: impl AsRef<[u8]>) -> LockSnapshot {
        self.handle.lock(name)
    }

    /// Returns what [`Handle::unblocked_clients`] returns.
    pub fn unblocked_clients(&self) -> u64 {
        self.handle.unblocked_clients()
    }

    /// Returns what [`Handle::timer_wakes`] returns.
    pub fn timer_wakes(&self) -> u64 {
        self.handle.timer_wakes()
    }
}

/// Test control beside the clock and the locks.
impl Server {
    /// Does what [`Handle::command`] does.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server refuses the command.
    pub fn command(&self, words: &[&str]) -> Result<Reply, Refused> {
        self.handle.command(words)
    }

    /// Returns what [`Handle::until`] returns.
    pub fn until(&self) -> Until {
        self.handle.until()
    }

    /// Returns what [`Handle::clock`] returns.
    pub fn clock(&self) -> Clock {
        self.handle.clock()
    }

    /// Returns what [`Handle::faults`] returns.
    pub fn faults(&self) -> Faults {
        self.handle.faults()
    }

    /// Returns what [`Handle::history`] returns.
    pub fn history(&self) -> History {
        self.handle.history()
    }

    /// Does what [`Handle::verify`] does.
    ///
    /// # Errors
    /// Returns a [`Refused`] if the server cannot be controlled.
    pub fn verify(&self, level: Level, key: Option<&str>) -> Result<Verdict, Refused> {
        self.handle.verify(level, key)
    }

    /// Returns what [`Handle::report`] returns.
    pub fn report(&self) -> String {
        self.handle.report()
    }

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

/// Begins to serve clients, with the data of the start, if there are any.
fn begin(engine: &mut Engine, load: Option<DataLoad>) -> Result<(), StartError> {
    load.map_or(Ok(()), |load| load.finish(engine)).map_err(StartError::Load)?;
    engine.begin_as_node().map_err(StartError::Cluster)?;
    engine.begin_as_sentinel();
    Ok(())
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

#[expect(clippy::print_stderr, reason = "a test's output is where its failure is told")]
fn report_of_failure(report: &str) {
    eprintln!("{report}");
}

fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the ports that a server announces; 0 means not announced.
fn announced_ports(config: &mut Config) -> [&mut u16; 4] {
    let (node, replica) = (&mut config.cluster, &mut config.replication);
    [
        &mut node.announce_port,
        &mut node.announce_tls_port,
        &mut node.announce_bus_port,
        &mut replica.announce_port,
    ]
}
