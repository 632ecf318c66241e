//! The parameters of replication.

/// The parameters of replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationParameters {
    /// The master's host and port. Empty: the server is no replica (`replicaof`).
    pub master: Vec<String>,
    /// The user as which a replica authenticates. Empty: the default user (`masteruser`).
    pub masteruser: String,
    /// The password of this user. Empty: the replica does not authenticate (`masterauth`).
    pub masterauth: Vec<u8>,
    /// The local address of links. Empty: the system chooses (`bind-source-addr`).
    pub source_address: String,
    /// The bytes of the stream that are kept for replicas that reconnect (`repl-backlog-size`).
    pub backlog_size: u64,
    /// Seconds without a replica after which the backlog is dropped. 0: never (`repl-backlog-ttl`).
    pub backlog_ttl: i64,
    /// Seconds of silence after which a connection is given up (`repl-timeout`).
    pub timeout: i64,
    /// Seconds between the messages by which a master keeps connections alive (`repl-ping-replica-period`).
    pub ping_period: i64,
    /// Whether clients of a replica may only read (`replica-read-only`).
    pub read_only: bool,
    /// Whether a replica serves its stale data while it has no link to its master (`replica-serve-stale-data`).
    pub serve_stale_data: bool,
    /// Whether a replica ignores `maxmemory` and leaves evictions to its master (`replica-ignore-maxmemory`).
    pub ignore_maxmemory: bool,
    /// Whether a replica whose disk cannot be written goes on. Otherwise it ends at the next write of its master
    /// (`replica-ignore-disk-write-errors`).
    pub ignore_disk_errors: bool,
    /// The rank among the replicas that may take over, as INFO shows it (`replica-priority`).
    pub priority: i64,
    /// Whether sentinels are to list the replica, as INFO shows it (`replica-announced`).
    pub announced: bool,
    /// The address that a replica announces. Empty: the address of its connection (`replica-announce-ip`).
    pub announce_ip: String,
    /// The port that a replica announces. 0: the port that it listens on (`replica-announce-port`).
    pub announce_port: u16,
    /// The good replicas without which a master refuses writes; 0: none needed (`min-replicas-to-write`).
    pub min_to_write: i64,
    /// The most seconds since the last message of a good replica (`min-replicas-max-lag`).
    pub min_max_lag: i64,
}

impl ReplicationParameters {
    /// Returns the names and values of the lines by which a sentinel logs in to a master, as a replica would.
    pub fn login_lines(&self) -> Vec<(&'static str, String)> {
        let password = String::from_utf8_lossy(&self.masterauth).into_owned();
        let lines = [("auth-pass", password), ("auth-user", self.masteruser.clone())];
        lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Returns the bytes of the stream that the backlog keeps.
    pub(crate) fn backlog_bytes(&self) -> usize {
        usize::try_from(self.backlog_size).unwrap_or(usize::MAX)
    }

    /// Returns the milliseconds after which a replica gives up a silent master.
    pub(crate) fn patience_ms(&self) -> u64 {
        self.timeout.max(1).unsigned_abs().saturating_mul(1000)
    }

    /// Makes a server that is down follow this master when it comes back.
    pub(crate) fn follow_when_up(&mut self, host: &str, port: u16) {
        self.master = vec![host.to_owned(), port.to_string()];
    }

    /// Returns the master's host and port, if the server is a replica.
    pub fn master_address(&self) -> Option<(String, u16)> {
        match &self.master[..] {
            [host, port] => Some((host.clone(), port.parse().unwrap_or(0))),
            _ => None,
        }
    }
}

impl Default for ReplicationParameters {
    /// The defaults of Redis.
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
            ignore_disk_errors: false,
            priority: 100,
            announced: true,
            announce_ip: String::new(),
            announce_port: 0,
            min_to_write: 0,
            min_max_lag: 10,
        }
    }
}
