//! The head of the page, memory, starts, and the method.

use super::load::servers;
use super::numbers::{bytes, digits, grouped, time};
use super::parts::{Bar, BarRow, TableCell, bars, colour, legend, section, server_cell, table};
use crate::results::{Memory, Results};
use crate::summary::Spread;
use crate::waiting::results::LockKind;
use maud::{Markup, html};

/// The title, the compared servers and the machine, and the most important figures.
pub(super) fn head(results: &Results, title: &str) -> Markup {
    let versions: Vec<String> =
        results.servers.iter().map(|server| format!("{} ({})", server.name, server.version)).collect();
    let machine = &results.machine;
    let tiles: Vec<(String, String)> =
        [lock_tile(results), handoff_tile(results), lateness_tile(results), memory_tile(results)]
            .into_iter()
            .flatten()
            .collect();
    html! {
        h1 { (title) }
        p {
            (versions.join(", ")) "." br;
            (machine.processor) ", " (machine.cores) " cores, " (bytes(machine.memory as f64)) " of memory, "
            (machine.system) "."
        }
        @if !tiles.is_empty() {
            ul.tiles {
                @for (figure, text) in &tiles {
                    li.card {
                        b { (figure) }
                        span { (text) }
                    }
                }
            }
        }
    }
}

fn lock_tile(results: &Results) -> Option<(String, String)> {
    let baseline = results.baseline()?;
    let pipelines = results.pipelines();
    let pipeline =
        pipelines.iter().copied().find(|pipeline| *pipeline == 16).or(pipelines.first().copied())?;
    let ratio = results.ratio("lockwheel", "pair:evalsha", pipeline)?;
    let figure = format!("{:.2}×", ratio.median);
    Some((
        figure,
        format!("{baseline}’s CPU for a lock or unlock script of Redisson, pipelined by {pipeline}"),
    ))
}

fn handoff_tile(results: &Results) -> Option<(String, String)> {
    let native = results.handoffs.iter().filter(|handoff| handoff.kind == LockKind::Native);
    let native = native.max_by_key(|handoff| handoff.waiters)?;
    let herd = results
        .handoffs
        .iter()
        .find(|handoff| handoff.kind == LockKind::RLock && handoff.waiters == native.waiters)?;
    Some((
        format!("{} requests", digits_of_count(native.requests_each)),
        format!(
            "to hand a native lock on while {} wait; an RLock takes {}",
            grouped(native.waiters as f64),
            digits_of_count(herd.requests_each)
        ),
    ))
}

fn digits_of_count(count: f64) -> String {
    if count.fract() == 0.0 { grouped(count) } else { digits(count) }
}

fn lateness_tile(results: &Results) -> Option<(String, String)> {
    let ours = results.lateness.iter().filter(|late| late.server == "lockwheel" && !late.loaded);
    let ours = ours.max_by_key(|late| late.timers)?;
    Some((
        time(ours.p99_us),
        format!("is how late an expired event comes, p99, beside {} timers", grouped(ours.timers as f64)),
    ))
}

fn memory_tile(results: &Results) -> Option<(String, String)> {
    let ours = results.memory.iter().find(|memory| memory.server == "lockwheel" && memory.kind == "locks")?;
    let baseline = results.baseline()?;
    let theirs = results.memory.iter().find(|memory| memory.server == baseline && memory.kind == "locks")?;
    Some((
        bytes(ours.per_key()),
        format!("of memory for a lock with a TTL; {} on {baseline}", bytes(theirs.per_key())),
    ))
}

/// The resident bytes of each key, or of each part of a large key, and the memory that is given back.
pub(super) fn memory(results: &Results) -> Markup {
    if results.memory.is_empty() {
        return html! {};
    }
    let mut kinds: Vec<&str> = Vec::new();
    for memory in &results.memory {
        if !kinds.contains(&memory.kind.as_str()) {
            kinds.push(&memory.kind);
        }
    }
    let row = |kind: &&str| {
        let of: Vec<&Memory> = results.memory.iter().filter(|memory| memory.kind == *kind).collect();
        let bar = |memory: &&Memory| Bar {
            class: colour(results, &memory.server),
            name: memory.server.clone(),
            value: Spread { median: memory.per_key(), min: memory.per_key(), max: memory.per_key() },
            target: None,
        };
        let count = of.first().map_or(0, |memory| memory.keys);
        BarRow {
            label: (*kind).to_string(),
            note: format!("{} of them", grouped(count as f64)),
            bars: of.iter().map(bar).collect(),
        }
    };
    let rows: Vec<BarRow> = kinds.iter().map(row).collect();
    let cells = |memory: &Memory| -> Vec<TableCell> {
        vec![
            memory.kind.as_str().into(),
            server_cell(results, &memory.server),
            grouped(memory.keys as f64).into(),
            digits(memory.per_key()).into(),
            bytes(memory.before as f64).into(),
            bytes(memory.loaded as f64).into(),
            bytes(memory.flushed as f64).into(),
        ]
    };
    let heads = ["kind", "server", "pieces", "bytes each", "before", "loaded", "after FLUSHALL"];
    let cells: Vec<Vec<TableCell>> = results.memory.iter().map(cells).collect();
    let body = html! {
        div.card {
            (legend(results, &servers(results), &[]))
            div.wide { (bars(&rows, None, |value| format!("{value:.0} B"))) }
            (table(&heads, 2, &cells))
        }
    };
    let lead = html! { "Resident bytes that each adds to the process: shorter is better." };
    section("Memory", &lead, &body)
}

/// The time from exec to the first PONG.
pub(super) fn startup(results: &Results) -> Markup {
    if results.startup.is_empty() {
        return html! {};
    }
    let mut rows = Vec::new();
    for startup in &results.startup {
        let ready = Spread::of(startup.seconds.iter().map(|seconds| seconds * 1e6));
        let idle = Spread::of(startup.idle.iter().map(|bytes| *bytes as f64));
        let cell = |spread: Option<Spread>, show: fn(f64) -> String| match spread {
            Some(Spread { median, min, max }) => {
                html! { (show(median)) " " small { (show(min)) " to " (show(max)) } }
            }
            None => html! { "–" },
        };
        rows.push(vec![
            server_cell(results, &startup.server),
            startup.seconds.len().to_string().into(),
            cell(ready, time).into(),
            cell(idle, bytes).into(),
        ]);
    }
    let lead = html! {
        "From exec to the first PONG, and what the idle process takes: the median, the least and the most."
    };
    let body = html! {
        div.card { (table(&["server", "starts", "first PONG after", "resident when idle"], 1, &rows)) }
    };
    section("Start", &lead, &body)
}

/// Machine, versions, method and noise.
pub(super) fn method(results: &Results) -> Markup {
    let lead = html! {
        "The CPU of a server is the sum over all its threads, from " code { "/proc" } ", before and after each run, \
         divided by the requests; every reply is checked, and a wrong one ends the comparison. Ratios of CPU are \
         steadier than throughput, for they do not depend on who else uses the machine as much."
    };
    let body = html! {
        div.card {
            dl {
                @for (name, text) in facts(results).iter().filter(|(_, text)| !text.is_empty()) {
                    dt { (name) }
                    dd { (text) }
                }
            }
        }
    };
    section("How it was measured", &lead, &body)
}

/// Returns names and texts. A fact without a text is unknown.
fn facts(results: &Results) -> Vec<(String, String)> {
    let (machine, method, noise) = (&results.machine, &results.method, &results.noise);
    let mut facts: Vec<(String, String)> = vec![
        ("Processor".to_string(), format!("{}, {} cores", machine.processor, machine.cores)),
        ("Memory".to_string(), bytes(machine.memory as f64)),
        (
            "System".to_string(),
            format!("{}, TCP congestion control {}", machine.system, machine.congestion_control),
        ),
    ];
    facts.extend(results.servers.iter().map(|server| (server.name.clone(), server.version.clone())));
    facts.push(("This program".to_string(), format!("lockwheel-bench {}", method.version)));
    facts.push(("Options".to_string(), method.arguments.join(" ")));
    facts.push((
        "Cores".to_string(),
        format!("server on {}, load on {}", cores(&method.server_cores), cores(&method.load_cores)),
    ));
    facts.push((
        "Threads".to_string(),
        format!("server {}, load {}", method.server_threads, method.load_threads),
    ));
    facts.push((
        "Load".to_string(),
        format!(
            "{} connections, {} keys, {}; {}",
            method.connections,
            grouped(method.keys as f64),
            if method.skew == 0.0 {
                "all alike".to_string()
            } else {
                format!("Zipf's law with exponent {}", method.skew)
            },
            method.rate.map_or("each connection sends when it has its replies".to_string(), |rate| {
                format!("{rate} requests a second, whether or not they are answered")
            }),
        ),
    ));
    facts.push((
        "Rounds".to_string(),
        format!(
            "{} of {} s; in each the servers take turns, workload by workload",
            method.rounds, method.seconds
        ),
    ));
    if let Some((least, most)) = noise.loop_ns {
        facts.push((
            "Noise".to_string(),
            format!(
                "a fixed loop took {} to {} ns between the runs: the core's speed moved by {:.2} times{}",
                digits(least),
                digits(most),
                most / least,
                noise.stolen_share.map_or(String::new(), |share| format!(
                    "; the host took {:.1} % of the machine's time",
                    100.0 * share
                )),
            ),
        ));
    }
    facts.push(("Spread".to_string(), spread_text(results)));
    facts
}

fn cores(cores: &[usize]) -> String {
    match cores {
        [] => "any core".to_string(),
        cores => cores.iter().map(usize::to_string).collect::<Vec<_>>().join("+"),
    }
}

/// Describes how far the CPU per request varied between the rounds of a cell: in the middle cell, and in the worst.
fn spread_text(results: &Results) -> String {
    let mut moved = Vec::new();
    for info in &results.workloads {
        for pipeline in results.pipelines() {
            for server in servers(results) {
                let cpu = results.cell(server, &info.name, pipeline).and_then(|cell| cell.cpu_us());
                moved.extend(cpu.filter(|cpu| cpu.min > 0.0).map(|cpu| cpu.max / cpu.min - 1.0));
            }
        }
    }
    match Spread::of(moved) {
        None => String::new(),
        Some(Spread { median, max, .. }) => format!(
            "the most CPU a request lay above the least of the same cell by {:.0} % in the middle, {:.0} % at worst",
            100.0 * median,
            100.0 * max
        ),
    }
}
