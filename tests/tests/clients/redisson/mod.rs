//! The real Redisson, in four versions, against a real redis-server and against ours; and the scenarios that detect a
//! broken server.

mod cluster;
mod failover;
mod failovers_by_advance;
mod sentinel;

use lockwheel::Server;
use lockwheel_tests::broken::{BrokenServer, Fault};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::redisson::{Redisson, Run, Version};
use std::path::Path;

const V3_6: Version = Version::new(3, 6, 5);
const V3_17: Version = Version::new(3, 17, 0);
const V3_24: Version = Version::new(3, 24, 3);
const V4_7: Version = Version::new(4, 7, 0);

/// RedLock needs a majority that is not all.
const SERVERS: usize = 3;

/// Milliseconds to wait for an event that never comes on a broken server.
const PATIENCE_WITH_THE_BROKEN: u64 = 4_000;

fn prepared(version: Version) -> Option<Redisson> {
    Redisson::prepare(version, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn real_servers() -> Option<Vec<RealServer>> {
    (0..SERVERS).map(|_| RealServer::start(Kind::Redis, &[])).collect()
}

fn our_servers() -> Vec<Server> {
    (0..SERVERS).map(|_| ours::server()).collect()
}

/// The groups of scenarios for which a version has no classes.
fn absent(version: Version) -> Vec<&'static str> {
    let groups = [
        ("RateLimiter", V3_17),
        ("SpinLock", V3_17),
        ("FencedLock", V3_24),
        ("Stream", V3_17),
        ("Function", V3_24),
        ("LocalCache", V3_17),
        ("NativeMap", V4_7),
        ("ClientSideCaching", V4_7),
    ];
    let mut absent: Vec<_> =
        groups.iter().filter(|(_, since)| version < *since).map(|(name, _)| *name).collect();
    absent.sort_unstable();
    absent
}

/// Every scenario that the version has passes.
#[track_caller]
fn all_pass(version: Version, server: &str, run: &Run<'_>) {
    all_pass_but(&[], version, server, run);
}

/// Requires that every scenario passes, except those that the version may fail on any server.
#[track_caller]
fn all_pass_but(may_fail: &[&str], version: Version, server: &str, run: &Run<'_>) {
    let Some(client) = prepared(version) else { return };
    let report = client.run(run);
    let is_expected = report.failed.keys().all(|name| may_fail.contains(&name.as_str()));
    assert!(is_expected, "Redisson {version} on {server}:\n{}", report.failures());
    assert!(report.absent.iter().eq(absent(version)), "Redisson {version} lacks {:?}", report.absent);
    assert!(!report.ok.is_empty());
}

#[track_caller]
fn passes_on_redis(version: Version, resp3: bool) {
    let Some(servers) = real_servers() else { return };
    let ports: Vec<u16> = servers.iter().map(RealServer::port).collect();
    all_pass(version, "redis-server", &Run { ports: &ports, resp3, ..Run::default() });
}

#[track_caller]
fn passes_on_lockwheel(version: Version, resp3: bool) {
    let servers = our_servers();
    let ports: Vec<u16> = servers.iter().map(Server::port).collect();
    all_pass(version, "Lockwheel", &Run { ports: &ports, resp3, native: true, ..Run::default() });
}

#[test]
fn redisson_3_6_on_redis() {
    passes_on_redis(V3_6, false);
}

#[test]
fn redisson_3_17_on_redis() {
    passes_on_redis(V3_17, false);
}

#[test]
fn redisson_3_24_on_redis() {
    passes_on_redis(V3_24, false);
}

#[test]
fn redisson_4_7_on_redis() {
    passes_on_redis(V4_7, false);
}

#[test]
fn redisson_4_7_in_resp3_on_redis() {
    passes_on_redis(V4_7, true);
}

#[test]
fn redisson_3_6_on_lockwheel() {
    passes_on_lockwheel(V3_6, false);
}

#[test]
fn redisson_3_17_on_lockwheel() {
    passes_on_lockwheel(V3_17, false);
}

#[test]
fn redisson_3_24_on_lockwheel() {
    passes_on_lockwheel(V3_24, false);
}

#[test]
fn redisson_4_7_on_lockwheel() {
    passes_on_lockwheel(V4_7, false);
}

#[test]
fn redisson_4_7_in_resp3_on_lockwheel() {
    passes_on_lockwheel(V4_7, true);
}

/// A master with two replicas in one process: every scenario passes there too, with reads from the replicas.
#[track_caller]
fn passes_with_replicas(version: Version) {
    let topology = ours::builder().replicas(2).start().expect("they start");
    let others: Vec<Server> = (1..SERVERS).map(|_| ours::server()).collect();
    let (master, replicas) = topology.servers().split_first().expect("there is a master");
    let ports: Vec<u16> = [master].into_iter().chain(&others).map(Server::port).collect();
    let replicas: Vec<u16> = replicas.iter().map(Server::port).collect();
    let Some(client) = prepared(version) else { return };
    let run = Run { ports: &ports, replicas: &replicas, native: true, ..Run::default() };
    let report = client.run(&run);
    let failed: Vec<&str> = report.failed.keys().map(String::as_str).collect();
    // The old version sends GEORADIUS, which may write, to replicas, and continues a SCAN at another replica than it
    // began at. A real replica refuses the one, and has its own order for the other.
    let may_fail: &[&str] = if version == V3_6 { &["geo.all", "keys.all"] } else { &[] };
    assert!(failed.iter().all(|name| may_fail.contains(name)), "Redisson {version}:\n{}", report.failures());
    assert!(!report.ok.is_empty());
}

#[test]
fn redisson_3_6_with_replicas() {
    passes_with_replicas(V3_6);
}

#[test]
fn redisson_3_17_with_replicas() {
    passes_with_replicas(V3_17);
}

#[test]
fn redisson_3_24_with_replicas() {
    passes_with_replicas(V3_24);
}

#[test]
fn redisson_4_7_with_replicas() {
    passes_with_replicas(V4_7);
}

/// Waiters for a lease that an advance of the clock ends are woken, and get the lock.
#[track_caller]
fn is_woken_by_an_advance(version: Version) {
    let Some(client) = prepared(version) else { return };
    let server = ours::server();
    let report = client.run(&Run { ports: &[server.port()], clock: true, ..Run::default() });
    assert!(report.failed.is_empty(), "Redisson {version}:\n{}", report.failures());
    assert!(report.ok.contains("clock.advance-wakes"), "{:?}", report.ok);
}

#[test]
fn redisson_3_24_is_woken_by_an_advance() {
    is_woken_by_an_advance(V3_24);
}

#[test]
fn redisson_4_7_is_woken_by_an_advance() {
    is_woken_by_an_advance(V4_7);
}

/// Scenarios that use neither messages nor nil in scripts. They show that everything else works on the broken server.
const UNTOUCHED: [&str; 5] =
    ["bucket.values", "list.all", "scored-sorted-set.all", "queue.order", "blocking-queue.take"];

/// A scenario's name, and a part of its failure.
type Noticed = (&'static str, &'static str);

/// Requires that a version's scenarios that detect a fault fail through it, each in its own way, and that `untouched`
/// pass.
#[track_caller]
fn notices(version: Version, fault: Fault, noticed: &[Noticed], untouched: &[&str]) {
    let Some(client) = prepared(version) else { return };
    let sound = our_servers();
    let broken: Vec<_> = sound.iter().map(|server| BrokenServer::start(server.addr(), fault)).collect();
    let only: Vec<&str> = noticed.iter().map(|(name, _)| *name).chain(untouched.iter().copied()).collect();
    let ports: Vec<u16> = broken.iter().map(BrokenServer::port).collect();
    let patience = Some(PATIENCE_WITH_THE_BROKEN);
    let report = client.run(&Run { ports: &ports, only: &only, patience, native: true, ..Run::default() });
    let what = format!("Redisson {version} with {fault:?}");
    for name in untouched {
        assert!(report.ok.contains(*name), "{what}: {name} is to pass:\n{}", report.failures());
    }
    for (name, reason) in noticed {
        let trace = report.failed.get(*name).map_or("it passed", String::as_str);
        assert!(trace.contains(reason), "{what}: {name} is to fail with {reason:?}:\n{trace}");
    }
    assert!(broken[0].spoilt() > 0, "the fault never struck");
}

/// The scenarios that need a message, and their failures without one.
const NEED_MESSAGES: [Noticed; 13] = [
    ("lock.woken-by-message", "still waiting"),
    ("lock.force-unlock", "still waiting"),
    ("lock.unlock-publishes", "SocketTimeoutException"),
    ("native.release-wakes", "still waiting"),
    ("fair-lock.order", "still waiting"),
    ("fair-lock.gives-up", "still waiting"),
    ("read-write-lock.writer-woken", "still waiting"),
    ("multi-lock.waits", "still waiting"),
    ("semaphore.woken-by-message", "still waiting"),
    ("permit-semaphore.woken-by-message", "still waiting"),
    ("latch.woken-by-message", "still waiting"),
    ("topic.messages", "got null"),
    ("topic.pattern", "got null"),
];

/// A native waiter waits for the key, not for a message.
const NATIVE_WAITS: [&str; 2] = ["native.granted-on-unlock", "native.granted-on-force-unlock"];

/// The scenarios that need nil to be `false` in scripts, in all versions.
const NEED_FALSE: [Noticed; 5] = [
    ("fair-lock.order", "arguments must be strings or integers"),
    ("semaphore.counts", "the count is new"),
    ("permit-semaphore.counts", "the count is new"),
    ("map-cache.all", "string expected, got nil"),
    ("script.values", "<nil nil>"),
];

/// Since 3.24, an unlock first asks whether it was done before: nil must mean that it was not.
const UNLOCK: [&str; 4] = ["lock.layout", "lock.reentry", "lock.excludes", "lock.unlock-publishes"];

#[track_caller]
fn notices_lost_messages(version: Version) {
    let untouched = [&UNTOUCHED[..], &NATIVE_WAITS].concat();
    notices(version, Fault::LosePublish, &NEED_MESSAGES, &untouched);
}

#[track_caller]
fn notices_nil_for_false(version: Version) {
    let unlock_needs_false = version >= V3_24;
    let mut noticed = NEED_FALSE.to_vec();
    let mut untouched = UNTOUCHED.to_vec();
    if unlock_needs_false {
        noticed.extend(UNLOCK.map(|name| (name, "IllegalMonitorStateException: attempt to unlock lock")));
    } else {
        untouched.extend(UNLOCK);
    }
    notices(version, Fault::NilForFalse, &noticed, &untouched);
}

#[test]
fn redisson_3_6_notices_lost_messages() {
    notices_lost_messages(V3_6);
}

#[test]
fn redisson_3_6_notices_nil_for_false() {
    notices_nil_for_false(V3_6);
}

#[test]
fn redisson_3_17_notices_lost_messages() {
    notices_lost_messages(V3_17);
}

#[test]
fn redisson_3_17_notices_nil_for_false() {
    notices_nil_for_false(V3_17);
}

#[test]
fn redisson_3_24_notices_lost_messages() {
    notices_lost_messages(V3_24);
}

#[test]
fn redisson_3_24_notices_nil_for_false() {
    notices_nil_for_false(V3_24);
}

#[test]
fn redisson_4_7_notices_lost_messages() {
    notices_lost_messages(V4_7);
}

#[test]
fn redisson_4_7_notices_nil_for_false() {
    notices_nil_for_false(V4_7);
}
