//! The parameters of a node of a cluster.

/// The form in which clients see the endpoint of a node (`cluster-preferred-endpoint-type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndpointType {
    /// The IP address of the node.
    #[default]
    Ip,
    /// The host name of the node.
    Hostname,
    /// No endpoint: the client keeps the address that it knows.
    UnknownEndpoint,
}

impl EndpointType {
    pub(super) const NAMES: &[&str] = &["ip", "hostname", "unknown-endpoint"];
    pub(super) const ALL: [Self; 3] =
        [EndpointType::Ip, EndpointType::Hostname, EndpointType::UnknownEndpoint];
}

/// The parameters of a node of a cluster. Each field is the parameter of the same name with `cluster-` in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterParameters {
    /// Whether the server is a node of a cluster.
    pub enabled: bool,
    /// The file, in the working directory, that keeps the node's view of the cluster.
    pub config_file: String,
    /// The address that the node announces. Empty: the address that the node knows.
    pub announce_ip: String,
    /// The port that the node announces. 0: its own port.
    pub announce_port: u16,
    /// The TLS port that the node announces. 0: its own.
    pub announce_tls_port: u16,
    /// The cluster bus port that the node announces. 0: its own.
    pub announce_bus_port: u16,
    /// The host name that the node announces.
    pub announce_hostname: String,
    /// The port of the cluster bus. 0: 10000 above the port for clients.
    pub port: u16,
    /// The form in which clients see the endpoints of nodes.
    pub preferred_endpoint_type: EndpointType,
    /// Whether the node serves nothing while a slot has no node.
    pub require_full_coverage: bool,
    /// Whether reads are served while the cluster is down.
    pub allow_reads_when_down: bool,
    /// Whether shard channels are served while the cluster is down.
    pub allow_pubsubshard_when_down: bool,
    /// Whether a master that has lost its last slot becomes a replica.
    pub allow_replica_migration: bool,
    /// Milliseconds of silence after which a node counts as failed.
    pub node_timeout: i64,
    /// The oldest data, in multiples of `node_timeout`, with which a replica takes over. 0: no limit.
    pub replica_validity_factor: i64,
    /// Whether a replica never starts a failover by itself.
    pub replica_no_failover: bool,
}

impl Default for ClusterParameters {
    /// The defaults of Redis.
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
