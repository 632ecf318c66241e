//! The options of the waiting workloads.

use clap::Args;

/// The sizes of the waiting workloads.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Number of waiters for a lock that is handed off.
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000", value_name = "N")]
    pub waiters: Vec<usize>,
    /// Number of hand-offs.
    #[arg(long, default_value_t = 500, value_name = "N")]
    pub handoffs: usize,
    /// Keys with far deadlines beside the keys whose expiry is watched. The other servers, whose events come seconds
    /// late, get a hundredth.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub timers: usize,
    /// Number of keys whose expiry is watched, a thousand a second. The other servers get a tenth.
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub probes: usize,
    /// Number of keys through which a table grows, that expire at once, or that are flushed, while PINGs are timed.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub pause_keys: usize,
}

impl Options {
    /// Returns the problem with the options, if there is one.
    pub fn problem(&self) -> Option<&'static str> {
        let counts = [self.handoffs, self.probes, self.pause_keys];
        if self.waiters.is_empty() || self.waiters.contains(&0) {
            Some("--waiters must be at least 1")
        } else if counts.contains(&0) {
            Some("--handoffs, --probes and --pause-keys must be at least 1")
        } else {
            None
        }
    }
}
