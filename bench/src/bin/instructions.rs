//! Runs one workload in process, without sockets and the system's clocks, so that valgrind can count its instructions.
//!
//! `instructions WORKLOAD OPERATIONS [PARAMETER VALUE]…`. Run it under `valgrind --tool=callgrind`: the difference
//! between two counts of operations is the cost of the operations between them, without the start. With the same
//! arguments the program always does the same. `one-replica yes` attaches a replica, and `append-only yes` an
//! append-only file.

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
