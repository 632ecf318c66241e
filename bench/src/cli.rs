//! The command line.

use crate::error::{Error, Result};
use crate::waiting;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Measures Lockwheel beside other servers.
#[derive(Clone, Debug, Parser)]
#[command(name = "lockwheel-bench", version)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The commands of the program.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Start Lockwheel and every other server found, run all workloads on them in turn, and compare the results.
    Compare(Box<Compare>),
    /// List the workloads.
    List,
}

/// The options of a comparison.
#[derive(Clone, Debug, Args)]
pub struct Compare {
    /// The binary of the Lockwheel server. Default: the one beside this program; under cargo it is built first.
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,
    /// A server that is already running: redis://host:port. It must be empty, and is emptied. Repeatable.
    #[arg(long = "url", value_name = "URL")]
    pub urls: Vec<String>,
    /// Only these servers: lockwheel, redis, valkey.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub only: Vec<String>,
    /// Only these workloads: by name, by the name before the colon, or by family (see `list`). Further names: `handoff`
    /// passes a lock on while others wait. `expiry` and `pauses` measure how late a server is. `memory` and `startup`
    /// measure the memory of keys and the start.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub workloads: Vec<String>,
    /// Requests that a connection sends before it waits for the replies. Several values are measured one after another.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_name = "N")]
    pub pipeline: Vec<usize>,
    /// Connections.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub connections: u64,
    /// Number of keys.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub keys: u64,
    /// Skew of the choice of keys: the exponent of Zipf's law within each connection's keys. 0: all keys are equally
    /// likely.
    #[arg(long, default_value_t = 0.0, value_name = "EXPONENT")]
    pub skew: f64,
    /// Threads that each server uses for its sockets.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub server_threads: usize,
    /// Threads that generate the load.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub load_threads: usize,
    /// Number of repetitions of each run. The servers take turns; the median counts.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub rounds: usize,
    /// Duration of each run.
    #[arg(long, default_value_t = 0.5, value_name = "SECONDS")]
    pub seconds: f64,
    /// Duration of the warm-up before each run.
    #[arg(long, default_value_t = 0.1, value_name = "SECONDS")]
    pub warm_up: f64,
    /// End runs after this number of requests instead of a time.
    #[arg(long, value_name = "N")]
    pub ops: Option<u64>,
    /// Send this number of requests a second, whatever the server does. Latency counts from the time at which a request
    /// should have been sent. Without this option, a connection sends when it has its replies.
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 7, value_name = "N")]
    pub seed: u64,
    /// A Lua file to measure as the workload `script`.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// The next key of the script. In this text, {n:12} stands for the number of the key, {c:12} for that of the
    /// connection, and {i:12} for a counter. Each is written with 12 digits, or as many as given; 12 without the colon.
    /// Repeatable.
    #[arg(long = "script-key", value_name = "TEMPLATE", requires = "script", allow_hyphen_values = true)]
    pub script_keys: Vec<String>,
    /// The next argument of the script, a text like that of a key. Repeatable.
    #[arg(long = "script-arg", value_name = "TEMPLATE", requires = "script", allow_hyphen_values = true)]
    pub script_args: Vec<String>,
    /// Number of keys, or parts of large values, that `memory` loads of each kind.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub memory_keys: u64,
    /// Number of times that `startup` starts each server.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub starts: usize,
    /// The workloads of waiting.
    #[command(flatten)]
    pub waiting: waiting::options::Options,
    /// Write report.html, results.json and tables as CSV into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub out: Option<PathBuf>,
}

impl Compare {
    /// Returns the options of a command line without arguments.
    ///
    /// # Errors
    /// Returns no error as long as no option is required, which a test ensures.
    pub fn default_options() -> Result<Compare> {
        let parsed = Bare::try_parse_from(["compare"]).map_err(|error| Error::other(error.to_string()))?;
        Ok(parsed.options)
    }
}

/// A separate command line of a comparison's options.
#[derive(Parser)]
struct Bare {
    #[command(flatten)]
    options: Compare,
}
