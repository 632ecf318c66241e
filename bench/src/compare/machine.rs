//! The machine and its noise.

use crate::results::{Machine, Noise};
use crate::servers::affinity::{Layout, Pinned};
use crate::servers::cpu::stolen_ticks;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

/// The number of iterations of the loop that measures a core's speed: about a millisecond.
const LOOP_TURNS: u32 = 500_000;
/// The number of ticks of `/proc/stat` a second.
const TICKS: f64 = 100.0;

/// Describes this machine.
pub(super) fn describe(cores: usize) -> Machine {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let unknown = || "unknown".to_string();
    let kib =
        value(&text("/proc/meminfo"), "MemTotal").and_then(|kb| kb.split(' ').next()?.parse::<u64>().ok());
    let release = text("/proc/sys/kernel/osrelease");
    Machine {
        processor: value(&text("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
        cores,
        memory: kib.unwrap_or(0) * 1024,
        system: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_string(),
        congestion_control: text("/proc/sys/net/ipv4/tcp_congestion_control").trim().to_string(),
    }
}

/// A meter of noise: it watches the speed of the server's core, and the time that the host takes away.
pub(super) struct NoiseMeter {
    layout: Layout,
    begin: Instant,
    stolen: Option<u64>,
    loop_ns: Option<(f64, f64)>,
}

impl NoiseMeter {
    pub(super) fn new(layout: &Layout) -> NoiseMeter {
        NoiseMeter { layout: layout.clone(), begin: Instant::now(), stolen: stolen_ticks(), loop_ns: None }
    }

    /// Runs a fixed loop once on the server's core.
    pub(super) fn look(&mut self) {
        if self.layout.server.is_empty() {
            return;
        }
        let pinned = Pinned::to(&self.layout.server);
        let begin = Instant::now();
        let mut x = black_box(1u64);
        for _ in 0..LOOP_TURNS {
            x = x.wrapping_mul(0x5851_F42D_4C95_7F2D).rotate_left(17);
        }
        black_box(x);
        let ns = begin.elapsed().as_nanos() as f64 / f64::from(LOOP_TURNS);
        drop(pinned);
        let (least, most) = self.loop_ns.unwrap_or((ns, ns));
        self.loop_ns = Some((least.min(ns), most.max(ns)));
    }

    pub(super) fn result(&self) -> Noise {
        let stolen =
            self.stolen.zip(stolen_ticks()).map(|(before, after)| after.saturating_sub(before) as f64);
        let cores = fs::read_to_string("/proc/stat").unwrap_or_default();
        let cores = cores.lines().skip(1).take_while(|line| line.starts_with("cpu")).count().max(1);
        let passed = self.begin.elapsed().as_secs_f64() * cores as f64 * TICKS;
        Noise { loop_ns: self.loop_ns, stolen_share: stolen.map(|stolen| stolen / passed.max(1.0)) }
    }
}
