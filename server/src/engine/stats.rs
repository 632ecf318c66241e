//! Counters that INFO shows.

/// Counters since the start or the last CONFIG RESETSTAT.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) connections_received: u64,
    pub(crate) commands_processed: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) error_replies: u64,
    pub(crate) output_limit_disconnections: u64,
    /// Clients that wait now.
    pub(crate) blocked_clients: usize,
    /// Clients woken by keys, for the count of wake-ups per hand-off.
    pub(crate) unblocked_clients: u64,
}
