//! A failover while Redisson's objects are in use: holders continue to hold, waiters are served, subscribers receive
//! messages.

use crate::redisson::{V3_6, V3_17, V3_24, V4_7, prepared};
use lockwheel_tests::redisson::{Report, Run, Version};
use lockwheel_tests::shapes::{Cluster, Make, Process, Replicated, Watched, is_full, until};

/// Replicas of the master.
const REPLICAS: usize = 2;

/// The fate of the master.
#[derive(Clone, Copy, Debug)]
enum How {
    /// The master is alive, and a replica takes its place: a sentinel or that replica is asked to fail over.
    Asked,
    /// The master is killed, and found to be down.
    Killed,
}

/// Waits until the watchdog has extended the lock's lease, if there is that lock. The next renewal is then some seconds
/// away. If a replica refuses a renewal before the client has found the new master, 3.24.3 and older renew no more.
fn until_renewed(master: &Process) {
    let left = || master.client().line("PTTL failover.watchdog").as_int();
    let mut last = left();
    until("it is renewed", || {
        let before = std::mem::replace(&mut last, left());
        before < last || last < Some(0)
    });
}

fn fail_over(watched: &mut Watched, how: How) {
    until_renewed(watched.server(0));
    watched.settle();
    match how {
        How::Asked => {
            let sentinel = &watched.sentinels()[0];
            until("it is willing", || sentinel.says("SENTINEL FAILOVER m") == "OK");
        }
        How::Killed => watched.server(0).kill(),
    }
    watched.successor(0);
}

/// Failures that older versions may have, on real servers too. A subscription or a blocked request may not come back,
/// and an unlock may be sent again because its answer was lost. Locks, whose waiters ask again, are never among them.
const MISSED_BEFORE_3_24: &[&str] = &[
    "failover.latch",
    "failover.permits",
    "failover.queues",
    "failover.semaphore",
    "failover.spin",
    "failover.topics",
];

/// Scenarios that no version may fail, so that they must have passed; with fenced locks, if the version has them.
const LOCKS: &[&str] =
    &["failover.multi", "failover.plain", "failover.read", "failover.watchdog", "failover.write"];

/// Whether a scenario may fail with this text.
///
/// Every version may lose a subscription when its connections are closed while servers change their roles. With 4.7.0
/// on redis-server 7.0.15, a semaphore's waiter and a topic's listener remained that no server knew. A subscription
/// that a server does have must be served.
fn may_fail(version: Version, scenario: &str, text: &str) -> bool {
    let listens = |to: &str| text.contains(&format!("listen to {to}"));
    let has_lost_it = match scenario {
        "failover.topics" => !(listens("failover.topics") && listens("patterns")),
        // Patterns belong to another scenario.
        "failover.latch" | "failover.permits" | "failover.semaphore" => !listens("redisson_"),
        _ => false,
    };
    // Without the evidence of the servers nothing is known.
    (has_lost_it && text.contains("[master,"))
        || (version < V3_24 && MISSED_BEFORE_3_24.contains(&scenario))
        || is_of_the_client(version, scenario, text)
}

/// Whether a failure is the client's own, by its own text.
///
/// A request on a connection that its server has closed is not sent again: the client waits for the answer until its
/// timeout. Locks do not suffer, because waiters ask again. But the script of a fair lock computes a waiter's remaining
/// time by the client's clock. At the end of a lease, that can be negative. The client then waits without limit, and
/// only a message wakes it. Since some version between 3.24.3 and 4.7.0, the script returns nothing below 0.
fn is_of_the_client(version: Version, scenario: &str, text: &str) -> bool {
    let is_a_lock = !MISSED_BEFORE_3_24.contains(&scenario);
    // A closed channel is written with an exclamation mark between its two addresses.
    let was_closed = text.contains("RedisResponseTimeoutException") && text.contains(" ! R:");
    let has_no_limit = scenario == "failover.fair" && text.contains("Semaphore.acquireUninterruptibly");
    (was_closed && !is_a_lock) || (version < V4_7 && has_no_limit)
}

/// Replicas of all masters take over, or only that of the first master, which is killed.
fn cluster_fails_over(cluster: &mut Cluster, how: How) {
    let masters = match how {
        How::Asked => 0..3,
        How::Killed => {
            let mut client = cluster.client(0);
            assert_eq!(client.line("SET {bar}settled 1").to_string(), "+OK");
            assert_eq!(client.line("WAIT 1 0").to_string(), ":1");
            cluster.node(0).kill();
            0..1
        }
    };
    for master in masters {
        let heir = &cluster.nodes()[3 + master];
        let is_master = || heir.says("ROLE").contains("\"master\"");
        if let How::Asked = how {
            until("it takes over", || heir.says("CLUSTER FAILOVER") == "OK" || is_master());
        }
        until("it is the master", is_master);
    }
}

/// Returns the results of Redisson's scenarios in a cluster that fails over. Returns `None` if a program is missing.
fn through_a_cluster(version: Version, make: Make, how: How) -> Option<Report> {
    let client = prepared(version)?;
    let mut cluster = Cluster::start(make, 1)?;
    let nodes = cluster.ports();
    let run = Run { ports: &nodes[..1], nodes: &nodes, ..Run::default() };
    Some(client.run_through(&run, || cluster_fails_over(&mut cluster, how)))
}

/// Returns the results of the scenarios with sentinels that name another master.
fn through_sentinels(version: Version, make: Make, how: How) -> Option<Report> {
    let client = prepared(version)?;
    let mut watched = Watched::start(make, REPLICAS)?;
    let (ports, sentinels) = ([watched.servers()[0].port()], watched.sentinel_ports());
    let run = Run { ports: &ports, sentinels: &sentinels, ..Run::default() };
    Some(client.run_through(&run, || fail_over(&mut watched, how)))
}

/// Promotes a replica as an operator does.
fn promote(replicated: &mut Replicated, how: How) {
    until_renewed(replicated.server(0));
    replicated.settle(0);
    if let How::Killed = how {
        replicated.server(0).kill();
    }
    replicated.promote(1);
}

/// Returns the results of the scenarios with clients that ask each server whether it is the master. A client of 3.17.0
/// that uses no replica soon stops asking.
fn through_a_promotion(version: Version, make: Make, how: How) -> Option<Report> {
    let client = prepared(version)?;
    let mut replicated = Replicated::start(make, REPLICAS)?;
    let ports = replicated.ports();
    let listens_to_replicas = version == V3_17;
    let run = Run { ports: &ports[..1], replicated: &ports, listens_to_replicas, ..Run::default() };
    Some(client.run_through(&run, || promote(&mut replicated, how)))
}

/// Requires that the only failures are those that the version may have.
#[track_caller]
fn survived(version: Version, report: Option<Report>, what: &str) {
    let Some(report) = report else { return };
    let is_expected = report.failed.iter().all(|(name, text)| may_fail(version, name, text));
    assert!(is_expected, "Redisson {version}, {what}:\n{}", report.failures());
    let fenced = (version >= V3_24).then_some("failover.fenced");
    let lacking: Vec<&str> =
        LOCKS.iter().copied().chain(fenced).filter(|name| !report.ok.contains(*name)).collect();
    assert!(lacking.is_empty(), "Redisson {version}, {what}, has not passed {lacking:?}: {:?}", report.ok);
}

#[test]
fn redisson_4_7_survives_a_failover_of_a_cluster() {
    survived(V4_7, through_a_cluster(V4_7, Make::Ours, How::Asked), "a cluster");
}

#[test]
fn redisson_3_24_survives_a_killed_master() {
    survived(V3_24, through_sentinels(V3_24, Make::Ours, How::Killed), "sentinels");
}

#[test]
fn redisson_4_7_survives_a_failover() {
    survived(V4_7, through_sentinels(V4_7, Make::Ours, How::Asked), "sentinels");
}

#[test]
fn redisson_3_6_survives_a_promotion() {
    survived(V3_6, through_a_promotion(V3_6, Make::Ours, How::Asked), "replicated servers");
}

#[test]
fn redisson_4_7_survives_a_promotion() {
    survived(V4_7, through_a_promotion(V4_7, Make::Ours, How::Asked), "replicated servers");
}

/// Both shapes of these servers. Their masters are asked to give up, and are killed.
#[track_caller]
fn survives_everywhere(version: Version, make: Make) {
    if !is_full() {
        return;
    }
    for how in [How::Asked, How::Killed] {
        let reports = [
            ("sentinels", through_sentinels(version, make, how)),
            ("a cluster", through_a_cluster(version, make, how)),
        ];
        for (shape, report) in reports {
            survived(version, report, &format!("{shape}, {make:?}, {how:?}"));
        }
    }
}

#[test]
fn real_shapes_failover_of_lockwheel_with_redisson_3_6() {
    survives_everywhere(V3_6, Make::Ours);
}

#[test]
fn real_shapes_failover_of_lockwheel_with_redisson_3_17() {
    survives_everywhere(V3_17, Make::Ours);
}

#[test]
fn real_shapes_failover_of_lockwheel_with_redisson_3_24() {
    survives_everywhere(V3_24, Make::Ours);
}

#[test]
fn real_shapes_failover_of_lockwheel_with_redisson_4_7() {
    survives_everywhere(V4_7, Make::Ours);
}

#[test]
fn real_shapes_failover_of_redis_with_redisson_3_6() {
    survives_everywhere(V3_6, Make::Redis);
}

#[test]
fn real_shapes_failover_of_redis_with_redisson_3_17() {
    survives_everywhere(V3_17, Make::Redis);
}

#[test]
fn real_shapes_failover_of_redis_with_redisson_3_24() {
    survives_everywhere(V3_24, Make::Redis);
}

#[test]
fn real_shapes_failover_of_redis_with_redisson_4_7() {
    survives_everywhere(V4_7, Make::Redis);
}

/// Servers of both kinds that report their roles themselves.
#[track_caller]
fn survives_promotions(version: Version) {
    if !is_full() {
        return;
    }
    for make in [Make::Ours, Make::Redis] {
        for how in [How::Asked, How::Killed] {
            let report = through_a_promotion(version, make, how);
            survived(version, report, &format!("replicated servers, {make:?}, {how:?}"));
        }
    }
}

#[test]
fn real_shapes_promotions_with_redisson_3_6() {
    survives_promotions(V3_6);
}

#[test]
fn real_shapes_promotions_with_redisson_3_17() {
    survives_promotions(V3_17);
}

#[test]
fn real_shapes_promotions_with_redisson_3_24() {
    survives_promotions(V3_24);
}

#[test]
fn real_shapes_promotions_with_redisson_4_7() {
    survives_promotions(V4_7);
}
