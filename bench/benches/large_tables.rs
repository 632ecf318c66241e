//! Benchmarks of random GETs among few and many keys, with keys fetched into the caches in groups.

use divan::Bencher;
use divan::counter::ItemsCount;
use lockwheel::Config;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Peer, Slot};
use lockwheel_store::time::Now;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const REQUESTS: usize = 64;

fn main() {
    divan::main();
}

fn key(n: usize) -> Vec<u8> {
    format!("key:{n:012}").into_bytes()
}

fn engine(keys: usize, value: &[u8]) -> (Engine, Slot) {
    let mut engine = Engine::new(Config::default(), 7, Now::default());
    let slot = engine.connect(Peer::default());
    let mut output = Outbox::default();
    for n in 0..keys {
        engine.execute(slot, &[b"SET", &key(n), value]);
        output.clear();
        engine.take_output(slot, &mut output);
    }
    (engine, slot)
}

/// Measures GETs with `ahead` keys fetched at a time; 0 means no prefetching.
fn get(bencher: Bencher<'_, '_>, keys: usize, ahead: usize, value: &[u8]) {
    let (mut engine, slot) = engine(keys, value);
    let mut output = Outbox::default();
    let mut random = 1_usize;
    let mut names: Vec<Vec<u8>> = vec![Vec::new(); REQUESTS];
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| {
        for name in &mut names {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut n = (random >> 33) % keys;
            name.clear();
            name.extend_from_slice(b"key:000000000000");
            for digit in name.iter_mut().rev() {
                *digit = b"0123456789"[n % 10].max(*digit);
                n /= 10;
                if n == 0 {
                    break;
                }
            }
        }
        for (i, name) in names.iter().enumerate() {
            if ahead > 0 && i % ahead == 0 {
                names[i..].iter().take(ahead).for_each(|name| engine.prefetch().note(slot, &[b"GET", name]));
                engine.prefetch().fetch();
            }
            engine.execute(slot, &[b"GET", name]);
        }
        output.clear();
        engine.take_output(slot, &mut output);
        assert!(output.len() > 8 * REQUESTS, "all keys are there");
    });
}

#[divan::bench(args = [0, 16, 64])]
fn ten_thousand_keys(bencher: Bencher<'_, '_>, ahead: usize) {
    get(bencher, 10_000, ahead, b"value:1234");
}

#[divan::bench(args = [0, 4, 8, 16, 32, 64])]
fn a_million_keys(bencher: Bencher<'_, '_>, ahead: usize) {
    get(bencher, 1_000_000, ahead, b"value:1234");
}

#[divan::bench(args = [0, 16, 32])]
fn a_million_keys_with_values_beside(bencher: Bencher<'_, '_>, ahead: usize) {
    get(bencher, 1_000_000, ahead, &[b'v'; 60]);
}
