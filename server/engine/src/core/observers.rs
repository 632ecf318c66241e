//! The observers of calls.

use crate::config::Config;
use crate::slow_log::SlowLog;
use crate::spec::CommandId;
use crate::statistics::Stats;

/// The observers of calls. While none wants details, only the counters are changed.
#[derive(Debug)]
pub(crate) struct Observers {
    /// What INFO counts.
    pub(crate) stats: Stats,
    /// The slow log.
    pub(crate) slow_log: SlowLog,
}

impl Observers {
    /// With these parameters.
    pub(crate) fn new(config: &Config) -> Self {
        let slow_log = SlowLog::new(config.slowlog_log_slower_than, config.slowlog_max_len);
        Observers { stats: Stats::default(), slow_log }
    }

    /// Begins anew, with so many clients that have connected.
    pub(crate) fn reset(&mut self, config: &Config, clients: u64) {
        *self = Observers::new(config);
        self.stats.connections_received = clients;
    }

    /// Applies changed parameters.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.slow_log.configure(config.slowlog_log_slower_than, config.slowlog_max_len);
    }

    /// A call has ended, or has begun to wait, after so many nanoseconds.
    #[inline]
    pub(crate) fn called(&mut self, command: CommandId, took_ns: u64) {
        self.stats.called(command, took_ns);
    }

    /// Whether an observer wants details of a call that took so many nanoseconds.
    #[inline]
    pub(crate) fn want_more(&self, took_ns: u64) -> bool {
        self.slow_log.wants(took_ns)
    }
}
