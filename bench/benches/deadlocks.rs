//! Benchmarks of a request that would close a cycle of waits, which needs a search through all waiting owners.
//!
//! `cargo bench -p lockwheel-bench --bench deadlocks`

use divan::Bencher;
use lockwheel::Config;
use lockwheel_engine::core::Simulation;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    divan::main();
}

/// Each owner holds a lock and waits for that of the next. The last owner would wait for the first.
#[divan::bench(args = [10, 100, 1000])]
fn cycle(bencher: Bencher<'_, '_>, depth: usize) {
    let mut server = Simulation::new(Config::default(), 7);
    let clients: Vec<u64> = (0..depth).map(|_| server.connect()).collect();
    for (n, client) in clients.iter().enumerate() {
        assert!(server.ask(*client, &format!("LOCK.ACQUIRE lock:{n} owner:{n}")).starts_with("*10"));
    }
    for (n, client) in clients.iter().enumerate().take(depth - 1) {
        let told = server.ask(*client, &format!("LOCK.ACQUIRE lock:{} owner:{n} BLOCK 0", n + 1));
        assert_eq!(told, "", "it waits");
    }
    let last = clients[depth - 1];
    let closes = format!("LOCK.ACQUIRE lock:0 owner:{} BLOCK 0", depth - 1);
    bencher.bench_local(|| {
        let told = server.ask(last, &closes);
        assert!(told.starts_with("-DEADLOCK owner:"), "{told}");
    });
}
