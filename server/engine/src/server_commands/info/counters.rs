//! INFO's counters.

use super::lines::Lines;
use crate::core::InfoView;
use crate::pubsub::PubSub;
use crate::replication::Replication;
use crate::statistics::{Rates, Stats, Totals};
use crate::tracking::Tracker;
use lockwheel_store::keyspace::Keyspace;

/// The parts of the engine that have counters.
pub(super) struct Counters<'e> {
    totals: Totals,
    rates: &'e Rates,
    stats: &'e Stats,
    keyspace: &'e Keyspace,
    pubsub: &'e PubSub,
    replication: &'e Replication,
    /// The current time on the system's monotonic clock, in microseconds.
    now_us: u64,
}

impl<'e> Counters<'e> {
    pub(super) fn of(view: &InfoView<'e>) -> Self {
        Counters {
            totals: view.observers.totals(view.identity),
            rates: &view.observers.rates,
            stats: &view.observers.stats,
            keyspace: view.clients.keyspace,
            pubsub: view.pubsub,
            replication: view.replication.history(),
            now_us: view.clock.system().monotonic_us,
        }
    }
}

/// Writes the statistics since the start or the last CONFIG RESETSTAT.
pub(super) fn stats(counters: &Counters<'_>, lines: &mut Lines) {
    let totals = counters.totals;
    work(counters, lines);
    keys(counters, lines);
    lines.field("pubsub_channels", counters.pubsub.channels());
    lines.field("pubsub_patterns", counters.pubsub.patterns());
    lines.field("pubsubshard_channels", counters.pubsub.shards());
    lines.zeros(&["latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys"]);
    lines.zeros(&["active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits"]);
    lines.zeros(&["active_defrag_key_misses", "total_active_defrag_time", "current_active_defrag_time"]);
    let tracked = |count: fn(&Tracker) -> usize| counters.keyspace.subscriber().map_or(0, count);
    lines.field("tracking_total_keys", tracked(Tracker::keys));
    lines.field("tracking_total_items", tracked(Tracker::items));
    lines.field("tracking_total_prefixes", tracked(Tracker::prefixes));
    lines.field("unexpected_error_replies", counters.stats.unexpected_error_replies);
    lines.field("total_error_replies", counters.stats.error_replies);
    lines.zeros(&["dump_payload_sanitizations"]);
    lines.field("total_reads_processed", totals.traffic.reads);
    lines.field("total_writes_processed", totals.traffic.writes);
    lines.zeros(&["io_threaded_reads_processed", "io_threaded_writes_processed"]);
    refused(counters.stats, lines);
    lines.zeros(&["reply_buffer_shrinks", "reply_buffer_expands"]);
    turns(counters, lines);
    denied(counters.stats, lines);
    // A field of this server: the number of waiting clients that a key has woken.
    lines.field("total_unblocked_clients", counters.stats.unblocked_clients);
}

/// Returns the recent rate of a total, per second.
fn rate(counters: &Counters<'_>, of: fn(&Totals) -> u64) -> f64 {
    counters.rates.per_second(counters.now_us, counters.totals, of)
}

fn work(counters: &Counters<'_>, lines: &mut Lines) {
    let (stats, totals) = (counters.stats, counters.totals);
    let kilobytes = |of| format!("{:.2}", rate(counters, of) / 1024.0);
    lines.field("total_connections_received", stats.connections_received);
    lines.field("total_commands_processed", totals.commands);
    lines.field("instantaneous_ops_per_sec", rate(counters, |totals| totals.commands) as u64);
    lines.field("total_net_input_bytes", totals.traffic.input_bytes);
    lines.field("total_net_output_bytes", totals.traffic.output_bytes);
    lines.zeros(&["total_net_repl_input_bytes", "total_net_repl_output_bytes"]);
    lines.field("instantaneous_input_kbps", kilobytes(|totals| totals.traffic.input_bytes));
    lines.field("instantaneous_output_kbps", kilobytes(|totals| totals.traffic.output_bytes));
    lines.field("instantaneous_input_repl_kbps", "0.00");
    lines.field("instantaneous_output_repl_kbps", "0.00");
    lines.field("rejected_connections", stats.rejected_connections);
    let syncs = counters.replication.syncs();
    lines.field("sync_full", syncs.full);
    lines.field("sync_partial_ok", syncs.partial);
    lines.field("sync_partial_err", syncs.refused_partial);
}

fn keys(counters: &Counters<'_>, lines: &mut Lines) {
    let (stats, now_us) = (counters.stats, counters.now_us);
    let counters = &counters.keyspace.counters;
    lines.field("expired_keys", counters.expired_keys);
    lines.field("expired_fields", counters.expired_fields);
    // No key exists after its deadline.
    lines.field("expired_stale_perc", "0.00");
    lines.zeros(&["expired_time_cap_reached_count"]);
    lines.field("expire_cycle_cpu_milliseconds", stats.expire_ns / 1_000_000);
    lines.field("evicted_keys", counters.evicted_keys);
    lines.field("evicted_clients", stats.evicted_clients);
    let current_us = stats.exceeded_since_us.map_or(0, |since_us| now_us.saturating_sub(since_us));
    lines.field("total_eviction_exceeded_time", (stats.exceeded_us + current_us) / 1000);
    lines.field("current_eviction_exceeded_time", current_us / 1000);
    lines.field("keyspace_hits", counters.keyspace_hits);
    lines.field("keyspace_misses", counters.keyspace_misses);
}

/// Writes the number of clients disconnected because they sent or left unread too much.
fn refused(stats: &Stats, lines: &mut Lines) {
    lines.field("client_query_buffer_limit_disconnections", stats.query_limit_disconnections);
    lines.field("client_output_buffer_limit_disconnections", stats.output_limit_disconnections);
}

fn turns(counters: &Counters<'_>, lines: &mut Lines) {
    let totals = counters.totals;
    let per_turn = |ns: f64, turns: f64| if turns > 0.0 { ns / turns / 1000.0 } else { 0.0 };
    let turns = rate(counters, |totals| totals.traffic.turns);
    let turn_ns = rate(counters, |totals| totals.traffic.turn_ns);
    lines.field("eventloop_cycles", totals.traffic.turns);
    lines.field("eventloop_duration_sum", totals.traffic.turn_ns / 1000);
    lines.field("eventloop_duration_cmd_sum", counters.stats.commands_ns() / 1000);
    lines.field("instantaneous_eventloop_cycles_per_sec", turns as u64);
    lines.field("instantaneous_eventloop_duration_usec", per_turn(turn_ns, turns) as u64);
}

fn denied(stats: &Stats, lines: &mut Lines) {
    let denied = stats.access_denied;
    lines.field("acl_access_denied_auth", denied.logins);
    lines.field("acl_access_denied_cmd", denied.commands);
    lines.field("acl_access_denied_key", denied.keys);
    lines.field("acl_access_denied_channel", denied.channels);
}
