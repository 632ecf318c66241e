//! Several servers of one process: one clock, one order of events.

mod clock;
mod replicas;

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// A master and two replicas whose clock is turned, and a client of each.
fn manual() -> (Topology, Vec<Client>) {
    let topology = ours::builder().time(Time::Manual).replicas(2).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}
