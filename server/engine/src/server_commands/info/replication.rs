//! INFO's lines of the server's part in replication.

use super::lines::Lines;
use crate::core::{Engine, Following};
use crate::replication::{LinkState, ReplicaState};

/// The master, if there is one; the replicas; the history.
pub(super) fn replication(engine: &Engine, lines: &mut Lines) {
    match &engine.following {
        None => lines.field("role", "master"),
        Some(following) => {
            lines.field("role", "slave");
            master(engine, following, lines);
        }
    }
    let (replication, parameters) = (&engine.replication, &engine.config.replication);
    lines.field("connected_slaves", replication.replicas.len());
    if parameters.min_to_write > 0 && parameters.min_max_lag > 0 {
        lines.field("min_slaves_good_slaves", engine.good_replicas());
    }
    replicas(engine, lines);
    let failover = replication.failover.as_ref().map(|failover| failover.state.name());
    lines.field("master_failover_state", failover.unwrap_or("no-failover"));
    lines.field("master_replid", replication.id);
    lines.field("master_replid2", replication.id2);
    lines.field("master_repl_offset", replication.offset);
    lines.field("second_repl_offset", replication.second_offset);
    let (first, kept) =
        replication.backlog().map_or((0, 0), |backlog| (backlog.first_offset(), backlog.len()));
    lines.field("repl_backlog_active", u8::from(replication.has_stream()));
    lines.field("repl_backlog_size", parameters.backlog_size);
    lines.field("repl_backlog_first_byte_offset", first);
    lines.field("repl_backlog_histlen", kept);
}

fn master(engine: &Engine, following: &Following, lines: &mut Lines) {
    let now = engine.link_clocks();
    let is_up = following.is_connected();
    let is_syncing = following.state() == Some(LinkState::Sync);
    lines.field("master_host", &following.host);
    lines.field("master_port", following.port);
    lines.field("master_link_status", if is_up { "up" } else { "down" });
    let silent = if is_up { following.heard.silent_ms(now) / 1000 } else { -1 };
    lines.field("master_last_io_seconds_ago", silent);
    lines.field("master_sync_in_progress", u8::from(is_syncing));
    lines.field("slave_read_repl_offset", engine.replication.offset);
    lines.field("slave_repl_offset", engine.replication.offset);
    if let Some((_, link)) = following.link.as_ref().filter(|_| is_syncing) {
        let (read, total) = link.progress();
        let total = total.map_or(0, |total| total as i64);
        let share = if total > 0 { read as f64 / total as f64 * 100.0 } else { 0.0 };
        lines.field("master_sync_total_bytes", total);
        lines.field("master_sync_read_bytes", read);
        lines.field("master_sync_left_bytes", total - read as i64);
        lines.field("master_sync_perc", format_args!("{share:.2}"));
        lines.field("master_sync_last_io_seconds_ago", following.heard.silent_ms(now) / 1000);
    }
    if !is_up {
        let seconds = following.down_ms(now).map_or(-1, |ms| ms / 1000);
        lines.field("master_link_down_since_seconds", seconds);
    }
    let parameters = &engine.config.replication;
    lines.field("slave_priority", parameters.priority);
    lines.field("slave_read_only", u8::from(parameters.read_only));
    lines.field("replica_announced", u8::from(parameters.announced));
}

fn replicas(engine: &Engine, lines: &mut Lines) {
    let now = engine.link_clocks();
    for (number, replica) in engine.replication.replicas.values().enumerate() {
        let lag = match replica.state {
            ReplicaState::Online if replica.answers => replica.lag_seconds(now),
            _ => 0,
        };
        let line = format_args!(
            "ip={},port={},state={},offset={},lag={lag}",
            replica.ip,
            replica.announced.port,
            replica.state.name(),
            replica.acknowledged
        );
        lines.field(&format!("slave{number}"), line);
    }
}
