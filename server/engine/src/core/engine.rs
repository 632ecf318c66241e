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

pub(crate) type ReadingHandler<Part> = fn(&Part, Args<'_>, &mut dyn Reply) -> Outcome;
pub(crate) type ChangingHandler<Part> = fn(&mut Part, Args<'_>, &mut dyn Reply) -> Outcome;
pub(crate) type ConfiguredSessionHandler = fn(&mut Session, &Config, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on the counters of INFO: those of commands and clients, and those of keys.
pub(crate) type StatisticsHandler = fn(&mut Stats, &mut Counters, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command on keys that connects to other servers. Without a host, there are no other servers.
pub(crate) type HostedHandler = fn(&mut Tx<'_>, Option<&dyn Host>, Args<'_>, &mut dyn Reply) -> Outcome;
/// A handler that returns the script or function to run. The flag says whether the server is a cluster node.
pub(crate) type ScriptHandler =
    for<'a> fn(&mut Scripts, bool, Args<'a>) -> Result<ScriptRun<'a>, CommandError>;
/// The libraries of functions, with what a library may use while it is loaded.
pub(crate) struct LibraryControl<'e> {
    pub(crate) scripts: &'e mut Scripts,
    /// The environment, whose host provides the time.
    pub(crate) environment: &'e Environment,
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

pub(crate) type LibraryHandler =
    fn(LibraryControl<'_>, Args<'_>, &mut dyn Reply) -> Result<LibraryDone, CommandError>;

/// The parameters in force, to be changed.
pub(crate) struct ConfigControl<'e> {
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

pub(crate) type DebugHandler =
    fn(&mut DebugControl<'_>, Args<'_>, &mut dyn Reply) -> Result<DebugEffect, CommandError>;

/// The parts that DEBUG sees and changes.
pub(crate) struct DebugControl<'e> {
    /// The database of the client.
    pub(crate) db: usize,
    pub(crate) is_local: bool,
    pub(crate) used_bytes: usize,
    pub(crate) config: &'e Config,
    pub(crate) commands: &'e CommandTable,
    /// The environment, whose host has the files.
    pub(crate) environment: &'e Environment,
    pub(crate) clock: &'e EngineClock,
    pub(crate) keyspace: &'e mut Keyspace,
    pub(crate) scripts: &'e mut Scripts,
    pub(crate) saves: &'e mut Persistence,
    pub(crate) is_loading: bool,
    /// Whether there are append-only files to be read again.
    pub(crate) has_append_only: bool,
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
    /// The whole server sleeps for this time when the command has ended. The reply is OK.
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

/// The fate of the other clients in a reset of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherClients {
    /// The clients are disconnected.
    Disconnected,
    /// Waits end as at a timeout, WATCH fails; connections, subscriptions and the queue of MULTI stay.
    Kept,
}

/// A handler for the server as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerHandler {
    Info(fn(&InfoView<'_>, Args<'_>, &mut dyn Reply)),
    Memory(fn(&MemoryView<'_>, &mut dyn Reply)),
    Process(fn(&Process, Args<'_>, &mut dyn Reply) -> Outcome),
    /// A handler that changes parameters. The conductor applies them and replies.
    SetConfig(fn(ConfigControl<'_>, Args<'_>) -> Outcome),
    ConfigFile(fn(ConfigFile<'_>, &mut dyn Reply) -> Outcome),
    Hosted(HostedHandler),
    /// A check of a request that reads the histories of all servers of the process.
    HistoryOfAll(fn(Args<'_>) -> Outcome),
    Debug(DebugHandler),
    /// A check of a request to begin anew. It returns what becomes of the other clients.
    Reset(fn(Args<'_>) -> Result<OtherClients, CommandError>),
}

/// The handler of a command. Each kind has access only to the parts of the engine that its function gets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    Data(DataHandler),
    BlockingData(BlockingHandler),
    /// A handler with access to keys that learns whether it may read keys beyond those of its request.
    ReadingAnyKey(ReadingAnyKeyHandler),
    /// A handler with access to keys, and to the subscribers of each channel.
    Listening(ListeningHandler),
    /// A handler with access to keys that may read the history in pieces.
    OfHistory(HistoryHandler),
    /// A handler that uses only its arguments.
    Stateless(fn(Args<'_>, &mut dyn Reply) -> Outcome),
    Session(ChangingHandler<Session>),
    ConfiguredSession(ConfiguredSessionHandler),
    Config(ReadingHandler<Config>),
    Statistics(StatisticsHandler),
    Commands(ReadingHandler<CommandTable>),
    PubSub(ReadingHandler<PubSub>),
    /// A message to its receivers; the command does nothing else.
    Publish(Audience),
    SlowLog(ChangingHandler<SlowLog>),
    Scripts(ChangingHandler<Scripts>),
    Libraries(LibraryHandler),
    Script(ScriptHandler),
    Clock(ClockHandler),
    /// A handler that changes its client, or others. The reference keeps a `Handler` at two words.
    Client(&'static ClientHandler),
    /// A handler with access to one part; the rest of the engine follows its changes.
    Part(PartHandler),
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
    pub(super) handlers: PerCommand<Option<Handler>>,
    /// Requests that the emulated older version refuses.
    pub(super) versions: Versions<Handler>,
    pub(crate) sessions: Sessions,
    pub(super) pubsub: PubSub,
    pub(super) users: Users,
    pub(super) observers: Observers,
    /// The current time, the clocks that a test moves, and the engine's own timers.
    pub(super) clock: EngineClock,
    /// The other servers of the process, and the broadcasts to all of them.
    pub(super) member: TopologyMember,
    pub(super) waits: Waits,
    /// The number of the current batch, from 1.
    pub(super) batch: u64,
    pub(super) memory: MemoryAccount,
    pub(super) limits: Limits,
    pub(crate) scripts: Scripts,
    pub(super) switches: Switches,
    pub(super) faults: Faults,
    pub(super) hooks: Hooks,
    pub(super) readings: HistoryReadings,
    pub(super) pauses: Pauses,
    pub(super) cross_protocol: CrossProtocolLog,
    pub(super) shutdown: Shutdown,
    pub(super) outbound: Outbound,
    /// The history of the data, and the replicas.
    pub(super) replication: Replication,
    /// The link to the master, if the server is a replica.
    pub(super) following: Option<ReplicaLink>,
    pub(super) replication_timer: ReplicationTimer,
    pub(super) sentinel: Option<Box<SentinelServer>>,
    pub(crate) persistence: Persistence,
    pub(super) append_only: Box<AppendOnly>,
    /// The progress of the loading of the data at the start, until the data are there.
    pub(super) loading: Option<LoadProgress>,
    pub(crate) environment: Environment,
    pub(super) start: Box<EngineStart>,
    pub(super) cluster: Option<Box<Cluster>>,
    /// The stop of the whole server that a command has requested, until [`Engine::poll_output`] returns it.
    pub(crate) stop: Option<Stop>,
}

impl Engine {
    /// Creates an engine at this time of the system's clocks. `seed` determines every random choice.
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

pub(super) struct EngineStart {
    pub(super) config: Config,
    pub(super) users: Users,
    pub(super) seed: u64,
}

/// The surroundings of an engine: its process and its host.
pub(crate) struct Environment {
    pub(crate) identity: Identity,
    pub(crate) host: Option<Arc<dyn Host>>,
}

/// The host of an engine. Without one, time comes only from the driver, and no client disconnects on its own.
pub trait Host: Send + Sync {
    /// Returns the current time of the system's clocks, also in the midst of a batch.
    fn now(&self) -> Now;

    /// Returns nanoseconds of real time since a fixed instant, to measure each command. May drift from [`Host::now`].
    fn stopwatch_ns(&self) -> u64;

    /// Applies parameters or users to what the host decides alone, at once: the next request may run a slow script.
    fn rules_changed(&self, engine: &Engine) {
        let _decides_nothing = engine;
    }

    /// Runs requests of other clients. Called repeatedly while a script is slow.
    fn serve_while_slow(&self, engine: &mut Engine);

    /// Applies parameters before they come into force. The host then listens exactly as they say, TLS included.
    ///
    /// # Errors
    /// Returns the setting that failed. Nothing has changed then.
    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal>;

    /// Sets whether network connections are accepted; the ports are kept if not. By default, a host has no network.
    fn let_clients_in(&self, are_let_in: bool) {
        let _nowhere = are_let_in;
    }

    /// Returns the absolute path of a new working directory, relative to `directory`. By default, accepts any path.
    ///
    /// # Errors
    /// Returns the system's error if the path does not exist, is not a directory, or may not be entered.
    fn enter(&self, directory: &str, path: &str) -> io::Result<String> {
        let _nowhere = directory;
        Ok(path.to_owned())
    }

    /// Returns the bytes of a file; `path` may be relative to `directory`. By default, a host has no files.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read_file(&self, directory: &str, path: &str) -> io::Result<Vec<u8>> {
        let _nowhere = (directory, path);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Replaces a file atomically for concurrent readers; `path` may be relative to `directory`.
    ///
    /// # Errors
    /// Returns the error of the system. The file is unchanged then.
    fn write_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        let _nowhere = (directory, path, bytes);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Writes a file as [`Host::write_file`] does, without waiting for the disk: only a power failure may undo it.
    ///
    /// # Errors
    /// Returns the error of the system. The file is unchanged then.
    fn note_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_file(directory, path, bytes)
    }

    /// Locks a file, created if absent, until the server ends, across [`Host::note_file`]. Does nothing by default.
    ///
    /// # Errors
    /// Returns the error of the system; `WouldBlock` if another server holds the file.
    fn claim_file(&self, directory: &str, path: &str) -> io::Result<()> {
        let _nowhere = (directory, path);
        Ok(())
    }

    /// Writes a file as [`Host::write_file`] does, in the background. The result goes to [`Engine::disk_event`] with
    /// this number, or is returned if the engine has waited.
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

    /// Changes files of `directory`, and waits for the disk. By default, a host has no files.
    ///
    /// # Errors
    /// Returns the error of the system. Nothing has changed then.
    fn change_file(&self, directory: &str, change: FileChange<'_>) -> io::Result<()> {
        let _nowhere = (directory, change);
        Err(io::ErrorKind::NotFound.into())
    }

    /// Returns the length of a file, in bytes; `path` may be relative to `directory`. By default, a host has no files.
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

    /// Whether the client of this session has closed its connection, though EOF may not have been read. Called before a
    /// waiting client is served, never while a request runs.
    fn is_gone(&self, session: u64) -> bool;

    /// Returns an unused id for a session of the engine itself, if the driver assigns ids.
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
