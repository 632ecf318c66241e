//! INFO: the state of the server, as lines that clients and monitors read.
//!
//! The fields are those of Redis 7.2, in its order, without those of features that do not exist here. Redis' figures of
//! features that this server never uses (replication, persistence, eviction) are 0.

use crate::config::Config;
use crate::core::{Call, Engine, Handler};
use crate::memory::MemoryUsage;
use crate::spec::{Args, Flags, Outcome, Row};
use crate::statistics::AllocatorUsage;
use lockwheel_resp::Reply;
use std::fmt::{Display, Write};

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("info", -1, Handler::Engine(info))
    .flags(&[Flags::LOADING, Flags::STALE])
    .categories(&["dangerous"])
    .about("server", "1.0.0", "O(1)")
    .summary("Tells about the server's state.")
    .history(&[("7.0.0", "Added support for taking multiple section arguments.")])
    .syntax("[section ...]")
    .tips(&["nondeterministic_output", "request_policy:all_shards", "response_policy:special"])];

/// A section: its name, its heading, whether it is shown by default, and its writer.
struct Section {
    name: &'static str,
    heading: &'static str,
    default: bool,
    write: fn(&Engine, &mut Lines),
}

const SECTIONS: &[Section] = &[
    Section { name: "server", heading: "Server", default: true, write: server },
    Section { name: "clients", heading: "Clients", default: true, write: clients },
    Section { name: "memory", heading: "Memory", default: true, write: memory },
    Section { name: "persistence", heading: "Persistence", default: true, write: persistence },
    Section { name: "stats", heading: "Stats", default: true, write: stats },
    Section { name: "replication", heading: "Replication", default: true, write: replication },
    Section { name: "cpu", heading: "CPU", default: true, write: cpu },
    Section { name: "modules", heading: "Modules", default: true, write: modules },
    Section { name: "commandstats", heading: "Commandstats", default: false, write: commandstats },
    Section { name: "errorstats", heading: "Errorstats", default: true, write: errorstats },
    Section { name: "cluster", heading: "Cluster", default: true, write: cluster },
    Section { name: "keyspace", heading: "Keyspace", default: true, write: keyspace },
];

impl Section {
    /// Whether an argument of INFO asks for it.
    fn is_meant_by(&self, word: &[u8]) -> bool {
        match &*word.to_ascii_lowercase() {
            b"default" => self.default,
            // Redis leaves out the modules, for which there is `everything`.
            b"all" => self.name != "modules",
            b"everything" => true,
            name => name == self.name.as_bytes(),
        }
    }
}

fn info(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let words = args.from(1);
    let is_shown = |section: &&Section| match words {
        [] => section.default,
        words => words.iter().any(|word| section.is_meant_by(word)),
    };
    engine.look_at_memory();
    let mut lines = Lines::default();
    for section in SECTIONS.iter().filter(is_shown) {
        lines.begin(section.heading);
        (section.write)(engine, &mut lines);
    }
    reply.verbatim(*b"txt", lines.0.as_bytes());
    Ok(())
}

/// The text of INFO.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn begin(&mut self, heading: &str) {
        let gap = if self.0.is_empty() { "" } else { "\r\n" };
        self.line(format_args!("{gap}# {heading}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "{line}\r\n");
    }

    fn field(&mut self, name: &str, value: impl Display) {
        self.line(format_args!("{name}:{value}"));
    }

    /// Fields that are always 0 here.
    fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.field(name, 0));
    }

    /// The ratio of the outer of two sizes to the inner one, and their difference.
    fn overhead(&mut self, name: &str, outer: u64, inner: u64) {
        let ratio = outer as f64 / inner.max(1) as f64;
        self.field(&format!("{name}_ratio"), format_args!("{ratio:.2}"));
        self.field(&format!("{name}_bytes"), i128::from(outer) - i128::from(inner));
    }

    /// A number of bytes, also in human-readable form.
    fn bytes(&mut self, name: &str, bytes: u64) {
        self.field(name, bytes);
        self.field(&format!("{name}_human"), human(bytes));
    }
}

/// A number of bytes with a unit and two digits behind the point.
fn human(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.2}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}

fn parameter(config: &Config, name: &str) -> String {
    let value = config.get(&[name.as_bytes()]).pop().map(|(_, value)| value).unwrap_or_default();
    String::from_utf8_lossy(&value).into_owned()
}

fn server(engine: &Engine, lines: &mut Lines) {
    let process = &engine.environment.identity.process;
    let uptime = (engine.time.system.monotonic_us - engine.time.started.monotonic_us) / 1_000_000;
    lines.field("redis_version", engine.config.compat.release());
    lines.field("redis_git_sha1", "00000000");
    lines.field("redis_git_dirty", 0);
    lines.field("redis_build_id", format_args!("lockwheel-{}", env!("CARGO_PKG_VERSION")));
    lines.field("redis_mode", "standalone");
    lines.field("lockwheel_version", env!("CARGO_PKG_VERSION"));
    lines.field("os", &process.os);
    lines.field("arch_bits", usize::BITS);
    lines.field("process_id", process.id);
    lines.field("process_supervised", "no");
    lines.field("run_id", &engine.environment.identity.run_id);
    lines.field("tcp_port", process.port);
    lines.field("server_time_usec", engine.time.now.wall_us);
    lines.field("uptime_in_seconds", uptime);
    lines.field("uptime_in_days", uptime / 86_400);
    lines.field("hz", parameter(&engine.config, "hz"));
    lines.field("configured_hz", parameter(&engine.config, "hz"));
    lines.field("lru_clock", (engine.time.now.wall_ms() / 1000) & 0xff_ffff);
    lines.field("executable", &process.executable);
    lines.field("config_file", &process.config_file);
    lines.field("io_threads_active", 0);
}

fn clients(engine: &Engine, lines: &mut Lines) {
    lines.field("connected_clients", engine.sessions.live().count());
    lines.field("cluster_connections", 0);
    lines.field("maxclients", engine.config.maxclients);
    lines.zeros(&["client_recent_max_input_buffer", "client_recent_max_output_buffer"]);
    lines.field("blocked_clients", engine.blocked_clients(None));
    lines.field("tracking_clients", 0);
    lines.field("clients_in_timeout_table", engine.waits_with_timeout());
    lines.field("total_blocking_keys", engine.keyspace.waiters.keys());
    lines.field("total_blocking_keys_on_nokey", 0);
}

fn memory(engine: &Engine, lines: &mut Lines) {
    let usage = (engine.environment.identity.process.usage)();
    let account = engine.memory_usage();
    let used = account.total() as u64;
    lines.bytes("used_memory", used);
    lines.bytes("used_memory_rss", usage.resident);
    own_memory(engine, account, lines);
    let allocator = usage.allocator.unwrap_or(AllocatorUsage {
        allocated: used,
        active: usage.resident,
        resident: usage.resident,
    });
    lines.field("allocator_allocated", allocator.allocated);
    lines.field("allocator_active", allocator.active);
    lines.field("allocator_resident", allocator.resident);
    lines.bytes("total_system_memory", usage.machine);
    script_memory(engine, lines);
    lines.bytes("maxmemory", engine.config.maxmemory);
    lines.field("maxmemory_policy", parameter(&engine.config, "maxmemory-policy"));
    lines.overhead("allocator_frag", allocator.active, allocator.allocated);
    lines.overhead("allocator_rss", allocator.resident, allocator.active);
    lines.overhead("rss_overhead", usage.resident, allocator.resident);
    lines.overhead("mem_fragmentation", usage.resident, used);
    lines.zeros(&["mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers"]);
    lines.zeros(&["mem_clients_slaves"]);
    lines.field("mem_clients_normal", account.clients);
    lines.zeros(&["mem_cluster_links", "mem_aof_buffer"]);
    lines.field("mem_allocator", if usage.allocator.is_some() { "jemalloc" } else { "libc" });
    lines.zeros(&["active_defrag_running"]);
    let lazy_free = &engine.keyspace.counters.lazy_free;
    lines.field("lazyfree_pending_objects", lazy_free.pending());
    lines.field("lazyfreed_objects", lazy_free.freed());
}

/// What scripts and functions take: nothing is known while one runs.
fn script_memory(engine: &Engine, lines: &mut Lines) {
    let Some(runtime) = engine.scripts.runtime() else { return };
    let libraries = engine.scripts.libraries();
    let (eval, functions) = (runtime.memory_used(), runtime.functions_memory_used());
    let (cached, code) = (runtime.cached_bytes(), libraries.bytes());
    lines.field("used_memory_lua", eval);
    lines.field("used_memory_vm_eval", eval);
    lines.field("used_memory_lua_human", human(eval as u64));
    lines.field("used_memory_scripts_eval", cached);
    lines.field("number_of_cached_scripts", runtime.len());
    lines.field("number_of_functions", libraries.function_count());
    lines.field("number_of_libraries", libraries.len());
    lines.field("used_memory_vm_functions", functions);
    lines.bytes("used_memory_vm_total", (eval + functions) as u64);
    lines.field("used_memory_functions", code);
    lines.bytes("used_memory_scripts", (cached + code) as u64);
}

/// The engine's memory by its own account: of several in a process, each shows its own.
fn own_memory(engine: &Engine, account: MemoryUsage, lines: &mut Lines) {
    let (used, start) = (account.total(), engine.memory.at_start.total());
    let peak = engine.memory.peak().max(used);
    let percent = |part: usize, whole: usize| format!("{:.2}%", part as f64 * 100.0 / whole.max(1) as f64);
    lines.bytes("used_memory_peak", peak as u64);
    lines.field("used_memory_peak_perc", percent(used, peak));
    lines.field("used_memory_overhead", used - account.data);
    lines.field("used_memory_startup", start);
    lines.field("used_memory_dataset", account.data);
    lines.field("used_memory_dataset_perc", percent(account.data, used.saturating_sub(start)));
}

fn persistence(engine: &Engine, lines: &mut Lines) {
    lines.zeros(&["loading", "async_loading"]);
    lines.field("rdb_changes_since_last_save", engine.keyspace.counters.dirty);
    lines.field("rdb_bgsave_in_progress", 0);
    let saved_ms = engine.observers.stats.last_save_ms.unwrap_or(engine.time.started.wall_ms());
    lines.field("rdb_last_save_time", saved_ms / 1000);
    lines.field("rdb_last_bgsave_status", "ok");
    lines.field("rdb_last_bgsave_time_sec", -1);
    lines.field("rdb_current_bgsave_time_sec", -1);
    lines.field("rdb_saves", 0);
    lines.zeros(&["aof_enabled", "aof_rewrite_in_progress", "aof_rewrite_scheduled"]);
    lines.field("aof_last_rewrite_time_sec", -1);
    lines.field("aof_current_rewrite_time_sec", -1);
    lines.field("aof_last_bgrewrite_status", "ok");
    lines.field("aof_last_write_status", "ok");
}

fn stats(engine: &Engine, lines: &mut Lines) {
    let (stats, counters) = (&engine.observers.stats, &engine.keyspace.counters);
    lines.field("total_connections_received", stats.connections_received);
    lines.field("total_commands_processed", stats.commands_processed());
    lines.field("rejected_connections", stats.rejected_connections);
    lines.zeros(&["sync_full", "sync_partial_ok", "sync_partial_err"]);
    lines.field("expired_keys", counters.expired_keys);
    lines.field("expired_fields", counters.expired_fields);
    lines.zeros(&["evicted_keys", "evicted_clients"]);
    lines.field("keyspace_hits", counters.keyspace_hits);
    lines.field("keyspace_misses", counters.keyspace_misses);
    lines.field("pubsub_channels", engine.pubsub.channels());
    lines.field("pubsub_patterns", engine.pubsub.patterns());
    lines.field("pubsubshard_channels", engine.pubsub.shards());
    lines.zeros(&["latest_fork_usec", "total_forks", "migrate_cached_sockets"]);
    lines.zeros(&["tracking_total_keys", "tracking_total_items", "tracking_total_prefixes"]);
    lines.field("unexpected_error_replies", 0);
    lines.field("total_error_replies", stats.error_replies);
    lines.field("client_output_buffer_limit_disconnections", stats.output_limit_disconnections);
    // Ours: how many waiting clients a key has woken.
    lines.field("total_unblocked_clients", stats.unblocked_clients);
}

fn replication(engine: &Engine, lines: &mut Lines) {
    lines.field("role", "master");
    lines.field("connected_slaves", 0);
    lines.field("master_failover_state", "no-failover");
    lines.field("master_replid", &engine.environment.identity.replication_id);
    lines.field("master_replid2", "0".repeat(40));
    lines.field("master_repl_offset", 0);
    lines.field("second_repl_offset", -1);
    lines.field("repl_backlog_active", 0);
    lines.field("repl_backlog_size", parameter(&engine.config, "repl-backlog-size"));
    lines.zeros(&["repl_backlog_first_byte_offset", "repl_backlog_histlen"]);
}

fn cpu(engine: &Engine, lines: &mut Lines) {
    let usage = (engine.environment.identity.process.usage)();
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    lines.field("used_cpu_sys", seconds(usage.system_us));
    lines.field("used_cpu_user", seconds(usage.user_us));
    lines.field("used_cpu_sys_children", seconds(0));
    lines.field("used_cpu_user_children", seconds(0));
}

fn modules(_: &Engine, _: &mut Lines) {}

/// How often commands ran and how long they took, without those that never did.
fn commandstats(engine: &Engine, lines: &mut Lines) {
    for command in engine.commands.iter_all() {
        let stats = engine.observers.stats.of(command.id);
        if stats.calls + stats.rejected + stats.failed == 0 {
            continue;
        }
        let usec = stats.took_ns / 1000;
        let per_call = usec as f64 / stats.calls.max(1) as f64;
        lines.field(
            &format!("cmdstat_{}", command.name),
            format_args!(
                "calls={},usec={},usec_per_call={per_call:.2},rejected_calls={},failed_calls={}",
                stats.calls, usec, stats.rejected, stats.failed
            ),
        );
    }
}

fn errorstats(engine: &Engine, lines: &mut Lines) {
    for (code, count) in engine.observers.stats.errors() {
        let code = String::from_utf8_lossy(code);
        lines.field(&format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

fn cluster(_: &Engine, lines: &mut Lines) {
    lines.field("cluster_enabled", 0);
}

fn keyspace(engine: &Engine, lines: &mut Lines) {
    for db in 0..engine.keyspace.databases() {
        let (keys, expires) = engine.keyspace.sizes(db);
        if keys > 0 {
            let timed = engine.keyspace.with_timed_fields(db);
            let text =
                format_args!("keys={keys},expires={expires},avg_ttl=0,keys_with_volatile_items={timed}");
            lines.field(&format!("db{db}"), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_for_people() {
        let texts = [0, 1023, 1024, 1_536_000, 3 << 30, 5 << 40].map(human);
        assert_eq!(texts, ["0B", "1023B", "1.00K", "1.46M", "3.00G", "5.00T"]);
    }

    #[test]
    fn words_mean_sections() {
        let meant = |word: &[u8]| SECTIONS.iter().filter(|section| section.is_meant_by(word)).count();
        assert_eq!(meant(b"everything"), SECTIONS.len());
        assert_eq!(meant(b"ALL"), SECTIONS.len() - 1);
        assert_eq!(meant(b"default"), SECTIONS.len() - 1);
        assert_eq!(meant(b"Server"), 1);
        assert_eq!(meant(b"nonsense"), 0);
    }
}
