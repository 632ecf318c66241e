//! Benchmarks of the lock and unlock scripts in process, without sockets: the cost of the engine itself.
//!
//! `cargo bench -p lockwheel-bench`

use divan::{Bencher, counter::ItemsCount};
use lockwheel_bench::{InProcess, LOCK, UNLOCK};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The number of locks taken and released in each sample.
const LOCKS: usize = 1000;

fn main() {
    divan::main();
}

/// Measures a lock script and an unlock script for each of a thousand locks. The count is of scripts.
fn pair(bencher: Bencher<'_, '_>, command: &str, scripts: impl Fn(&mut InProcess) -> [Vec<u8>; 2]) {
    let mut engine = InProcess::new();
    let [lock, unlock] = scripts(&mut engine);
    let names: Vec<[Vec<u8>; 2]> = (0..LOCKS)
        .map(|n| {
            [format!("lock:{n}").into_bytes(), format!("redisson_lock__channel:{{lock:{n}}}").into_bytes()]
        })
        .collect();
    let owner: &[u8] = b"8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    bencher.counter(ItemsCount::new(2 * LOCKS)).bench_local(|| {
        for [name, channel] in &names {
            let taken = engine.run(&[command.as_bytes(), &lock, b"1", name, b"30000", owner]);
            assert_eq!(taken, b"$-1\r\n");
            let given =
                engine.run(&[command.as_bytes(), &unlock, b"2", name, channel, b"0", b"30000", owner]);
            assert_eq!(given, b":1\r\n");
        }
    });
}

/// Measures the scripts by digest.
#[divan::bench]
fn evalsha(bencher: Bencher<'_, '_>) {
    pair(bencher, "EVALSHA", |engine| [engine.load(LOCK), engine.load(UNLOCK)]);
}

/// Measures the scripts by full text, as older versions of Redisson send them.
#[divan::bench]
fn eval(bencher: Bencher<'_, '_>) {
    pair(bencher, "EVAL", |_| [LOCK.into(), UNLOCK.into()]);
}

/// Measures the native commands for the same.
#[divan::bench]
fn native(bencher: Bencher<'_, '_>) {
    let mut engine = InProcess::new();
    let names: Vec<Vec<u8>> = (0..LOCKS).map(|n| format!("lock:{n}").into_bytes()).collect();
    bencher.counter(ItemsCount::new(2 * LOCKS)).bench_local(|| {
        for name in &names {
            engine.run(&[b"LOCK.ACQUIRE", name, b"owner"]);
            assert_eq!(engine.run(&[b"LOCK.RELEASE", name, b"owner"]), b":0\r\n");
        }
    });
}
