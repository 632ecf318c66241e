//! A family of commands on our server and on real ones, tested with written lines. (The differential tests send random
//! ones.)

use crate::check::{Endpoint, Scenario};
use crate::client::{Client, Protocol};
use crate::differences;
use crate::ours;
use crate::pair::Pair;
use crate::redis_server::{Kind, RealServer};

/// Runs the same lines on our server and on those of these real ones that are installed. All servers publish every
/// keyspace event.
#[track_caller]
pub fn same_on(kinds: &[Kind], lines: impl Fn(&mut Scenario<Box<dyn Endpoint>>)) {
    let ours = || Box::new(ours::eventful_server()) as Box<dyn Endpoint>;
    lines(&mut Scenario::new([ours(), ours()]));
    for &kind in kinds {
        let real = || {
            RealServer::start(kind, &["--notify-keyspace-events", "KEA"])
                .map(|server| Box::new(server) as Box<dyn Endpoint>)
        };
        if let Some(mut scenario) = Scenario::start(real) {
            lines(&mut scenario);
        }
    }
}

/// Runs the same lines on our server and on both real ones.
#[track_caller]
pub fn same_everywhere(lines: impl Fn(&mut Scenario<Box<dyn Endpoint>>)) {
    same_on(&[Kind::Redis, Kind::Valkey], lines);
}

/// Sends lines to a real server and to ours, in RESP2 and in RESP3, and requires the same bytes of both. Empty lines
/// and lines that begin with `#` are left out. If the real server is not installed, does nothing and says so.
///
/// # Panics
/// Panics at the first difference.
#[track_caller]
pub fn compare_lines(kind: Kind, lines: &str) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let ours = ours::server();
        let connect = |address| Client::connect_with(address, protocol);
        let mut pair =
            Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), differences::against(kind));
        pair.check("FLUSHALL");
        for line in lines.clone() {
            pair.check(line);
        }
    }
}

/// Waits until this number of clients is blocked, on our servers or on real ones.
#[track_caller]
pub fn await_blocked<S: Endpoint>(scenario: &mut Scenario<S>, count: usize) {
    let wanted = format!("blocked_clients:{count}");
    for client in scenario.on("(looks on)").clients() {
        if !client.line(&format!("AWAIT.BLOCKED {count}")).is_error() {
            continue;
        }
        // A real server is polled until it reports this.
        let told = |client: &mut Client| {
            let info = client.line("INFO clients");
            let text = info.as_bytes().map(String::from_utf8_lossy).unwrap_or_default();
            text.lines().any(|line| line == wanted)
        };
        while !told(client) {
            std::thread::yield_now();
        }
    }
}

/// Requires that the subscriber `listener` receives these events next: `rpush l, lpop l`, each an event and a key.
#[track_caller]
pub fn expect_events<S: Endpoint>(scenario: &mut Scenario<S>, told: &str) {
    for event in told.split(", ") {
        let (name, key) = event.split_once(' ').expect("an event and a key");
        let expected = format!(r#"["pmessage", "__keyevent@0__:*", "__keyevent@0__:{name}", "{key}"]"#);
        scenario.on("listener").expect_push(&expected);
    }
}

/// Subscribes the session `listener` to all events, for [`expect_events`].
#[track_caller]
pub fn listen<S: Endpoint>(scenario: &mut Scenario<S>) {
    scenario.on("listener").run("PSUBSCRIBE __keyevent@0__:*");
}
