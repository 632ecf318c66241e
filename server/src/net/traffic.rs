//! The traffic over the connections of each loop, counted for INFO.

use lockwheel_engine::statistics::Traffic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a loop. Only the thread of the loop changes them.
#[derive(Debug, Default)]
pub(super) struct LoopTraffic {
    input_bytes: AtomicU64,
    output_bytes: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    turns: AtomicU64,
    turn_ns: AtomicU64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl LoopTraffic {
    /// Records a read of this number of bytes from a socket.
    pub(super) fn has_read(&self, bytes: usize) {
        add(&self.reads, 1);
        add(&self.input_bytes, bytes as u64);
    }

    /// Records a write of this number of bytes to a socket.
    pub(super) fn has_written(&self, bytes: usize) {
        add(&self.writes, 1);
        add(&self.output_bytes, bytes as u64);
    }

    /// Records the end of a turn, which took this many nanoseconds.
    pub(super) fn has_turned(&self, took_ns: u64) {
        add(&self.turns, 1);
        add(&self.turn_ns, took_ns);
    }
}

pub(super) type AllTraffic = Arc<[Arc<LoopTraffic>]>;

pub(super) fn sum(all: &[Arc<LoopTraffic>]) -> Traffic {
    let of = |counter: fn(&LoopTraffic) -> &AtomicU64| {
        all.iter().map(|one| counter(one).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    };
    Traffic {
        input_bytes: of(|one| &one.input_bytes),
        output_bytes: of(|one| &one.output_bytes),
        reads: of(|one| &one.reads),
        writes: of(|one| &one.writes),
        turns: of(|one| &one.turns),
        turn_ns: of(|one| &one.turn_ns),
    }
}
