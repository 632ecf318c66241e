//! The command line.

use crate::error::{Error, Result};
use crate::waiting;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Measures Lockwheel beside other servers.
#[derive(Clone, Debug, Parser)]
#[command(name = "lockwheel-bench", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Start Lockwheel and every other server found, run workloads on all of them in turns, and compare.
    Compare(Box<Compare>),
    /// List the workloads.
    List,
}

/// The options of a comparison.
#[derive(Clone, Debug, Args)]
pub struct Compare {
    /// Our server's binary. Default: beside this program; under cargo it is built first.
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,
    /// A server that runs already: redis://host:port. It must be empty, and is emptied. Repeatable.
    #[arg(long = "url", value_name = "URL")]
    pub urls: Vec<String>,
    /// Only these servers: lockwheel, redis, valkey.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub only: Vec<String>,
    /// Only these workloads, by name, by the name before the colon, or by family (see `list`). Beside those,
    /// `handoff` passes a lock on while others wait, `expiry` and `pauses` measure how late a server is, `memory` and
    /// `startup` what keys take and how it starts.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub workloads: Vec<String>,
    /// Requests that a connection sends before it waits for the replies; several are measured one after another.
    #[arg(long, value_delimiter = ',', default_value = "1,16,64", value_name = "N")]
    pub pipeline: Vec<usize>,
    /// Connections.
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub connections: u64,
    /// How many keys there are.
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub keys: u64,
    /// How unlike keys are: the exponent of Zipf's law within each connection's keys. 0: all alike.
    #[arg(long, default_value_t = 0.0, value_name = "EXPONENT")]
    pub skew: f64,
    /// Threads of each server for its sockets.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub server_threads: usize,
    /// Threads of the load.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub load_threads: usize,
    /// How often each run is repeated, the servers taking turns; the median counts.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub rounds: usize,
    /// How long each run takes.
    #[arg(long, default_value_t = 0.5, value_name = "SECONDS")]
    pub seconds: f64,
    /// How long each run is warmed up before.
    #[arg(long, default_value_t = 0.1, value_name = "SECONDS")]
    pub warm_up: f64,
    /// End runs after so many requests instead of a time.
    #[arg(long, value_name = "N")]
    pub ops: Option<u64>,
    /// Send so many requests a second, whatever the server does; latency counts from when a request should have
    /// been sent. Without it, a connection sends when it has its replies.
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Decides all chance.
    #[arg(long, default_value_t = 7, value_name = "N")]
    pub seed: u64,
    /// A Lua file to measure as the workload `script`.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// The script's next key: a text in which {n:12} stands for the key's number, {c:12} for the connection's and
    /// {i:12} for a counter, in so many digits; 12 without the colon. Repeatable.
    #[arg(long = "script-key", value_name = "TEMPLATE", requires = "script", allow_hyphen_values = true)]
    pub script_keys: Vec<String>,
    /// The script's next argument, a text like a key's. Repeatable.
    #[arg(long = "script-arg", value_name = "TEMPLATE", requires = "script", allow_hyphen_values = true)]
    pub script_args: Vec<String>,
    /// How many keys, and parts of large values, of each kind `memory` loads.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub memory_keys: u64,
    /// How often `startup` starts each server.
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
    /// The options that a command line without any gives.
    ///
    /// # Errors
    /// Never, as long as none is required: a test has them.
    pub fn default_options() -> Result<Compare> {
        let parsed = Bare::try_parse_from(["compare"]).map_err(|error| Error::other(error.to_string()))?;
        Ok(parsed.options)
    }
}

/// A comparison's options as a command line of their own.
#[derive(Parser)]
struct Bare {
    #[command(flatten)]
    options: Compare,
}
