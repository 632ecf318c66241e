//! Native clients and one version of Redisson on the same keys, all objects at once, in one JVM.

use crate::interop::desk::{self, Referees};
use crate::interop::objects::{OBJECTS, Object};
use crate::interop::records;
use crate::interop::referee::{Referee, Rule, Side, Summary};
use lockwheel::{Config, Server};
use lockwheel_tests::broken::{BrokenServer, Fault};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redisson::{Redisson, Version};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Two members of each side: a wait behind one's own side differs from one behind the other.
const SIDES: [Side; 4] = [Side::Native, Side::Native, Side::Redisson, Side::Redisson];

/// The time without any entry after which all are considered to wait for a missed wake-up. The slowest machine does not
/// reach it.
pub(crate) const STALLED: Duration = Duration::from_secs(60);

/// The shorter time for a server that is known to lose wake-ups.
const STALLED_WHEN_BROKEN: Duration = Duration::from_secs(6);

/// The number of sections of each side in each object. For a rate, the number of permits of both together.
pub(crate) fn sections() -> u64 {
    let wanted = std::env::var("LOCKWHEEL_SECTIONS").ok();
    let wanted: Option<u64> = wanted.map(|text| text.parse().expect("LOCKWHEEL_SECTIONS is a number"));
    // The number is divisible by the number of members.
    wanted.unwrap_or(1_000).next_multiple_of(4)
}

/// Runs the objects that `wanted` chooses with a version of Redisson.
#[track_caller]
#[expect(clippy::print_stderr, reason = "the figures of a run")]
pub(crate) fn contend(version: Version, wanted: impl Fn(&Object) -> bool) {
    let Some(redisson) = prepared(version) else { return };
    let server = recording_server();
    let objects: Vec<&Object> = OBJECTS.iter().filter(|object| wanted(object)).collect();
    let started = Instant::now();
    let referees =
        play(&redisson, &objects, &server, server.port(), STALLED).unwrap_or_else(|why| panic!("{why}"));
    eprintln!("Redisson {version}: all in {:?}", started.elapsed());
    for object in &objects {
        judge(version, object, &referees[object.name].summary());
    }
    records::are_right(&server, &objects);
}

/// The server keeps the history of all sections, with room for the entries of waits.
fn recording_server() -> Server {
    let mut config = Config::default();
    config.lock_history = true;
    config.lock_history_max = usize::try_from(sections()).expect("it fits") * 400;
    Server::builder().config(config).port(0).seed(ours::SEED).start().expect("loopback has a free port")
}

/// If no message reaches Redisson, all members stall, and the test notices.
#[track_caller]
pub(crate) fn notices_a_lost_wake_up(version: Version) {
    let Some(redisson) = prepared(version) else { return };
    let server = ours::server();
    let broken = BrokenServer::start(server.addr(), Fault::LosePublish);
    let plain: Vec<&Object> = OBJECTS.iter().filter(|object| object.name == "plain").collect();
    let why =
        play(&redisson, &plain, &server, broken.port(), STALLED_WHEN_BROKEN).expect_err("a waiter sleeps on");
    assert!(why.contains("plain stands still") && why.contains(r#""mode", "free""#), "{why}");
}

pub(crate) fn prepared(version: Version) -> Option<Redisson> {
    Redisson::prepare(version, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// Lets both sides perform all their turns, Redisson by this port. If all stall for this time, returns a description of
/// all members.
fn play(
    redisson: &Redisson,
    objects: &[&'static Object],
    server: &Server,
    port: u16,
    stalled: Duration,
) -> Result<Referees, String> {
    assert!(!objects.is_empty(), "Redisson {} has none of them", redisson.version());
    let mut client = Client::connect(server.addr());
    objects.iter().filter(|object| !object.setup.is_empty()).for_each(|object| {
        let reply = client.cmd(object.setup);
        assert!(!reply.is_error(), "{:?}: {reply}", object.setup);
    });
    let referees: Referees = objects.iter().map(|object| (object.name, Arc::new(referee(object)))).collect();
    for object in objects {
        SIDES.iter().filter(|side| **side == Side::Native).for_each(|_| {
            let (object, referee, server) = (*object, Arc::clone(&referees[object.name]), server.addr());
            std::thread::spawn(move || object.play(&referee, server));
        });
    }
    let names: Vec<&str> = referees.keys().copied().collect();
    let arguments = [
        format!("port={port}"),
        format!("desk={}", desk::open(referees.clone())),
        format!("objects={}", names.join(",")),
    ];
    let mut command = redisson.command("lockwheel.Contention", &arguments);
    let jvm = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let output = watched(jvm.expect("the JVM starts"), &referees, server, stalled)?;
    if output.status.success() {
        Ok(referees)
    } else {
        Err(format!("Redisson {}: {}", redisson.version(), String::from_utf8_lossy(&output.stderr)))
    }
}

fn referee(object: &Object) -> Referee {
    let of_a_member = sections() / 2;
    match object.rule {
        // The total number of permits.
        Rule::Rate(..) => Referee::new(object.rule, of_a_member / 2, &SIDES),
        // Two turns for each round, one of which sets the latch.
        Rule::Latch(_) => Referee::new(object.rule, 2 * of_a_member, &SIDES),
        _ => Referee::new(object.rule, of_a_member, &SIDES),
    }
}

/// Waits until the JVM and all threads have ended.
fn watched(
    mut jvm: Child,
    referees: &Referees,
    server: &Server,
    stalled: Duration,
) -> Result<Output, String> {
    while jvm.try_wait().expect("a child can be waited for").is_none() {
        if let Some((name, referee)) =
            referees.iter().find(|(_, referee)| referee.idle() > stalled || referee.has_failed())
        {
            jvm.kill().expect("a child can be killed");
            let output = jvm.wait_with_output().expect("a child can be waited for");
            let said = String::from_utf8_lossy(&output.stderr);
            let (seats, told) = (referee.describe(), describe_lock(name, server));
            return Err(format!("{name} stands still:\n{seats}{told}\nRedisson: {said}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Remaining waiters wait for members that ended with the JVM.
    referees.values().for_each(|referee| referee.stop());
    Ok(jvm.wait_with_output().expect("a child can be waited for"))
}

/// The server's knowledge of a lock on which all stall: the holders, the subscribers, and the last events.
fn describe_lock(name: &str, server: &Server) -> String {
    /// Characters of the history.
    const RECENT: usize = 8_000;
    let mut client = Client::connect(server.addr());
    let asked = [&format!("LOCK.INFO {name}"), "PUBSUB CHANNELS"];
    let now = asked.map(|line| client.line(line).to_string()).join("\n");
    let history = client.line(&format!("LOCK.HISTORY KEY {name} FORMAT JSON")).to_string();
    let skipped = history.chars().count().saturating_sub(RECENT);
    let recent: String = history.chars().skip(skipped).collect();
    format!("{now}\n{recent}")
}

/// Requires that both sides have performed all their turns, alternately, and that nobody was inside without the right.
#[track_caller]
#[expect(clippy::print_stderr, reason = "the figures of a run")]
fn judge(version: Version, object: &Object, summary: &Summary) {
    let what = format!("Redisson {version}, {}", object.name);
    eprintln!(
        "{what}: {} native, {} Redisson, {} changes of side, longest wait {:?}, {} overslept",
        summary.native, summary.redisson, summary.changes, summary.longest, summary.overslept
    );
    assert!(
        summary.faults.is_empty(),
        "{what}: {} faults:\n{}",
        summary.faults.len(),
        summary.faults.join("\n")
    );
    assert_eq!(summary.overslept_natively, 0, "{what}: who waits natively misses no wake-up");
    let (turns, rounds) = match object.rule {
        Rule::Rate(..) => (sections() / 2, 0),
        Rule::Latch(_) => (2 * sections(), sections()),
        _ => (sections(), sections() / 2),
    };
    assert_eq!((summary.native, summary.redisson), (turns, turns), "{what}");
    assert!(summary.changes >= rounds, "{what}: each round passes from side to side: {summary:?}");
}
