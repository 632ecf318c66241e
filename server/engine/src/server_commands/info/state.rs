//! INFO's sections on the server, its clients and its keys.

use super::lines::{Lines, parameter};
use crate::client_list::ClientList;
use crate::clients::Session;
use crate::clock::EngineClock;
use crate::config::Config;
use crate::core::AppendOnlyView;
use crate::persistence::{LoadProgress, Persistence};
use crate::statistics::Identity;
use crate::tracking::Tracker;
use crate::waits::StateView;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

/// Writes the facts about the server and its process.
pub(super) fn server(
    config: &Config,
    identity: &Identity,
    clock: &EngineClock,
    shuts_down_in_ms: Option<i64>,
    lines: &mut Lines,
) {
    let process = &identity.process;
    lines.field("redis_version", config.compat.release());
    lines.field("redis_git_sha1", "00000000");
    lines.field("redis_git_dirty", 0);
    lines.field("redis_build_id", format_args!("lockwheel-{}", env!("CARGO_PKG_VERSION")));
    lines.field("redis_mode", config.mode());
    lines.field("lockwheel_version", env!("CARGO_PKG_VERSION"));
    lines.field("os", &process.os);
    lines.field("arch_bits", usize::BITS);
    lines.field("monotonic_clock", &process.monotonic_clock);
    lines.field("multiplexing_api", process.multiplexing_api);
    lines.field("atomicvar_api", "c11-builtin");
    lines.field("gcc_version", "0.0.0");
    lines.field("process_id", process.id);
    lines.field("process_supervised", supervisor(config));
    lines.field("run_id", &identity.run_id);
    lines.field("tcp_port", process.port);
    times(config, clock, lines);
    lines.field("executable", &process.executable);
    lines.field("config_file", &config.file);
    lines.field("io_threads_active", 0);
    shuts_down_in_ms.into_iter().for_each(|ms| lines.field("shutdown_in_milliseconds", ms));
    listeners(config, lines);
}

fn times(config: &Config, clock: &EngineClock, lines: &mut Lines) {
    let uptime = (clock.system().monotonic_us - clock.started().monotonic_us) / 1_000_000;
    lines.field("server_time_usec", clock.now().wall_us);
    lines.field("uptime_in_seconds", uptime);
    lines.field("uptime_in_days", uptime / 86_400);
    lines.field("hz", parameter(config, "hz"));
    lines.field("configured_hz", parameter(config, "hz"));
    lines.field("lru_clock", (clock.now().wall_ms() / 1000) & 0xff_ffff);
}

fn supervisor(config: &Config) -> String {
    // Only the program knows which supervisor there is.
    match parameter(config, "supervised") {
        word if word == "auto" => "no".to_owned(),
        word => word,
    }
}

fn listeners(config: &Config, lines: &mut Lines) {
    let bound: String = config.bind.iter().map(|address| format!(",bind={address}")).collect();
    let tcp = (config.port > 0).then(|| format!("name=tcp{bound},port={}", config.port));
    let unix = (!config.unixsocket.is_empty()).then(|| format!("name=unix,bind={}", config.unixsocket));
    let tls = config.tls.port.map(|port| format!("name=tls{bound},port={port}"));
    for (number, listener) in [tcp, unix, tls].into_iter().flatten().enumerate() {
        lines.field(&format!("listener{number}"), listener);
    }
}

pub(super) fn clients(clients: ClientList<'_>, state: StateView<'_>, maxclients: usize, lines: &mut Lines) {
    let largest = |of: &dyn Fn(&Session) -> usize| clients.sessions.live().map(of).max().unwrap_or(0);
    lines.field("connected_clients", clients.listed().filter(|client| !client.is_replica).count());
    lines.field("cluster_connections", 0);
    lines.field("maxclients", maxclients);
    lines.field("client_recent_max_input_buffer", largest(&|client| client.delivery.buffers().query().0));
    lines.field("client_recent_max_output_buffer", largest(&|client| clients.replication.unsent(client)));
    lines.field("blocked_clients", state.blocked_clients(None));
    lines.field("tracking_clients", clients.keyspace.subscriber().map_or(0, Tracker::tracking));
    lines.field("clients_in_timeout_table", state.waits_with_timeout());
    lines.field("total_blocking_keys", clients.keyspace.waiters.keys());
    lines.field("total_blocking_keys_on_nokey", 0);
}

pub(super) fn persistence(
    files: &Persistence,
    (append_only, loading): (&AppendOnlyView<'_>, Option<&LoadProgress>),
    keyspace: &Keyspace,
    clock: &EngineClock,
    lines: &mut Lines,
) {
    lines.field("loading", u8::from(loading.is_some()));
    lines.zeros(&["async_loading"]);
    lines.zeros(&["current_cow_peak", "current_cow_size", "current_cow_size_age"]);
    saves(files, keyspace, clock, lines);
    append_only_file(append_only, clock, lines);
    let fields = loading.map(|loading| loading.fields(clock.system().wall_second()));
    fields.into_iter().flatten().for_each(|(name, value)| lines.field(name, value));
}

/// Writes the state of the append-only file.
fn append_only_file(view: &AppendOnlyView<'_>, clock: &EngineClock, lines: &mut Lines) {
    let figures = view.figures();
    let status = |has_failed: bool| if has_failed { "err" } else { "ok" };
    lines.field("aof_enabled", u8::from(figures.is_enabled));
    lines.field("aof_rewrite_in_progress", u8::from(figures.is_rewriting));
    lines.field("aof_rewrite_scheduled", u8::from(figures.is_scheduled));
    lines.field("aof_last_rewrite_time_sec", figures.took_seconds.unwrap_or(-1));
    let now_ms = clock.system().monotonic_ms();
    let current = figures.began_ms.map_or(-1, |began_ms| (now_ms - began_ms) / 1000);
    lines.field("aof_current_rewrite_time_sec", current);
    lines.field("aof_last_bgrewrite_status", status(figures.has_rewrite_failed));
    lines.field("aof_rewrites", figures.rewrites);
    lines.field("aof_rewrites_consecutive_failures", figures.failures);
    lines.field("aof_last_write_status", status(figures.has_write_failed));
    lines.zeros(&["aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size"]);
    if figures.is_enabled {
        let pending = view.pending();
        lines.field("aof_current_size", figures.size.saturating_sub(pending as u64));
        lines.field("aof_base_size", figures.base_size);
        lines.zeros(&["aof_pending_rewrite"]);
        lines.field("aof_buffer_length", pending);
        lines.zeros(&["aof_pending_bio_fsync", "aof_delayed_fsync"]);
    }
}

/// Writes the progress of a running save, and the results of earlier ones.
fn saves(saves: &Persistence, keyspace: &Keyspace, clock: &EngineClock, lines: &mut Lines) {
    let progress = keyspace.snapshot_progress().unwrap_or_default();
    let percent = 100.0 * progress.written as f64 / progress.total.max(1) as f64;
    lines.field("current_fork_perc", format_args!("{percent:.2}"));
    lines.field("current_save_keys_processed", progress.written);
    lines.field("current_save_keys_total", progress.total);
    lines.field("rdb_changes_since_last_save", keyspace.counters.dirty);
    lines.field("rdb_bgsave_in_progress", i32::from(saves.is_saving()));
    let saved_ms = saves.saved_ms.unwrap_or(clock.started().wall_ms());
    lines.field("rdb_last_save_time", saved_ms / 1000);
    lines.field("rdb_last_bgsave_status", if saves.has_failed { "err" } else { "ok" });
    lines.field("rdb_last_bgsave_time_sec", saves.took_seconds.unwrap_or(-1));
    let now_ms = clock.system().monotonic_ms();
    let current = saves.background.as_ref().filter(|_| saves.is_saving());
    let current = current.map_or(-1, |save| (now_ms - save.began_ms) / 1000);
    lines.field("rdb_current_bgsave_time_sec", current);
    lines.field("rdb_saves", saves.saves);
    lines.field("rdb_last_cow_size", 0);
    lines.field("rdb_last_load_keys_expired", saves.loaded.expired);
    lines.field("rdb_last_load_keys_loaded", saves.loaded.keys);
}

pub(super) fn cpu(identity: &Identity, lines: &mut Lines) {
    let usage = (identity.process.usage)();
    let seconds = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    for (suffix, time) in [("", usage.process), ("_children", usage.children), ("_main_thread", usage.thread)]
    {
        lines.field(&format!("used_cpu_sys{suffix}"), seconds(time.system_us));
        lines.field(&format!("used_cpu_user{suffix}"), seconds(time.user_us));
    }
}

/// Writes whether the server is a cluster node.
pub(super) fn cluster(config: &Config, lines: &mut Lines) {
    lines.field("cluster_enabled", u8::from(config.cluster.enabled));
}

/// Writes the databases that have keys.
pub(super) fn keyspace(keyspace: &Keyspace, now: Now, lines: &mut Lines) {
    for db in 0..keyspace.databases() {
        let (keys, expires) = keyspace.sizes(db);
        if keys > 0 {
            // A field of Valkey, since Redis 7.2 has none for this.
            let timed = match keyspace.with_timed_fields(db) {
                0 => String::new(),
                timed => format!(",keys_with_volatile_items={timed}"),
            };
            let left_ms = keyspace.average_ttl_ms(db, now);
            let text = format_args!("keys={keys},expires={expires},avg_ttl={left_ms}{timed}");
            lines.field(&format!("db{db}"), text);
        }
    }
}
