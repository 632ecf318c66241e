//! Redisson alone, in two JVMs of two clients, on a real redis-server: its behaviour there does not depend on our
//! server.

use crate::interop::contention::{STALLED, prepared, sections};
use crate::interop::desk;
use crate::interop::objects::OBJECTS;
use crate::interop::referee::{Referee, Side};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::redisson::Version;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const JVMS: usize = 2;
/// The members of a JVM.
const MEMBERS: usize = 2;

/// Lets the clients contend for one object as they do alongside native clients. Returns the number of waits that only a
/// lease has ended.
#[track_caller]
#[expect(clippy::print_stderr, reason = "the figures of a run")]
pub(crate) fn contend_alone(version: Version, name: &'static str) {
    let Some(redisson) = prepared(version) else { return };
    let Some(server) = RealServer::start(Kind::Redis, &[]) else { return };
    let object = OBJECTS.iter().find(|object| object.name == name).expect("there is such an object");
    let sides = [Side::Redisson; JVMS * MEMBERS];
    let referee = Arc::new(Referee::new(object.rule, sections() / 2, &sides));
    let arguments = [
        format!("port={}", server.port()),
        format!("desk={}", desk::open([(name, Arc::clone(&referee))].into())),
        format!("objects={name}"),
    ];
    let started = Instant::now();
    let jvm = || {
        let mut command = redisson.command("lockwheel.Contention", &arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the JVM starts")
    };
    let mut jvms: Vec<Child> = (0..JVMS).map(|_| jvm()).collect();
    while jvms.iter_mut().any(|jvm| jvm.try_wait().expect("a child can be waited for").is_none()) {
        if referee.idle() > STALLED || referee.has_failed() {
            jvms.iter_mut().for_each(|jvm| jvm.kill().expect("a child can be killed"));
            panic!("{name} stands still:\n{}", referee.describe());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let summary = referee.summary();
    eprintln!(
        "Redisson {version} alone on redis-server, {name}: {} sections in {:?}, longest wait {:?}, {} overslept",
        summary.redisson,
        started.elapsed(),
        summary.longest,
        summary.overslept
    );
    assert!(summary.faults.is_empty(), "{}", summary.faults.join("\n"));
    assert_eq!(summary.redisson, 2 * sections());
}
