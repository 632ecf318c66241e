//! Real clients of several lock libraries, with each other and with native locks, on one key.

mod alone;
mod contention;
mod desk;
mod libraries;
mod objects;
mod records;
mod referee;
mod window;
mod workshop;

use alone::contend_alone;
use contention::{contend, notices_a_lost_wake_up};
use lockwheel_tests::redisson::Version;
use objects::Object;

/// The versions that introduced an object, and the newest.
const V3_6: Version = Version::new(3, 6, 5);
const V3_17: Version = Version::new(3, 17, 0);
const V3_24: Version = Version::new(3, 24, 3);
const V4_7: Version = Version::new(4, 7, 0);

/// An object is tried with the version that introduced it, and in a long run with all later ones.
fn is_due(object: &Object, version: Version) -> bool {
    object.since == version || (object.since < version && std::env::var_os("LOCKWHEEL_SECTIONS").is_some())
}

#[test]
fn redisson_3_6_with_native_clients() {
    contend(V3_6, |object| is_due(object, V3_6));
}

#[test]
fn redisson_3_17_with_native_clients() {
    contend(V3_17, |object| is_due(object, V3_17));
}

#[test]
fn redisson_3_24_with_native_clients() {
    contend(V3_24, |object| is_due(object, V3_24));
}

#[test]
fn redisson_4_7_with_native_clients() {
    contend(V4_7, |_| true);
}

#[test]
fn a_lost_wakeup_is_noticed() {
    notices_a_lost_wake_up(V4_7);
}

/// The leases of its read-write lock are ten seconds there, too: it may forget a message that came before it waited.
#[test]
fn redisson_alone_on_a_real_server() {
    contend_alone(V3_17, "read-write");
    contend_alone(V4_7, "read-write");
}
