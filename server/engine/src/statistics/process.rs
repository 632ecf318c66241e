//! INFO's figures of the process around the engine. None of them changes what a command does.

use lockwheel_store::keyspace::Rng;
use std::fmt;

/// The resources that the process uses now; 0 where the system gives no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The allocator's figures; `None` where it gives none.
    pub allocator: Option<AllocatorUsage>,
    /// Bytes of memory that the process occupies.
    pub resident: u64,
    /// The most bytes it has occupied.
    pub peak: u64,
    /// Bytes of memory of the machine.
    pub machine: u64,
    /// Processor time of all its threads.
    pub process: ProcessorTime,
    /// The same of the programs that it has started and that have ended.
    pub children: ProcessorTime,
    /// The same of the thread that asks, which is the one that runs the engine.
    pub thread: ProcessorTime,
}

/// Processor time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// In the program's own code.
    pub user_us: u64,
    /// In the system on its behalf.
    pub system_us: u64,
}

/// An allocator's figures, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorUsage {
    /// Bytes handed out.
    pub allocated: u64,
    /// Bytes of the pages that hold those.
    pub active: u64,
    /// Bytes of the pages that it keeps, as far as they are in memory.
    pub resident: u64,
}

/// The allocator of a process that has a server for itself.
#[derive(Clone, Debug)]
pub struct Allocator {
    /// What it is called, with its version.
    pub name: String,
    /// Reads its figures.
    pub usage: fn() -> AllocatorUsage,
    /// Its own report, for people.
    pub report: fn() -> String,
    /// Gives the system back what it keeps and nobody uses. Whether it could.
    pub purge: fn() -> bool,
}

/// What has gone over all connections since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that clients have sent.
    pub input_bytes: u64,
    /// Bytes that were sent to clients.
    pub output_bytes: u64,
    /// How often a socket was read.
    pub reads: u64,
    /// How often something was written to a socket.
    pub writes: u64,
    /// Turns of the event loops, and nanoseconds that they took without waiting.
    pub turns: u64,
    /// See `turns`.
    pub turn_ns: u64,
}

/// The process around the engine.
pub struct Process {
    /// Its number.
    pub id: u32,
    /// The system it runs on, as in `uname`.
    pub os: String,
    /// Its program.
    pub executable: String,
    /// The port it listens on.
    pub port: u16,
    /// What it waits for sockets with.
    pub multiplexing_api: &'static str,
    /// What its monotonic clock is.
    pub monotonic_clock: String,
    /// Its allocator, if the server knows it.
    pub allocator: Option<Allocator>,
    /// Reads the resources it uses now.
    pub usage: Box<dyn Fn() -> Usage + Send>,
    /// Reads what has gone over its connections; more often than the resources.
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
    /// Ids that are chosen at random, and no process.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Identity { process: Process::default(), run_id: hex_id(rng) }
    }

    /// Takes the ids that a server with this source of random choices begins with.
    pub(crate) fn reset(&mut self, rng: &mut Rng) {
        self.run_id = hex_id(rng);
    }
}

/// Forty random hexadecimal digits, as INFO's `run_id`.
fn hex_id(rng: &mut Rng) -> String {
    (0..40).map(|_| char::from_digit(rng.below(16) as u32, 16).unwrap_or('0')).collect()
}
