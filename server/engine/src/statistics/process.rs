//! The figures of INFO about the process around the engine. No figure changes the effect of a command.

use lockwheel_store::keyspace::Rng;
use std::fmt;

/// The resources that the process uses now. 0 if the system gives no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The figures of the allocator. `None` if it gives none.
    pub allocator: Option<AllocatorUsage>,
    /// Bytes of memory that the process occupies.
    pub resident: u64,
    /// The most bytes that the process has occupied.
    pub peak: u64,
    /// Bytes of memory of the machine.
    pub machine: u64,
    /// The processor time of all threads of the process.
    pub process: ProcessorTime,
    /// The processor time of ended child processes.
    pub children: ProcessorTime,
    /// The processor time of the calling thread, which runs the engine.
    pub thread: ProcessorTime,
}

/// Processor time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time in the program's own code.
    pub user_us: u64,
    /// Time in the system on behalf of the program.
    pub system_us: u64,
}

/// An allocator's figures, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorUsage {
    /// Bytes handed out.
    pub allocated: u64,
    /// Bytes of the pages that hold the allocated bytes.
    pub active: u64,
    /// Bytes of the pages that the allocator keeps and that are in memory.
    pub resident: u64,
}

/// The allocator of a process that has a server for itself.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// The name, with the version.
    pub name: String,
    /// Reads the figures.
    pub usage: fn() -> AllocatorUsage,
    /// Writes the allocator's own report, for people.
    pub report: fn() -> String,
    /// Returns unused memory to the system. The result is whether that was possible.
    pub purge: fn() -> bool,
}

/// The traffic over all connections since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that clients have sent.
    pub input_bytes: u64,
    /// Bytes that were sent to clients.
    pub output_bytes: u64,
    /// The number of reads of sockets.
    pub reads: u64,
    /// The number of writes to sockets.
    pub writes: u64,
    /// The number of iterations (turns) of the event loops.
    pub turns: u64,
    /// Nanoseconds that these iterations took, without the time of waiting.
    pub turn_ns: u64,
}

/// The process around the engine.
pub struct Process {
    /// The process id.
    pub id: u32,
    /// The operating system, as in `uname`.
    pub os: String,
    /// The path of the program.
    pub executable: String,
    /// The port that the server listens on.
    pub port: u16,
    /// The system's interface by which the process waits for sockets.
    pub multiplexing_api: &'static str,
    /// The name of the monotonic clock.
    pub monotonic_clock: String,
    /// The allocator, if the server knows it.
    pub allocator: Option<Allocator>,
    /// Reads the resources that the process uses now.
    pub usage: Box<dyn Fn() -> Usage + Send>,
    /// Reads the traffic over the connections. Called more often than `usage`.
    pub traffic: Box<dyn Fn() -> Traffic + Send>,
}

impl Default for Process {
    fn default() -> Self {
        Process {
            id: 0,
            os: String::new(),
            executable: String::new(),
            port: 0,
            multiplexing_api: "none",
            monotonic_clock: "none".to_owned(),
            allocator: None,
            usage: Box::new(Usage::default),
            traffic: Box::new(Traffic::default),
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("id", &self.id).field("port", &self.port).finish_non_exhaustive()
    }
}

/// The ids of a server, and its process.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) process: Process,
    pub(crate) run_id: String,
}

impl Identity {
    /// Random ids, and the figures of no process.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Identity { process: Process::default(), run_id: hex_id(rng) }
    }

    /// Chooses the ids with which a server with this source of random choices begins.
    pub(crate) fn reset(&mut self, rng: &mut Rng) {
        self.run_id = hex_id(rng);
    }
}

/// Forty random hexadecimal digits, as INFO's `run_id`.
fn hex_id(rng: &mut Rng) -> String {
    (0..40).map(|_| char::from_digit(rng.below(16) as u32, 16).unwrap_or('0')).collect()
}
