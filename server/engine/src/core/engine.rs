//! The [`Engine`] struct, the kinds of command handlers, and the [`Host`] of an engine.

use super::cross_protocol::CrossProtocolLog;
use super::hooks::Hooks;
use super::observers::Observers;
use super::part_handler::{ClientHandler, PartHandler};
use super::progress::{Crash, Stop};
use super::server_views::{InfoView, MemoryView};
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
use crate::persistence::{
    AppendLog, AppendOnly, DiskFiles, FileChange, FileWork, FileWorkDone, LoadProgress, Persistence,
};
use crate::pubsub::{Audience, PubSub};
use crate::replication::{ReplicaLink, Replication, ReplicationTimer};
use crate::scripts::{ScriptRun, Scripts};
use crate::sentinel_server::SentinelServer;
use crate::shutdown::Shutdown;
use crate::slow_log::SlowLog;
use crate::spec::{
    Args, BlockingHandler, CommandError, CommandTable, DataHandler, Outcome, PerCommand,
    ReadingAnyKeyHandler, Registration, Versions,
};
use crate::statistics::{Identity, Process, Stats};
use crate::waits::Waits;
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
/// The handler of a command that changes its session depending on the parameters.
pub(crate) type ConfiguredSessionHandler = fn(&mut Session, &Config, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on the counters of INFO: those of commands and clients, and those of keys.
pub(crate) type StatisticsHandler = fn(&mut Stats, &mut Counters, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on keys that connects to other servers. Without a host, there are no other servers.
pub(crate) type HostedHandler = fn(&mut Tx<'_>, Option<&dyn Host>, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that runs a script or a function; it returns which. The flag says whether the server is a
/// cluster node.
pub(crate) type ScriptHandler =
    for<'a> fn(&mut Scripts, bool, Args<'a>) -> Result<ScriptRun<'a>, CommandError>;
/// The libraries of functions, with the parts available to a library while it is loaded.
pub(crate) struct LibraryControl<'e> {
    /// The scripts, with the libraries.
    pub(crate) scripts: &'e mut Scripts,
    /// The environment, whose host provides the time.
    pub(crate) environment: &'e Environment,
    /// The clocks.
    pub(crate) clock: &'e EngineClock,
    /// Whether replicas must make the same change.
    pub(crate) feeds_replicas: bool,
}

/// The result of a command on libraries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LibraryDone {
    /// The command has replied, and has changed nothing.
    Answered,
    /// The command has changed libraries. Replicas run the request; the reply, the name of a library or OK, follows.
    Changed {
        /// The position and the text of the word that differs for replicas.
        replaced: Option<(usize, Vec<u8>)>,
        /// The name of the loaded library.
        loaded: Option<Vec<u8>>,
    },
}

impl LibraryDone {
    /// A change that replicas make with the same request, with the reply OK.
    pub(crate) const CHANGED: Self = LibraryDone::Changed { replaced: None, loaded: None };
}

/// The handler of a command on the libraries of functions.
pub(crate) type LibraryHandler =
    fn(LibraryControl<'_>, Args<'_>, &mut dyn Reply) -> Result<LibraryDone, CommandError>;

/// The parameters in force, to be changed.
pub(crate) struct ConfigControl<'e> {
    /// The parameters.
    pub(crate) config: &'e mut Config,
    /// The host, which follows some of the parameters before they are in force.
    pub(crate) host: Option<&'e dyn Host>,
    /// Whether the client is on this machine.
    pub(crate) is_local: bool,
    /// Whether the data are being loaded.
    pub(crate) is_loading: bool,
}

/// The configuration file, with the parts that it describes.
pub(crate) struct ConfigFile<'e> {
    pub(super) config: &'e Config,
    pub(super) environment: &'e Environment,
    pub(super) users: &'e Users,
    pub(super) commands: &'e CommandTable,
    pub(super) sentinel: Option<&'e SentinelServer>,
}

/// The handler of DEBUG.
pub(crate) type DebugHandler =
    fn(&mut DebugControl<'_>, Args<'_>, &mut dyn Reply) -> Result<DebugEffect, CommandError>;

/// The parts that DEBUG sees and changes.
pub(crate) struct DebugControl<'e> {
    /// The database of the client.
    pub(crate) db: usize,
    /// Whether the client is on this machine.
    pub(crate) is_local: bool,
    /// Bytes that the server takes.
    pub(crate) used_bytes: usize,
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The rows of all commands.
    pub(crate) commands: &'e CommandTable,
    /// The environment, whose host has the files.
    pub(crate) environment: &'e Environment,
    /// The clock.
    pub(crate) clock: &'e EngineClock,
    /// All databases.
    pub(crate) keyspace: &'e mut Keyspace,
    /// The scripts, with the libraries.
    pub(crate) scripts: &'e mut Scripts,
    /// The saves.
    pub(crate) saves: &'e mut Persistence,
    /// Whether the data are being loaded.
    pub(crate) is_loading: bool,
    /// Whether there are append-only files to be read again.
    pub(crate) has_append_only: bool,
    /// The parts that a test has switched off.
    pub(crate) switches: &'e mut Switches,
}

impl DebugControl<'_> {
    /// Returns the keys of the client's database, to be looked at and changed.
    pub(crate) fn tx(&mut self) -> Tx<'_> {
        self.keyspace.tx(self.db, self.clock.now())
    }
}

/// The effect that a subcommand of DEBUG asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DebugEffect {
    /// No effect. The reply is already written.
    None,
    /// The server ends in the midst of its work. The client is not answered.
    Crash(Crash),
    /// The data are saved, then this handler runs with the same arguments.
    SaveThen(DebugHandler),
    /// The append-only file is read in place of the data. The reply is OK.
    LoadAppendOnly,
    /// The whole server sleeps for so many microseconds when the command has ended. The reply is OK.
    Sleep {
        /// Microseconds.
        us: u64,
    },
    /// Each flush of the append-only file begins with a pause. The reply is OK.
    DelayFlushes {
        /// Microseconds.
        us: u64,
    },
    /// All parameters are written into the configuration file. The reply is OK.
    RewriteConfig,
    /// The history of the data gets another id. The reply is OK.
    ChangeHistoryId,
    /// Clients that track keys are told that all have changed. The reply is OK.
    ForgetTrackedKeys,
}

/// The fate of the other clients when an engine is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherClients {
    /// They are disconnected.
    Disconnected,
    /// They stay connected and subscribed. Their waits end as if they had timed out, and their WATCH as if a key had
    /// changed; what they have queued since MULTI stays.
    Kept,
}

/// The handler of a command on the server as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerHandler {
    /// A handler that describes the server.
    Info(fn(&InfoView<'_>, Args<'_>, &mut dyn Reply)),
    /// A handler that describes the memory of the server.
    Memory(fn(&MemoryView<'_>, &mut dyn Reply)),
    /// A handler that sees the process around the server.
    Process(fn(&Process, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes parameters. The conductor applies them and replies.
    SetConfig(fn(ConfigControl<'_>, Args<'_>) -> Outcome),
    /// A handler that writes the configuration file.
    ConfigFile(fn(ConfigFile<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that sees keys, and the host.
    Hosted(HostedHandler),
    /// A check of a request that reads the histories of all servers of the process.
    HistoryOfAll(fn(Args<'_>) -> Outcome),
    /// A handler that looks inside the server, and asks for more.
    Debug(DebugHandler),
    /// A check of a request to begin anew. It returns what becomes of the other clients.
    Reset(fn(Args<'_>) -> Result<OtherClients, CommandError>),
}

/// The handler of a command. Each kind has access only to the parts of the engine that its function gets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    /// A handler with access to keys.
    Data(DataHandler),
    /// A handler with access to keys that may wait.
    BlockingData(BlockingHandler),
    /// A handler with access to keys that learns whether it may read keys beyond those of its request.
    ReadingAnyKey(ReadingAnyKeyHandler),
    /// A handler with access to keys, and to the subscribers of each channel.
    Listening(ListeningHandler),
    /// A handler with access to keys that may read the history in pieces.
    OfHistory(HistoryHandler),
    /// A handler that uses only its arguments.
    Stateless(fn(Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler with access to its session.
    Session(ChangingHandler<Session>),
    /// A handler with access to its session and to the parameters in force.
    ConfiguredSession(ConfiguredSessionHandler),
    /// A handler with access to the parameters in force.
    Config(ReadingHandler<Config>),
    /// A handler with access to the counters of INFO.
    Statistics(StatisticsHandler),
    /// A handler with access to the rows of all commands.
    Commands(ReadingHandler<CommandTable>),
    /// A handler with access to the subscriptions of channels.
    PubSub(ReadingHandler<PubSub>),
    /// A message to its receivers; the command does nothing else.
    Publish(Audience),
    /// A handler with access to the slow log.
    SlowLog(ChangingHandler<SlowLog>),
    /// A handler with access to the interpreter.
    Scripts(ChangingHandler<Scripts>),
    /// A handler with access to the libraries of functions; it returns the request that replicas run.
    Libraries(LibraryHandler),
    /// A handler that returns the script or function to run.
    Script(ScriptHandler),
    /// A handler with access to the clock; it returns an order.
    Clock(ClockHandler),
    /// A handler that changes its client, or others. It is behind a reference so that a handler has two words.
    Client(&'static ClientHandler),
    /// A handler with access to one part; the rest of the engine follows its changes.
    Part(PartHandler),
    /// A handler that sees several parts, for what concerns the server as a whole.
    Server(&'static ServerHandler),
    /// The command takes less than in the newest version: the request is checked, and then runs.
    Versioned,
}

const _: () =
    assert!(size_of::<Handler>() == 2 * size_of::<usize>(), "each command's handler is read on its way");

/// A whole server, except its sockets.
pub struct Engine {
    /// The parameters in force.
    pub config: Config,
    /// All databases.
    pub keyspace: Keyspace,
    /// The table of all commands.
    pub commands: Arc<CommandTable>,
    /// The handler of each command, by the command's number.
    pub(super) handlers: PerCommand<Option<Handler>>,
    /// Requests that the emulated older version refuses.
    pub(super) versions: Versions<Handler>,
    /// The clients.
    pub(crate) sessions: Sessions,
    /// The subscriptions of channels and patterns.
    pub(super) pubsub: PubSub,
    /// The users and their permissions.
    pub(super) users: Users,
    /// The observers of calls.
    pub(super) observers: Observers,
    /// The current time, the clocks that a test moves, and the engine's own timers.
    pub(super) clock: EngineClock,
    /// The other servers of the process, and the broadcasts to all of them.
    pub(super) member: TopologyMember,
    /// The waiting requests.
    pub(super) waits: Waits,
    /// The number of the current batch, from 1.
    pub(super) batch: u64,
    /// The memory in use, and its peak.
    pub(super) memory: MemoryAccount,
    /// The memory limits.
    pub(super) limits: Limits,
    /// The interpreter.
    pub(crate) scripts: Scripts,
    /// The parts of the engine that a test has switched off.
    pub(super) switches: Switches,
    /// The injected faults.
    pub(super) faults: Faults,
    /// The work done besides running requests.
    pub(super) hooks: Hooks,
    /// The clients that read the history in pieces.
    pub(super) readings: HistoryReadings,
    /// The pauses of clients.
    pub(super) pauses: Pauses,
    /// The log of cross-protocol (HTTP) requests.
    pub(super) cross_protocol: CrossProtocolLog,
    /// The shutdown of the server.
    pub(super) shutdown: Shutdown,
    /// The connections to other servers.
    pub(super) outbound: Outbound,
    /// The history of the data, and the replicas.
    pub(super) replication: Replication,
    /// The link to the master, if the server is a replica.
    pub(super) following: Option<ReplicaLink>,
    /// The timer of the periodic replication checks.
    pub(super) replication_timer: ReplicationTimer,
    /// The sentinel, if the server is one.
    pub(super) sentinel: Option<Box<SentinelServer>>,
    /// The state and the results of saves.
    pub(crate) persistence: Persistence,
    /// The append-only file.
    pub(super) append_only: Box<AppendOnly>,
    /// The progress of the loading of the data at the start, until the data are there.
    pub(super) loading: Option<LoadProgress>,
    /// The environment of the engine.
    pub(crate) environment: Environment,
    /// The initial configuration of the engine.
    pub(super) start: Box<EngineStart>,
    /// The cluster, if the server is a cluster node.
    pub(super) cluster: Option<Box<Cluster>>,
    /// The stop of the whole server that a command has requested, until [`Engine::poll_output`] returns it.
    pub(crate) stop: Option<Stop>,
}

impl Engine {
    /// Creates an engine with these parameters and commands, at this time of the system's clocks. `seed` determines
    /// every random choice.
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
            append_only: Box::default(),
            loading: None,
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

/// The initial configuration of an engine.
pub(super) struct EngineStart {
    pub(super) config: Config,
    pub(super) users: Users,
    pub(super) seed: u64,
}

/// The environment in which an engine runs.
pub(crate) struct Environment {
    /// The name of the server and its process.
    pub(crate) identity: Identity,
    /// The host that provides the time, the files and the sockets of clients.
    pub(crate) host: Option<Arc<dyn Host>>,
}

/// The host of an engine. Without a host, the engine knows only the times that its driver passes in, and clients never
/// disconnect on their own.
pub trait Host: Send + Sync {
    /// Returns the current time of the system's clocks, for uses that cannot wait for the next batch.
    fn now(&self) -> Now;

    /// Returns the nanoseconds of real time since a fixed instant. Read after each command to measure its duration. The
    /// value may drift away from [`Host::now`] in the long run.
    fn stopwatch_ns(&self) -> u64;

    /// Follows a change of parameters or users. Decisions that the host makes without the engine must change at once,
    /// since a later request of the same batch may run a slow script.
    fn rules_changed(&self, engine: &Engine) {
        let _decides_nothing = engine;
    }

    /// Runs requests of other clients. Called from time to time while a script is slow.
    fn serve_while_slow(&self, engine: &mut Engine);

    /// Applies parameters that are about to come into force. From now on, the host listens for clients at exactly the
    /// given addresses, and uses the given TLS settings.
    ///
    /// # Errors
    /// Returns the setting that failed. Nothing has changed then.
    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal>;

    /// Accepts connections over the network from now on, or refuses them while keeping the ports of this server. By
    /// default, a host has no network.
    fn let_clients_in(&self, are_let_in: bool) {
        let _nowhere = are_let_in;
    }

    /// Returns the absolute path of a directory that becomes the working directory. A path is relative to `directory`.
    /// By default, a host has no files and accepts any path.
    ///
    /// # Errors
    /// Returns the error of the system: the path does not exist, is not a directory, or may not be entered.
    fn enter(&self, directory: &str, path: &str) -> io::Result<String> {
        let _nowhere = directory;
        Ok(path.to_owned())
    }

    /// Returns the bytes of a file. A path is relative to this directory. By default, a host has no files.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read_file(&self, directory: &str, path: &str) -> io::Result<Vec<u8>> {
        let _nowhere = (directory, path);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Replaces the content of a file atomically: a concurrent reader finds either the old bytes or the new ones. A
    /// path is relative to this directory.
    ///
    /// # Errors
    /// Returns the error of the system. The file is unchanged then.
    fn write_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        let _nowhere = (directory, path, bytes);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Writes a file as [`Host::write_file`] does, but without waiting for the disk. The content survives the end of
    /// this process, but may be lost in a power failure.
    ///
    /// # Errors
    /// Returns the error of the system. The file is unchanged then.
    fn note_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_file(directory, path, bytes)
    }

    /// Locks a file for this server until the server ends, and creates the file if it does not exist.
    /// [`Host::note_file`] keeps the lock. A path is relative to this directory. By default, a host has no files, and
    /// no other server to share them with.
    ///
    /// # Errors
    /// Returns the error of the system. If another server holds the file, that is the error of a call that would block.
    fn claim_file(&self, directory: &str, path: &str) -> io::Result<()> {
        let _nowhere = (directory, path);
        Ok(())
    }

    /// Writes a file as [`Host::write_file`] does, but in the background. Afterwards, [`Engine::disk_event`]
    /// is called with this number and the result. If the engine has waited, the result is returned here instead.
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

    /// Does work on the files of a directory in the background. Afterwards, [`Engine::disk_event`] is called with this
    /// number and the result. If the engine has waited, the result is returned here instead.
    fn work_in_background(&self, directory: &str, work: FileWork, number: u64) -> Option<FileWorkDone> {
        let _waited = number;
        Some(work.run(&DirectoryOf { host: self, directory }))
    }

    /// Changes the files of a directory, and waits for the disk. Paths are relative to this directory. By default, a
    /// host has no files.
    ///
    /// # Errors
    /// Returns the error of the system. Nothing has changed then.
    fn change_file(&self, directory: &str, change: FileChange<'_>) -> io::Result<()> {
        let _nowhere = (directory, change);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Returns the length of a file, in bytes. A path is relative to this directory. By default, a host has no files.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn file_len(&self, directory: &str, path: &str) -> io::Result<u64> {
        let _nowhere = (directory, path);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Returns the file to which the engine appends. By default, a host has none.
    fn append_log(&self) -> Option<&dyn AppendLog> {
        None
    }

    /// Whether the client of this session has closed its connection, even if the connection has not read EOF yet.
    /// Called before a waiting client is served, never while a request runs.
    fn is_gone(&self, session: u64) -> bool;

    /// Returns an unused id for a session that the engine itself creates, if the driver assigns the ids of sessions.
    fn session_id(&self) -> Option<u64> {
        None
    }

    /// Returns the address of a host name; the caller waits for it. By default, a host resolves no names.
    fn resolve(&self, name: &str) -> Option<IpAddr> {
        let _unknown = name;
        None
    }

    /// Connects to another server; the caller waits for it.
    ///
    /// # Errors
    /// Returns an error if there is no connection within the time limit.
    fn connect(&self, address: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected>;
}

/// A directory of a host.
struct DirectoryOf<'h, H: ?Sized> {
    host: &'h H,
    directory: &'h str,
}

impl<H: Host + ?Sized> DiskFiles for DirectoryOf<'_, H> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.host.read_file(self.directory, path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.host.write_file(self.directory, path, bytes)
    }

    fn change(&self, change: FileChange<'_>) -> io::Result<()> {
        self.host.change_file(self.directory, change)
    }

    fn len(&self, path: &str) -> io::Result<u64> {
        self.host.file_len(self.directory, path)
    }
}
