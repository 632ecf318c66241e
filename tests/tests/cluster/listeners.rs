//! Who waits for a lock by listening to the channel of its slot alone, as newer versions of Redisson do in a cluster.

use crate::nodes::{OurCluster, names};
use lockwheel_tests::client::Client;

/// A key of the first node, and its channel.
const LOCK: &str = "{bar}";
const CHANNEL: &str = "redisson_lock__channel:{bar}";

#[test]
fn a_native_release_is_told_on_the_channel_of_the_slot() {
    let cluster = OurCluster::start(&names());
    let address = cluster.addresses()[0];
    let (mut owner, mut waiter) = (Client::connect(address), Client::connect_resp3(address));
    assert!(!owner.line(&format!("LOCK.ACQUIRE {LOCK} owner PX 60000")).is_error());
    waiter.line(&format!("SSUBSCRIBE {CHANNEL}"));
    let info = owner.line(&format!("LOCK.INFO {LOCK}")).to_string();
    assert!(info.contains("foreign"), "{info}");
    assert_eq!(owner.line(&format!("AWAIT.WAITERS {LOCK} 1")).to_string(), ":1");
    let graph = owner.line("LOCK.GRAPH").to_string();
    assert!(graph.contains("owner"), "{graph}");
    assert_eq!(owner.line(&format!("LOCK.RELEASE {LOCK} owner")).to_string(), ":0");
    let message = waiter.read_frame().to_string();
    assert!(message.contains("smessage") && message.contains(CHANNEL), "{message}");
    // Once, on this channel.
    waiter.line("PING");
}
