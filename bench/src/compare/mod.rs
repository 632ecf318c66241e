//! The comparison: starts the servers, lets them take turns on every workload, and collects the results.

mod footprint;
mod machine;
mod run;
mod waiting;

use crate::cli::Compare;
use crate::error::{Error, Result};
use crate::results::{FORMAT, Method, Results, ServerInfo, WorkloadInfo};
use crate::servers::affinity::{self, Layout, Pinned};
use crate::servers::{Server, find};
use crate::workloads::{self, Workload};
use machine::NoiseMeter;
use run::Contender;
use std::fs;

/// The names of measurements on fresh processes.
const MEMORY: &str = "memory";
const STARTUP: &str = "startup";

/// The measurements that can be selected like workloads but are not run in turns.
const APART: [&str; 5] = [MEMORY, STARTUP, waiting::HANDOFF, waiting::EXPIRY, waiting::PAUSES];

/// Runs the comparison. `say` gets progress messages, a line at a time.
///
/// # Errors
/// Returns an error at the first wrong reply, or if a server or an option is invalid.
pub fn run(options: &Compare, say: &mut dyn FnMut(&str)) -> Result<Results> {
    check(options)?;
    let rows = rows(options)?;
    let cores = affinity::available();
    let layout = Layout::of(&cores, options.server_threads, options.load_threads);
    if layout.load.is_empty() {
        say("nothing is pinned: there are fewer cores than threads of the server and the load");
    }
    let candidates = find(options.server.as_deref(), &options.urls, &options.only)?;
    let mut contenders = Vec::new();
    for candidate in &candidates {
        let server = Server::start(candidate, options.server_threads, &layout)?;
        say(&format!("{}: {} at {}", server.name, server.version, server.addr));
        contenders.push(Contender::new(server)?);
    }
    // Everything from here on runs on the cores of the load.
    let _pinned = Pinned::to(&layout.load);
    let mut results = empty(options, &layout, &cores, &contenders, &rows);
    turns(&rows, &mut contenders, options, &layout, &mut results, say)?;
    let wanted = |name: &str| wants(options, name);
    waiting::measure(&contenders, &options.waiting, wanted, &mut results, say)?;
    drop(contenders);
    if wants(options, MEMORY) {
        results.memory = footprint::memory(&candidates, options, &layout, say)?;
    }
    if wants(options, STARTUP) {
        results.startup = footprint::startup(&candidates, options, &layout, say)?;
    }
    Ok(results)
}

/// Runs every workload with every pipeline, round by round; the servers take turns. A server without support for a
/// workload runs the workload that replaces it.
fn turns(
    rows: &[Workload],
    contenders: &mut [Contender],
    options: &Compare,
    layout: &Layout,
    results: &mut Results,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let mut noise = NoiseMeter::new(layout);
    let total = rows.len() * options.pipeline.len() * options.rounds * contenders.len();
    let mut done = 0;
    for row in rows {
        let stand_in = row.against.and_then(|name| rows.iter().find(|row| row.name == name));
        for contender in contenders.iter_mut() {
            contender.prepare(row, options)?;
            if let Some(other) = stand_in.filter(|_| !contender.can(row)) {
                contender.prepare(other, options)?;
            }
        }
        for &pipeline in &options.pipeline {
            for round in 0..options.rounds {
                for contender in contenders.iter_mut() {
                    done += 1;
                    // A replacing workload runs again beside this one: the machine's speed may have changed since its
                    // own run.
                    let Some(played) = Some(row).filter(|row| contender.can(row)).or(stand_in) else {
                        continue;
                    };
                    noise.look();
                    let mut run = contender.measure(played, options, pipeline, round, layout)?;
                    run.workload.clone_from(&row.name);
                    say(&progress(done, total, &run));
                    results.runs.push(run);
                }
            }
        }
    }
    results.noise = noise.result();
    Ok(())
}

/// Returns the selected workloads, including a script of the user.
fn rows(options: &Compare) -> Result<Vec<Workload>> {
    let mut rows = workloads::all()?;
    if let Some(path) = &options.script {
        let text = fs::read_to_string(path).map_err(Error::io(format!("read {}", path.display())))?;
        let user = workloads::script(&text, &options.script_keys, &options.script_args)?;
        if options.workloads.is_empty() {
            return Ok(user);
        }
        rows.extend(user);
    }
    let names: Vec<String> =
        options.workloads.iter().filter(|name| !APART.contains(&name.as_str())).cloned().collect();
    if names.is_empty() && !options.workloads.is_empty() {
        return Ok(Vec::new());
    }
    workloads::chosen(rows, &names)
}

/// Whether a measurement apart from the workloads is selected, by name or because nothing is selected.
fn wants(options: &Compare, name: &str) -> bool {
    let all = options.workloads.is_empty() && options.script.is_none();
    all || options.workloads.iter().any(|wanted| wanted == name)
}

/// Checks options that the command line parser cannot check.
fn check(options: &Compare) -> Result<()> {
    let refuse = |what: &str| Err(Error::other(what));
    if options.connections == 0 || options.keys < options.connections {
        return refuse(
            "--keys must be at least --connections, and that at least 1: every connection has its own",
        );
    }
    if options.pipeline.contains(&0) || options.pipeline.is_empty() {
        return refuse("--pipeline must be at least 1");
    }
    if options.server_threads == 0 || options.load_threads == 0 {
        return refuse("--server-threads and --load-threads must be at least 1");
    }
    if !(options.skew >= 0.0 && options.skew.is_finite()) {
        return refuse("--skew must be 0 or more");
    }
    if !(options.seconds > 0.0 && options.seconds < 1e6 && (0.0..1e6).contains(&options.warm_up)) {
        return refuse("--seconds must be above 0, --warm-up 0 or more");
    }
    if options.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
        return refuse("--rate must be above 0");
    }
    if options.memory_keys == 0 || options.starts == 0 || options.rounds == 0 {
        return refuse("--memory-keys, --starts and --rounds must be at least 1");
    }
    if let Some(problem) = options.waiting.problem() {
        return refuse(problem);
    }
    Ok(())
}

fn empty(
    options: &Compare,
    layout: &Layout,
    cores: &[usize],
    contenders: &[Contender],
    rows: &[Workload],
) -> Results {
    let servers = contenders.iter().map(|contender| ServerInfo {
        name: contender.server.name.clone(),
        version: contender.server.version.clone(),
    });
    let workloads = rows.iter().map(|row| WorkloadInfo {
        name: row.name.clone(),
        family: row.family.to_string(),
        about: row.about.clone(),
        against: row.against.map(str::to_string),
    });
    Results {
        format: FORMAT,
        machine: machine::describe(cores.len()),
        servers: servers.collect(),
        method: Method {
            version: env!("CARGO_PKG_VERSION").to_string(),
            arguments: std::env::args().skip(1).collect(),
            server_cores: layout.server.clone(),
            load_cores: layout.load.clone(),
            server_threads: options.server_threads,
            load_threads: options.load_threads,
            connections: options.connections,
            keys: options.keys,
            skew: options.skew,
            rounds: options.rounds,
            seconds: options.seconds,
            rate: options.rate,
        },
        noise: crate::results::Noise::default(),
        workloads: workloads.collect(),
        runs: Vec::new(),
        memory: Vec::new(),
        startup: Vec::new(),
        handoffs: Vec::new(),
        lateness: Vec::new(),
        pauses: Vec::new(),
    }
}

fn progress(done: usize, total: usize, run: &crate::results::Run) -> String {
    let cpu = run.cpu_ns.map_or("-".to_string(), |ns| format!("{:.3}", ns / 1e3));
    format!(
        "[{done}/{total}] {} P{} round {} {}: {cpu} us/op, {:.0} k/s",
        run.workload,
        run.pipeline,
        run.round + 1,
        run.server,
        run.rate() / 1e3
    )
}
