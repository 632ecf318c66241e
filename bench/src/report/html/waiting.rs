//! Hand-off under contention, lateness of expiry events, and pauses.

use super::numbers::{digits, grouped, time};
use super::parts::{Range, RangeRow, TableCell, colour, legend, ranges, section, server_cell, table};
use crate::report::targets;
use crate::results::Results;
use crate::waiting::results::{Handoff, Lateness, LockKind, Pause, Strain};
use maud::{Markup, html};

/// Returns the servers that a list of figures contains, in their order.
fn named(results: &Results, mut is_there: impl FnMut(&str) -> bool) -> Vec<&str> {
    results.servers.iter().map(|server| server.name.as_str()).filter(|name| is_there(name)).collect()
}

/// The hand-off of a lock.
pub(super) fn handoffs(results: &Results) -> Markup {
    if results.handoffs.is_empty() {
        return html! {};
    }
    let mut crowds: Vec<usize> = results.handoffs.iter().map(|handoff| handoff.waiters).collect();
    crowds.sort_unstable();
    crowds.dedup();
    let servers = named(results, |name| results.handoffs.iter().any(|handoff| handoff.server == name));
    let mut rows = Vec::new();
    for kind in LockKind::ALL {
        for waiters in &crowds {
            let of = |handoff: &&Handoff| handoff.kind == kind && handoff.waiters == *waiters;
            let found: Vec<&Handoff> = results.handoffs.iter().filter(of).collect();
            if !found.is_empty() {
                rows.push(RangeRow {
                    label: format!("{}, {} waiters", kind.name(), grouped(*waiters as f64)),
                    note: String::new(),
                    ranges: found.into_iter().map(|handoff| handoff_range(results, handoff)).collect(),
                });
            }
        }
    }
    let mut sorted: Vec<&Handoff> = results.handoffs.iter().collect();
    // The sort is stable, so the servers stay in their order.
    sorted.sort_by_key(|handoff| (handoff.kind, handoff.waiters));
    let heads = [
        "lock",
        "server",
        "waiters",
        "requests",
        "commands",
        "wake-ups",
        "p50",
        "p99",
        "slowest",
        "all wait again",
        "CPU µs",
    ];
    let cells: Vec<Vec<TableCell>> = sorted.iter().map(|handoff| handoff_row(results, handoff)).collect();
    let body = html! {
        div.card {
            (legend(results, &servers, &[]))
            (ranges(&rows, None))
            (table(&heads, 2, &cells))
        }
    };
    let lead = html! {
        "From the release to the next holder's knowing: the dot is the median, the marks p99 and the slowest. The \
         holder releases when everybody else waits; afterwards it queues again. The table says what all clients \
         together send in such a turn, what the server runs for it, and how many waiters it wakes: an RLock wakes all \
         of them, and each tries again. Each waiter is a client of its own, with a connection for commands and, but \
         for the native lock, one for messages; they share one thread and one core."
    };
    section("Hand-off of a lock that others wait for", &lead, &body)
}

fn handoff_range(results: &Results, handoff: &Handoff) -> Range {
    Range {
        class: colour(results, &handoff.server),
        name: handoff.server.clone(),
        marks: vec![("p50", handoff.p50_us), ("p99", handoff.p99_us), ("max", handoff.max_us)],
        key: 0,
    }
}

fn handoff_row(results: &Results, handoff: &Handoff) -> Vec<TableCell> {
    vec![
        handoff.kind.name().into(),
        server_cell(results, &handoff.server),
        grouped(handoff.waiters as f64).into(),
        digits_or_whole(handoff.requests_each).into(),
        digits_or_whole(handoff.commands_each).into(),
        digits_or_whole(handoff.wake_ups_each).into(),
        time(handoff.p50_us).into(),
        time(handoff.p99_us).into(),
        time(handoff.max_us).into(),
        time(handoff.settled_p50_us).into(),
        handoff.cpu_us_each.map_or("–".to_string(), digits).into(),
    ]
}

/// Formats a mean of counts: as a whole number if all turns were alike.
fn digits_or_whole(mean: f64) -> String {
    if mean.fract() == 0.0 { grouped(mean) } else { digits(mean) }
}

/// The lateness of the events of expired keys.
pub(super) fn lateness(results: &Results) -> Markup {
    if results.lateness.is_empty() {
        return html! {};
    }
    let servers = named(results, |name| results.lateness.iter().any(|late| late.server == name));
    let row = |late: &Lateness| RangeRow {
        label: format!("{}, {} timers, {}", late.server, grouped(late.timers as f64), state(late)),
        note: match late.missing {
            0 => format!("{} keys expired", grouped(late.probes as f64)),
            some => format!(
                "{} keys; {} not told of when the measurement ended, which count as told then",
                grouped(late.probes as f64),
                grouped(some as f64)
            ),
        },
        ranges: vec![Range {
            class: colour(results, &late.server),
            name: late.server.clone(),
            marks: vec![
                ("p50", late.p50_us),
                ("p99", late.p99_us),
                ("p99.9", late.p999_us),
                ("max", late.max_us),
            ],
            key: 1,
        }],
    };
    let rows: Vec<RangeRow> = results.lateness.iter().map(row).collect();
    let marks = [("mark goal", "target of p99")];
    let body = html! {
        div.card {
            (legend(results, &servers, &marks))
            (ranges(&rows, Some(targets::EXPIRY_US)))
        }
    };
    let lead = html! {
        "From a key's deadline to the arrival of its " code { "expired" } " event at a subscriber: the dot is the \
         median, the marks p99, p99.9 and the latest. The other timers lie there, an hour and more away. Under load, \
         GETs and SETs pipelined by 16 keep the server busy from the subscriber's own core, which is part of the \
         figure."
    };
    section("How late expiry is told", &lead, &body)
}

fn state(late: &Lateness) -> &'static str {
    if late.loaded { "under load" } else { "idle" }
}

/// The pauses of servers.
pub(super) fn pauses(results: &Results) -> Markup {
    if results.pauses.is_empty() {
        return html! {};
    }
    let servers = named(results, |name| results.pauses.iter().any(|pause| pause.server == name));
    let mut rows = Vec::new();
    for strain in Strain::ALL {
        let found: Vec<&Pause> = results.pauses.iter().filter(|pause| pause.strain == strain).collect();
        if let Some(first) = found.first() {
            rows.push(RangeRow {
                label: strain.name().to_string(),
                note: match strain {
                    Strain::Nothing => "what the machine itself does to the figures".to_string(),
                    _ => format!("{} keys", grouped(first.keys as f64)),
                },
                ranges: found.into_iter().map(|pause| pause_range(results, pause)).collect(),
            });
        }
    }
    let marks = [("mark goal", "target of the longest")];
    let body = html! {
        div.card {
            (legend(results, &servers, &marks))
            (ranges(&rows, Some(targets::PAUSE_US)))
        }
    };
    let own = results.pauses.iter().map(|pause| pause.own_longest_us).fold(0.0, f64::max);
    let lead = html! {
        "How long a PING waits that is sent every half millisecond, whether or not the last was answered, counted \
         from when it was due: the dot is the median, the marks p99 and the longest. The prober itself was at most "
        (time(own)) " late in sending."
    };
    section("Pauses", &lead, &body)
}

fn pause_range(results: &Results, pause: &Pause) -> Range {
    Range {
        class: colour(results, &pause.server),
        name: pause.server.clone(),
        marks: vec![("p50", pause.p50_us), ("p99", pause.p99_us), ("longest", pause.longest_us)],
        key: 2,
    }
}
