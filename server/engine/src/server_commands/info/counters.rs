//! INFO's counters.

use super::lines::Lines;
use crate::core::Engine;
use crate::statistics::Totals;
use crate::tracking::Tracker;

/// What has been done since the start, or the last CONFIG RESETSTAT.
pub(super) fn stats(engine: &Engine, lines: &mut Lines) {
    let totals = engine.observers.totals(&engine.environment.identity);
    work(engine, totals, lines);
    keys(engine, lines);
    lines.field("pubsub_channels", engine.pubsub.channels());
    lines.field("pubsub_patterns", engine.pubsub.patterns());
    lines.field("pubsubshard_channels", engine.pubsub.shards());
    lines.zeros(&["latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys"]);
    lines.zeros(&["active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits"]);
    lines.zeros(&["active_defrag_key_misses", "total_active_defrag_time", "current_active_defrag_time"]);
    let tracked = |count: fn(&Tracker) -> usize| engine.keyspace.subscriber().map_or(0, count);
    lines.field("tracking_total_keys", tracked(Tracker::keys));
    lines.field("tracking_total_items", tracked(Tracker::items));
    lines.field("tracking_total_prefixes", tracked(Tracker::prefixes));
    lines.zeros(&["unexpected_error_replies"]);
    lines.field("total_error_replies", engine.observers.stats.error_replies);
    lines.zeros(&["dump_payload_sanitizations"]);
    lines.field("total_reads_processed", totals.traffic.reads);
    lines.field("total_writes_processed", totals.traffic.writes);
    lines.zeros(&["io_threaded_reads_processed", "io_threaded_writes_processed"]);
    refused(engine, lines);
    lines.zeros(&["reply_buffer_shrinks", "reply_buffer_expands"]);
    turns(engine, totals, lines);
    denied(engine, lines);
    // Ours: how many waiting clients a key has woken.
    lines.field("total_unblocked_clients", engine.observers.stats.unblocked_clients);
}

/// How much of something was done in a second of the last moments.
fn rate(engine: &Engine, totals: Totals, of: fn(&Totals) -> u64) -> f64 {
    engine.observers.rates.per_second(engine.clock().system().monotonic_us, totals, of)
}

fn work(engine: &Engine, totals: Totals, lines: &mut Lines) {
    let stats = &engine.observers.stats;
    let kilobytes = |of| format!("{:.2}", rate(engine, totals, of) / 1024.0);
    lines.field("total_connections_received", stats.connections_received);
    lines.field("total_commands_processed", totals.commands);
    lines.field("instantaneous_ops_per_sec", rate(engine, totals, |totals| totals.commands) as u64);
    lines.field("total_net_input_bytes", totals.traffic.input_bytes);
    lines.field("total_net_output_bytes", totals.traffic.output_bytes);
    lines.zeros(&["total_net_repl_input_bytes", "total_net_repl_output_bytes"]);
    lines.field("instantaneous_input_kbps", kilobytes(|totals| totals.traffic.input_bytes));
    lines.field("instantaneous_output_kbps", kilobytes(|totals| totals.traffic.output_bytes));
    lines.field("instantaneous_input_repl_kbps", "0.00");
    lines.field("instantaneous_output_repl_kbps", "0.00");
    lines.field("rejected_connections", stats.rejected_connections);
    let syncs = engine.replication().history().syncs();
    lines.field("sync_full", syncs.full);
    lines.field("sync_partial_ok", syncs.partial);
    lines.field("sync_partial_err", syncs.refused_partial);
}

fn keys(engine: &Engine, lines: &mut Lines) {
    let counters = &engine.keyspace.counters;
    lines.field("expired_keys", counters.expired_keys);
    lines.field("expired_fields", counters.expired_fields);
    // No key is there after its deadline.
    lines.field("expired_stale_perc", "0.00");
    lines.zeros(&["expired_time_cap_reached_count"]);
    lines.field("expire_cycle_cpu_milliseconds", engine.observers.stats.expire_ns / 1_000_000);
    let stats = &engine.observers.stats;
    lines.field("evicted_keys", counters.evicted_keys);
    lines.field("evicted_clients", stats.evicted_clients);
    let now_us = engine.clock().system().monotonic_us;
    let current_us = stats.exceeded_since_us.map_or(0, |since_us| now_us.saturating_sub(since_us));
    lines.field("total_eviction_exceeded_time", (stats.exceeded_us + current_us) / 1000);
    lines.field("current_eviction_exceeded_time", current_us / 1000);
    lines.field("keyspace_hits", counters.keyspace_hits);
    lines.field("keyspace_misses", counters.keyspace_misses);
}

/// Clients that were disconnected because they sent or read too much.
fn refused(engine: &Engine, lines: &mut Lines) {
    let stats = &engine.observers.stats;
    lines.field("client_query_buffer_limit_disconnections", stats.query_limit_disconnections);
    lines.field("client_output_buffer_limit_disconnections", stats.output_limit_disconnections);
}

fn turns(engine: &Engine, totals: Totals, lines: &mut Lines) {
    let per_turn = |ns: f64, turns: f64| if turns > 0.0 { ns / turns / 1000.0 } else { 0.0 };
    let turns = rate(engine, totals, |totals| totals.traffic.turns);
    let turn_ns = rate(engine, totals, |totals| totals.traffic.turn_ns);
    lines.field("eventloop_cycles", totals.traffic.turns);
    lines.field("eventloop_duration_sum", totals.traffic.turn_ns / 1000);
    lines.field("eventloop_duration_cmd_sum", engine.observers.stats.commands_ns() / 1000);
    lines.field("instantaneous_eventloop_cycles_per_sec", turns as u64);
    lines.field("instantaneous_eventloop_duration_usec", per_turn(turn_ns, turns) as u64);
}

fn denied(engine: &Engine, lines: &mut Lines) {
    let denied = engine.observers.stats.access_denied;
    lines.field("acl_access_denied_auth", denied.logins);
    lines.field("acl_access_denied_cmd", denied.commands);
    lines.field("acl_access_denied_key", denied.keys);
    lines.field("acl_access_denied_channel", denied.channels);
}
