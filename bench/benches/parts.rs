//! Benchmarks of single parts: parsers, reply writer, timer wheel, table of keys, a command called by a script.
//!
//! `cargo bench -p lockwheel-bench --bench parts`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lockwheel_bench::stream::request;
use lockwheel_resp::{
    Batch, Protocol, Replies, Reply, ReplyLimits, ReplyParser, RequestLimits, RequestParser, Writer,
};
use lockwheel_scripting::{Host, Options, Runtime, ScriptControl};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::{Now, TimerId, Wheel};
use lockwheel_store::values::{Str, Value};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The number of requests or replies in a sample, which is a pipeline.
const PIPELINE: usize = 64;
/// The numbers of existing keys and timers: as many as fit into the processor's caches, and more.
const SIZES: [usize; 2] = [10_000, 1_000_000];

fn main() {
    divan::main();
}

/// Returns a number that differs each time, and repeats only after as many calls as a table is large.
fn shuffled(n: usize, of: usize) -> usize {
    n.wrapping_mul(0x9e37_79b1) % of
}

#[divan::bench(args = [1, 3, 7, 16])]
fn parse(bencher: Bencher<'_, '_>, arguments: usize) {
    let one = request(&vec!["argument-of-20-bytes"; arguments]);
    let (input, limits) = (one.repeat(PIPELINE), RequestLimits::default());
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        parser.parse(black_box(&input), &limits, &mut batch).ok();
        assert_eq!(batch.len(), PIPELINE);
    });
}

#[divan::bench(args = ["ok", "integer", "bulk", "array of ten"])]
fn write(bencher: Bencher<'_, '_>, kind: &str) {
    let mut out = Vec::new();
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        out.clear();
        let writer: &mut dyn Reply = &mut Writer::new(&mut out, Protocol::Resp2);
        for n in 0..PIPELINE {
            match kind {
                "ok" => writer.ok(),
                "integer" => writer.integer(black_box(n as i64 * 1000)),
                "bulk" => writer.bulk(black_box(b"value:1234")),
                _ => {
                    writer.array(10);
                    (0..10).for_each(|_| writer.bulk(black_box(b"value:1234")));
                }
            }
        }
    });
}

#[divan::bench(args = ["integer", "bulk", "array of ten", "bulk in pieces"])]
fn parse_replies(bencher: Bencher<'_, '_>, kind: &str) {
    let mut input = Vec::new();
    let writer: &mut dyn Reply = &mut Writer::new(&mut input, Protocol::Resp2);
    for n in 0..PIPELINE {
        match kind {
            "integer" => writer.integer(n as i64 * 1000),
            "array of ten" => {
                writer.array(10);
                (0..10).for_each(|_| writer.bulk(b"value:1234"));
            }
            _ => writer.bulk(b"value:1234"),
        }
    }
    let piece = if kind == "bulk in pieces" { 7 } else { input.len() };
    let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        let (mut begin, mut end, mut count) = (0, 0, 0);
        while end < input.len() {
            end = input.len().min(end + piece);
            parser.parse(black_box(&input[begin..end]), &ReplyLimits::default(), &mut replies).ok();
            begin += replies.consumed();
            count += replies.len();
        }
        assert_eq!(count, PIPELINE);
    });
}

/// Creates a wheel with timers within the next half minute.
fn wheel(timers: usize) -> (Wheel<u64>, Vec<TimerId>) {
    let mut wheel = Wheel::new();
    let ids = (0..timers).map(|n| wheel.insert(shuffled(n, 30_000) as i64, n as u64)).collect();
    (wheel, ids)
}

#[divan::bench(args = SIZES)]
fn timer_set_and_cancelled(bencher: Bencher<'_, '_>, timers: usize) {
    let (mut wheel, _) = wheel(timers);
    let mut n = 0;
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        for _ in 0..PIPELINE {
            n += 1;
            let id = wheel.insert(30_000 + shuffled(n, 30_000) as i64, 0);
            wheel.cancel(id);
        }
    });
}

#[divan::bench(args = SIZES)]
fn timer_moved(bencher: Bencher<'_, '_>, timers: usize) {
    let (mut wheel, ids) = wheel(timers);
    let mut n = 0;
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        for _ in 0..PIPELINE {
            n += 1;
            wheel.move_to(ids[shuffled(n, timers)], shuffled(n, 60_000) as i64);
        }
    });
}

const NOW: Now = Now { wall_us: 1_000_000_000_000, monotonic_us: 0 };

/// Creates a database of keys with short strings, and returns the names.
fn keys(count: usize) -> (Keyspace, Vec<Vec<u8>>) {
    let mut keyspace = Keyspace::new(1, 7);
    let names: Vec<Vec<u8>> = (0..count).map(|n| format!("key:{n:012}").into_bytes()).collect();
    let mut tx = keyspace.tx(0, NOW);
    for name in &names {
        tx.set(name, Value::Str(Str::new(b"value:1234")), false);
    }
    (keyspace, names)
}

#[divan::bench(args = SIZES)]
fn key_read(bencher: Bencher<'_, '_>, count: usize) {
    let (mut keyspace, names) = keys(count);
    let mut n = 0;
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        let mut tx = keyspace.tx(0, NOW);
        for _ in 0..PIPELINE {
            n += 1;
            assert!(black_box(tx.get(&names[shuffled(n, count)])).is_some());
        }
    });
}

#[divan::bench(args = SIZES)]
fn key_made_and_deleted(bencher: Bencher<'_, '_>, count: usize) {
    let (mut keyspace, names) = keys(count);
    let mut n = 0;
    bencher.counter(ItemsCount::new(PIPELINE)).bench_local(|| {
        let mut tx = keyspace.tx(0, NOW);
        for _ in 0..PIPELINE {
            n += 1;
            let name = &names[shuffled(n, count)];
            assert!(tx.delete(name));
            tx.set(name, Value::Str(Str::new(b"value:1234")), false);
        }
    });
}

/// A host whose every command returns 1.
struct One;

impl Host for One {
    fn call(&mut self, _: &[&[u8]], reply: &mut dyn Reply) {
        reply.integer(1);
    }

    fn log(&mut self, _: u8, _: &[u8]) {}

    fn clock_us(&self) -> u64 {
        0
    }

    fn answered_error(&mut self, _: &[u8], _: bool, _: u64) {}

    fn may_run(&mut self, _: &[&[u8]]) -> Option<bool> {
        Some(true)
    }
}

/// Measures scripts that make this number of calls and return.
#[divan::bench(args = [0, 1, 10])]
fn script_with_calls(bencher: Bencher<'_, '_>, calls: usize) {
    let mut runtime = Runtime::new(Options::default(), Arc::new(ScriptControl::new()));
    let script = "redis.call('hexists', KEYS[1], ARGV[1])\n".repeat(calls);
    let id = runtime.intern(script.as_bytes()).expect("the script is well-formed");
    let (keys, args): (&[&[u8]], &[&[u8]]) = (&[b"lock:1"], &[b"8743c9c0-0795-4907-87fd-6c719a6b4586:1"]);
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        runtime.begin(id, 0).run(keys, args, &mut One, &mut Writer::new(&mut out, Protocol::Resp2));
        assert_eq!(out, b"$-1\r\n");
    });
}
