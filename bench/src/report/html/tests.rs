//! Tests of the page: it contains every result, is well-formed and self-contained.

use super::html;
use super::numbers::{bytes, digits, grouped, time};
use crate::results::{
    FORMAT, Latency, Machine, Memory, Method, Noise, Results, Run, ServerInfo, Startup, WorkloadInfo,
};
use crate::waiting::results::{Handoff, Lateness, LockKind, Pause, Strain};

const SERVERS: [&str; 3] = ["lockwheel", "redis", "valkey"];
const WORKLOADS: [&str; 4] = ["set", "pair:evalsha", "pair:eval", "native"];
const PIPELINES: [usize; 3] = [1, 16, 64];

/// Returns figures of every kind, each different from all others of its kind.
pub(super) fn sample() -> Results {
    let workload = |name: &&str| WorkloadInfo {
        name: (*name).to_string(),
        family: "any".to_string(),
        about: format!("what {name} does <to> \"keys\" & more"),
        against: (*name == "native").then(|| "pair:evalsha".to_string()),
    };
    Results {
        format: FORMAT,
        machine: Machine {
            processor: "Processor & Sons 9000".to_string(),
            cores: 2,
            memory: 24 << 30,
            system: "Linux 6.1".to_string(),
            congestion_control: "cubic".to_string(),
        },
        servers: SERVERS
            .map(|name| ServerInfo { name: name.to_string(), version: format!("{name} 7.x") })
            .into(),
        method: method(),
        noise: Noise { loop_ns: Some((49.0, 85.0)), stolen_share: Some(0.031) },
        workloads: WORKLOADS.iter().map(workload).collect(),
        runs: runs(),
        memory: memory(),
        startup: SERVERS.map(startup).into(),
        handoffs: handoffs(),
        lateness: lateness(),
        pauses: pauses(),
    }
}

fn method() -> Method {
    Method {
        version: "0.1.0".to_string(),
        arguments: vec!["compare".to_string(), "--rounds".to_string(), "3".to_string()],
        server_cores: vec![0],
        load_cores: vec![1],
        server_threads: 1,
        load_threads: 1,
        connections: 50,
        keys: 100_000,
        skew: 0.0,
        rounds: 3,
        seconds: 0.5,
        rate: None,
    }
}

fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for (at, server) in SERVERS.iter().enumerate() {
        for (which, workload) in WORKLOADS.iter().enumerate() {
            for pipeline in PIPELINES {
                if *workload == "native" && *server != "lockwheel" {
                    continue;
                }
                for round in 0..3 {
                    let factor = [0.35, 1.0, 0.93][at] * (1.0 + 0.04 * f64::from(round as u32));
                    let us = (4.6 + (which as f64 + 0.7)) / (pipeline as f64).sqrt() * factor;
                    let point =
                        |percent: f64| (percent, us * 50.0 * (1.0 + (1.0 - percent / 100.0).recip().ln()));
                    runs.push(Run {
                        server: (*server).to_string(),
                        workload: (*workload).to_string(),
                        pipeline,
                        connections: 50,
                        round,
                        ops: 100_000,
                        seconds: us / 10.0,
                        cpu_ns: Some(us * 1e3),
                        user_ns: Some(us * 400.0),
                        system_ns: Some(us * 600.0),
                        load_cpu_ns: Some(500.0),
                        latency: Latency {
                            p50: us * 80.0,
                            p99: us * 280.0,
                            p999: us * 400.0,
                            max: us * 900.0,
                            curve: [0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99].map(point).into(),
                        },
                        resident: Some(10 << 20),
                    });
                }
            }
        }
    }
    runs
}

fn memory() -> Vec<Memory> {
    let of = |(at, server): (usize, &&str)| {
        [("strings", 76), ("locks", 110)].map(|(kind, each)| {
            let each = each + 30 * at as u64;
            Memory {
                server: (*server).to_string(),
                kind: kind.to_string(),
                keys: 1_000_000,
                before: 4 << 20,
                loaded: (4 << 20) + each * 1_000_000,
                flushed: 5 << 20,
            }
        })
    };
    SERVERS.iter().enumerate().flat_map(of).collect()
}

fn startup(server: &str) -> Startup {
    Startup {
        server: server.to_string(),
        seconds: vec![0.0031, 0.0042, 0.0028],
        idle: vec![3 << 20, 4 << 20],
    }
}

fn handoffs() -> Vec<Handoff> {
    let mut handoffs = Vec::new();
    for (at, server) in SERVERS.iter().enumerate() {
        for kind in LockKind::ALL {
            for waiters in [10, 100, 1000] {
                if kind.is_native() && at > 0 {
                    continue;
                }
                let many = waiters as f64;
                let (requests, wakes, us) = match kind {
                    LockKind::RLock | LockKind::Write | LockKind::Semaphore => {
                        (many + 6.0, many, 12.0 * many)
                    }
                    LockKind::Fair => (7.0, 1.0, 160.0 + many),
                    _ => (2.0, 1.0, 42.0 + many / 500.0),
                };
                let us = us * (1.0 + at as f64 / 7.0);
                handoffs.push(Handoff {
                    server: (*server).to_string(),
                    kind,
                    waiters,
                    handoffs: 500,
                    requests_each: requests,
                    commands_each: requests * 4.0,
                    wake_ups_each: wakes,
                    p50_us: us,
                    p99_us: us * 2.5,
                    max_us: us * 9.0,
                    settled_p50_us: us * 1.7,
                    cpu_us_each: Some(us * 1.3),
                });
            }
        }
    }
    handoffs
}

fn lateness() -> Vec<Lateness> {
    let mut lateness = Vec::new();
    for (server, timers, us) in [("lockwheel", 1_000_000, 420.0), ("redis", 10_000, 1.1e6)] {
        for loaded in [false, true] {
            let us = if loaded { us * 1.3 } else { us };
            lateness.push(Lateness {
                server: server.to_string(),
                timers,
                loaded,
                probes: 20_000,
                missing: if server == "redis" { 17 } else { 0 },
                p50_us: us,
                p99_us: us * 3.0,
                p999_us: us * 4.0,
                max_us: us * 5.0,
            });
        }
    }
    lateness
}

fn pauses() -> Vec<Pause> {
    let mut pauses = Vec::new();
    for (at, server) in SERVERS[..2].iter().enumerate() {
        for (which, strain) in Strain::ALL.into_iter().enumerate() {
            let us = 60.0 * (1.0 + at as f64) + 7.0 * which as f64;
            pauses.push(Pause {
                server: (*server).to_string(),
                strain,
                keys: 1_000_000,
                probes: 6000,
                p50_us: us,
                p99_us: us * 4.0,
                longest_us: us * 14.0,
                own_longest_us: 333.0,
            });
        }
    }
    pauses
}

/// Returns a text as it appears on the page.
fn escape(text: &str) -> String {
    maud::html! { (text) }.into_string()
}

/// Asserts that tags nest and are closed, and that no text contains a bare `<` or `&`.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 4] = ["meta", "br", "!doctype", "link"];
    let (mut open, mut rest) = (Vec::new(), page);
    while let Some(at) = rest.find(['<', '&']) {
        if rest[at..].starts_with('&') {
            let end = rest[at..].find(';').expect("a reference ends");
            let name = &rest[at + 1..at + end];
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{name};");
            rest = &rest[at + end..];
            continue;
        }
        let tag = rest[at + 1..].split('>').next().expect("a tag ends");
        assert!(!tag.contains('<'), "a `<` inside <{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes something else");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = &rest[at + 1 + tag.len()..];
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
}

#[test]
fn the_page_is_well_formed_with_everything_and_with_nothing() {
    assert_well_formed(&html(&sample()));
    let mut empty = sample();
    empty.servers.truncate(1);
    (empty.runs, empty.workloads) = (Vec::new(), Vec::new());
    (empty.memory, empty.startup) = (Vec::new(), Vec::new());
    (empty.handoffs, empty.lateness, empty.pauses) = (Vec::new(), Vec::new(), Vec::new());
    let page = html(&empty);
    assert_well_formed(&page);
    assert!(!page.contains("{{") && !page.contains("NaN") && !page.contains("inf"), "{page}");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&sample());
    for word in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link", "<img", "<iframe"]
    {
        assert!(!page.contains(word), "the page holds `{word}`");
    }
}

#[test]
fn names_cannot_become_tags() {
    let mut results = sample();
    results.servers[2].name = "<script>alert('1')</script>".to_string();
    results.workloads[0].name = "a\"onclick=\"b".to_string();
    for run in &mut results.runs {
        run.server = run.server.replace("valkey", "<script>alert('1')</script>");
        run.workload = run.workload.replace("set", "a\"onclick=\"b");
    }
    let page = html(&results);
    assert!(page.contains("&lt;script&gt;") && page.contains("a&quot;onclick"));
    assert!(!page.contains("<script") && !page.contains("\"onclick"));
    assert_well_formed(&page);
}

#[test]
fn every_result_shows_up() {
    let results = sample();
    let page = html(&results);
    let holds = |text: &str| assert!(page.contains(&escape(text)), "the page does not say `{text}`");
    for server in &results.servers {
        holds(&server.version);
        for workload in WORKLOADS {
            for pipeline in PIPELINES {
                let Some(cell) = results.cell(&server.name, workload, pipeline) else { continue };
                holds(&format!("{:.3}", cell.cpu_us().expect("it is known").median));
                holds(&grouped(cell.rate().expect("it ran").median));
                holds(&time(cell.each(|run| run.latency.p999).expect("it ran").median));
                if let Some(ratio) =
                    results.ratio(&server.name, workload, pipeline).filter(|_| server.name != "redis")
                {
                    holds(&format!("{:.2}", ratio.median));
                }
            }
        }
    }
    for memory in &results.memory {
        holds(&digits(memory.per_key()));
        holds(&bytes(memory.flushed as f64));
    }
    for handoff in &results.handoffs {
        holds(&time(handoff.p50_us));
        holds(&time(handoff.p99_us));
        holds(&digits(handoff.cpu_us_each.expect("it is known")));
    }
    for late in &results.lateness {
        holds(&format!("p50 {}, p99 {}, p99.9 {}", time(late.p50_us), time(late.p99_us), time(late.p999_us)));
    }
    for pause in &results.pauses {
        holds(&format!("p99 {}, longest {}", time(pause.p99_us), time(pause.longest_us)));
    }
    for text in ["Processor & Sons 9000", "Linux 6.1", "cubic", "0.1.0", "--rounds 3", "1.73 times", "3.1 %"]
    {
        holds(text);
    }
    assert_eq!(page.matches("<svg").count(), WORKLOADS.len() * PIPELINES.len());
}

#[test]
fn numbers_are_for_people() {
    assert_eq!(
        [0.1234, 1.5, 12.34, 123.4, 1234.5, 1_234_567.0].map(digits),
        ["0.12", "1.50", "12.3", "123", "1,234", "1,234,567"]
    );
    assert_eq!(
        [1.26, 42.4, 999.6, 12_345.0, 1.2e6].map(time),
        ["1.3 µs", "42 µs", "1.00 ms", "12.3 ms", "1.20 s"]
    );
    assert_eq!(grouped(-1234.0), "-1,234");
    assert_eq!(bytes(130.4), "130 B");
    assert_eq!(bytes(3.5 * 1024.0 * 1024.0), "3.50 MiB");
}
