//! One server of the comparison, and one measured run on it.

use crate::cli::Compare;
use crate::error::{Error, Result};
use crate::load::{Limit, Load, Order, Outcome, Plan, Step};
use crate::results::{Latency, Run};
use crate::servers::Server;
use crate::servers::affinity::Layout;
use crate::servers::cpu::Used;
use crate::workloads::{Walk, Workload};
use hdrhistogram::Histogram;
use std::time::Duration;

/// The number of requests in a batch while nothing is measured.
const PREPARE_PIPELINE: usize = 64;
/// The largest number of keys in a pass that takes each key once. A pass is repeated until the run has lasted long
/// enough.
const MAX_PASS_KEYS: u64 = 50_000;
/// The percentiles of a latency curve.
const CURVE: &[f64] = &[0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// A server of the comparison.
pub(super) struct Contender {
    pub(super) server: Server,
    /// The next value of the counters, which never go back on a server.
    counter: u64,
    /// The commands that were looked up, and whether the server supports them.
    known: Vec<(&'static str, bool)>,
}

/// The result of the measured part of a run.
struct Measured {
    outcome: Outcome,
    used: Option<Used>,
}

impl Contender {
    pub(super) fn new(server: Server) -> Result<Contender> {
        if !server.is_ours() {
            let reply = server.client()?.call(&[b"DBSIZE"])?;
            if reply != b":0\r\n" {
                let text = format!("{} has keys, and a comparison deletes all: empty it first", server.addr);
                return Err(Error::other(text));
            }
        }
        Ok(Contender { server, counter: 0, known: Vec::new() })
    }

    /// Whether the server supports the commands that the workload needs.
    pub(super) fn can(&self, row: &Workload) -> bool {
        row.needs.is_none_or(|command| self.known.contains(&(command, true)))
    }

    /// Makes the initial state of a workload.
    pub(super) fn prepare(&mut self, row: &Workload, options: &Compare) -> Result<()> {
        let mut client = self.server.client()?;
        if let Some(command) = row.needs
            && !self.known.iter().any(|(known, _)| *known == command)
        {
            let reply = client.call(&[b"COMMAND", b"INFO", command.as_bytes()])?;
            self.known.push((command, reply.starts_with(b"*1\r\n*") && !reply.starts_with(b"*1\r\n*-1")));
        }
        if !self.can(row) {
            return Ok(());
        }
        client.expect(&[b"FLUSHALL"], b"+OK\r\n")?;
        for script in &row.scripts {
            let digest = crate::workloads::digest(script);
            let reply = format!("$40\r\n{digest}\r\n");
            client.expect(&[b"SCRIPT", b"LOAD", script.as_bytes()], reply.as_bytes())?;
        }
        if let Some(library) = &row.library {
            client.expect(&[b"FUNCTION", b"FLUSH"], b"+OK\r\n")?;
            let reply = client.call(&[b"FUNCTION", b"LOAD", library.as_bytes()])?;
            if reply.starts_with(b"-") {
                return Err(Error::other(format!("a library was refused: {}", reply.escape_ascii())));
            }
        }
        if !row.preload.is_empty() {
            let mut load = self.connect(options, &Layout::default())?;
            self.pass(&mut load, &row.preload, keys(row, options), PREPARE_PIPELINE, options)?;
        }
        Ok(())
    }

    /// Warms up, then measures one run.
    pub(super) fn measure(
        &mut self,
        row: &Workload,
        options: &Compare,
        pipeline: usize,
        round: usize,
        layout: &Layout,
    ) -> Result<Run> {
        let name = format!("{} on {} with {pipeline} requests a batch", row.name, self.server.name);
        if row.grows {
            self.server.client()?.expect(&[b"FLUSHALL"], b"+OK\r\n")?;
        }
        let mut load = self.connect(options, layout)?;
        let measured = match &row.walk {
            Walk::Random => self.random(&mut load, row, options, pipeline, round),
            Walk::Each { reset } => self.each(&mut load, row, reset, options, pipeline),
        };
        let measured = measured.map_err(|error| error.in_run(&name))?;
        Ok(self.run(row, options, pipeline, round, &measured))
    }

    fn connect(&self, options: &Compare, layout: &Layout) -> Result<Load> {
        Load::connect(self.server.addr, options.connections, options.load_threads, &layout.load)
    }

    fn random(
        &mut self,
        load: &mut Load,
        row: &Workload,
        options: &Compare,
        pipeline: usize,
        round: usize,
    ) -> Result<Measured> {
        let time = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        let mut plan = Plan {
            steps: &row.turn,
            pipeline,
            order: Order::Random { skew: options.skew },
            keys: options.keys,
            seed: options.seed.wrapping_add(round as u64),
            counter: self.counter,
            limit: Limit { ops: None, time: time(options.warm_up) },
            rate: None,
        };
        self.counter = load.run(&plan)?.counter;
        plan.counter = self.counter;
        plan.rate = options.rate;
        plan.limit = match options.ops {
            Some(ops) => Limit { ops: Some(ops), time: None },
            None => Limit { ops: None, time: time(options.seconds) },
        };
        self.watched(load, &plan)
    }

    /// Runs passes over all keys until they have lasted long enough, each after the requests that reset the state.
    fn each(
        &mut self,
        load: &mut Load,
        row: &Workload,
        reset: &[Step],
        options: &Compare,
        pipeline: usize,
    ) -> Result<Measured> {
        let keys = keys(row, options);
        let mut sum: Option<Measured> = None;
        loop {
            self.pass(load, reset, keys, PREPARE_PIPELINE, options)?;
            let plan = once(&row.turn, keys, pipeline, self.counter, options);
            let measured = self.watched(load, &plan)?;
            let all = match sum.take() {
                Some(before) => before.and(measured)?,
                None => measured,
            };
            let ended = match options.ops {
                Some(ops) => all.outcome.ops >= ops,
                None => all.outcome.elapsed.as_secs_f64() >= options.seconds,
            };
            if ended {
                return Ok(all);
            }
            sum = Some(all);
        }
    }

    fn pass(
        &mut self,
        load: &mut Load,
        steps: &[Step],
        keys: u64,
        pipeline: usize,
        options: &Compare,
    ) -> Result<()> {
        self.counter = load.run(&once(steps, keys, pipeline, self.counter, options))?.counter;
        Ok(())
    }

    /// Runs a plan and measures the server's CPU time.
    fn watched(&mut self, load: &mut Load, plan: &Plan<'_>) -> Result<Measured> {
        let before = self.server.cpu();
        let outcome = load.run(plan)?;
        let used = before.zip(self.server.cpu()).map(|(before, after)| before.until(&after));
        self.counter = outcome.counter;
        Ok(Measured { outcome, used })
    }

    fn run(&self, row: &Workload, options: &Compare, pipeline: usize, round: usize, it: &Measured) -> Run {
        let each = |time: Duration| time.as_nanos() as f64 / it.outcome.ops.max(1) as f64;
        let cpu_ns = it.used.map(|used| each(used.total));
        let user_share = it.used.map(|used| used.user_share);
        Run {
            server: self.server.name.clone(),
            workload: row.name.clone(),
            pipeline,
            connections: options.connections,
            round,
            ops: it.outcome.ops,
            seconds: it.outcome.elapsed.as_secs_f64(),
            cpu_ns,
            user_ns: cpu_ns.zip(user_share).map(|(ns, share)| ns * share),
            system_ns: cpu_ns.zip(user_share).map(|(ns, share)| ns * (1.0 - share)),
            load_cpu_ns: it.outcome.cpu.map(each),
            latency: latency(&it.outcome.latency),
            resident: self.server.resident(),
        }
    }
}

impl Measured {
    fn and(mut self, later: Measured) -> Result<Measured> {
        self.outcome.ops += later.outcome.ops;
        self.outcome.elapsed += later.outcome.elapsed;
        self.outcome.cpu = self.outcome.cpu.zip(later.outcome.cpu).map(|(a, b)| a + b);
        let latency = &later.outcome.latency;
        self.outcome.latency.add(latency).map_err(|error| Error::other(format!("{error:?}")))?;
        self.used = self.used.zip(later.used).map(|(a, b)| {
            let total = a.total + b.total;
            let user = a.total.mul_f64(a.user_share) + b.total.mul_f64(b.user_share);
            Used { total, user_share: user.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE) }
        });
        Ok(self)
    }
}

/// Returns the number of keys of a workload.
fn keys(row: &Workload, options: &Compare) -> u64 {
    match row.walk {
        Walk::Random => options.keys,
        Walk::Each { .. } => options.keys.min(MAX_PASS_KEYS.max(options.connections)),
    }
}

fn once<'a>(steps: &'a [Step], keys: u64, pipeline: usize, counter: u64, options: &Compare) -> Plan<'a> {
    Plan {
        steps,
        pipeline,
        order: Order::Once,
        keys,
        seed: options.seed,
        counter,
        limit: Limit::default(),
        rate: None,
    }
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    let us = |percentile: f64| histogram.value_at_percentile(percentile) as f64 / 1e3;
    Latency {
        p50: us(50.0),
        p99: us(99.0),
        p999: us(99.9),
        max: histogram.max() as f64 / 1e3,
        curve: CURVE.iter().map(|&percentile| (percentile, us(percentile))).collect(),
    }
}
