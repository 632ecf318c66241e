//! The clients of clusters and of masters with sentinels: they connect, and follow a moving slot and a failover.

use crate::drivers::workshop::Workshop;
use lockwheel_tests::client::Client;
use lockwheel_tests::shapes::{Cluster, Make, Watched, is_full, until};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Keys such that each node of a cluster has some.
const KEYS: usize = 30;

/// A program of `tests/clients` that answers line by line.
struct Program {
    name: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(name: &'static str, mut command: Command) -> Program {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the client starts");
        let input = child.stdin.take().expect("it is a pipe");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Program { name, child, input, output }
    }

    /// Sends a line and returns the program's answer.
    #[track_caller]
    fn says(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        assert!(!answer.is_empty(), "{} has ended at {line}", self.name);
        answer.trim_end().to_owned()
    }

    #[track_caller]
    fn does(&mut self, line: &str, answer: &str) {
        let said = self.says(line);
        assert_eq!(said, answer, "{}: {line}", self.name);
    }

    /// Repeats a line until it works: while servers change their roles, a client may report an error.
    #[track_caller]
    fn does_at_last(&mut self, line: &str, answer: &str) {
        until("it works", || self.says(line) == answer);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_has_ended = self.child.wait();
    }
}

/// All six clients, for servers of this shape at these ports.
fn programs(shape: &str, ports: &[u16]) -> Vec<Program> {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let own: Vec<&str> = [shape].into_iter().chain(ports.iter().map(String::as_str)).collect();
    let named = |name| [&[name][..], &own].concat();
    let mut programs = Vec::new();
    if let Some(workshop) = Workshop::python() {
        programs.push(Program::start("redis-py", workshop.python3("shapes.py", &own)));
    }
    if let Some(workshop) = Workshop::node() {
        for name in ["ioredis", "node-redis"] {
            programs.push(Program::start(name, workshop.node_js("shapes.mjs", &named(name))));
        }
    }
    if let Some(workshop) = Workshop::go() {
        programs.push(Program::start("go-redis", workshop.go_shapes(&own)));
    }
    if let Some(workshop) = Workshop::java() {
        for name in ["jedis", "lettuce"] {
            programs.push(Program::start(name, workshop.java_shapes(&named(name))));
        }
    }
    programs
}

/// The index of the master that has a slot at the start.
fn owner(slot: i64) -> usize {
    match slot {
        0..=5460 => 0,
        5461..=10922 => 1,
        _ => 2,
    }
}

#[track_caller]
fn ok(client: &mut Client, line: &str) {
    assert_eq!(client.line(line).to_string(), "+OK", "{line}");
}

/// A slot moves while the client uses it, key by key: the client asks at its new node, and then stays there.
fn follows_a_slot(program: &mut Program, cluster: &Cluster) {
    let name = program.name;
    let slot = cluster.client(0).line(&format!("CLUSTER KEYSLOT {name}")).as_int().expect("a number");
    let (from, to) = (owner(slot), (owner(slot) + 1) % 3);
    let (mut source, mut target) = (cluster.client(from), cluster.client(to));
    program.does(&format!("set {{{name}}}old stays"), "OK");
    ok(&mut source, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)));
    ok(&mut target, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)));
    program.does(&format!("get {{{name}}}old"), "stays");
    program.does(&format!("set {{{name}}}new asked"), "OK");
    program.does(&format!("get {{{name}}}new"), "asked");
    assert_eq!(target.line(&format!("CLUSTER COUNTKEYSINSLOT {slot}")).to_string(), ":1", "{name}");
    let port = cluster.nodes()[to].port();
    ok(&mut source, &format!("MIGRATE 127.0.0.1 {port} {{{name}}}old 0 60000"));
    program.does(&format!("get {{{name}}}old"), "stays");
    for client in [&mut target, &mut source] {
        ok(client, &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)));
    }
    program.does(&format!("get {{{name}}}old"), "stays");
    program.does(&format!("set {{{name}}}old moved"), "OK");
    assert_eq!(target.line(&format!("GET {{{name}}}old")).as_bytes(), Some(&b"moved"[..]), "{name}");
}

fn follow_slots(make: Make) {
    let Some(cluster) = Cluster::start(make, 1) else { return };
    let mut programs = programs("cluster", &cluster.ports());
    if programs.is_empty() {
        return;
    }
    for program in &mut programs {
        for n in 0..KEYS {
            program.does(&format!("set key:{n} {n}"), "OK");
        }
        for n in 0..KEYS {
            program.does(&format!("get key:{n}"), &n.to_string());
        }
        follows_a_slot(program, &cluster);
    }
    let sizes = (0..3).map(|node| cluster.client(node).line("DBSIZE").as_int().expect("a number"));
    assert!(sizes.clone().all(|size| size > 0), "each node has keys: {:?}", sizes.collect::<Vec<_>>());
    follow_failovers(&cluster, &mut programs);
}

/// Every master hands its slots to its replica: each client finds its earlier writes there, and continues.
fn follow_failovers(cluster: &Cluster, programs: &mut [Program]) {
    for heir in &cluster.nodes()[3..] {
        let is_master = || heir.says("ROLE").contains("\"master\"");
        until("it takes over", || heir.says("CLUSTER FAILOVER") == "OK" || is_master());
        until("it is the master", is_master);
    }
    for program in programs {
        for n in 0..KEYS {
            program.does_at_last(&format!("get key:{n}"), &n.to_string());
            let own = format!("set {}:{n} {n}", program.name);
            program.does_at_last(&own, "OK");
        }
    }
}

#[test]
fn clients_of_clusters_follow_a_slot_and_a_failover() {
    follow_slots(Make::Ours);
}

fn follow_master(make: Make) {
    let Some(watched) = Watched::start(make, 2) else { return };
    let mut programs = programs("sentinel", &watched.sentinel_ports());
    for program in &mut programs {
        program.does("set key before", "OK");
        program.does("get key", "before");
    }
    let sentinel = &watched.sentinels()[0];
    until("it is willing", || sentinel.says("SENTINEL FAILOVER m") == "OK");
    let new = watched.successor(0);
    // Until the old master has heard of the change, it accepts writes that are then lost.
    until("the old one follows", || watched.servers()[0].says("ROLE").contains("\"slave\""));
    for program in &mut programs {
        let name = program.name;
        program.does_at_last(&format!("set {name} after"), "OK");
        program.does_at_last(&format!("get {name}"), "after");
        assert_eq!(watched.servers()[new].says(&format!("GET {name}")), "after", "{name}");
    }
}

#[test]
fn clients_of_sentinels_follow_the_master() {
    follow_master(Make::Ours);
}

#[test]
fn real_shapes() {
    if is_full() {
        follow_slots(Make::Redis);
        follow_master(Make::Redis);
    }
}
