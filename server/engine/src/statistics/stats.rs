//! The counters of INFO.

use super::histogram::DurationHistogram;
use super::key_calls::KeyCalls;
use crate::spec::{CommandId, PerCommand};
use std::collections::BTreeMap;

/// The most kinds of errors that are counted separately. A script may make up any kind.
const MAX_ERROR_KINDS: usize = 128;
/// The code under which all other kinds are counted, so that the sum has every error. The code is Valkey's.
const OTHER_CODES: &[u8] = b"ERRORSTATS_OVERFLOW";
/// The most bytes of an error code. A longer first word is not a code.
const MAX_CODE_BYTES: usize = 30;

/// A counted event of a connection that happens outside of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A client is turned away: there are too many, or the server is protected and the client on another machine.
    Refused,
    /// A client is disconnected, because it has more bytes of requests pending than allowed.
    QueryLimit,
    /// The server answers a client with a protocol error.
    ProtocolError,
}

/// Counters since the start or the last CONFIG RESETSTAT.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) connections_received: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) error_replies: u64,
    /// The number of error replies to a master's stream.
    pub(crate) unexpected_error_replies: u64,
    pub(crate) output_limit_disconnections: u64,
    pub(crate) query_limit_disconnections: u64,
    pub(crate) access_denied: AccessDenied,
    /// Clients that were disconnected because of `maxmemory-clients`.
    pub(crate) evicted_clients: u64,
    /// The instant since which the data have exceeded `maxmemory`, in microseconds of the system's monotonic clock.
    /// `exceeded_us` is the total of earlier such periods.
    pub(crate) exceeded_since_us: Option<u64>,
    pub(crate) exceeded_us: u64,
    /// Blocked clients woken by keys, for the count of wake-ups per hand-off.
    pub(crate) unblocked_clients: u64,
    pub(crate) retried_requests: u64,
    /// Nanoseconds of commands that were run by scripts and transactions.
    pub(crate) nested_ns: u64,
    /// Nanoseconds spent on the expiry of keys.
    pub(crate) expire_ns: u64,
    /// Whether the durations of calls are recorded (`latency-tracking`). CONFIG RESETSTAT does not change it.
    pub(crate) tracks_latency: bool,
    /// The counters and the durations of calls of each command, by [`CommandId`].
    commands: PerCommand<(CommandStats, DurationHistogram)>,
    pub(crate) histogram_bytes: usize,
    /// The number of error replies by code.
    errors: BTreeMap<Box<[u8]>, u64>,
    /// The counts of commands run on some keys.
    pub(crate) key_calls: KeyCalls,
    /// The number of times that all counts were restarted.
    resets: u64,
}

/// The numbers of refusals to users, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AccessDenied {
    pub(crate) logins: u64,
    pub(crate) commands: u64,
    pub(crate) keys: u64,
    pub(crate) channels: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandStats {
    /// The number of calls of the handler.
    pub(crate) calls: u64,
    /// The total duration of the calls, in nanoseconds.
    pub(crate) took_ns: u64,
    /// The number of requests refused before the handler ran.
    pub(crate) rejected: u64,
    /// The number of calls that the handler answered with an error.
    pub(crate) failed: u64,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            connections_received: 0,
            rejected_connections: 0,
            error_replies: 0,
            unexpected_error_replies: 0,
            output_limit_disconnections: 0,
            query_limit_disconnections: 0,
            access_denied: AccessDenied::default(),
            evicted_clients: 0,
            exceeded_since_us: None,
            exceeded_us: 0,
            unblocked_clients: 0,
            retried_requests: 0,
            nested_ns: 0,
            expire_ns: 0,
            tracks_latency: true,
            commands: PerCommand::new(Default::default()),
            histogram_bytes: 0,
            errors: BTreeMap::new(),
            key_calls: KeyCalls::default(),
            resets: 0,
        }
    }
}

impl Stats {
    /// Counts a call that has ended or has begun to wait. Inlined, since a call of this costs about 15 instructions.
    #[inline(always)]
    pub(crate) fn called(&mut self, command: CommandId, took_ns: u64) {
        let (stats, histogram) = &mut self.commands[command];
        stats.calls += 1;
        stats.took_ns += took_ns;
        if self.tracks_latency && !histogram.record(took_ns) {
            self.record_any(command, took_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_any(&mut self, command: CommandId, took_ns: u64) {
        self.histogram_bytes += self.commands[command].1.record_any(took_ns);
    }

    /// Takes back the duration of a call that has begun to wait. `took_ns` is the duration so far.
    pub(crate) fn waits(&mut self, command: CommandId, took_ns: u64) {
        if self.tracks_latency {
            self.commands[command].1.take_back(took_ns);
        }
    }

    /// Records that a waiting command was served. `longer_ns` is the additional time, `took_ns` the total duration.
    pub(crate) fn served(&mut self, command: CommandId, longer_ns: u64, took_ns: u64) {
        let (stats, histogram) = &mut self.commands[command];
        stats.took_ns += longer_ns;
        if self.tracks_latency && !histogram.record(took_ns) {
            self.record_any(command, took_ns);
        }
    }

    /// Counts a request that was refused before a handler ran, or whose command is unknown.
    pub(crate) fn rejected(&mut self, command: Option<CommandId>, error: &[u8]) {
        if let Some(command) = command {
            self.commands[command].0.rejected += 1;
        }
        self.answered_error(error);
    }

    /// Counts a call that was answered with an error.
    pub(crate) fn failed(&mut self, command: CommandId, error: &[u8]) {
        self.commands[command].0.failed += 1;
        self.answered_error(error);
    }

    /// Counts errors in a command's answer that its handler could not know of.
    pub(crate) fn failed_late(&mut self, command: CommandId, times: u64) {
        self.commands[command].0.failed += times;
    }

    pub(crate) fn count_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Refused => self.rejected_connections += 1,
            ConnectionEvent::QueryLimit => self.query_limit_disconnections += 1,
            ConnectionEvent::ProtocolError => self.answered_error(b"ERR Protocol error"),
        }
    }

    /// Counts an error reply.
    pub(crate) fn answered_error(&mut self, error: &[u8]) {
        self.answered_errors(error, 1);
    }

    /// Counts `times` equal error replies. The code is the first word, if that is short and not the only word.
    pub(crate) fn answered_errors(&mut self, error: &[u8], times: u64) {
        self.error_replies += times;
        let space = error.iter().take(MAX_CODE_BYTES + 1).position(|&byte| byte == b' ');
        let code = space.map_or(&b"ERR"[..], |space| &error[..space]);
        if let Some(count) = self.errors.get_mut(code) {
            *count += times;
            return;
        }
        let code = if self.errors.len() < MAX_ERROR_KINDS { code } else { OTHER_CODES };
        *self.errors.entry(code.into()).or_default() += times;
    }

    pub(crate) fn commands_processed(&self) -> u64 {
        self.commands.iter().map(|(command, _)| command.calls).sum()
    }

    /// The total duration of clients' commands, in nanoseconds. O(commands).
    pub(crate) fn commands_ns(&self) -> u64 {
        let all: u64 = self.commands.iter().map(|(command, _)| command.took_ns).sum();
        all.saturating_sub(self.nested_ns)
    }

    pub(crate) fn of(&self, command: CommandId) -> CommandStats {
        self.commands[command].0
    }

    pub(crate) fn calls_of(&self, commands: &[CommandId]) -> u64 {
        commands.iter().map(|&command| self.of(command).calls).sum()
    }

    /// The number of times that counts of calls were restarted or dropped.
    pub(crate) fn recounts(&self) -> u64 {
        self.resets + self.key_calls.forgotten()
    }

    pub(crate) fn durations(&self, command: CommandId) -> &DurationHistogram {
        &self.commands[command].1
    }

    /// The number of error replies by code, in the order of the codes.
    pub(crate) fn errors(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.errors.iter().map(|(code, &count)| (&**code, count))
    }

    /// Bytes of heap that the counters of commands take, without their histograms.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.commands.heap_bytes()
    }

    pub(crate) fn reset(&mut self) {
        let mut key_calls = std::mem::take(&mut self.key_calls);
        key_calls.reset();
        let Stats { tracks_latency, resets, .. } = *self;
        *self = Stats { tracks_latency, key_calls, resets: resets + 1, ..Stats::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: fn(usize) -> CommandId = CommandId::new;

    #[test]
    fn a_client_that_is_refused_or_disconnected_is_counted() {
        let mut stats = Stats::default();
        use ConnectionEvent::{ProtocolError, QueryLimit, Refused};
        let events = [Refused, Refused, QueryLimit, ProtocolError];
        events.into_iter().for_each(|event| stats.count_connection_event(event));
        assert_eq!((stats.rejected_connections, stats.query_limit_disconnections), (2, 1));
        assert_eq!((stats.error_replies, stats.errors().next()), (1, Some((&b"ERR"[..], 1))));
    }

    #[test]
    fn errors_are_counted_by_their_code_up_to_a_limit() {
        let mut stats = Stats::default();
        stats.called(NUMBER(1), 1500);
        stats.failed(NUMBER(1), b"WRONGTYPE Operation against a key");
        stats.rejected(Some(NUMBER(0)), b"ERR x");
        stats.rejected(None, b"oneword");
        assert_eq!(stats.errors().collect::<Vec<_>>(), [(&b"ERR"[..], 2), (b"WRONGTYPE", 1)]);
        assert_eq!(stats.of(NUMBER(0)), CommandStats { calls: 0, took_ns: 0, rejected: 1, failed: 0 });
        assert_eq!(stats.of(NUMBER(1)), CommandStats { calls: 1, took_ns: 1500, rejected: 0, failed: 1 });
        stats.answered_errors(b"ACODEOFTHIRTYCHARACTERSANDMORE x", 3);
        stats.answered_errors(b"ACODEOFTHIRTYCHARACTERSAND1MORE x", 4);
        assert_eq!(
            stats.errors().collect::<Vec<_>>()[..2],
            [(&b"ACODEOFTHIRTYCHARACTERSANDMORE"[..], 3), (b"ERR", 6)]
        );
        for kind in 0..1000 {
            stats.failed(NUMBER(0), format!("K{kind} x").as_bytes());
        }
        assert_eq!(stats.errors().count(), MAX_ERROR_KINDS + 1);
        assert!(stats.errors().any(|(code, count)| code == OTHER_CODES && count == 875));
        assert_eq!(stats.error_replies, 1010);
        assert_eq!(stats.errors().map(|(_, count)| count).sum::<u64>(), stats.error_replies);
    }

    #[test]
    fn a_reset_forgets_all() {
        let mut stats = Stats::default();
        stats.called(NUMBER(0), 1);
        stats.reset();
        assert_eq!(stats.commands_processed(), 0);
        assert_eq!(stats.of(NUMBER(0)), CommandStats::default());
    }
}
