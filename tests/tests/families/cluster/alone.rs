//! A node that knows no other one, compared with redis-server's: the replies to an administrator.

use crate::cluster::nodes::{fresh_directory, node_config, start_node};
use lockwheel_tests::client::{Client, split};
use lockwheel_tests::redis_server::{Kind, RealServer, free_port};
use lockwheel_tests::reply::Reply;

const OTHER: &str = "dddddddddddddddddddddddddddddddddddddddd";

const LINES: &str = r#"
    GET a
    CLUSTER
    CLUSTER FOO
    CLUSTER MYID x
    CLUSTER KEYSLOT foo
    CLUSTER KEYSLOT {foo}bar
    CLUSTER KEYSLOT
    CLUSTER COUNTKEYSINSLOT 0
    CLUSTER COUNTKEYSINSLOT 16384
    CLUSTER COUNTKEYSINSLOT -1
    CLUSTER COUNTKEYSINSLOT x
    CLUSTER COUNTKEYSINSLOT 9223372036854775808
    CLUSTER GETKEYSINSLOT 0 10
    CLUSTER GETKEYSINSLOT 0 -1
    CLUSTER GETKEYSINSLOT 16384 1
    CLUSTER GETKEYSINSLOT x 1
    CLUSTER GETKEYSINSLOT 0 x
    CLUSTER ADDSLOTS
    CLUSTER ADDSLOTS x
    CLUSTER ADDSLOTS 16384
    CLUSTER ADDSLOTS -1
    CLUSTER ADDSLOTS 1 1
    CLUSTER ADDSLOTS 1 2 5
    CLUSTER ADDSLOTS 3 2
    CLUSTER ADDSLOTS 3 x
    CLUSTER DELSLOTS 3
    CLUSTER DELSLOTS 1 1
    CLUSTER DELSLOTS 1
    CLUSTER DELSLOTS x
    CLUSTER ADDSLOTSRANGE 1
    CLUSTER ADDSLOTSRANGE 1 2 3
    CLUSTER ADDSLOTSRANGE 9 8
    CLUSTER ADDSLOTSRANGE 10 20 15 30
    CLUSTER ADDSLOTSRANGE 0 2
    CLUSTER ADDSLOTSRANGE 10 20 22 30
    CLUSTER ADDSLOTSRANGE 0 16384
    CLUSTER DELSLOTSRANGE 10 12 11 13
    CLUSTER DELSLOTSRANGE 20 22
    CLUSTER DELSLOTSRANGE 10 12 14 15
    CLUSTER DELSLOTSRANGE 1
    CLUSTER SLOTS
    CLUSTER INFO
    CLUSTER NODES
    CLUSTER SETSLOT 5 FOO
    CLUSTER SETSLOT 5
    CLUSTER SETSLOT x STABLE
    CLUSTER SETSLOT 5 STABLE
    CLUSTER SETSLOT 5 STABLE x
    CLUSTER SETSLOT 5 NODE
    CLUSTER SETSLOT 5 NODE @
    CLUSTER SETSLOT 5 NODE nobody
    CLUSTER SETSLOT 7 NODE ME
    CLUSTER SETSLOT 5 MIGRATING @
    CLUSTER SETSLOT 9 MIGRATING @
    CLUSTER SETSLOT 5 MIGRATING ME
    CLUSTER SETSLOT 5 IMPORTING @
    CLUSTER SETSLOT 9 IMPORTING @
    CLUSTER SETSLOT 9 IMPORTING ME
    CLUSTER NODES
    CLUSTER SETSLOT 9 NODE ME
    CLUSTER SETSLOT 5 STABLE
    CLUSTER NODES
    CLUSTER BUMPEPOCH
    CLUSTER BUMPEPOCH
    CLUSTER SET-CONFIG-EPOCH 5
    CLUSTER SET-CONFIG-EPOCH -1
    CLUSTER SET-CONFIG-EPOCH x
    CLUSTER INFO
    CLUSTER FORGET ME
    CLUSTER FORGET @
    CLUSTER FORGET short
    CLUSTER REPLICATE ME
    CLUSTER REPLICATE @
    CLUSTER REPLICAS ME
    CLUSTER SLAVES ME
    CLUSTER REPLICAS @
    CLUSTER COUNT-FAILURE-REPORTS ME
    CLUSTER COUNT-FAILURE-REPORTS @
    CLUSTER FAILOVER
    CLUSTER FAILOVER FORCE
    CLUSTER FAILOVER NOW
    CLUSTER FAILOVER FORCE TAKEOVER
    CLUSTER MEET 127.0.0.1
    CLUSTER MEET 127.0.0.1 x
    CLUSTER MEET 127.0.0.1 7000 x
    CLUSTER MEET 127.0.0.1 0
    CLUSTER MEET 127.0.0.1 60000
    CLUSTER MEET 127.0.0.1 99999 1
    CLUSTER MEET 127.0.0.1 -1
    CLUSTER MEET localhost 7000
    CLUSTER MEET 127.0.0.1 7000 1 2
    CLUSTER RESET NOW
    CLUSTER RESET HARD SOFT
    CLUSTER SAVECONFIG
    CLUSTER SAVECONFIG x
    CLUSTER LINKS
    CLUSTER FLUSHSLOTS
    CLUSTER FLUSHSLOTS x
    CLUSTER SLOTS
    CLUSTER SHARDS
    CLUSTER RESET
    CLUSTER NODES
    CLUSTER INFO
    CLUSTER ADDSLOTSRANGE 0 16383
    CLUSTER SHARDS
"#;

/// The time at which the node serves requests.
const SERVING: &str = r#"
    CLUSTER INFO
    SET foo bar
    SET {foo}2 bar
    CLUSTER COUNTKEYSINSLOT 12182
    CLUSTER GETKEYSINSLOT 12182 1000
    CLUSTER GETKEYSINSLOT 12182 0
    CLUSTER RESET
    CLUSTER FLUSHSLOTS
    CLUSTER DELSLOTS 0
    DEL {foo}2
    RENAME foo {foo}3
    CLUSTER GETKEYSINSLOT 12182 9
    EXPIRE {foo}3 -1
    CLUSTER COUNTKEYSINSLOT 12182
    SET foo bar
    FLUSHALL
    CLUSTER COUNTKEYSINSLOT 12182
    HELLO
    READONLY
    READWRITE
    ASKING
    CLUSTER RESET HARD
    CLUSTER INFO
"#;

/// The values that may differ: the node's name, its ports, and facts found out a moment later.
fn neutral(reply: &Reply, id: &str, port: u16, bus: u16) -> String {
    let text = format!("{reply:?}").replace(id, "ME");
    let text = text.replace(&port.to_string(), "PORT").replace(&bus.to_string(), "BUS");
    let fields = ["cluster_stats_messages", "cluster_state", "cluster_size"];
    let parts = text.split("\\r\\n").filter(|part| !fields.iter().any(|field| part.contains(field)));
    parts.collect::<Vec<_>>().join("\\r\\n")
}

#[test]
fn an_administrator_is_answered_as_by_redis() {
    let bus = free_port();
    let options = ["--cluster-enabled", "yes", "--cluster-port", &bus.to_string()];
    let Some(real) = RealServer::start(Kind::Redis, &options) else { return };
    let directory = fresh_directory();
    let mut config = node_config(0, &directory);
    config.cluster.port = bus;
    let server = start_node(config, "").expect("any port will do");
    let mut clients = [(real.addr(), real.port()), (server.addr(), server.port())]
        .map(|(address, port)| (Client::connect(address), port));
    let ids = clients.each_mut().map(|(client, _)| match client.line("CLUSTER MYID") {
        Reply::Bulk(id) => String::from_utf8(id).expect("it is text"),
        other => panic!("{other:?}"),
    });
    let mut compare = |line: &str| {
        let line = line.replace('@', OTHER);
        let answers: Vec<String> = clients
            .iter_mut()
            .zip(&ids)
            .map(|((client, port), id)| {
                neutral(
                    &client.cmd(&split(&line.replace("ME", id).replace(&format!("{id}ET"), "MEET"))),
                    id,
                    *port,
                    bus,
                )
            })
            .collect();
        (line, answers)
    };
    let mut differences = Vec::new();
    let mut all = |lines: &str| {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (line, answers) = compare(line);
            let is_list = line.starts_with("CLUSTER GETKEYSINSLOT");
            let words = |answer: &str| {
                let mut words: Vec<String> = answer.split([' ', ',', '[', ']']).map(str::to_owned).collect();
                words.sort();
                words
            };
            let same = match is_list {
                // The order of keys is not promised.
                true => words(&answers[0]) == words(&answers[1]),
                false => answers[0] == answers[1],
            };
            if !same && !line.starts_with("HELLO") {
                differences.push(format!("{line}\n real: {}\n ours: {}", answers[0], answers[1]));
            }
        }
    };
    all(LINES);
    crate::cluster::nodes::until_ok(&mut Client::connect(real.addr()));
    all(SERVING);
    let _ = std::fs::remove_dir_all(directory);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
