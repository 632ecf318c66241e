//! Benchmarks of a batch of readers: a writer that lets all waiting readers in, and readers that leave while a writer
//! waits.
//!
//! `cargo bench -p lockwheel-bench --bench batches`

use divan::Bencher;
use divan::counter::ItemsCount;
use lockwheel::Config;
use lockwheel_engine::core::Simulation;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const SIZES: [usize; 3] = [10, 100, 1000];

fn main() {
    divan::main();
}

/// Creates a server with a lock that a writer holds. For the lock wait this number of readers, then another writer.
/// Returns the two writers.
fn waiting(readers: usize) -> (Simulation, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let mut wait = |line: &str| {
        let client = server.connect();
        server.send(client, line);
        client
    };
    let writer = wait("LOCK.ACQUIRE l writer EXCLUSIVE");
    for n in 0..readers {
        wait(&format!("LOCK.ACQUIRE l reader:{n} SHARED BLOCK 0"));
    }
    let next = wait("LOCK.ACQUIRE l next EXCLUSIVE BLOCK 0");
    assert!(server.read(writer).starts_with("*10"));
    (server, writer, next)
}

/// Measures one release that lets all readers in.
#[divan::bench(args = SIZES)]
fn let_in(bencher: Bencher<'_, '_>, readers: usize) {
    bencher.counter(ItemsCount::new(readers)).with_inputs(|| waiting(readers)).bench_local_values(
        |(mut server, writer, next)| {
            assert_eq!(server.ask(writer, "LOCK.RELEASE l writer"), ":0\r\n");
            assert_eq!(server.engine().unblocked_clients(), readers as u64);
            (server, next)
        },
    );
}

/// Measures the leaving of all readers, of which the last lets the writer in.
#[divan::bench(args = SIZES)]
fn leave(bencher: Bencher<'_, '_>, readers: usize) {
    let held = || {
        let (mut server, writer, next) = waiting(readers);
        assert_eq!(server.ask(writer, "LOCK.RELEASE l writer"), ":0\r\n");
        (server, writer, next)
    };
    bencher.counter(ItemsCount::new(readers)).with_inputs(held).bench_local_values(
        |(mut server, main, next)| {
            for n in 0..readers {
                assert_eq!(server.ask(main, &format!("LOCK.RELEASE l reader:{n}")), ":0\r\n");
            }
            assert!(server.read(next).starts_with("*10"));
            server
        },
    );
}
