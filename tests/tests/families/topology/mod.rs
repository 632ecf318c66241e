//! Several servers of one process: one clock, one order of events.

mod addresses;
mod broadcasts;
mod clock;
mod cluster;
mod crashes;
mod demoted;
mod differences;
mod hanging;
mod history;
mod inherited;
mod keyspace_events;
mod lag;
mod node_faults;
mod parts;
mod permits;
mod program;
mod refused;
mod replicas;
mod sentinels;
mod simulation;
mod verdicts;

use lockwheel::{Config, Time, Topology};
use lockwheel_engine::config::Permission;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// A master and two replicas on a manual clock, and a client of each.
fn manual() -> (Topology, Vec<Client>) {
    let mut config = Config::default();
    (config.enable_debug_command, config.time) = (Permission::Yes, Time::Manual);
    let topology = ours::configured(config).replicas(2).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}
