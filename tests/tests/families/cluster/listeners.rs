//! Waiters for a lock that subscribe only to the channel of its slot, as newer versions of Redisson do in a cluster.

use crate::cluster::nodes::{OurCluster, names};
use lockwheel_tests::client::Client;
use lockwheel_tests::shapes::{Cluster, Make, until};

/// A key of the first node, and its channel.
const LOCK: &str = "{bar}";
const CHANNEL: &str = "redisson_lock__channel:{bar}";

#[test]
fn a_native_release_is_published_on_the_shard_channel() {
    let cluster = OurCluster::start(&names());
    let address = cluster.addresses()[0];
    let (mut owner, mut waiter) = (Client::connect(address), Client::connect_resp3(address));
    assert!(!owner.line(&format!("LOCK.ACQUIRE {LOCK} owner PX 60000")).is_error());
    waiter.line(&format!("SSUBSCRIBE {CHANNEL}"));
    let info = owner.line(&format!("LOCK.INFO {LOCK}")).to_string();
    assert!(info.contains("foreign"), "{info}");
    assert_eq!(owner.line(&format!("AWAIT.WAITERS {LOCK} 1")).to_string(), ":1");
    let graph = owner.line("LOCK.GRAPH INFERRED").to_string();
    assert!(graph.contains("owner"), "{graph}");
    assert_eq!(owner.line(&format!("LOCK.RELEASE {LOCK} owner")).to_string(), ":0");
    let message = waiter.read_frame().to_string();
    assert!(message.contains("smessage") && message.contains(CHANNEL), "{message}");
}

/// A replica is a node too: messages to all nodes do not also arrive by its master's stream.
#[test]
fn a_subscriber_of_a_replica_gets_each_message_once() {
    let Some(cluster) = Cluster::start(Make::Ours, 1) else { return };
    let (mut master, mut listener) = (cluster.client(0), cluster.client(3));
    listener.line("SUBSCRIBE news end");
    listener.read_frame();
    until("the nodes have met", || !cluster.nodes()[0].says("CLUSTER NODES").contains("disconnected"));
    master.line("PUBLISH news once");
    master.line("PUBLISH end now");
    let mut heard = Vec::new();
    while !heard.last().is_some_and(|text: &String| text.contains("now")) {
        heard.push(listener.read_frame().to_string());
    }
    assert_eq!(heard.iter().filter(|text| text.contains("once")).count(), 1, "{heard:?}");
}
