//! The rows of all parameters. Names, bounds and defaults are those observed of redis-server 7.0.15, with the
//! parameters that 7.2 added. `control`, `exit-with-parent`, `idle-exit`, `load`, `lock-deadlock-inferred`,
//! `lock-handoff-delay`, `lock-herd-limit`, `lock-history`, `lock-history-max`, `lock-jeopardy`, `lock-ledger`,
//! `lock-wakeup-limit`, `lua-memory-limit`, `port-file`, `ready-fd`, `seed`, `threads`, `time` and `tls-port-file` are
//! our own.

use super::parameter::{Access, Grammar, HostPart, Kind, Parameter, Read};
use super::{
    AppendFsync, AuthClients, ChannelDefault, Config, EndpointType, LogLevel, MaxmemoryPolicy, Permission,
    Supervision, special,
};
use crate::spec::Version;

const INT: i64 = i32::MAX as i64;
const UINT: i64 = u32::MAX as i64;
const PORT: i64 = u16::MAX as i64;
/// The most bytes of a size that Redis keeps as a signed number.
const LONG: u64 = i64::MAX as u64;

/// The most databases, which take some 30 MB. Redis takes any number, and dies if the databases do not fit into memory.
const DATABASES: i64 = 100_000;

/// The most entries of the history of locks, which take more than a gigabyte.
const LOCK_HISTORY: i64 = 1 << 24;

const LIMITS: &str = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60";

const SEVERAL: bool = true;
const ONE: bool = false;

const fn flag(name: &'static str, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Flag, default)
}

const fn integer(name: &'static str, min: i64, max: i64, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { min, max }, default)
}

const fn size(name: &'static str, min: u64, max: u64, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Size { min, max }, default)
}

const fn choice(name: &'static str, words: &'static [&'static str], default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Choice(words), default)
}

const fn text(name: &'static str, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Text, default)
}

const fn special(name: &'static str, several: bool, read: Read, default: &'static str) -> Parameter {
    Parameter::new(name, Kind::Special(Grammar { several, read }), default)
}

/// The accessors of the field of this name.
macro_rules! field {
    ($($name:ident).+) => {
        Access {
            get: |config: &Config| super::fields::Field::value(&config.$($name).+),
            set: |config: &mut Config, value| super::fields::Field::assign(&mut config.$($name).+, value),
        }
    };
}

const fn tls(parameter: Parameter, field: Access) -> Parameter {
    parameter.host(HostPart::Tls).field(field)
}

/// All parameters, in alphabetical order.
pub(super) const PARAMETERS: &[Parameter] = &[
    choice("acl-pubsub-default", ChannelDefault::NAMES, "resetchannels").field(field!(acl_pubsub_default)),
    text("aclfile", "").at_start().field(field!(aclfile)),
    integer("acllog-max-len", 0, i64::MAX, "128").field(field!(acllog_max_len)),
    integer("active-defrag-cycle-max", 1, 99, "25"),
    integer("active-defrag-cycle-min", 1, 99, "1"),
    size("active-defrag-ignore-bytes", 1, LONG, "104857600"),
    integer("active-defrag-max-scan-fields", 1, i64::MAX, "1000"),
    integer("active-defrag-threshold-lower", 0, 1000, "10"),
    integer("active-defrag-threshold-upper", 0, 1000, "100"),
    integer("active-expire-effort", 1, 10, "1"),
    flag("activedefrag", "no").check(special::activedefrag),
    flag("activerehashing", "yes"),
    flag("always-show-logo", "no").at_start().field(field!(always_show_logo)),
    flag("aof-disable-auto-gc", "no").field(field!(append_only.disable_auto_gc)),
    flag("aof-load-truncated", "yes").field(field!(append_only.load_truncated)),
    text("aof-rewrite-cpulist", "").alias("aof_rewrite_cpulist").at_start(),
    flag("aof-rewrite-incremental-fsync", "yes"),
    flag("aof-timestamp-enabled", "no").field(field!(append_only.timestamp_enabled)),
    flag("aof-use-rdb-preamble", "yes").field(field!(append_only.use_rdb_preamble)),
    text("appenddirname", "appendonlydir")
        .check(special::appenddirname)
        .at_start()
        .field(field!(append_only.directory)),
    text("appendfilename", "appendonly.aof")
        .check(special::appendfilename)
        .at_start()
        .field(field!(append_only.filename)),
    choice("appendfsync", AppendFsync::NAMES, "everysec").field(field!(append_only.fsync)),
    flag("appendonly", "no").field(field!(append_only.enabled)),
    size("auto-aof-rewrite-min-size", 0, LONG, "67108864").field(field!(append_only.rewrite_min_size)),
    integer("auto-aof-rewrite-percentage", 0, INT, "100").field(field!(append_only.rewrite_percentage)),
    text("bgsave-cpulist", "").alias("bgsave_cpulist").at_start(),
    special("bind", SEVERAL, special::bind, "127.0.0.1 -::1").host(HostPart::Addresses).field(field!(bind)),
    text("bind-source-addr", "").field(field!(replication.source_address)),
    text("bio-cpulist", "").alias("bio_cpulist").at_start(),
    integer("busy-reply-threshold", 0, i64::MAX, "5000")
        .alias("lua-time-limit")
        .field(field!(busy_reply_threshold)),
    special("client-output-buffer-limit", SEVERAL, special::output_limits, LIMITS)
        .field(field!(client_output_buffer_limit)),
    size("client-query-buffer-limit", 1 << 20, LONG, "1073741824").field(field!(client_query_buffer_limit)),
    flag("cluster-allow-pubsubshard-when-down", "yes").field(field!(cluster.allow_pubsubshard_when_down)),
    flag("cluster-allow-reads-when-down", "no").field(field!(cluster.allow_reads_when_down)),
    flag("cluster-allow-replica-migration", "yes").field(field!(cluster.allow_replica_migration)),
    integer("cluster-announce-bus-port", 0, PORT, "0").field(field!(cluster.announce_bus_port)),
    text("cluster-announce-hostname", "").check(special::hostname).field(field!(cluster.announce_hostname)),
    text("cluster-announce-human-nodename", "").check(special::nodename),
    text("cluster-announce-ip", "").field(field!(cluster.announce_ip)),
    integer("cluster-announce-port", 0, PORT, "0").field(field!(cluster.announce_port)),
    integer("cluster-announce-tls-port", 0, PORT, "0").field(field!(cluster.announce_tls_port)),
    text("cluster-config-file", "nodes.conf").at_start().field(field!(cluster.config_file)),
    flag("cluster-enabled", "no").at_start().field(field!(cluster.enabled)),
    size("cluster-link-sendbuf-limit", 0, u64::MAX, "0"),
    integer("cluster-migration-barrier", 0, INT, "1"),
    integer("cluster-node-timeout", 0, i64::MAX, "15000").field(field!(cluster.node_timeout)),
    integer("cluster-port", 0, PORT, "0").at_start().field(field!(cluster.port)),
    choice("cluster-preferred-endpoint-type", EndpointType::NAMES, "ip")
        .field(field!(cluster.preferred_endpoint_type)),
    flag("cluster-replica-no-failover", "no")
        .alias("cluster-slave-no-failover")
        .field(field!(cluster.replica_no_failover)),
    integer("cluster-replica-validity-factor", 0, INT, "10")
        .alias("cluster-slave-validity-factor")
        .field(field!(cluster.replica_validity_factor)),
    flag("cluster-require-full-coverage", "yes").field(field!(cluster.require_full_coverage)),
    choice("compat", Version::NAMES, "newest").fixed().field(field!(compat)),
    flag("control", "yes").fixed().field(field!(control)),
    flag("crash-log-enabled", "yes"),
    flag("crash-memcheck-enabled", "yes"),
    flag("daemonize", "no").at_start().field(field!(daemonize)),
    integer("databases", 1, DATABASES, "16").at_start().field(field!(databases)),
    text("dbfilename", "dump.rdb").check(special::dbfilename).protected().field(field!(saves.dbfilename)),
    special("dir", ONE, special::dir, ".").protected().field(field!(dir)),
    flag("disable-thp", "yes").at_start(),
    flag("dynamic-hz", "yes"),
    choice("enable-debug-command", Permission::NAMES, "local").at_start().field(field!(enable_debug_command)),
    choice("enable-module-command", Permission::NAMES, "no").at_start().field(field!(enable_module_command)),
    choice("enable-protected-configs", Permission::NAMES, "no")
        .at_start()
        .field(field!(enable_protected_configs)),
    flag("exit-with-parent", "no").fixed().field(field!(exit_with_parent)),
    integer("hash-max-listpack-entries", 0, i64::MAX, "512")
        .alias("hash-max-ziplist-entries")
        .field(field!(encodings.hash_max_listpack_entries)),
    size("hash-max-listpack-value", 0, LONG, "64")
        .alias("hash-max-ziplist-value")
        .field(field!(encodings.hash_max_listpack_value)),
    size("hll-sparse-max-bytes", 0, LONG, "3000").field(field!(encodings.hll_sparse_max_bytes)),
    special("hz", ONE, special::hz, "10"),
    integer("idle-exit", 0, INT, "0").fixed().field(field!(shutdown.idle_exit)),
    text("ignore-warnings", ""),
    integer("io-threads", 1, 128, "1").at_start(),
    flag("io-threads-do-reads", "no").at_start(),
    flag("jemalloc-bg-thread", "yes"),
    integer("key-load-delay", -INT - 1, INT, "0").hidden().field(field!(saves.load_delay_us)),
    integer("latency-monitor-threshold", 0, i64::MAX, "0").field(field!(latency_monitor_threshold)),
    flag("latency-tracking", "yes").field(field!(latency_tracking)),
    special("latency-tracking-info-percentiles", SEVERAL, special::percentiles, "50 99 99.9")
        .field(field!(latency_tracking_info_percentiles)),
    flag("lazyfree-lazy-eviction", "no"),
    flag("lazyfree-lazy-expire", "no"),
    flag("lazyfree-lazy-server-del", "no"),
    flag("lazyfree-lazy-user-del", "no"),
    flag("lazyfree-lazy-user-flush", "no"),
    integer("lfu-decay-time", 0, INT, "1").field(field!(lfu.decay_time)),
    integer("lfu-log-factor", 0, INT, "10").field(field!(lfu.log_factor)),
    integer("list-compress-depth", 0, INT, "0"),
    integer("list-max-listpack-size", -INT - 1, INT, "-2")
        .alias("list-max-ziplist-size")
        .field(field!(encodings.list_max_listpack_size)),
    text("load", "").fixed().field(field!(saves.load)),
    integer("loading-process-events-interval-bytes", 1024, INT, "2097152").hidden(),
    text("locale-collate", "").check(special::locale),
    flag("lock-deadlock-inferred", "no").field(field!(lock_waits.deadlock_inferred)),
    integer("lock-handoff-delay", 0, i64::MAX, "0").field(field!(lock_waits.handoff_delay)),
    integer("lock-herd-limit", 0, i64::MAX, "10").field(field!(lock_waits.herd_limit)),
    flag("lock-history", "no").field(field!(lock_history)),
    integer("lock-history-max", 1, LOCK_HISTORY, "65536").field(field!(lock_history_max)),
    integer("lock-jeopardy", 0, i64::MAX, "0").field(field!(lock_jeopardy)),
    flag("lock-ledger", "yes").field(field!(lock_ledger)),
    integer("lock-wakeup-limit", 0, i64::MAX, "1000").field(field!(lock_waits.wakeup_limit)),
    text("logfile", "").at_start().field(field!(logfile)),
    choice("loglevel", LogLevel::NAMES, "notice").field(field!(loglevel)),
    flag("lua-enable-deprecated-api", "no").hidden().at_start().field(field!(lua.enable_deprecated_api)),
    size("lua-memory-limit", 1 << 20, LONG, "2147483648").fixed().field(field!(lua.memory_limit)),
    text("masterauth", "").secret().field(field!(replication.masterauth)),
    text("masteruser", "").secret().field(field!(replication.masteruser)),
    integer("maxclients", 1, UINT, "10000").host(HostPart::Clients).field(field!(maxclients)),
    size("maxmemory", 0, u64::MAX, "0").field(field!(maxmemory)),
    Parameter::new("maxmemory-clients", Kind::SizeOrPercent, "0").field(field!(maxmemory_clients)),
    integer("maxmemory-eviction-tenacity", 0, 100, "10").field(field!(eviction_effort.tenacity)),
    choice("maxmemory-policy", MaxmemoryPolicy::NAMES, "noeviction").field(field!(maxmemory_policy)),
    integer("maxmemory-samples", 1, INT, "5").field(field!(eviction_effort.samples)),
    integer("min-replicas-max-lag", 0, INT, "10")
        .alias("min-slaves-max-lag")
        .field(field!(replication.min_max_lag)),
    integer("min-replicas-to-write", 0, INT, "0")
        .alias("min-slaves-to-write")
        .field(field!(replication.min_to_write)),
    flag("no-appendfsync-on-rewrite", "no").field(field!(append_only.no_fsync_on_rewrite)),
    special("notify-keyspace-events", ONE, special::events, "").field(field!(notify_keyspace_events)),
    special("oom-score-adj", ONE, special::oom_score_adj, "no"),
    special("oom-score-adj-values", SEVERAL, special::oom_score_adj_values, "0 200 800"),
    text("pidfile", "").at_start().field(field!(pidfile)),
    integer("port", 0, PORT, "6379").host(HostPart::Port).field(field!(port)),
    text("port-file", "").fixed().field(field!(port_file)),
    text("proc-title-template", "{title} {listen-addr} {server-mode}").check(special::proc_title),
    choice("propagation-error-behavior", &["ignore", "panic", "panic-on-replicas"], "ignore"),
    flag("protected-mode", "yes").field(field!(protected_mode)),
    size("proto-max-bulk-len", 1 << 20, LONG, "536870912").field(field!(proto_max_bulk_len)),
    flag("rdb-del-sync-files", "no"),
    integer("rdb-key-save-delay", -INT - 1, INT, "0").hidden().field(field!(saves.key_delay_us)),
    flag("rdb-save-incremental-fsync", "yes"),
    flag("rdbchecksum", "yes").at_start().field(field!(saves.checksum)),
    flag("rdbcompression", "yes").field(field!(saves.compression)),
    integer("ready-fd", -1, INT, "-1").fixed().field(field!(ready_fd)),
    special("repl-backlog-size", ONE, special::backlog, "1048576").field(field!(replication.backlog_size)),
    integer("repl-backlog-ttl", 0, i64::MAX, "3600").field(field!(replication.backlog_ttl)),
    flag("repl-disable-tcp-nodelay", "no"),
    choice("repl-diskless-load", &["disabled", "on-empty-db", "swapdb"], "disabled"),
    flag("repl-diskless-sync", "yes"),
    integer("repl-diskless-sync-delay", 0, INT, "5"),
    integer("repl-diskless-sync-max-replicas", 0, INT, "0"),
    integer("repl-ping-replica-period", 1, INT, "10")
        .alias("repl-ping-slave-period")
        .field(field!(replication.ping_period)),
    integer("repl-timeout", 1, INT, "60").field(field!(replication.timeout)),
    text("replica-announce-ip", "").alias("slave-announce-ip").field(field!(replication.announce_ip)),
    integer("replica-announce-port", 0, PORT, "0")
        .alias("slave-announce-port")
        .field(field!(replication.announce_port)),
    flag("replica-announced", "yes").field(field!(replication.announced)),
    flag("replica-ignore-disk-write-errors", "no").field(field!(replication.ignore_disk_errors)),
    flag("replica-ignore-maxmemory", "yes")
        .alias("slave-ignore-maxmemory")
        .field(field!(replication.ignore_maxmemory)),
    flag("replica-lazy-flush", "no").alias("slave-lazy-flush"),
    integer("replica-priority", 0, INT, "100").alias("slave-priority").field(field!(replication.priority)),
    flag("replica-read-only", "yes").alias("slave-read-only").field(field!(replication.read_only)),
    flag("replica-serve-stale-data", "yes")
        .alias("slave-serve-stale-data")
        .field(field!(replication.serve_stale_data)),
    special("replicaof", SEVERAL, special::replicaof, "")
        .alias("slaveof")
        .at_start()
        .field(field!(replication.master)),
    text("requirepass", "").secret().field(field!(requirepass)),
    choice("sanitize-dump-payload", &["no", "yes", "clients"], "no"),
    special("save", SEVERAL, special::save, "3600 1 300 100 60 10000").field(field!(saves.points)),
    special("seed", ONE, special::seed, "").fixed().field(field!(seed)),
    text("server-cpulist", "").alias("server_cpulist").at_start(),
    integer("set-max-intset-entries", 0, i64::MAX, "512").field(field!(encodings.set_max_intset_entries)),
    integer("set-max-listpack-entries", 0, i64::MAX, "128").field(field!(encodings.set_max_listpack_entries)),
    integer("set-max-listpack-value", 0, i64::MAX, "64").field(field!(encodings.set_max_listpack_value)),
    flag("set-proc-title", "yes").at_start(),
    special("shutdown-on-sigint", SEVERAL, special::shutdown, "default").field(field!(shutdown.on_sigint)),
    special("shutdown-on-sigterm", SEVERAL, special::shutdown, "default").field(field!(shutdown.on_sigterm)),
    integer("shutdown-timeout", 0, INT, "10").field(field!(shutdown.timeout)),
    integer("slowlog-log-slower-than", -1, i64::MAX, "10000").field(field!(slowlog_log_slower_than)),
    integer("slowlog-max-len", 0, i64::MAX, "128").field(field!(slowlog_max_len)),
    integer("socket-mark-id", 0, UINT, "0").at_start(),
    flag("stop-writes-on-bgsave-error", "yes").field(field!(saves.stop_writes_on_error)),
    size("stream-node-max-bytes", 0, LONG, "4096").field(field!(encodings.stream_node.bytes)),
    integer("stream-node-max-entries", 0, i64::MAX, "100").field(field!(encodings.stream_node.entries)),
    choice("supervised", Supervision::NAMES, "no").at_start().field(field!(supervised)),
    flag("syslog-enabled", "no").at_start(),
    choice(
        "syslog-facility",
        &["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"],
        "local0",
    )
    .at_start(),
    text("syslog-ident", "redis").at_start(),
    integer("tcp-backlog", 0, INT, "511").at_start().field(field!(tcp_backlog)),
    integer("tcp-keepalive", 0, INT, "300").field(field!(tcp_keepalive)),
    integer("threads", 0, 1024, "1").fixed().field(field!(threads)),
    special("time", ONE, special::time, "real").fixed().field(field!(time)),
    integer("timeout", 0, INT, "0").field(field!(timeout)),
    tls(choice("tls-auth-clients", AuthClients::NAMES, "yes"), field!(tls.auth_clients)),
    tls(text("tls-ca-cert-dir", ""), field!(tls.ca_cert_dir)),
    tls(text("tls-ca-cert-file", ""), field!(tls.ca_cert_file)),
    tls(text("tls-cert-file", ""), field!(tls.cert_file)),
    tls(text("tls-ciphers", ""), field!(tls.ciphers)),
    tls(text("tls-ciphersuites", ""), field!(tls.ciphersuites)),
    text("tls-client-cert-file", ""),
    text("tls-client-key-file", ""),
    text("tls-client-key-file-pass", "").secret(),
    flag("tls-cluster", "no").check(special::tls_links),
    tls(text("tls-dh-params-file", ""), field!(tls.dh_params_file)),
    tls(text("tls-key-file", ""), field!(tls.key_file)),
    tls(text("tls-key-file-pass", "").secret(), field!(tls.key_file_pass)),
    integer("tls-port", 0, PORT, "0").host(HostPart::TlsPort).field(field!(tls.port)),
    text("tls-port-file", "").fixed().field(field!(tls.port_file)),
    tls(flag("tls-prefer-server-ciphers", "no"), field!(tls.prefer_server_ciphers)),
    tls(text("tls-protocols", ""), field!(tls.protocols)),
    flag("tls-replication", "no").check(special::tls_links),
    tls(integer("tls-session-cache-size", 0, INT, "20480"), field!(tls.session_cache_size)),
    tls(integer("tls-session-cache-timeout", 0, INT, "300"), field!(tls.session_cache_timeout)),
    tls(flag("tls-session-caching", "yes"), field!(tls.session_caching)),
    integer("tracking-table-max-keys", 0, i64::MAX, "1000000").field(field!(tracking_table_max_keys)),
    text("unixsocket", "").at_start().field(field!(unixsocket)),
    Parameter::new("unixsocketperm", Kind::Octal { max: 0o777 }, "0")
        .at_start()
        .field(field!(unixsocketperm)),
    flag("use-exit-on-panic", "no").hidden().field(field!(shutdown.exits_on_panic)),
    integer("watchdog-period", 0, INT, "0").hidden(),
    integer("zset-max-listpack-entries", 0, i64::MAX, "128")
        .alias("zset-max-ziplist-entries")
        .field(field!(encodings.zset_max_listpack_entries)),
    size("zset-max-listpack-value", 0, LONG, "64")
        .alias("zset-max-ziplist-value")
        .field(field!(encodings.zset_max_listpack_value)),
];
