//! Tests of a sentinel with a manual clock and simulated servers.

use super::{InstanceLinkId, Sentinel, SentinelAction, SentinelLine};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, split_words};
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, BTreeSet};

const MASTER: u16 = 7001;
const REPLICA: u16 = 7002;
const OTHER: u16 = 7003;
const PEER: u16 = 7004;
const PEER_ID: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A sentinel, and all simulated servers around it.
struct World {
    sentinel: Sentinel,
    now_ms: i64,
    links: BTreeMap<InstanceLinkId, u16>,
    events: Vec<String>,
    /// The requests sent to each port, without the periodic ones.
    sent: Vec<(u16, String)>,
    /// The ports of servers that do not answer.
    dead: BTreeSet<u16>,
    /// The port of the master of each server. `None`: the server is a master.
    follows: BTreeMap<u16, Option<u16>>,
    /// The answer of the other sentinel about the master, and its vote.
    peer_says: Option<(i64, String)>,
}

fn lines(text: &str) -> Vec<SentinelLine> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, line)| SentinelLine {
            number: at + 1,
            text: line.to_owned(),
            words: split_words(line.as_bytes()).expect("no open quote"),
        })
        .collect()
}

impl World {
    fn new(configuration: &str) -> Self {
        let mut sentinel = Sentinel::new(Rng::new(7), 0);
        sentinel.configure(&lines(configuration)).expect("the lines are right");
        sentinel.set_server(26379, b"");
        let follows = BTreeMap::from([(MASTER, None), (REPLICA, Some(MASTER)), (OTHER, Some(MASTER))]);
        World {
            sentinel,
            now_ms: 0,
            links: BTreeMap::new(),
            events: Vec::new(),
            sent: Vec::new(),
            dead: BTreeSet::new(),
            follows,
            peer_says: None,
        }
    }

    /// Lets time pass in steps of a tick.
    fn pass(&mut self, ms: i64) {
        for _ in 0..ms / 100 {
            self.now_ms += 100;
            self.sentinel.set_time(self.now_ms, 0);
            self.sentinel.tick();
            self.settle();
        }
    }

    fn settle(&mut self) {
        while let Some(effect) = self.sentinel.next_effect() {
            match effect {
                SentinelAction::Connect { link, port, .. } => {
                    self.links.insert(link, port);
                    self.sentinel.opened(link, Some("127.0.0.1"));
                }
                SentinelAction::Send { link, bytes } => self.serve(link, &bytes),
                SentinelAction::Close { link } => drop(self.links.remove(&link)),
                SentinelAction::Event { name, text, .. } => self.events.push(format!("{name} {text}")),
                SentinelAction::Log { .. } => {}
                SentinelAction::Crash => self.events.push("crash".to_owned()),
            }
        }
    }

    fn serve(&mut self, link: InstanceLinkId, bytes: &[u8]) {
        let port = self.links[&link];
        let mut batch = Batch::new();
        RequestParser::new().parse(bytes, &RequestLimits::default(), &mut batch).expect("it is a request");
        let words: Vec<String> =
            batch.arguments(0, bytes).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if !["PING", "INFO", "PUBLISH", "CLIENT"].contains(&words[0]) {
            self.sent.push((port, words.join(" ")));
        }
        if self.dead.contains(&port) {
            return;
        }
        let answer = match *words {
            ["PING"] => "+PONG\r\n".to_owned(),
            ["INFO"] => self.info(port),
            ["PUBLISH", ..] => ":1\r\n".to_owned(),
            ["SUBSCRIBE", ..] => return,
            ["SLAVEOF", "NO", "ONE"] => {
                self.follows.insert(port, None);
                "+QUEUED\r\n".to_owned()
            }
            ["SLAVEOF", _, master] => {
                self.follows.insert(port, Some(master.parse().expect("it is a port")));
                "+QUEUED\r\n".to_owned()
            }
            ["SENTINEL", ..] => match &self.peer_says {
                Some((down, vote)) => {
                    let epoch = words[4];
                    format!("*3\r\n:{down}\r\n${}\r\n{vote}\r\n:{epoch}\r\n", vote.len())
                }
                None => return,
            },
            _ => "+OK\r\n".to_owned(),
        };
        // In two pieces, because replies may arrive in pieces.
        let (first, second) = answer.as_bytes().split_at(answer.len() / 2);
        self.sentinel.received(link, first);
        self.sentinel.received(link, second);
    }

    fn info(&self, port: u16) -> String {
        let role = match self.follows[&port] {
            None => {
                let replicas = self.follows.iter().filter(|(_, of)| **of == Some(port));
                let replicas = replicas
                    .enumerate()
                    .map(|(at, (port, _))| format!("slave{at}:ip=127.0.0.1,port={port},\r\n"));
                format!("role:master\r\n{}", replicas.collect::<String>())
            }
            Some(master) => format!(
                "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:{master}\r\nmaster_link_status:up\r\n\
                 slave_repl_offset:{port}\r\nslave_priority:100\r\n"
            ),
        };
        let text = format!("run_id:{port:040}\r\n{role}");
        format!("${}\r\n{text}\r\n", text.len())
    }

    /// Revives the dead servers, over new connections.
    fn revive(&mut self) {
        let dead = std::mem::take(&mut self.dead);
        for link in self
            .links
            .iter()
            .filter(|(_, port)| dead.contains(port))
            .map(|(link, _)| *link)
            .collect::<Vec<_>>()
        {
            self.sentinel.closed(link, "");
        }
    }

    fn take_events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }
}

fn watching(quorum: u32) -> String {
    format!(
        "myid aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
         monitor m 127.0.0.1 {MASTER} {quorum}
         down-after-milliseconds m 1000
         failover-timeout m 10000"
    )
}

/// The subjects of events about a master and about other servers.
const M: &str = "m 127.0.0.1 7001";

#[test]
fn a_silent_master_is_replaced_by_its_best_replica() {
    let mut world = World::new(&watching(1));
    world.pass(2000);
    let slave = |port: u16| format!("slave 127.0.0.1:{port} 127.0.0.1 {port} @ {M}");
    assert_eq!(
        world.take_events(),
        [format!("+slave {}", slave(REPLICA)), format!("+slave {}", slave(OTHER))]
    );
    world.dead.insert(MASTER);
    world.pass(8000);
    let (best, other) = (slave(OTHER), slave(REPLICA));
    assert_eq!(
        world.take_events(),
        [
            format!("+sdown master {M}"),
            format!("+odown master {M} #quorum 1/1"),
            "+new-epoch 1".to_owned(),
            format!("+try-failover master {M}"),
            "+vote-for-leader aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1".to_owned(),
            format!("+elected-leader master {M}"),
            format!("+failover-state-select-slave master {M}"),
            format!("+selected-slave {best}"),
            format!("+failover-state-send-slaveof-noone {best}"),
            format!("+failover-state-wait-promotion {best}"),
            format!("-role-change {best} new reported role is master"),
            format!("+promoted-slave {best}"),
            format!("+failover-state-reconf-slaves master {M}"),
            format!("+slave-reconf-sent {other}"),
            format!("+slave-reconf-inprog {other}"),
            format!("+slave-reconf-done {other}"),
            format!("+failover-end master {M}"),
            format!("+switch-master m 127.0.0.1 {MASTER} 127.0.0.1 {OTHER}"),
            format!("+slave slave 127.0.0.1:{REPLICA} 127.0.0.1 {REPLICA} @ m 127.0.0.1 {OTHER}"),
            format!("+slave slave 127.0.0.1:{MASTER} 127.0.0.1 {MASTER} @ m 127.0.0.1 {OTHER}"),
            format!("+sdown slave 127.0.0.1:{MASTER} 127.0.0.1 {MASTER} @ m 127.0.0.1 {OTHER}"),
        ]
    );
    let sent: Vec<&str> =
        world.sent.iter().filter(|(port, _)| *port == OTHER).map(|(_, words)| words.as_str()).collect();
    assert_eq!(sent[..4], ["SUBSCRIBE __sentinel__:hello", "MULTI", "SLAVEOF NO ONE", "CONFIG REWRITE"]);
    let id = world.sentinel.find(b"m").expect("it is watched");
    assert_eq!(world.sentinel.address_of(id), Some(("127.0.0.1".to_owned(), OTHER)));
    // The old master comes back, and is told to follow the new one.
    world.dead.clear();
    world.pass(25_000);
    assert_eq!(world.follows[&MASTER], Some(OTHER));
}

#[test]
fn a_failover_needs_the_votes_of_a_majority() {
    let mut world = World::new(&watching(2));
    let hello = format!("127.0.0.1,{PEER},{PEER_ID},0,m,127.0.0.1,{MASTER},0");
    world.sentinel.hear(hello.as_bytes());
    world.pass(2000);
    world.dead.insert(MASTER);
    world.pass(3000);
    let told = world.take_events();
    assert!(told.iter().any(|event| event.starts_with("+sdown master")), "{told:?}");
    assert!(!told.iter().any(|event| event.starts_with("+odown")), "{told:?}");
    // The other sentinel agrees, but votes for itself.
    world.peer_says = Some((1, PEER_ID.to_owned()));
    world.pass(15_000);
    let told = world.take_events();
    assert!(told.contains(&format!("+odown master {M} #quorum 2/2")), "{told:?}");
    assert!(told.contains(&format!("-failover-abort-not-elected master {M}")), "{told:?}");
    assert!(!told.iter().any(|event| event.starts_with("+elected-leader")), "{told:?}");
    // In the next epoch the other sentinel votes for this one.
    world.peer_says = Some((1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned()));
    world.pass(30_000);
    let told = world.take_events();
    assert!(told.iter().any(|event| event.starts_with("+switch-master m 127.0.0.1 7001")), "{told:?}");
}

#[test]
fn one_vote_is_given_in_each_epoch() {
    let mut world = World::new(&watching(2));
    let mut ask = |epoch, who: &str| {
        let verdict = world.sentinel.is_master_down("127.0.0.1", i64::from(MASTER), epoch, who);
        (verdict.is_down, verdict.leader, verdict.leader_epoch)
    };
    assert_eq!(ask(0, "*"), (false, "*".to_owned(), 0));
    assert_eq!(ask(3, "x"), (false, "x".to_owned(), 3));
    assert_eq!(ask(3, "y"), (false, "x".to_owned(), 3));
    assert_eq!(ask(2, "y"), (false, "x".to_owned(), 3));
    assert_eq!(ask(4, "y"), (false, "y".to_owned(), 4));
    assert_eq!(world.sentinel.is_master_down("127.0.0.1", 1, 9, "z").leader, "*");
    world.settle();
    assert_eq!(
        world.events,
        ["+new-epoch 3", "+vote-for-leader x 3", "+new-epoch 4", "+vote-for-leader y 4"]
    );
}

#[test]
fn a_newer_view_of_a_master_is_adopted() {
    let mut world = World::new(&watching(2));
    world.pass(500);
    world.take_events();
    let hello = format!("127.0.0.1,{PEER},{PEER_ID},5,m,127.0.0.1,{REPLICA},5");
    world.sentinel.hear(hello.as_bytes());
    world.settle();
    let peer = format!("{PEER_ID} 127.0.0.1 {PEER} @ {M}");
    assert_eq!(
        world.take_events(),
        [
            format!("+sentinel sentinel {peer}"),
            "+new-epoch 5".to_owned(),
            format!("+config-update-from sentinel {peer}"),
            format!("+switch-master m 127.0.0.1 {MASTER} 127.0.0.1 {REPLICA}"),
            format!("+slave slave 127.0.0.1:{OTHER} 127.0.0.1 {OTHER} @ m 127.0.0.1 {REPLICA}"),
            format!("+slave slave 127.0.0.1:{MASTER} 127.0.0.1 {MASTER} @ m 127.0.0.1 {REPLICA}"),
        ]
    );
}

#[test]
fn an_invalid_hello_changes_nothing() {
    let mut world = World::new(&watching(2));
    for hello in [
        "",
        "a",
        ",,,,,,,",
        "127.0.0.1,1,id,0,nobody,127.0.0.1,1,0",
        "127.0.0.1,x,id,0,m,127.0.0.1,1,0",
        "127.0.0.1,99999,id,0,m,127.0.0.1,1,0",
        "no ip,1,id,0,m,127.0.0.1,1,0",
        "127.0.0.1,1,id,-1,m,127.0.0.1,1,0",
        "127.0.0.1,1,id,99999999999999999999999,m,127.0.0.1,1,0",
        "127.0.0.1,1,id,0,m,127.0.0.1,1,0,more",
    ] {
        world.sentinel.hear(hello.as_bytes());
        world.settle();
        assert_eq!(world.take_events(), Vec::<String>::new(), "{hello}");
    }
    world.sentinel.hear(b"\xff\xfe");
}

#[test]
fn garbage_from_a_server_ends_only_its_connection() {
    let mut world = World::new(&watching(2));
    world.pass(200);
    let links: Vec<InstanceLinkId> = world.links.keys().copied().collect();
    for link in links {
        world.sentinel.received(link, b"?\r\n\r\n:");
        world.sentinel.received(link, &[b'*'; 100]);
        world.settle();
    }
    world.sentinel.closed(99, "no such connection");
    world.sentinel.received(99, b"+PONG\r\n");
    world.pass(3000);
    let id = world.sentinel.find(b"m").expect("it is watched");
    let fields = world.sentinel.describe_master(id);
    assert!(fields.contains(&("flags", "master".to_owned())), "{fields:?}");
}

#[test]
fn a_jump_of_the_real_clock_starts_tilt_mode() {
    let mut world = World::new(&watching(1));
    world.pass(1000);
    world.take_events();
    world.now_ms += 60_000;
    world.dead.insert(MASTER);
    world.pass(20_000);
    assert_eq!(world.take_events(), ["+tilt #tilt mode entered"]);
    world.revive();
    world.pass(12_000);
    assert_eq!(world.take_events(), ["-tilt #tilt mode exited"]);
}

#[test]
fn an_advance_of_the_manual_clock_starts_no_tilt_mode() {
    let mut world = World::new(&watching(1));
    world.pass(1000);
    world.take_events();
    world.dead.insert(MASTER);
    world.pass(600);
    world.sentinel.leap(60_000);
    world.now_ms += 60_000;
    world.pass(100);
    let told = world.take_events();
    assert_eq!(told[0], format!("+sdown master {M}"));
    assert!(!told.iter().any(|event| event.starts_with("+tilt")), "{told:?}");
}

#[test]
fn the_state_of_a_sentinel_is_written_and_read_back() {
    let mut world = World::new(&watching(2));
    let hello = format!("127.0.0.1,{PEER},{PEER_ID},6,m,127.0.0.1,{MASTER},4");
    world.sentinel.hear(hello.as_bytes());
    world.pass(1000);
    let written = |sentinel: &Sentinel| {
        let lines = sentinel.lines().into_iter().filter(|(_, _, must)| *must);
        lines
            .map(|(key, words, _)| format!("{key} {}", String::from_utf8_lossy(&words.join(&b' '))))
            .collect()
    };
    let text: Vec<String> = written(&world.sentinel);
    assert!(text.contains(&format!("known-sentinel m 127.0.0.1 {PEER} {PEER_ID}")), "{text:?}");
    assert!(text.contains(&format!("known-replica m 127.0.0.1 {OTHER}")), "{text:?}");
    let again = World::new(&text.join("\n"));
    assert_eq!(written(&again.sentinel), text);
}

#[test]
fn invalid_lines_get_the_errors_of_redis() {
    for (line, expected) in [
        ("monitor a 127.0.0.1 1 0", "Quorum must be 1 or greater."),
        ("monitor a 127.0.0.1 99999 1", "Invalid port number."),
        ("monitor a no.such.host 1 1", "Can't resolve instance hostname."),
        ("monitor m 127.0.0.1 1 1", "Duplicate master name."),
        ("down-after-milliseconds x 1", "No such master with specified name."),
        ("down-after-milliseconds m 0", "negative or zero time parameter."),
        ("myid short", "Malformed Sentinel id in myid option."),
        ("nonsense", "Unrecognized sentinel configuration statement."),
        ("quorum m 1", "Unrecognized sentinel configuration statement."),
        ("notification-script m /x", "Notification script seems non existing or non executable."),
        ("resolve-hostnames maybe", "Please specify yes or no for the resolve-hostnames option."),
    ] {
        let text = format!("monitor m 127.0.0.1 1 1\n{line}");
        let lines = lines(&text);
        let refused = Sentinel::new(Rng::new(1), 0).configure(&lines).expect_err(line);
        assert_eq!((refused.0.text.as_str(), refused.1.as_str()), (line, expected));
    }
}
