//! What a comparison finds, as it is written to files and read by reports.

use crate::waiting::results::{Handoff, Lateness, Pause};
use serde::{Deserialize, Serialize};

/// The number of this format; it grows when a reader has to know.
pub const FORMAT: u32 = 1;

/// Everything about one comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`FORMAT`] when it was written.
    pub format: u32,
    /// Where.
    pub machine: Machine,
    /// What was compared, in the order of columns.
    pub servers: Vec<ServerInfo>,
    /// How.
    pub method: Method,
    /// How quiet it was.
    pub noise: Noise,
    /// What each workload does, in the order of rows.
    pub workloads: Vec<WorkloadInfo>,
    /// All measured runs, in the order they were made.
    pub runs: Vec<Run>,
    /// Memory by server and kind of key.
    pub memory: Vec<Memory>,
    /// How fast each server starts and what it takes when idle.
    pub startup: Vec<Startup>,
    /// Locks that go from hand to hand.
    #[serde(default)]
    pub handoffs: Vec<Handoff>,
    /// How late expiry is told.
    #[serde(default)]
    pub lateness: Vec<Lateness>,
    /// How long servers stand still.
    #[serde(default)]
    pub pauses: Vec<Pause>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Cores that the comparison may use.
    pub cores: usize,
    /// Bytes of memory.
    pub memory: u64,
    /// The system and its version.
    pub system: String,
    /// How TCP controls congestion there: it is part of the cost of a request.
    pub congestion_control: String,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name in runs: `lockwheel`, `redis`, `valkey`, or an address.
    pub name: String,
    /// What it says it is: `redis 7.0.15`.
    pub version: String,
}

/// How it was measured: the options that matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The version of this program.
    pub version: String,
    /// The arguments it was started with.
    pub arguments: Vec<String>,
    /// Cores of the server; empty: not pinned.
    pub server_cores: Vec<usize>,
    /// Cores of the load; empty: not pinned.
    pub load_cores: Vec<usize>,
    /// Threads of each server for its sockets.
    pub server_threads: usize,
    /// Threads of the load.
    pub load_threads: usize,
    /// Connections.
    pub connections: u64,
    /// Keys.
    pub keys: u64,
    /// Exponent of Zipf's law by which keys are chosen; 0: all alike.
    pub skew: f64,
    /// Rounds: how often each run is repeated, the servers taking turns.
    pub rounds: usize,
    /// Seconds that a run takes.
    pub seconds: f64,
    /// Requests a second of an open loop; none: a closed loop.
    pub rate: Option<f64>,
}

/// What disturbed the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Nanoseconds of one turn of a fixed loop, least and most over all runs: how much the core's speed moved.
    pub loop_ns: Option<(f64, f64)>,
    /// Part of the machine's time that its host took away, 0 to 1.
    pub stolen_share: Option<f64>,
}

/// One workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// Its name in runs: `set`, `pair:evalsha`.
    pub name: String,
    /// Those that belong together: `plain`, `lock`.
    pub family: String,
    /// One line on what it does.
    pub about: String,
    /// The workload of the other servers that it is compared with, where they do not speak it.
    pub against: Option<String>,
}

/// One measured run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The server's name.
    pub server: String,
    /// The workload's name.
    pub workload: String,
    /// Requests a batch.
    pub pipeline: usize,
    /// Connections.
    pub connections: u64,
    /// From 0.
    pub round: usize,
    /// Requests answered.
    pub ops: u64,
    /// Seconds from the first request to the last reply.
    pub seconds: f64,
    /// Nanoseconds of CPU a request, all threads of the server; none when its process is unknown.
    pub cpu_ns: Option<f64>,
    /// Of those, in the server's own code (split by ticks of 10 ms).
    pub user_ns: Option<f64>,
    /// Of those, in the kernel's.
    pub system_ns: Option<f64>,
    /// Nanoseconds of CPU a request of the load itself.
    pub load_cpu_ns: Option<f64>,
    /// How long a batch takes.
    pub latency: Latency,
    /// Resident bytes of the server after the run.
    pub resident: Option<u64>,
}

impl Run {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.ops as f64 / self.seconds
    }
}

/// Latencies of batches, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half are faster.
    pub p50: f64,
    /// 99 of 100 are faster.
    pub p99: f64,
    /// 999 of 1000 are faster.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
    /// Percentiles (0 to 100) and their latencies, rising: the curve.
    pub curve: Vec<(f64, f64)>,
}

/// What keys of a kind take on a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The server's name.
    pub server: String,
    /// What was loaded: `strings`, `locks`, `set members`.
    pub kind: String,
    /// How many keys, or parts of one.
    pub keys: u64,
    /// Resident bytes before.
    pub before: u64,
    /// With all of them.
    pub loaded: u64,
    /// After FLUSHALL, when it has settled.
    pub flushed: u64,
}

impl Memory {
    /// Resident bytes each.
    pub fn per_key(&self) -> f64 {
        self.loaded.saturating_sub(self.before) as f64 / self.keys.max(1) as f64
    }
}

/// How a server starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Startup {
    /// The server's name.
    pub server: String,
    /// Seconds from exec to the first PONG, each start.
    pub seconds: Vec<f64>,
    /// Resident bytes when idle, each start.
    pub idle: Vec<u64>,
}
