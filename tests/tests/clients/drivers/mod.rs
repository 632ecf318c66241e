//! Real clients and libraries. Each runs one program of `tests/clients` against our server and against redis-server,
//! and prints the replies as it has decoded them. The output must be equal.

mod redis_rs;
mod shapes;
mod workshop;

use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::process::{Command, Stdio};
use workshop::Workshop;

/// The protocol argument of a client: the default, then each protocol explicitly.
const PROTOCOLS: &[&str] = &["0", "2", "3"];

/// The output of a program that must succeed.
fn printed(mut command: Command, what: &str) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the client starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{text}\n{log}", output.status);
    text
}

/// The lines that differ, as two columns.
fn differences(real: &str, ours: &str) -> Vec<String> {
    let (mut real, mut ours) = (real.lines(), ours.lines());
    let mut found = Vec::new();
    loop {
        match (real.next(), ours.next()) {
            (None, None) => return found,
            (real, ours) if real != ours => found.push(format!(
                "redis-server: {}\n   lockwheel: {}",
                real.unwrap_or("(nothing)"),
                ours.unwrap_or("(nothing)")
            )),
            _ => {}
        }
    }
}

/// Runs the program that `command` returns for a port and a protocol, against both servers, once for each protocol.
#[track_caller]
fn same_on_both(name: &str, protocols: &[&str], command: impl Fn(&str, &str) -> Command) {
    for protocol in protocols {
        let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
        // The server has one thread, its own default and Redis' too: clients publish before their subscription is
        // confirmed.
        let ours = ours::builder().threads(1).start().expect("loopback has a free port");
        let ask = |port: u16, server: &str| {
            printed(
                command(&port.to_string(), protocol),
                &format!("{name}, protocol {protocol}, on {server}"),
            )
        };
        let real = ask(real.port(), "redis-server");
        let found = differences(&real, &ask(ours.port(), "lockwheel"));
        assert!(found.is_empty(), "{name}, protocol {protocol}:\n{}", found.join("\n"));
        assert!(real.lines().count() > 5, "{name} says too little:\n{real}");
    }
}

#[test]
fn redis_py() {
    let Some(workshop) = Workshop::python() else { return };
    same_on_both("redis-py", PROTOCOLS, |port, protocol| workshop.python3("redis_py.py", &[port, protocol]));
}

#[test]
fn celery_and_kombu() {
    let Some(workshop) = Workshop::python() else { return };
    same_on_both("Celery", &["0"], |port, _| workshop.python3("celery_app.py", &[port]));
}

#[test]
fn requests_of_sidekiq() {
    let Some(workshop) = Workshop::python() else { return };
    same_on_both("Sidekiq", &["2", "3"], |port, protocol| {
        workshop.python3("sidekiq_ways.py", &[port, protocol])
    });
}

#[test]
fn ioredis() {
    let Some(workshop) = Workshop::node() else { return };
    same_on_both("ioredis", PROTOCOLS, |port, protocol| workshop.node_js("ioredis.mjs", &[port, protocol]));
}

#[test]
fn node_redis() {
    let Some(workshop) = Workshop::node() else { return };
    same_on_both("node-redis", PROTOCOLS, |port, protocol| {
        workshop.node_js("node_redis.mjs", &[port, protocol])
    });
}

#[test]
fn bull_mq() {
    let Some(workshop) = Workshop::node() else { return };
    same_on_both("BullMQ", &["0"], |port, _| workshop.node_js("bullmq.mjs", &[port]));
}

#[test]
fn go_redis() {
    let Some(workshop) = Workshop::go() else { return };
    same_on_both("go-redis", PROTOCOLS, |port, protocol| workshop.go_program(&[port, protocol]));
}

#[test]
fn jedis() {
    let Some(workshop) = Workshop::java() else { return };
    same_on_both("Jedis", PROTOCOLS, |port, protocol| workshop.java_class(&["jedis", port, protocol]));
}

#[test]
fn lettuce() {
    let Some(workshop) = Workshop::java() else { return };
    same_on_both("Lettuce", PROTOCOLS, |port, protocol| workshop.java_class(&["lettuce", port, protocol]));
}

#[test]
fn caches_of_redis_py() {
    let Some(workshop) = Workshop::python() else { return };
    same_on_both("redis-py's cache", &["3"], |port, _| workshop.python3("tracking.py", &[port]));
}

#[test]
fn caches_of_node_redis_and_redirection_of_ioredis() {
    let Some(workshop) = Workshop::node() else { return };
    same_on_both("node-redis' cache", &["3"], |port, _| workshop.node_js("tracking.mjs", &[port]));
}

#[test]
fn a_difference_between_servers_is_reported() {
    assert_eq!(differences("1 a\n2 b\n", "1 a\n2 b\n"), Vec::<String>::new());
    assert_eq!(differences("1 a\n2 b\n", "1 a\n2 c\n").len(), 1);
    assert_eq!(differences("1 a\n", "1 a\n2 c\n").len(), 1);
}
