//! Runs one workload in process, without sockets or the system's clocks, to have its instructions counted.
//!
//! `instructions WORKLOAD OPERATIONS [PARAMETER VALUE]…`: under `valgrind --tool=callgrind` the difference between two
//! counts of operations is what those cost, and nothing of what the start does. The same arguments do the same,
//! always.

use lockwheel_bench::stream::{Client, NAMES, Stream};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, operations, parameters @ ..] = arguments.as_slice() else {
        let usage = "instructions WORKLOAD OPERATIONS [PARAMETER VALUE]…; the workloads:";
        return Err(format!("{usage} {}", NAMES.join(" ")));
    };
    let operations = operations.parse().map_err(|error| format!("{operations}: {error}"))?;
    let mut client = Client::new();
    client.configure(parameters);
    let stream = Stream::new(name, &mut client).ok_or_else(|| format!("no workload {name}"))?;
    client.run(&stream, operations)
}
