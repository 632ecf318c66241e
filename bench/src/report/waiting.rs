//! The figures of the waiting workloads: as rows for the screen, and as comma-separated values.

use crate::results::Results;

/// A heading, and rows of which the first contains the names of the columns.
pub(super) struct Table {
    /// The heading, which describes the figures.
    pub(super) heading: &'static str,
    /// The name of the table's file.
    pub(super) file: &'static str,
    /// The rows.
    pub(super) rows: Vec<Vec<String>>,
}

/// Returns the tables that contain figures.
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let tables = [handoffs(results), expiry(results), pauses(results)];
    tables.into_iter().filter(|table| table.rows.len() > 1).collect()
}

/// Formats a table as comma-separated values.
pub(super) fn csv(table: &Table) -> String {
    let line = |row: &Vec<String>| row.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",") + "\n";
    table.rows.iter().map(line).collect()
}

/// Formats a field, in quotes if necessary.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn handoffs(results: &Results) -> Table {
    let mut rows = vec![heads(&[
        "lock",
        "server",
        "waiters",
        "handoffs",
        "requests",
        "commands",
        "wake-ups",
        "p50",
        "p99",
        "max",
        "all wait again",
        "CPU",
    ])];
    for handoff in &results.handoffs {
        rows.push(vec![
            handoff.kind.name().to_string(),
            handoff.server.clone(),
            handoff.waiters.to_string(),
            handoff.handoffs.to_string(),
            handoff.requests_each.to_string(),
            handoff.commands_each.to_string(),
            handoff.wake_ups_each.to_string(),
            whole(handoff.p50_us),
            whole(handoff.p99_us),
            whole(handoff.max_us),
            whole(handoff.settled_p50_us),
            handoff.cpu_us_each.map_or("-".to_string(), whole),
        ]);
    }
    let heading = "Hand-off of a lock that others wait for: what one takes, and from release to grant in us";
    Table { heading, file: "handoffs.csv", rows }
}

fn expiry(results: &Results) -> Table {
    let mut rows =
        vec![heads(&["server", "timers", "state", "probes", "missing", "p50", "p99", "p99.9", "max"])];
    for late in &results.lateness {
        rows.push(vec![
            late.server.clone(),
            late.timers.to_string(),
            if late.loaded { "loaded" } else { "idle" }.to_string(),
            late.probes.to_string(),
            late.missing.to_string(),
            whole(late.p50_us),
            whole(late.p99_us),
            whole(late.p999_us),
            whole(late.max_us),
        ]);
    }
    Table { heading: "How late the event of an expired key comes, in us", file: "expiry.csv", rows }
}

fn pauses(results: &Results) -> Table {
    let mut rows =
        vec![heads(&["strain", "server", "keys", "probes", "p50", "p99", "longest", "own longest"])];
    for pause in &results.pauses {
        rows.push(vec![
            pause.strain.name().to_string(),
            pause.server.clone(),
            pause.keys.to_string(),
            pause.probes.to_string(),
            whole(pause.p50_us),
            whole(pause.p99_us),
            whole(pause.longest_us),
            whole(pause.own_longest_us),
        ]);
    }
    Table { heading: "How long a PING every half millisecond waits, in us", file: "pauses.csv", rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_are_quoted() {
        let rows = vec![vec!["a,b".to_string(), "c\"d".to_string()], vec!["e".to_string(), "f".to_string()]];
        assert_eq!(csv(&Table { heading: "", file: "", rows }), "\"a,b\",\"c\"\"d\"\ne,f\n");
    }
}
