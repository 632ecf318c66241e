//! The parameters of a server, and their forms in a command line, a configuration file and CONFIG SET. The module is
//! pure: text comes in, and a [`Config`] or an error goes out. A parameter is one row of the table in `table.rs`, and a
//! typed field of [`Config`] if the server uses it. All others of Redis 7.2 are kept as given, and shown.

mod access;
mod append_only;
mod arguments;
mod cluster;
mod fields;
mod file;
mod instant;
mod limits;
mod parameter;
mod replication;
mod rewrite;
mod saves;
mod shutdown;
mod source;
mod special;
mod system_reason;
mod table;
mod tls;
mod values;

pub use access::{HostChanges, HostRefusal, Pair, SetError, Surroundings};
pub use append_only::{AppendFsync, AppendOnlyParameters};
pub use arguments::Invocation;
pub use cluster::{ClusterParameters, EndpointType};
pub use fields::{ChannelDefault, LogLevel, MaxmemoryPolicy, Permission, Supervision};
pub use file::{CommandNames, LoadError};
pub use limits::{LuaParameters, OutputLimit, OutputLimits};
pub use parameter::{Change, Grammar, HostPart, Kind, Parameter, Value};
pub use replication::ReplicationParameters;
pub use saves::SaveParameters;
pub use shutdown::ShutdownParameters;
pub use source::{Files, Source};
pub use system_reason::system_reason;
pub use tls::{AuthClients, TlsParameters};
pub(crate) use values::size;

use crate::acl::{Setting, UserLine};
use crate::sentinel::SentinelLine;
use crate::spec::{Args, CommandError, CommandTable, Version, errors};
use lockwheel_store::keyspace::{AccessRules, EventClasses, Keyspace, LazyRemovals};
use lockwheel_store::time::{Clock, Mode, Now};
use lockwheel_store::values::Encodings;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The mode of the clock (`time`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeMode {
    /// The wall clock and the monotonic clock run with the system's time.
    #[default]
    Real,
    /// Both clocks stand still from the start, the wall clock at the system's time.
    Manual,
    /// Both clocks stand still from the start, the wall clock at this many milliseconds since the Unix epoch.
    At(i64),
}

/// The parameters of a server. Each field but `file` and `tls` is the parameter of the same name, with `-` for `_`. The
/// other parameters have no field: see [`Config::get`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The addresses to listen on, as `bind` spells them. A leading `-` marks an address that the machine may lack.
    pub bind: Vec<String>,
    /// The TCP port. 0 picks a free port.
    pub port: u16,
    /// The file that the port is written to when the server is ready. Empty: none.
    pub port_file: String,
    /// The inherited descriptor that the port is written to when the server is ready. -1: none.
    pub ready_fd: i32,
    /// Whether the program ends when its parent process has ended.
    pub exit_with_parent: bool,
    /// Connections over TLS.
    pub tls: TlsParameters,
    /// The path of the unix socket. Empty: none.
    pub unixsocket: String,
    /// The permissions of the unix socket. 0: the system's default.
    pub unixsocketperm: u32,
    /// Whether clients from other machines are refused while there is no password.
    pub protected_mode: bool,
    /// The number of threads that serve connections. 0: one for each core. See [`Config::thread_count`]. With one
    /// thread, requests run in order of arrival over all connections, as in Redis.
    pub threads: usize,
    /// The mode of the clock.
    pub time: TimeMode,
    /// The seed of every random choice. `None`: the system chooses it.
    pub seed: Option<u64>,
    /// Whether the commands that control the server in a test (`CLOCK.*`, `AWAIT.*`, `FAULT.*`) exist.
    pub control: bool,
    /// The version whose commands and options the server has.
    pub compat: Version,
    /// The number of databases, at most 100,000.
    pub databases: usize,
    /// The rights of new users to subscribe and publish to channels.
    pub acl_pubsub_default: ChannelDefault,
    /// The file of users. Empty: none.
    pub aclfile: String,
    /// The most entries of ACL LOG, the log of refusals.
    pub acllog_max_len: usize,
    /// The password of the default user. Empty: none.
    pub requirepass: Vec<u8>,
    /// The most clients at once.
    pub maxclients: usize,
    /// Seconds after which an idle client is disconnected. 0: never.
    pub timeout: u64,
    /// The most keys that are remembered for client-side caching. 0: no limit.
    pub tracking_table_max_keys: usize,
    /// Seconds between keep-alive probes. 0: none.
    pub tcp_keepalive: u64,
    /// The length of the queue of connections not yet accepted.
    pub tcp_backlog: i32,
    /// The classes of keyspace events that are published.
    pub notify_keyspace_events: EventClasses,
    /// The longest string, in bytes.
    pub proto_max_bulk_len: usize,
    /// The most bytes of requests that a client may have pending.
    pub client_query_buffer_limit: usize,
    /// The most bytes of replies that a client may have pending.
    pub client_output_buffer_limit: OutputLimits,
    /// Milliseconds after which a script is slow: other clients get BUSY, and the script can be killed. 0: never.
    pub busy_reply_threshold: u64,
    /// The least duration, in microseconds, of a call that SLOWLOG logs. Negative: no call is logged.
    pub slowlog_log_slower_than: i64,
    /// The most entries of SLOWLOG.
    pub slowlog_max_len: usize,
    /// The least duration, in milliseconds, of an event that LATENCY records. 0: no event is recorded.
    pub latency_monitor_threshold: i64,
    /// Whether the durations of the calls of each command are recorded.
    pub latency_tracking: bool,
    /// The percentiles of these durations that INFO shows, each from 0 to 100.
    pub latency_tracking_info_percentiles: Vec<String>,
    /// Whether the history of locks is kept.
    pub lock_history: bool,
    /// The most entries of the history of locks.
    pub lock_history_max: usize,
    /// The rest of a lease, in milliseconds, at which the owner of a lock is warned. 0: no warning.
    pub lock_jeopardy: i64,
    /// Whether holds of locks are observed even if no LOCK command has taken them.
    pub lock_ledger: bool,
    /// The parameters of waits for locks.
    pub lock_waits: LockWaitParameters,
    /// The resources of scripts.
    pub lua: LuaParameters,
    /// The limits of encodings. Their seed is unused: the keyspace keeps its own.
    pub encodings: Encodings,
    /// The most bytes of data. 0: no limit.
    pub maxmemory: u64,
    /// The most bytes of clients, at least 128 KiB. A negative number is a percentage of `maxmemory`. 0: no limit.
    pub maxmemory_clients: i64,
    /// The keys to evict above `maxmemory`; it also decides how accesses are measured.
    pub maxmemory_policy: MaxmemoryPolicy,
    /// The work that eviction may do.
    pub eviction_effort: EvictionEffort,
    /// The counting of accesses under an LFU policy.
    pub lfu: LfuParameters,
    /// The level of the log.
    pub loglevel: LogLevel,
    /// The file that logs go to. Empty: standard output.
    pub logfile: String,
    /// The working directory.
    pub dir: String,
    /// Files of saves.
    pub saves: SaveParameters,
    /// The append-only file.
    pub append_only: AppendOnlyParameters,
    /// Replication.
    pub replication: ReplicationParameters,
    /// The parameters of a node of a cluster.
    pub cluster: ClusterParameters,
    /// The server's end.
    pub shutdown: ShutdownParameters,
    /// The file that the process id is written to. Empty: none.
    pub pidfile: String,
    /// The clients that may use DEBUG.
    pub enable_debug_command: Permission,
    /// The clients that may load modules. This server has no modules.
    pub enable_module_command: Permission,
    /// The clients that may CONFIG SET the protected parameters.
    pub enable_protected_configs: Permission,
    /// Whether the program goes into the background (`daemonize`).
    pub daemonize: bool,
    /// The supervisor that is notified when the program is ready.
    pub supervised: Supervision,
    /// The absolute path of the configuration file. Empty: none.
    pub file: String,
    /// The new names of commands (`rename-command`): old and new. An empty new name removes the command.
    pub(crate) renames: Vec<(String, String)>,
    /// Whether the program's log begins with a logo.
    pub always_show_logo: bool,
    /// The users of `user` lines.
    pub(crate) users: Vec<UserLine>,
    /// The `sentinel` lines, if the server is a sentinel.
    pub(crate) sentinel: Option<Vec<SentinelLine>>,
    /// Parameters without a field that were set, by name.
    kept: BTreeMap<&'static str, Value>,
}

/// The parameters of waits for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaitParameters {
    /// Whether a request for a lock is refused for a deadlock with Redisson waits known only from the history.
    pub deadlock_inferred: bool,
    /// Milliseconds of the monotonic clock for which a free lock is kept from native waiters while Redisson's wait.
    pub handoff_delay: u64,
    /// Milliseconds (monotonic) of a free lock with a waiting client after which LOCK.VERIFY suspects a lost message.
    pub wakeup_limit: u64,
    /// The number of Redisson-style waiters that a hand-off may wake in vain before LOCK.VERIFY reports it.
    pub herd_limit: u64,
}

impl Default for LockWaitParameters {
    fn default() -> Self {
        LockWaitParameters { deadlock_inferred: false, handoff_delay: 0, wakeup_limit: 1000, herd_limit: 10 }
    }
}

/// The work that the eviction of keys may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionEffort {
    /// The time for which the eviction of keys may delay a request, from 0 to 100.
    pub tenacity: u32,
    /// The number of keys of a database that are sampled for each evicted key.
    pub samples: usize,
}

impl Default for EvictionEffort {
    fn default() -> Self {
        EvictionEffort { tenacity: 10, samples: 5 }
    }
}

/// The counting of accesses under an LFU policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LfuParameters {
    /// The degree to which each further access of a key is counted more rarely. 0: each access counts.
    pub log_factor: u32,
    /// Minutes without an access after which a key's count of accesses is decremented. 0: never.
    pub decay_time: u32,
}

impl Default for LfuParameters {
    fn default() -> Self {
        LfuParameters { log_factor: 10, decay_time: 1 }
    }
}

impl Default for Config {
    /// Redis' defaults, but for tests `bind` is the loopback interface, and clients on this machine may use DEBUG.
    fn default() -> Self {
        Config {
            bind: vec!["127.0.0.1".to_owned(), "-::1".to_owned()],
            port: 6379,
            port_file: String::new(),
            ready_fd: -1,
            exit_with_parent: false,
            tls: TlsParameters::default(),
            unixsocket: String::new(),
            unixsocketperm: 0,
            protected_mode: true,
            threads: 1,
            time: TimeMode::Real,
            seed: None,
            control: true,
            compat: Version::Newest,
            databases: 16,
            acl_pubsub_default: ChannelDefault::Nothing,
            aclfile: String::new(),
            acllog_max_len: 128,
            requirepass: Vec::new(),
            maxclients: 10_000,
            timeout: 0,
            tracking_table_max_keys: 1_000_000,
            tcp_keepalive: 300,
            tcp_backlog: 511,
            notify_keyspace_events: EventClasses::NONE,
            proto_max_bulk_len: 512 << 20,
            client_query_buffer_limit: 1 << 30,
            client_output_buffer_limit: OutputLimits::default(),
            busy_reply_threshold: 5000,
            slowlog_log_slower_than: 10_000,
            slowlog_max_len: 128,
            latency_monitor_threshold: 0,
            latency_tracking: true,
            latency_tracking_info_percentiles: ["50", "99", "99.9"].map(str::to_owned).into(),
            lock_history: false,
            lock_history_max: 65_536,
            lock_ledger: true,
            lock_jeopardy: 0,
            lock_waits: LockWaitParameters::default(),
            lua: LuaParameters::default(),
            encodings: Encodings::default(),
            maxmemory: 0,
            maxmemory_clients: 0,
            maxmemory_policy: MaxmemoryPolicy::NoEviction,
            eviction_effort: EvictionEffort::default(),
            lfu: LfuParameters::default(),
            loglevel: LogLevel::Notice,
            logfile: String::new(),
            dir: ".".to_owned(),
            saves: SaveParameters::default(),
            append_only: AppendOnlyParameters::default(),
            replication: ReplicationParameters::default(),
            cluster: ClusterParameters::default(),
            shutdown: ShutdownParameters::default(),
            pidfile: String::new(),
            enable_debug_command: Permission::Local,
            enable_module_command: Permission::No,
            enable_protected_configs: Permission::No,
            daemonize: false,
            supervised: Supervision::No,
            file: String::new(),
            renames: Vec::new(),
            always_show_logo: false,
            users: Vec::new(),
            sentinel: None,
            kept: BTreeMap::new(),
        }
    }
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindAddress {
    /// The address, or a name to be resolved.
    pub host: Host,
    /// Whether the address is skipped if the machine does not have it.
    pub optional: bool,
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => f.write_str("*"),
            Host::Ip(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => f.write_str("::*"),
            Host::Ip(ip) => ip.fmt(f),
            Host::Name(name) => f.write_str(name),
        }
    }
}

/// A machine's address or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address.
    Ip(IpAddr),
    /// A name.
    Name(String),
}

/// Whether the parameter with this name, in any case, is a secret.
pub fn is_secret(name: &[u8]) -> bool {
    access::find(name).is_some_and(|parameter| parameter.secret)
}

impl Config {
    /// Returns the database that a SELECT names, or an error if there is none.
    pub(crate) fn selected(&self, args: Args<'_>) -> Result<usize, CommandError> {
        let index = args.int_in(1, i32::MIN.into(), i32::MAX.into(), errors::OUT_OF_INT_RANGE)?;
        if self.cluster.enabled && index != 0 {
            return Err(CommandError::text("ERR SELECT is not allowed in cluster mode"));
        }
        usize::try_from(index).ok().filter(|&db| db < self.databases).ok_or(errors::DB_OUT_OF_RANGE)
    }

    /// Whether the server is a sentinel.
    pub fn is_sentinel(&self) -> bool {
        self.sentinel.is_some()
    }

    /// The mode of the server, as INFO and HELLO show it.
    pub fn mode(&self) -> &'static str {
        match self.is_sentinel() {
            true => "sentinel",
            false if self.cluster.enabled => "cluster",
            false => "standalone",
        }
    }

    /// The clock that `time` asks for, started at the system's time.
    pub(crate) fn clock(&self, system: Now) -> Clock {
        match self.time {
            TimeMode::Real => Clock::new(Mode::Real, system),
            TimeMode::Manual => Clock::new(Mode::Manual, system),
            TimeMode::At(wall_ms) => {
                let mut clock = Clock::new(Mode::Manual, system);
                // The instants that the parameter accepts are within the clock's range.
                let _in_range = clock.set(system, wall_ms);
                clock
            }
        }
    }

    /// Hands the parameters of the keyspace to it. Called after the start and after each CONFIG SET.
    pub(crate) fn apply_to(&self, keyspace: &mut Keyspace) {
        keyspace.encodings = Encodings { seed: keyspace.encodings.seed, ..self.encodings.clone() };
        keyspace.set_published(self.notify_keyspace_events);
        keyspace.max_string = self.proto_max_bulk_len;
        keyspace.lazy_removals = self.lazy_removals();
        keyspace.far_timeouts = self.compat < Version::V7_2;
        keyspace.in_cluster = self.cluster.enabled;
        keyspace.shares_integers = self.maxmemory == 0 || !self.maxmemory_policy.goes_by_accesses();
        keyspace.flush_saves = !self.saves.points.is_empty();
        keyspace.set_access_rules(AccessRules {
            measure: self.maxmemory_policy.measure(),
            log_factor: self.lfu.log_factor,
            decay_minutes: self.lfu.decay_time,
        });
    }

    /// Returns the kinds of removals that are propagated as UNLINK.
    fn lazy_removals(&self) -> LazyRemovals {
        let is_on = |name: &str| self.kept.get(name) == Some(&Value::Flag(true));
        LazyRemovals {
            eviction: is_on("lazyfree-lazy-eviction"),
            expire: is_on("lazyfree-lazy-expire"),
            server_del: is_on("lazyfree-lazy-server-del"),
            user_del: is_on("lazyfree-lazy-user-del"),
        }
    }

    /// Returns the setting in which rules of users are read, with the commands of this table.
    pub(crate) fn rule_setting<'a>(&self, table: &'a CommandTable) -> Setting<'a> {
        Setting { table, all_channels: self.acl_pubsub_default.is_all() }
    }

    /// The addresses of `bind`; `*` and `::*` are every interface.
    pub fn bind_addresses(&self) -> Vec<BindAddress> {
        let address = |text: &String| {
            let (name, optional) = match text.strip_prefix('-') {
                Some(name) => (name, true),
                None => (text.as_str(), false),
            };
            let host = match name {
                "*" => Host::Ip(Ipv4Addr::UNSPECIFIED.into()),
                "::*" => Host::Ip(Ipv6Addr::UNSPECIFIED.into()),
                _ => name.parse().map_or_else(|_| Host::Name(name.to_owned()), Host::Ip),
            };
            BindAddress { host, optional }
        };
        self.bind.iter().map(address).collect()
    }

    /// The loopback address for clients of this machine: IPv6 if `bind` names it and no IPv4 address.
    pub fn loopback(&self) -> IpAddr {
        let bound = self.bind_addresses();
        let has = |is_it: fn(&Host) -> bool| bound.iter().any(|address| is_it(&address.host));
        let is_v6 = has(|host| match host {
            Host::Ip(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unspecified(),
            _ => false,
        });
        match is_v6 && !has(|host| !matches!(host, Host::Ip(IpAddr::V6(_)))) {
            true => Ipv6Addr::LOCALHOST.into(),
            false => Ipv4Addr::LOCALHOST.into(),
        }
    }

    /// The port that INFO shows: the port of plain connections, else the TLS port. 0: neither.
    pub fn shown_port(&self) -> u16 {
        if self.port == 0 { self.tls.port.unwrap_or(0) } else { self.port }
    }

    /// Whether clients can connect only over TLS.
    pub(crate) fn is_tls_only(&self) -> bool {
        self.port == 0 && self.tls.port.is_some()
    }

    /// The number of threads that serve connections on a machine with `cores` cores: at least 1.
    pub fn thread_count(&self, cores: usize) -> usize {
        if self.threads == 0 { cores.max(1) } else { self.threads }
    }

    /// The limit of a client's pending replies. `pubsub`: whether the client is a subscriber.
    pub(crate) fn output_limit(&self, pubsub: bool) -> OutputLimit {
        let limits = &self.client_output_buffer_limit;
        if pubsub { limits.pubsub } else { limits.normal }
    }
}

#[cfg(test)]
mod tests;
