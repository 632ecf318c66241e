//! The parameters of replication.

/// The parameters of replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationParameters {
    /// The master's host and port; empty: it is nobody's replica (`replicaof`).
    pub master: Vec<String>,
    /// As whom a replica authenticates; empty: as the default user (`masteruser`).
    pub masteruser: String,
    /// Its password; empty: it does not (`masterauth`).
    pub masterauth: Vec<u8>,
    /// The address from which links are made; empty: the system chooses (`bind-source-addr`).
    pub source_address: String,
    /// How many bytes of the stream are kept for replicas that come back (`repl-backlog-size`).
    pub backlog_size: u64,
    /// Seconds without a replica after which they are not kept any more; 0: they are for ever (`repl-backlog-ttl`).
    pub backlog_ttl: i64,
    /// Seconds after which a silent connection is given up (`repl-timeout`).
    pub timeout: i64,
    /// Seconds between what a master sends to keep connections alive (`repl-ping-replica-period`).
    pub ping_period: i64,
    /// Whether clients of a replica may only read (`replica-read-only`).
    pub read_only: bool,
    /// Whether a replica answers from what it has while it has no link to its master (`replica-serve-stale-data`).
    pub serve_stale_data: bool,
    /// Whether a replica evicts no keys by itself (`replica-ignore-maxmemory`).
    pub ignore_maxmemory: bool,
    /// The rank among those that may take over, as INFO shows it (`replica-priority`).
    pub priority: i64,
    /// Whether others are to show the replica, as INFO shows it (`replica-announced`).
    pub announced: bool,
    /// The address that a replica announces; empty: that of its connection (`replica-announce-ip`).
    pub announce_ip: String,
    /// The port that a replica announces; 0: the one that it listens on (`replica-announce-port`).
    pub announce_port: u16,
    /// Without so many good replicas a master refuses writes; 0: it never does (`min-replicas-to-write`).
    pub min_to_write: i64,
    /// A replica is good that was heard within so many seconds (`min-replicas-max-lag`).
    pub min_max_lag: i64,
}

impl ReplicationParameters {
    /// Returns the lines that say how a server logs in to a master as a replica would: names and values.
    pub fn login_lines(&self) -> Vec<(&'static str, String)> {
        let password = String::from_utf8_lossy(&self.masterauth).into_owned();
        let lines = [("auth-pass", password), ("auth-user", self.masteruser.clone())];
        lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Returns the bytes of the stream that are kept.
    pub(crate) fn backlog_bytes(&self) -> usize {
        usize::try_from(self.backlog_size).unwrap_or(usize::MAX)
    }

    /// Returns the milliseconds after which a replica gives up a master that is silent.
    pub(crate) fn patience_ms(&self) -> u64 {
        self.timeout.max(1).unsigned_abs().saturating_mul(1000)
    }

    /// Has a server that is down follow this master when it comes back.
    pub(crate) fn follow_when_up(&mut self, host: &str, port: u16) {
        self.master = vec![host.to_owned(), port.to_string()];
    }

    /// Returns the master's host and port, if it is the replica of one.
    pub fn master_address(&self) -> Option<(String, u16)> {
        match &self.master[..] {
            [host, port] => Some((host.clone(), port.parse().unwrap_or(0))),
            _ => None,
        }
    }
}

impl Default for ReplicationParameters {
    /// Those of Redis.
    fn default() -> Self {
        ReplicationParameters {
            master: Vec::new(),
            masteruser: String::new(),
            masterauth: Vec::new(),
            source_address: String::new(),
            backlog_size: 1 << 20,
            backlog_ttl: 3600,
            timeout: 60,
            ping_period: 10,
            read_only: true,
            serve_stale_data: true,
            ignore_maxmemory: true,
            priority: 100,
            announced: true,
            announce_ip: String::new(),
            announce_port: 0,
            min_to_write: 0,
            min_max_lag: 10,
        }
    }
}
