//! The observers of calls.

use crate::acl::AclLog;
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
    /// From how many nanoseconds on some observer wants details of a call: one test for all of them.
    details_from_ns: u64,
    /// Clients want the keys that they read to be remembered.
    pub(super) remembers_keys: bool,
    /// What was refused to users.
    pub(crate) acl_log: AclLog,
}

impl Observers {
    /// With these parameters.
    pub(crate) fn new(config: &Config) -> Self {
        let slow_log = SlowLog::new(config.slowlog_log_slower_than, config.slowlog_max_len);
        let details_from_ns = slow_log.threshold_ns();
        let (stats, acl_log) = (Stats::default(), AclLog::default());
        Observers { stats, slow_log, acl_log, details_from_ns, remembers_keys: false }
    }

    /// Begins anew, with so many clients that have connected.
    pub(crate) fn reset(&mut self, config: &Config, clients: u64) {
        *self = Observers { remembers_keys: self.remembers_keys, ..Observers::new(config) };
        self.note_wishes();
        self.stats.connections_received = clients;
    }

    /// Applies changed parameters.
    pub(crate) fn configure(&mut self, config: &Config) {
        self.slow_log.configure(config.slowlog_log_slower_than, config.slowlog_max_len);
        self.note_wishes();
    }

    /// Calls of these commands on keys like this are counted from now on.
    pub(crate) fn count_keys(&mut self, commands: &[CommandId], pattern: &[u8]) {
        self.stats.key_calls.begin(commands, pattern);
        self.note_wishes();
    }

    /// Whether keys that are read are to be remembered from now on.
    pub(crate) fn remember_keys(&mut self, wanted: bool) {
        self.remembers_keys = wanted;
        self.note_wishes();
    }

    fn note_wishes(&mut self) {
        let counts_keys = !self.stats.key_calls.is_empty() || self.remembers_keys;
        self.details_from_ns = if counts_keys { 0 } else { self.slow_log.threshold_ns() };
    }

    /// A call has ended, or has begun to wait, after so many nanoseconds.
    #[inline]
    pub(crate) fn called(&mut self, command: CommandId, took_ns: u64) {
        self.stats.called(command, took_ns);
    }

    /// Whether an observer wants details of a call that took so many nanoseconds.
    #[inline]
    pub(crate) fn want_more(&self, took_ns: u64) -> bool {
        took_ns >= self.details_from_ns
    }
}
