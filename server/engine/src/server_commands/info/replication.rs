//! INFO's replication section.

use super::lines::Lines;
use crate::replication::{LinkState, ReplicaLink, ReplicaState, ReplicationView};

/// Writes the master, if there is one, the replicas, and the history.
pub(super) fn replication(view: ReplicationView<'_>, lines: &mut Lines) {
    match view.link() {
        None => lines.field("role", "master"),
        Some(link) => {
            lines.field("role", "slave");
            master(view, link, lines);
        }
    }
    let (history, parameters) = (view.history(), &view.config().replication);
    lines.field("connected_slaves", history.replicas().len());
    if parameters.min_to_write > 0 && parameters.min_max_lag > 0 {
        lines.field("min_slaves_good_slaves", view.good_replicas());
    }
    replicas(view, lines);
    lines.field("master_failover_state", history.failover_state());
    lines.field("master_replid", history.id());
    lines.field("master_replid2", history.id2());
    lines.field("master_repl_offset", history.offset());
    lines.field("second_repl_offset", history.second_offset());
    let (first, kept) = history.backlog().map_or((0, 0), |backlog| (backlog.first_offset(), backlog.len()));
    lines.field("repl_backlog_active", u8::from(history.has_stream()));
    lines.field("repl_backlog_size", parameters.backlog_size);
    lines.field("repl_backlog_first_byte_offset", first);
    lines.field("repl_backlog_histlen", kept);
}

fn master(view: ReplicationView<'_>, link: &ReplicaLink, lines: &mut Lines) {
    let (now, offset) = (view.now(), view.history().offset());
    let is_up = link.is_connected();
    let is_syncing = link.state() == Some(LinkState::Sync);
    lines.field("master_host", link.host());
    lines.field("master_port", link.port());
    lines.field("master_link_status", if is_up { "up" } else { "down" });
    let silent = if is_up { link.silent_ms(now) / 1000 } else { -1 };
    lines.field("master_last_io_seconds_ago", silent);
    lines.field("master_sync_in_progress", u8::from(is_syncing));
    lines.field("slave_read_repl_offset", offset);
    lines.field("slave_repl_offset", offset);
    if let Some((read, total)) = link.progress().filter(|_| is_syncing) {
        let total = total.map_or(0, |total| total as i64);
        let share = if total > 0 { read as f64 / total as f64 * 100.0 } else { 0.0 };
        lines.field("master_sync_total_bytes", total);
        lines.field("master_sync_read_bytes", read);
        lines.field("master_sync_left_bytes", total - read as i64);
        lines.field("master_sync_perc", format_args!("{share:.2}"));
        lines.field("master_sync_last_io_seconds_ago", link.silent_ms(now) / 1000);
    }
    if !is_up {
        let seconds = link.down_ms(now).map_or(-1, |ms| ms / 1000);
        lines.field("master_link_down_since_seconds", seconds);
    }
    let parameters = &view.config().replication;
    lines.field("slave_priority", parameters.priority);
    lines.field("slave_read_only", u8::from(parameters.read_only));
    lines.field("replica_announced", u8::from(parameters.announced));
}

fn replicas(view: ReplicationView<'_>, lines: &mut Lines) {
    let now = view.now();
    for (number, replica) in view.history().replicas().enumerate() {
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
