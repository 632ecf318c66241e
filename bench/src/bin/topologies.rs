//! Measures how fast several servers of one process are ready, and how much memory the idle process has.
//!
//! `topologies PROGRAM [STARTS]`. For each shape it prints the median of this number of starts (20 by default). Each
//! start lasts from exec until the addresses are in the port file. The resident memory is read after a while without
//! requests.

use lockwheel_bench::servers::memory::resident;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The shapes, and the number of servers of each.
const SHAPES: [(&str, usize); 5] =
    [("", 1), ("replicas 2", 3), ("cluster 3x0", 3), ("cluster 3x1", 6), ("sentinel 3 --replicas 2", 6)];

/// The idle time before the memory is read.
const IDLE: Duration = Duration::from_millis(300);

/// A running program, killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, starts) = match arguments.as_slice() {
        [program] => (program, 20),
        [program, starts] => (program, starts.parse().map_err(|error| format!("{starts}: {error}"))?),
        _ => return Err("topologies PROGRAM [STARTS]".to_owned()),
    };
    print(
        "| shape | servers | ready, ms: median [shortest–longest] | MiB resident when idle |\n|---|---|---|---|",
    )?;
    for (shape, servers) in SHAPES {
        let mut figures = (0..starts.max(1)).map(|_| start(program, shape)).collect::<Result<Vec<_>, _>>()?;
        figures.sort_by_key(|(ready, _)| *ready);
        let ms = |at: usize| figures[at].0.as_secs_f64() * 1e3;
        let (middle, last) = (figures.len() / 2, figures.len() - 1);
        let mut idle: Vec<u64> = figures.iter().filter_map(|(_, idle)| *idle).collect();
        idle.sort_unstable();
        let idle = match (idle.first(), idle.get(idle.len() / 2), idle.last()) {
            (Some(least), Some(middle), Some(most)) => {
                format!("{} [{}–{}]", mebibytes(*middle), mebibytes(*least), mebibytes(*most))
            }
            _ => "?".to_owned(),
        };
        let name = if shape.is_empty() { "a server by itself" } else { shape };
        let [middle, least, most] = [middle, 0, last].map(ms);
        print(&format!("| {name} | {servers} | {middle:.1} [{least:.1}–{most:.1}] | {idle} |"))?;
    }
    Ok(())
}

/// Writes a line of the table.
fn print(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Starts a topology. Returns the time from exec until all servers are ready, and the idle memory.
fn start(program: &str, shape: &str) -> Result<(Duration, Option<u64>), String> {
    let file = std::env::temp_dir().join(format!("lockwheel-topologies-{}", std::process::id()));
    let mut command = Command::new(program);
    if !shape.is_empty() {
        command.arg("topology").args(shape.split(' '));
    }
    command.args(["--port", "0", "--port-file"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let output = BufReader::new(child.stdout.take().ok_or("standard output is a pipe")?);
    let running = Running(child);
    // The program writes the file before it prints these lines.
    let is_ready = |line: &str| line.contains("Ready to accept connections") || line.starts_with("master ");
    let told = output.lines().map_while(Result::ok).any(|line| is_ready(&line));
    let ready = begun.elapsed();
    let addresses = written(&file)?;
    if !told {
        return Err(format!("{program} topology {shape} has said nothing; {addresses:?}"));
    }
    thread::sleep(IDLE);
    Ok((ready, resident(running.0.id())))
}

/// Returns the content of the port file and removes the file.
fn written(file: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    std::fs::remove_file(file).map_err(|error| error.to_string())?;
    Ok(text)
}
