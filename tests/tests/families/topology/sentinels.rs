//! Sentinels in one process with their servers: the effects of the manual clock.

use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;

/// A master, two replicas and three sentinels on a manual clock, and a client of each.
pub(crate) fn watched(seed: u64) -> (Topology, Vec<Client>) {
    let builder = ours::builder().time(Time::Manual).seed(seed).lock_history(true);
    let topology = builder.sentinels(3).replicas(2).start().expect("they start");
    let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    (topology, clients)
}

pub(crate) fn text(client: &mut Client, line: &str) -> String {
    client.line(line).to_string()
}

/// The value of a field in a reply of fields and values.
pub(crate) fn field(reply: &Reply, name: &str) -> String {
    let Reply::Array(words) = reply else { panic!("no fields: {reply:?}") };
    let texts: Vec<String> = words
        .iter()
        .map(|word| String::from_utf8_lossy(word.as_bytes().unwrap_or_default()).into_owned())
        .collect();
    let at = texts.iter().step_by(2).position(|field| field == name);
    texts[at.unwrap_or_else(|| panic!("no {name}: {texts:?}")) * 2 + 1].clone()
}

/// The port of the master, according to a sentinel.
pub(crate) fn master_port_of(sentinel: &mut Client) -> u16 {
    let Reply::Array(address) = sentinel.line("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster") else {
        panic!("no address")
    };
    String::from_utf8_lossy(address[1].as_bytes().expect("a port")).parse().expect("a number")
}

#[test]
fn sentinels_know_all_others_when_they_are_ready() {
    let (topology, mut clients) = watched(1);
    let port = topology.servers()[0].port();
    for sentinel in &mut clients[3..6] {
        let master = sentinel.line("SENTINEL MASTER mymaster");
        let fields = ["flags", "num-slaves", "num-other-sentinels", "quorum"];
        assert_eq!(fields.map(|name| field(&master, name)), ["master", "2", "2", "2"]);
        assert_eq!(master_port_of(sentinel), port);
        let Reply::Array(replicas) = sentinel.line("SENTINEL REPLICAS mymaster") else { panic!() };
        for replica in &replicas {
            assert_eq!(field(replica, "flags"), "slave");
            assert_eq!(field(replica, "master-link-status"), "ok");
            assert_eq!(field(replica, "master-port"), port.to_string());
        }
        let Reply::Array(others) = sentinel.line("SENTINEL SENTINELS mymaster") else { panic!() };
        assert!(others.iter().all(|other| field(other, "flags") == "sentinel"), "{others:?}");
        let quorum = text(sentinel, "SENTINEL CKQUORUM mymaster");
        assert_eq!(quorum, "+OK 3 usable Sentinels. Quorum and failover authorization can be reached");
    }
    assert_eq!(topology.sentinels().len(), 3);
    let roles: Vec<&str> = topology.roles().map(|(role, _)| role).collect();
    assert_eq!(roles, ["master", "replica", "replica", "sentinel", "sentinel", "sentinel"]);
}

#[test]
fn advances_cause_no_failover_of_a_healthy_master() {
    let (topology, mut clients) = watched(2);
    clients[5].line("PSUBSCRIBE *");
    clients[0].line("CLOCK.ADVANCE 120000");
    let port = topology.servers()[0].port();
    (3..5).for_each(|sentinel| assert_eq!(master_port_of(&mut clients[sentinel]), port));
    assert_eq!(text(&mut clients[5], "PING"), "[\"pong\", \"\"]");
}

#[test]
fn sentinels_know_the_master_of_a_fault_failover_at_once() {
    let (topology, mut clients) = watched(4);
    let ports: Vec<u16> = topology.servers().iter().map(|server| server.port()).collect();
    clients[3].line("PSUBSCRIBE +switch-master");
    clients[1].line("FAULT.PARTITION NODES 5");
    assert_eq!(text(&mut clients[1], "FAULT.FAILOVER 2"), "+OK");
    let told: Vec<u16> = (4..6).map(|sentinel| master_port_of(&mut clients[sentinel])).collect();
    assert_eq!(told, [ports[2], ports[0]], "one is cut off from the new master");
    let switch = clients[3].read_frame().to_string();
    let expected = format!("mymaster 127.0.0.1 {} 127.0.0.1 {}", ports[0], ports[2]);
    assert!(switch.contains(&expected), "{switch}");
    clients[1].line("FAULT.HEAL");
    clients[1].line("CLOCK.ADVANCE 120000");
    clients[4..6].iter_mut().for_each(|sentinel| assert_eq!(master_port_of(sentinel), ports[2]));
    // The old master's clients were disconnected.
    clients[0] = Client::connect(topology.servers()[0].addr());
    let roles: Vec<String> = (0..3).map(|server| text(&mut clients[server], "ROLE")).collect();
    assert!(
        roles[2].contains("master") && roles[0].contains("slave") && roles[1].contains("slave"),
        "{roles:?}"
    );
}

#[test]
fn a_forced_failover_promotes_a_replica_and_the_others_follow() {
    let (topology, mut clients) = watched(3);
    clients[0].line("SET k v");
    let old = topology.servers()[0].port();
    assert_eq!(text(&mut clients[3], "SENTINEL FAILOVER mymaster"), "+OK");
    clients[5].line("CLOCK.ADVANCE 20000");
    let new = master_port_of(&mut clients[3]);
    assert_ne!(new, old);
    assert!((3..6).all(|sentinel| master_port_of(&mut clients[sentinel]) == new));
    // A sentinel disconnects the clients of servers whose role it changes.
    let mut clients: Vec<Client> =
        topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
    let place = topology.servers().iter().position(|server| server.port() == new).expect("it is one of them");
    assert_eq!(text(&mut clients[place], "SET k w"), "+OK");
    for other in (0..3).filter(|other| *other != place) {
        assert_eq!(text(&mut clients[other], "GET k"), "\"w\"");
        let refused = text(&mut clients[other], "SET k x");
        assert_eq!(refused, "-READONLY You can't write against a read only replica.");
    }
}

#[test]
fn sentinels_keep_what_they_know_in_no_file() {
    let (_topology, mut clients) = watched(4);
    for line in ["SENTINEL FLUSHCONFIG", "SENTINEL SET mymaster down-after-milliseconds 5000"] {
        assert_eq!(text(&mut clients[3], line), "+OK");
    }
    let master = clients[3].line("SENTINEL MASTER mymaster");
    assert_eq!(field(&master, "down-after-milliseconds"), "5000");
}

#[test]
fn sentinels_and_replicas_work_with_a_password() {
    let topology =
        ours::builder().time(Time::Manual).password("secret").sentinels(3).start().expect("they start");
    let mut sentinel = Client::connect(topology.sentinels()[0].addr());
    sentinel.line("AUTH secret");
    let master = sentinel.line("SENTINEL MASTER mymaster");
    assert_eq!(field(&master, "flags"), "master");
    assert_eq!(text(&mut sentinel, "SENTINEL FAILOVER mymaster"), "+OK");
    sentinel.line("CLOCK.ADVANCE 20000");
    assert_eq!(master_port_of(&mut sentinel), topology.servers()[1].port());
    let mut old = Client::connect(topology.servers()[0].addr());
    old.line("AUTH secret");
    assert!(text(&mut old, "INFO replication").contains("master_link_status:up"));
}

/// A sentinel kills the clients of a server that it promotes, including the client whose advance of the clock lets it
/// do so.
#[test]
fn a_client_gets_the_reply_to_its_advance_before_it_is_disconnected() {
    for asks in [0, 1] {
        let builder = ours::builder().time(Time::Manual).seed(3);
        let topology = builder.sentinels(3).replicas(1).start().expect("they start");
        let mut clients: Vec<Client> =
            topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
        // There is so much due after the failover that other clients are served during the advance.
        let script = "for i = 1, 140000 do redis.call('SET', i, '', 'PX', 59000) end return 1";
        assert_eq!(clients[0].cmd(&["EVAL", script, "0"]).to_string(), ":1");
        let fault = ["SENTINEL FAILOVER mymaster", "FAULT.DOWN 0"][asks];
        assert_eq!(text(&mut clients[if asks == 0 { 2 } else { 1 }], fault), "+OK");
        let turned = text(&mut clients[asks], "CLOCK.ADVANCE 60000");
        assert!(turned.contains("fired"), "{turned}");
        assert!(clients[asks].read_to_close().is_empty());
        assert_eq!(master_port_of(&mut clients[2]), topology.servers()[1].port());
    }
}

#[test]
fn a_failover_keeps_the_exempt_client_that_advances_the_clock() {
    let builder = ours::builder().time(Time::Manual).seed(9);
    let topology = builder.sentinels(3).replicas(1).start().expect("they start");
    let replica = topology.servers()[1].addr();
    let [mut turning, mut waiting, mut other] = [(); 3].map(|()| Client::connect(replica));
    for (client, line) in [(&mut turning, "FAULT.EXEMPT ON"), (&mut waiting, "FAULT.EXEMPT ON")] {
        assert_eq!(text(client, line), "+OK");
    }
    assert_eq!(text(&mut turning, "FAULT.DOWN 0"), "+OK");
    waiting.send_line("AWAIT.KEY k EXISTS");
    // An advance with SETTLE waits in between: the failover would disconnect its client before the answer.
    assert!(text(&mut turning, "CLOCK.ADVANCE 60000 SETTLE 1").contains("fired"));
    assert!(other.read_to_close().is_empty());
    assert!(text(&mut turning, "ROLE").contains("master"));
    assert_eq!(text(&mut turning, "SET k v"), "+OK");
    assert_eq!(waiting.read_reply().to_string(), ":1");
    // CLIENT KILL ends it like any other client.
    assert!(text(&mut turning, "CLIENT KILL TYPE normal").starts_with(':'));
    assert!(waiting.read_to_close().is_empty());
}
