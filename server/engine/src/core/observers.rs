//! The observers of calls.

use super::part_handler::LatencyView;
use crate::acl::{AclLog, AclLogEntry, Refused};
use crate::clock::EngineClock;
use crate::config::Config;
use crate::latency::Latency;
use crate::monitors::Monitors;
use crate::slow_log::SlowLog;
use crate::spec::{CommandId, CommandTable};
use crate::statistics::{Identity, Rates, Stats, Totals};

/// The observers of calls. While no observer wants details, only the counters change.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) stats: Stats,
    pub(crate) slow_log: SlowLog,
    pub(crate) rates: Rates,
    pub(crate) latency: Latency,
    monitors: Monitors,
    /// The nanoseconds from which some observer wants details of a call: one test for all observers.
    details_from_ns: u64,
    awaits_calls: bool,
    /// Whether clients track the keys that they read.
    pub(super) remembers_keys: bool,
    pub(crate) acl_log: AclLog,
}

impl Observers {
    pub(crate) fn new(config: &Config) -> Self {
        let mut observers = Observers {
            stats: Stats::default(),
            slow_log: SlowLog::new(config.slowlog_log_slower_than, config.slowlog_max_len),
            rates: Rates::default(),
            latency: Latency::new(config.latency_monitor_threshold),
            monitors: Monitors::default(),
            details_from_ns: 0,
            awaits_calls: false,
            remembers_keys: false,
            acl_log: AclLog::default(),
        };
        observers.configure(config);
        observers
    }

    /// Returns the view for LATENCY, at a wall-clock time in seconds.
    pub(super) fn latency_view<'e>(
        &'e mut self,
        commands: &'e CommandTable,
        config: &'e Config,
        now_s: i64,
    ) -> LatencyView<'e> {
        LatencyView { latency: &mut self.latency, stats: &self.stats, commands, config, now_s }
    }

    pub(crate) fn reset(&mut self, config: &Config, clients: u64) {
        let monitors = std::mem::take(&mut self.monitors);
        let Observers { remembers_keys, awaits_calls, .. } = *self;
        *self = Observers { monitors, remembers_keys, awaits_calls, ..Observers::new(config) };
        self.stats.connections_received = clients;
        self.note_wishes();
    }

    pub(crate) fn totals(&self, identity: &Identity) -> Totals {
        Totals { commands: self.stats.commands_processed(), traffic: (identity.process.traffic)() }
    }

    #[cold]
    pub(super) fn sample_rates(&mut self, clock: &EngineClock, identity: &Identity) {
        let totals = self.totals(identity);
        self.rates.sample(clock.system().monotonic_us, totals);
    }

    /// Counts and logs a request denied to a user; the log keeps `max_len` entries.
    #[cold]
    pub(super) fn refused(&mut self, entry: AclLogEntry, max_len: usize) {
        let denied = &mut self.stats.access_denied;
        *match entry.refused {
            Refused::Login => &mut denied.logins,
            Refused::Command => &mut denied.commands,
            Refused::Key => &mut denied.keys,
            Refused::Channel => &mut denied.channels,
        } += 1;
        self.acl_log.add(entry, max_len);
    }

    pub(crate) fn configure(&mut self, config: &Config) {
        self.slow_log.configure(config.slowlog_log_slower_than, config.slowlog_max_len);
        self.latency.configure(config.latency_monitor_threshold);
        self.stats.tracks_latency = config.latency_tracking;
        self.note_wishes();
    }

    /// Counts calls of these commands on keys that match the pattern from now on.
    pub(crate) fn count_keys(&mut self, commands: &[CommandId], pattern: &[u8]) {
        self.stats.key_calls.begin(commands, pattern);
        self.note_wishes();
    }

    pub(crate) fn set_monitor(&mut self, client: u64, is_shown: bool) {
        match is_shown {
            true => self.monitors.add(client),
            false => self.monitors.remove(client),
        }
        self.note_wishes();
    }

    #[inline]
    pub(crate) fn monitors(&self) -> &Monitors {
        &self.monitors
    }

    pub(crate) fn remember_keys(&mut self, wanted: bool) {
        self.remembers_keys = wanted;
        self.note_wishes();
    }

    pub(super) fn await_calls(&mut self, is_awaited: bool) {
        if self.awaits_calls != is_awaited {
            self.awaits_calls = is_awaited;
            self.note_wishes();
        }
    }

    fn note_wishes(&mut self) {
        let keeps_calls = self.awaits_calls || !self.stats.key_calls.is_empty();
        let is_all_shown = keeps_calls || !self.monitors.is_empty() || self.remembers_keys;
        let from_ns = self.slow_log.threshold_ns().min(self.latency.threshold_ns());
        self.details_from_ns = if is_all_shown { 0 } else { from_ns };
    }

    /// Counts a call that has ended, or begun to wait, after these nanoseconds.
    #[inline(always)]
    pub(crate) fn called(&mut self, command: CommandId, took_ns: u64) {
        self.stats.called(command, took_ns);
    }

    /// Whether an observer wants details of a call of these nanoseconds.
    #[inline]
    pub(crate) fn want_more(&self, took_ns: u64) -> bool {
        took_ns >= self.details_from_ns
    }
}
