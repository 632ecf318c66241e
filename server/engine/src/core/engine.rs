//! The [`Engine`] struct, the kinds of command handler, and the [`Host`] that an engine asks for the time.

use super::call::Call;
use super::cross_protocol::CrossProtocolLog;
use super::hooks::Hooks;
use super::observers::Observers;
use super::part_handler::{ClientHandler, PartHandler};
use super::progress::Stop;
use super::switches::Switches;
use super::target::{NotConnected, Target, TargetAddress};
use crate::acl::{Users, configured_users};
use crate::clients::{Session, Sessions};
use crate::clock::{ClockHandler, EngineClock};
use crate::cluster::Cluster;
use crate::config::{Config, HostChanges, HostRefusal};
use crate::faults::Faults;
use crate::limits::Limits;
use crate::locks::{self, HistoryHandler, HistoryReadings, ListeningHandler};
use crate::member::TopologyMember;
use crate::outbound::Outbound;
use crate::pauses::Pauses;
use crate::persistence::Persistence;
use crate::pubsub::{Audience, PubSub};
use crate::replication::{ReplicaLink, Replication, ReplicationTimer};
use crate::scripts::{ScriptRun, Scripts};
use crate::sentinel_server::SentinelServer;
use crate::shutdown::Shutdown;
use crate::slow_log::SlowLog;
use crate::spec::{
    Args, BlockingHandler, CommandError, CommandTable, DataHandler, Flow, Outcome, PerCommand,
    ReadingAnyKeyHandler, Registration, Versions,
};
use crate::statistics::{Identity, Stats};
use crate::waits::{Retry, Waits};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Counters, Keyspace, Tx};
use lockwheel_store::memory::MemoryAccount;
use lockwheel_store::time::Now;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

/// The handler of a command that reads one part of the engine.
pub(crate) type ReadingHandler<Part> = fn(&Part, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that changes one part of the engine.
pub(crate) type ChangingHandler<Part> = fn(&mut Part, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that changes its session as the parameters allow.
pub(crate) type ConfiguredSessionHandler = fn(&mut Session, &Config, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on the counters of INFO: those of commands and clients, and those of keys.
pub(crate) type StatisticsHandler = fn(&mut Stats, &mut Counters, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on keys that talks to other servers; without a host there are none.
pub(crate) type HostedHandler = fn(&mut Tx<'_>, Option<&dyn Host>, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that runs a script or a function: it says which. The flag: the server is a node of a
/// cluster.
pub(crate) type ScriptHandler =
    for<'a> fn(&mut Scripts, bool, Args<'a>) -> Result<ScriptRun<'a>, CommandError>;
/// The handler of a command that sees the engine.
pub(crate) type EngineHandler = fn(&mut Engine, Call<'_>, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that sees the engine and may wait.
pub(crate) type BlockingEngineHandler =
    fn(&mut Engine, Call<'_>, Args<'_>, &mut dyn Reply) -> Result<Flow<Retry>, CommandError>;

/// The libraries of functions, with what a library may ask for while it is loaded.
pub(crate) struct LibraryControl<'e> {
    /// The scripts, with the libraries.
    pub(crate) scripts: &'e mut Scripts,
    /// The environment, whose host tells the time.
    pub(crate) environment: &'e Environment,
    /// The clocks.
    pub(crate) clock: &'e EngineClock,
    /// Whether replicas are to make the same change.
    pub(crate) feeds_replicas: bool,
}

/// The outcome of a command on libraries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LibraryDone {
    /// It has answered, and has changed nothing.
    Answered,
    /// It has changed libraries. Replicas run the request, and then it is answered: with the name of a library, or OK.
    Changed {
        /// The word of the request that is another one for replicas, with its place.
        replaced: Option<(usize, Vec<u8>)>,
        /// The name of the library that it has loaded.
        loaded: Option<Vec<u8>>,
    },
}

impl LibraryDone {
    /// Libraries were changed: replicas run the request as it is, and the answer is OK.
    pub(crate) const CHANGED: Self = LibraryDone::Changed { replaced: None, loaded: None };
}

/// The handler of a command on the libraries of functions.
pub(crate) type LibraryHandler =
    fn(LibraryControl<'_>, Args<'_>, &mut dyn Reply) -> Result<LibraryDone, CommandError>;

/// What runs a command: each kind sees what its function is given and nothing else of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    /// It sees keys.
    Data(DataHandler),
    /// It sees keys, and may wait.
    BlockingData(BlockingHandler),
    /// It sees keys, and is told whether it may read those that its request does not name.
    ReadingAnyKey(ReadingAnyKeyHandler),
    /// It sees keys, and who listens to which channel.
    Listening(ListeningHandler),
    /// A handler that sees keys, and may read the history in pieces.
    OfHistory(HistoryHandler),
    /// A check of a request that reads the histories of all servers of the process.
    HistoryOfAll(fn(Args<'_>) -> Outcome),
    /// It sees keys, and the host.
    Hosted(HostedHandler),
    /// It sees its arguments alone.
    Stateless(fn(Args<'_>, &mut dyn Reply) -> Outcome),
    /// It sees its session.
    Session(ChangingHandler<Session>),
    /// It sees its session, and the parameters in force.
    ConfiguredSession(ConfiguredSessionHandler),
    /// It sees the parameters in force.
    Config(ReadingHandler<Config>),
    /// It sees what INFO counts.
    Statistics(StatisticsHandler),
    /// It sees the rows of all commands.
    Commands(ReadingHandler<CommandTable>),
    /// It sees the subscriptions of channels.
    PubSub(ReadingHandler<PubSub>),
    /// It sends a message to its receivers: there is no more to the command.
    Publish(Audience),
    /// It sees the slow log.
    SlowLog(ChangingHandler<SlowLog>),
    /// It sees the interpreter.
    Scripts(ChangingHandler<Scripts>),
    /// A handler that sees the libraries of functions, and says what replicas run.
    Libraries(LibraryHandler),
    /// A handler that says which script or function runs.
    Script(ScriptHandler),
    /// A handler that sees the clock, and gives an order.
    Clock(ClockHandler),
    /// A handler that changes its client, or others.
    Client(ClientHandler),
    /// A handler that sees one part, whose changes the rest of the engine follows.
    Part(PartHandler),
    /// It sees the engine, for what concerns several of its parts.
    Engine(EngineHandler),
    /// It sees the engine, and may wait.
    BlockingEngine(BlockingEngineHandler),
}

/// A whole server but for its sockets.
pub struct Engine {
    /// The parameters in force.
    pub config: Config,
    /// All databases.
    pub keyspace: Keyspace,
    /// Every command.
    pub commands: Arc<CommandTable>,
    /// The handler of each command, by its number.
    pub(super) handlers: PerCommand<Option<Handler>>,
    /// Requests that the emulated older version refuses.
    pub(super) versions: Versions<Handler>,
    /// The clients.
    pub(crate) sessions: Sessions,
    /// The subscriptions of channels and patterns.
    pub(crate) pubsub: PubSub,
    /// Who may do what.
    pub(super) users: Users,
    /// What is notified of each call.
    pub(crate) observers: Observers,
    /// The instant, the clocks that a test moves, and the engine's own timers.
    pub(super) clock: EngineClock,
    /// The other servers of its process, and the requests to all of them.
    pub(super) member: TopologyMember,
    /// The requests that wait.
    pub(super) waits: Waits,
    /// The number of the present batch, from 1.
    pub(super) batch: u64,
    /// The memory in use, and its peak.
    pub(crate) memory: MemoryAccount,
    /// The limits of memory.
    pub(super) limits: Limits,
    /// The interpreter.
    pub(crate) scripts: Scripts,
    /// What a test has switched off.
    pub(crate) switches: Switches,
    /// What a test lets go wrong.
    pub(super) faults: Faults,
    /// What is done besides running requests.
    pub(super) hooks: Hooks,
    /// The clients that read the history in pieces.
    pub(super) readings: HistoryReadings,
    /// The pauses of clients.
    pub(super) pauses: Pauses,
    /// The warnings of requests of HTTP.
    pub(super) cross_protocol: CrossProtocolLog,
    /// The end that the server has been told to come to.
    pub(super) shutdown: Shutdown,
    /// The connections to other servers.
    pub(super) outbound: Outbound,
    /// The history of the data, and the replicas.
    pub(super) replication: Replication,
    /// The master, if this is a replica.
    pub(super) following: Option<ReplicaLink>,
    /// The timer by which both are looked at.
    pub(super) replication_timer: ReplicationTimer,
    /// What it watches, if it is a sentinel.
    pub(super) sentinel: Option<Box<SentinelServer>>,
    /// What was saved, and how.
    pub(crate) persistence: Persistence,
    /// What it runs in.
    pub(crate) environment: Environment,
    /// What it was made with.
    pub(super) start: Box<EngineStart>,
    /// Its cluster, if it is a node of one.
    pub(super) cluster: Option<Box<Cluster>>,
    /// What a command has asked for that stops the whole server, until [`Engine::poll_output`] hands it out.
    pub(crate) stop: Option<Stop>,
}

impl Engine {
    /// An engine with these parameters and commands at this instant of the system's clocks. `seed` decides every random
    /// choice.
    pub(crate) fn with_commands(
        commands: Registration<Handler>,
        config: Config,
        seed: u64,
        system: Now,
    ) -> Self {
        let (table, handlers) =
            commands.finish(&config.renames).expect("names are checked when they are loaded");
        let mut keyspace = Keyspace::new(config.databases, seed);
        config.apply_to(&mut keyspace);
        locks::subscribe(&mut keyspace, seed);
        let users = configured_users(&config.users, &config.requirepass, config.rule_setting(&table));
        let start = Box::new(EngineStart { config: config.clone(), users, seed });
        let mut engine = Engine {
            environment: Environment { identity: Identity::new(keyspace.rng()), host: None },
            replication: Replication::new(keyspace.rng()),
            following: None,
            replication_timer: ReplicationTimer::default(),
            keyspace,
            sessions: Sessions::default(),
            pubsub: PubSub::new(locks::waiter_of_channel),
            users: start.users.clone(),
            observers: Observers::new(&config),
            commands: Arc::new(table),
            handlers,
            versions: Versions::default(),
            clock: EngineClock::new(config.clock(system), system),
            member: TopologyMember::default(),
            waits: Waits::default(),
            batch: 0,
            memory: MemoryAccount::default(),
            limits: Limits::default(),
            scripts: Scripts::new(&config, seed),
            switches: Switches::default(),
            faults: Faults::new(seed),
            hooks: Hooks::default(),
            readings: HistoryReadings::default(),
            pauses: Pauses::default(),
            cross_protocol: CrossProtocolLog::default(),
            shutdown: Shutdown::default(),
            outbound: Outbound::default(),
            sentinel: SentinelServer::configured(&config, seed, system),
            persistence: Persistence::default(),
            cluster: None,
            stop: None,
            start,
            config,
        };
        engine.configure_ledger();
        engine.keyspace.go_on_at(engine.clock.now(), engine.clock.usual_rule());
        engine.memory.commands =
            engine.commands.heap_bytes() + engine.handlers.heap_bytes() + engine.observers.stats.heap_bytes();
        engine.memory.at_start = engine.memory_parts().usage();
        engine.limits_changed(engine.config.maxmemory);
        engine.begin_replication();
        engine
    }
}

/// What an engine was made with.
pub(super) struct EngineStart {
    pub(super) config: Config,
    pub(super) users: Users,
    pub(super) seed: u64,
}

/// The environment in which an engine runs.
pub(crate) struct Environment {
    /// What the server calls itself, and the process that it is in.
    pub(crate) identity: Identity,
    /// The host that gives the time, the files and the sockets of clients.
    pub(crate) host: Option<Arc<dyn Host>>,
}

/// The host of an engine. Without one, the engine knows only the instants it is given, and clients never
/// disconnect on their own.
pub trait Host: Send + Sync {
    /// The system's clocks, now: for what must not wait until the next batch begins.
    fn now(&self) -> Now;

    /// Nanoseconds of real time since an instant that stays the same, read after each command to tell how long it took.
    /// It may drift away from [`Host::now`] in the long run.
    fn stopwatch_ns(&self) -> u64;

    /// Parameters or users have changed. What the host decides by without the engine follows at once: a later request
    /// of the same batch may run a slow script.
    fn rules_changed(&self, engine: &Engine) {
        let _decides_nothing = engine;
    }

    /// Called from time to time while a script is slow: runs what other clients ask for in the meantime.
    fn serve_while_slow(&self, engine: &mut Engine);

    /// Follows parameters that are about to come into force: listens for network clients where they say from now on,
    /// and nowhere else, and makes connections over TLS as they say.
    ///
    /// # Errors
    /// What of it fails: then nothing has changed.
    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal>;

    /// Lets clients connect over the network from now on, or lets the system refuse them while the ports stay this
    /// server's. By itself a host has no network.
    fn let_clients_in(&self, are_let_in: bool) {
        let _nowhere = are_let_in;
    }

    /// The path from the root of a directory that is to be worked in; a path is relative to this directory. By itself a
    /// host has no files, and takes any.
    ///
    /// # Errors
    /// The system's: it is not there, or is none, or may not be entered.
    fn enter(&self, directory: &str, path: &str) -> io::Result<String> {
        let _nowhere = directory;
        Ok(path.to_owned())
    }

    /// The bytes of a file; a path is relative to this directory. By itself a host has no files.
    ///
    /// # Errors
    /// The system's.
    fn read_file(&self, directory: &str, path: &str) -> io::Result<Vec<u8>> {
        let _nowhere = (directory, path);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Gives a file these bytes as a whole: who reads it meanwhile finds the old ones or the new ones. A path is
    /// relative to this directory.
    ///
    /// # Errors
    /// The system's; then the file is as it was.
    fn write_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        let _nowhere = (directory, path, bytes);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Writes a file as [`Host::write_file`] does, for whoever reads it when this process has ended: a power failure
    /// may take it, so nobody waits for the disk.
    ///
    /// # Errors
    /// The system's; then the file is as it was.
    fn note_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_file(directory, path, bytes)
    }

    /// Keeps a file, which is made if it is not there, for this server alone until it ends; [`Host::note_file`] changes
    /// nothing in that. A path is relative to this directory. By itself a host has no files, and nobody to share them.
    ///
    /// # Errors
    /// The system's; that it would have to wait when another server has the file.
    fn claim_file(&self, directory: &str, path: &str) -> io::Result<()> {
        let _nowhere = (directory, path);
        Ok(())
    }

    /// Writes a file as [`Host::write_file`] does, without the engine waiting for it: then
    /// [`Engine::written_in_background`] is called with this number and what has come of it. Or what has come of it, if
    /// the engine has waited.
    fn write_in_background(
        &self,
        directory: &str,
        path: &str,
        bytes: Vec<u8>,
        serial: u64,
    ) -> Option<io::Result<()>> {
        let _waited = serial;
        Some(self.write_file(directory, path, &bytes))
    }

    /// Whether the client of this session has closed its connection, even if the connection has not read EOF yet. Asked
    /// before something is given to a waiting client, never on a request's path.
    fn is_gone(&self, session: u64) -> bool;

    /// The number of a session that the engine makes by itself, if the driver gives numbers to sessions: one that no
    /// other session has had.
    fn session_id(&self) -> Option<u64> {
        None
    }

    /// The address of another machine's name; whoever asks waits for it. By itself a host knows none.
    fn resolve(&self, name: &str) -> Option<IpAddr> {
        let _unknown = name;
        None
    }

    /// Connects to another server; whoever asks waits for it.
    ///
    /// # Errors
    /// When there is no connection within the time limit.
    fn connect(&self, address: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected>;
}
