//! Tests of the memory of idle servers of one process, with the release program beside this test.
//!
//! `cargo build --release -p lockwheel-server; cargo test --release -p lockwheel-bench --test topologies`.

use std::env;
use std::path::Path;
use std::process::Command;

/// The maximum memory of a standalone server before any request, in MiB.
const MAX_STANDALONE_MIB: f64 = 11.0;

/// The maximum memory of a cluster of three nodes, in MiB.
const MAX_CLUSTER_MIB: f64 = 14.0;

/// The number of starts of each shape.
const STARTS: &str = "5";

/// Returns the median of the figures in a cell of the table, `12.7 [9.4–18.8]`.
fn median(cell: &str) -> f64 {
    let first = cell.trim().split(' ').next().unwrap_or_default();
    first.parse().unwrap_or_else(|_| panic!("no figure: {cell}"))
}

#[test]
#[cfg_attr(debug_assertions, ignore = "the figures are those of the release profile")]
fn servers_idle_in_few_mebibytes() {
    let measure = Path::new(env!("CARGO_BIN_EXE_topologies"));
    let program = measure.with_file_name(format!("lockwheel{}", env::consts::EXE_SUFFIX));
    if !program.is_file() {
        assert!(env::var_os("CI").is_none(), "{} is not built", program.display());
        return eprintln!("skipped: {} is not built", program.display());
    }
    let output = Command::new(measure).arg(&program).arg(STARTS).output().expect("it starts");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    // The table also shows the start-up time, which is only printed, since the machine may be slow.
    eprintln!("{table}");
    for (shape, most) in [("a server by itself", MAX_STANDALONE_MIB), ("cluster 3x0", MAX_CLUSTER_MIB)] {
        let line = table.lines().find(|line| line.contains(shape)).expect("there is such a shape");
        let cells: Vec<&str> = line.split('|').collect();
        let idle = median(cells[4]);
        assert!(idle <= most, "{shape}: {idle} MiB");
    }
}
