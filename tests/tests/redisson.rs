//! The real Redisson, four versions of it, against a real redis-server; and which of its scenarios notice that a
//! server is broken.

use lockwheel_tests::broken::{BrokenServer, Fault};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::redisson::{Redisson, Report, Run, Version};
use std::path::Path;

const V3_6: Version = Version::new(3, 6, 5);
const V3_17: Version = Version::new(3, 17, 0);
const V3_24: Version = Version::new(3, 24, 3);
const V4_7: Version = Version::new(4, 7, 0);

/// RedLock needs a majority that is not all.
const SERVERS: usize = 3;

/// Milliseconds to wait for what a broken server never does.
const PATIENCE_WITH_THE_BROKEN: u64 = 4_000;

fn prepared(version: Version) -> Option<Redisson> {
    Redisson::prepare(version, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn real_servers() -> Option<Vec<RealServer>> {
    (0..SERVERS).map(|_| RealServer::start(Kind::Redis, &[])).collect()
}

/// The groups of scenarios that a version has no classes for.
fn absent(version: Version) -> Vec<&'static str> {
    let groups = [("RateLimiter", V3_17), ("SpinLock", V3_17), ("FencedLock", V3_24)];
    let mut absent: Vec<_> =
        groups.iter().filter(|(_, since)| version < *since).map(|(name, _)| *name).collect();
    absent.sort_unstable();
    absent
}

/// Every scenario that the version has passes.
#[track_caller]
fn all_pass(client: &Redisson, server: &str, ports: &[u16]) {
    let report = client.run(&Run { ports, ..Run::default() });
    let version = client.version();
    assert!(report.failed.is_empty(), "Redisson {version} on {server}:\n{}", report.failures());
    assert!(report.absent.iter().eq(absent(version)), "Redisson {version} lacks {:?}", report.absent);
    assert!(!report.ok.is_empty());
}

#[track_caller]
fn passes_on_redis(version: Version) {
    let Some(client) = prepared(version) else { return };
    let Some(servers) = real_servers() else { return };
    all_pass(&client, "redis-server", &servers.iter().map(RealServer::port).collect::<Vec<_>>());
}

#[test]
fn redisson_3_6_on_redis() {
    passes_on_redis(V3_6);
}

#[test]
fn redisson_3_17_on_redis() {
    passes_on_redis(V3_17);
}

#[test]
fn redisson_3_24_on_redis() {
    passes_on_redis(V3_24);
}

#[test]
fn redisson_4_7_on_redis() {
    passes_on_redis(V4_7);
}

/// Scenarios that use neither messages nor nil in scripts: they show that all else works on the broken server.
const UNTOUCHED: [&str; 5] =
    ["bucket.values", "list.all", "scored-sorted-set.all", "queue.order", "blocking-queue.take"];

/// Those that a version's scenarios notice a fault by, each with a part of its failure.
#[track_caller]
fn notices(version: Version, fault: Fault, noticed: &[(&str, &str)]) {
    let Some(client) = prepared(version) else { return };
    let Some(sound) = real_servers() else { return };
    let broken: Vec<_> = sound.iter().map(|server| BrokenServer::start(server.addr(), fault)).collect();
    let only: Vec<&str> = noticed.iter().map(|(name, _)| *name).chain(UNTOUCHED).collect();
    let ports: Vec<u16> = broken.iter().map(BrokenServer::port).collect();
    let report = client.run(&Run { ports: &ports, only: &only, patience: Some(PATIENCE_WITH_THE_BROKEN) });
    check_noticed(&report, &format!("Redisson {version} with {fault:?}"), noticed);
    assert!(broken[0].spoilt() > 0, "the fault never struck");
}

#[track_caller]
fn check_noticed(report: &Report, what: &str, noticed: &[(&str, &str)]) {
    assert!(report.ok.iter().map(String::as_str).eq(sorted(&UNTOUCHED)), "{what}:\n{}", report.failures());
    for (name, reason) in noticed {
        let trace = report.failed.get(*name).map_or("it passed", String::as_str);
        assert!(trace.contains(reason), "{what}: {name} is to fail with {reason:?}:\n{trace}");
    }
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// What needs a message, and what becomes of it without.
const NEED_MESSAGES: [(&str, &str); 12] = [
    ("lock.woken-by-message", "still waiting"),
    ("lock.force-unlock", "still waiting"),
    ("lock.unlock-publishes", "SocketTimeoutException"),
    ("fair-lock.order", "still waiting"),
    ("fair-lock.gives-up", "still waiting"),
    ("read-write-lock.writer-woken", "still waiting"),
    ("multi-lock.waits", "the last part becomes free"),
    ("semaphore.woken-by-message", "still waiting"),
    ("permit-semaphore.woken-by-message", "still waiting"),
    ("latch.woken-by-message", "still waiting"),
    ("topic.messages", "got null"),
    ("topic.pattern", "got null"),
];

#[test]
fn redisson_3_6_notices_lost_messages() {
    notices(V3_6, Fault::LosePublish, &NEED_MESSAGES);
}

#[test]
fn redisson_3_17_notices_lost_messages() {
    notices(V3_17, Fault::LosePublish, &NEED_MESSAGES);
}

#[test]
fn redisson_3_24_notices_lost_messages() {
    notices(V3_24, Fault::LosePublish, &NEED_MESSAGES);
}

#[test]
fn redisson_4_7_notices_lost_messages() {
    notices(V4_7, Fault::LosePublish, &NEED_MESSAGES);
}
