//! The results of a comparison, as they are written to files and read by reports.

use crate::waiting::results::{Handoff, Lateness, Pause};
use serde::{Deserialize, Serialize};

/// The number of this format. It grows with changes that matter to a reader.
pub const FORMAT: u32 = 1;

/// All results of one comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The value of [`FORMAT`] when the results were written.
    pub format: u32,
    /// The machine.
    pub machine: Machine,
    /// The compared servers, in the order of columns.
    pub servers: Vec<ServerInfo>,
    /// The method.
    pub method: Method,
    /// The noise during the runs.
    pub noise: Noise,
    /// The descriptions of the workloads, in the order of rows.
    pub workloads: Vec<WorkloadInfo>,
    /// All measured runs, in the order they were made.
    pub runs: Vec<Run>,
    /// Memory by server and kind of key.
    pub memory: Vec<Memory>,
    /// The start-up time and the idle memory of each server.
    pub startup: Vec<Startup>,
    /// The hand-offs of locks.
    #[serde(default)]
    pub handoffs: Vec<Handoff>,
    /// The lateness of expiry events.
    #[serde(default)]
    pub lateness: Vec<Lateness>,
    /// The pauses of servers.
    #[serde(default)]
    pub pauses: Vec<Pause>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub processor: String,
    /// The number of cores that the comparison may use.
    pub cores: usize,
    /// The memory, in bytes.
    pub memory: u64,
    /// The system and its version.
    pub system: String,
    /// The congestion control of TCP, which is part of the cost of a request.
    pub congestion_control: String,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// The name in runs: `lockwheel`, `redis`, `valkey`, or an address.
    pub name: String,
    /// The version that the server reports: `redis 7.0.15`.
    pub version: String,
}

/// The method of measurement: the options that matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The version of this program.
    pub version: String,
    /// The arguments of this program.
    pub arguments: Vec<String>,
    /// The cores of the server; empty if not pinned.
    pub server_cores: Vec<usize>,
    /// The cores of the load; empty if not pinned.
    pub load_cores: Vec<usize>,
    /// The number of threads that each server uses for its sockets.
    pub server_threads: usize,
    /// The number of threads of the load.
    pub load_threads: usize,
    /// The number of connections.
    pub connections: u64,
    /// The number of keys.
    pub keys: u64,
    /// The exponent of Zipf's law for the choice of keys; 0 if all keys are equally likely.
    pub skew: f64,
    /// The number of rounds: the repetitions of each run, in which the servers take turns.
    pub rounds: usize,
    /// The duration of a run, in seconds.
    pub seconds: f64,
    /// The number of requests a second of an open loop; `None` for a closed loop.
    pub rate: Option<f64>,
}

/// The disturbances of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The least and the greatest time of one iteration of a fixed loop over all runs, in nanoseconds. It shows how
    /// much the core's speed varied.
    pub loop_ns: Option<(f64, f64)>,
    /// The share of the machine's time that its host took away, from 0 to 1.
    pub stolen_share: Option<f64>,
}

/// One workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInfo {
    /// The name in runs: `set`, `pair:evalsha`.
    pub name: String,
    /// The family of related workloads: `plain`, `lock`.
    pub family: String,
    /// A description in one line.
    pub about: String,
    /// The workload of other servers for the comparison, if they do not support this one.
    pub against: Option<String>,
}

/// One measured run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The name of the server.
    pub server: String,
    /// The name of the workload.
    pub workload: String,
    /// The number of requests in a batch.
    pub pipeline: usize,
    /// The number of connections.
    pub connections: u64,
    /// The round, counted from 0.
    pub round: usize,
    /// The number of answered requests.
    pub ops: u64,
    /// The seconds from the first request to the last reply.
    pub seconds: f64,
    /// The CPU time per request of all threads of the server, in nanoseconds. `None` if its process is unknown.
    pub cpu_ns: Option<f64>,
    /// The part of that time in the server's own code (split by ticks of 10 ms).
    pub user_ns: Option<f64>,
    /// The part of that time in the kernel's code.
    pub system_ns: Option<f64>,
    /// The CPU time per request of the load itself, in nanoseconds.
    pub load_cpu_ns: Option<f64>,
    /// The latency of batches.
    pub latency: Latency,
    /// The resident bytes of the server after the run.
    pub resident: Option<u64>,
}

impl Run {
    /// Returns the requests per second.
    pub fn rate(&self) -> f64 {
        self.ops as f64 / self.seconds
    }
}

/// Latencies of batches, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
    /// The curve: percentiles (0 to 100) and their latencies, in ascending order.
    pub curve: Vec<(f64, f64)>,
}

/// The memory of keys of one kind on a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The name of the server.
    pub server: String,
    /// The kind of the loaded data: `strings`, `locks`, `set members`.
    pub kind: String,
    /// The number of keys, or of parts of one key.
    pub keys: u64,
    /// The resident bytes before loading.
    pub before: u64,
    /// The resident bytes with all data.
    pub loaded: u64,
    /// The resident bytes after FLUSHALL, once they have settled.
    pub flushed: u64,
}

impl Memory {
    /// Returns the resident bytes per key.
    pub fn per_key(&self) -> f64 {
        self.loaded.saturating_sub(self.before) as f64 / self.keys.max(1) as f64
    }
}

/// The start-up of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Startup {
    /// The name of the server.
    pub server: String,
    /// The seconds from exec to the first PONG, for each start.
    pub seconds: Vec<f64>,
    /// The resident bytes when idle, for each start.
    pub idle: Vec<u64>,
}
