//! The parameters of a node of a cluster.

/// What a client is told to call a node by (`cluster-preferred-endpoint-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointType {
    /// Its address.
    #[default]
    Ip,
    /// The name of its host.
    Hostname,
    /// Nothing: the client keeps to the address that it knows.
    UnknownEndpoint,
}

impl EndpointType {
    pub(super) const NAMES: &[&str] = &["ip", "hostname", "unknown-endpoint"];
    pub(super) const ALL: [Self; 3] =
        [EndpointType::Ip, EndpointType::Hostname, EndpointType::UnknownEndpoint];
}

/// The parameters of a node of a cluster: each is that of the same name behind `cluster-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterParameters {
    /// Whether it is one.
    pub enabled: bool,
    /// The file in the working directory that its view of the cluster is kept in.
    pub config_file: String,
    /// The address that it says it has; empty: the one that it knows.
    pub announce_ip: String,
    /// The port that it says it has; 0: its own.
    pub announce_port: u16,
    /// The same of the port over TLS.
    pub announce_tls_port: u16,
    /// The same of the port for nodes.
    pub announce_bus_port: u16,
    /// The host's name that it says it has.
    pub announce_hostname: String,
    /// The port for nodes; 0: 10000 above the one for clients.
    pub port: u16,
    /// What clients are told to call nodes by.
    pub preferred_endpoint_type: EndpointType,
    /// Whether nothing is served while a slot has no node.
    pub require_full_coverage: bool,
    /// Whether reads are served while the cluster is down.
    pub allow_reads_when_down: bool,
    /// Whether channels of shards are.
    pub allow_pubsubshard_when_down: bool,
    /// Whether a master that has lost its last slot becomes a replica.
    pub allow_replica_migration: bool,
    /// After how many milliseconds of silence a node counts as failed.
    pub node_timeout: i64,
    /// A replica whose data are older than so many of these does not take over; 0: it does.
    pub replica_validity_factor: i64,
    /// Whether a replica does not take over by itself.
    pub replica_no_failover: bool,
}

impl Default for ClusterParameters {
    /// Those of Redis.
    fn default() -> Self {
        ClusterParameters {
            enabled: false,
            config_file: "nodes.conf".to_owned(),
            announce_ip: String::new(),
            announce_port: 0,
            announce_tls_port: 0,
            announce_bus_port: 0,
            announce_hostname: String::new(),
            port: 0,
            preferred_endpoint_type: EndpointType::Ip,
            require_full_coverage: true,
            allow_reads_when_down: false,
            allow_pubsubshard_when_down: true,
            allow_replica_migration: true,
            node_timeout: 15_000,
            replica_validity_factor: 10,
            replica_no_failover: false,
        }
    }
}
