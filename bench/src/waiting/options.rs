//! The options of the workloads of waiting.

use clap::Args;

/// How much waiting, expiring and freeing there is.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// How many wait for a lock that goes from hand to hand.
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000", value_name = "N")]
    pub waiters: Vec<usize>,
    /// How often it does.
    #[arg(long, default_value_t = 500, value_name = "N")]
    pub handoffs: usize,
    /// Keys with far deadlines beside those whose expiry is watched. The other servers, whose events come seconds
    /// late, get a hundredth.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub timers: usize,
    /// How many keys' expiry is watched, a thousand a second. The other servers get a tenth.
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub probes: usize,
    /// How many keys a table grows through, expire at once, or are flushed, while PINGs are timed.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub pause_keys: usize,
}

impl Options {
    /// What is wrong with them, if anything is.
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
