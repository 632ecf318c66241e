//! The replies of CLUSTER, compared with redis-server field by field.

use crate::cluster::nodes::Both;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::shapes::{Cluster, Make, until};

/// The lines of a text in order, without the traces of the bus between real nodes.
fn lines(text: &str) -> Vec<String> {
    let text =
        text.trim_start_matches("=txt:").trim_matches('"').replace("\\r\\n", "\n").replace("\\n", "\n");
    let told = |line: &&str| !line.is_empty() && !line.starts_with("cluster_stats_messages");
    let mut lines: Vec<String> = text.lines().filter(told).map(without_times).collect();
    lines.sort();
    lines
}

/// A line of a node without the times of its last sign of life, and without the port for nodes.
fn without_times(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if words.len() >= 8 {
        (words[4], words[5]) = ("0", "0");
        words[1] = words[1].split('@').next().unwrap_or_default();
    }
    words.join(" ")
}

#[test]
fn nodes_and_info_have_the_lines_of_redis() {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let Some(mut both) = Both::start(protocol) else { return };
        for node in 0..3 {
            for line in ["CLUSTER NODES", "CLUSTER INFO"] {
                let words = lockwheel_tests::client::split(line);
                let [real, ours] = both.answers(node, &words);
                assert_eq!(lines(&real), lines(&ours), "{line}");
            }
            for line in ["CLUSTER MYID", "CLUSTER SLOTS", "CLUSTER REPLICAS @", "INFO cluster"] {
                let line = line.replace('@', &both.ids[1].clone());
                both.same(node, &line);
            }
            // The order of shards is that of a randomly seeded hash table.
            let words = lockwheel_tests::client::split("CLUSTER SHARDS");
            let parts = |answer: &str| {
                let mut parts: Vec<String> = answer
                    .split("slots")
                    .map(|part| {
                        part.trim_end_matches(['[', ']', '{', '}', '"', ',', ' ', '(', ')']).to_owned()
                    })
                    .collect();
                parts.sort();
                parts
            };
            let [real, ours] = both.answers(node, &words);
            assert_eq!(parts(&real), parts(&ours), "CLUSTER SHARDS");
        }
    }
}

#[test]
fn preferred_endpoints_and_host_names_are_shown_as_by_redis() {
    let Some(mut both) = Both::start(Protocol::Resp3) else { return };
    both.same(0, "CONFIG SET cluster-announce-hostname here.example");
    for preferred in ["hostname", "unknown-endpoint", "ip"] {
        both.same(0, &format!("CONFIG SET cluster-preferred-endpoint-type {preferred}"));
        both.same(0, "CLUSTER SLOTS");
        both.same(0, "GET foo");
    }
}

/// The answer of a node, part by part in order, with names for the ports and without the values that vary between runs.
fn parts(cluster: &Cluster, node: usize, protocol: Protocol, line: &str) -> Vec<String> {
    let mut client = Client::connect_with(cluster.nodes()[node].addr(), protocol);
    let mut text = String::new();
    until("nothing is still to be written to a link", || {
        text = client.line(line).to_string();
        !text.contains("\"rw\"")
    });
    // The times are hidden before the ports are named: a time may have a port's digits.
    for name in ["\"replication-offset\"", "\"create-time\"", "\"send-buffer-allocated\""] {
        text = without_value(&text, name);
    }
    for (at, port) in cluster.ports().iter().enumerate() {
        text = text.replace(&(port + 10_000).to_string(), &format!("BUS{at}"));
        text = text.replace(&port.to_string(), &format!("PORT{at}"));
    }
    if ["CLUSTER NODES", "CLUSTER INFO"].contains(&line) {
        return lines(&text);
    }
    // The order of shards and links is that of a randomly seeded hash table.
    let starts = text.replace("\"slots\"", "\n\"slots\"").replace("\"direction\"", "\n\"direction\"");
    let mut parts: Vec<String> = starts.lines().map(|part| part.trim_matches(END).to_owned()).collect();
    if line.contains("REPLICAS") {
        parts = parts.iter().map(|part| without_times(part)).collect();
    }
    parts.sort();
    parts
}

/// The characters that separate two parts.
const END: [char; 6] = ['[', ']', '{', '}', ',', ' '];

/// A reply without the numbers that follow a name.
fn without_value(text: &str, name: &str) -> String {
    let mut pieces = text.split(name);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let digits = piece.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let rest = piece[digits..].trim_start_matches(|c: char| c.is_ascii_digit());
        text + name + &piece[..digits] + "N" + rest
    })
}

/// Starts three masters with a replica each. Returns once all nodes know that all others are healthy.
fn with_replicas(make: Make) -> Option<Cluster> {
    let cluster = Cluster::start(make, 1)?;
    // A replica to which nothing was written yet does not report its offset.
    for (master, key) in ["b", "c", "a"].iter().enumerate() {
        assert_eq!(cluster.client(master).line(&format!("SET {key} v")).to_string(), "+OK");
    }
    until("all have heard that the replicas follow", || {
        let nodes = cluster.nodes();
        nodes.iter().all(|node| {
            let shards = node.says("CLUSTER SHARDS");
            let connected = !node.says("CLUSTER NODES").contains("disconnected");
            connected && shards.matches("online").count() == nodes.len()
        })
    });
    Some(cluster)
}

#[test]
fn replies_of_masters_with_replicas_equal_those_of_redis() {
    let Some(real) = with_replicas(Make::Redis) else { return };
    let ours = with_replicas(Make::Ours).expect("ours are always there");
    let of = |line: &str, node: usize| line.replace('@', &real.id(node));
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        for node in [0, 3, 5] {
            for line in [
                "CLUSTER NODES",
                "CLUSTER SLOTS",
                "CLUSTER SHARDS",
                "CLUSTER LINKS",
                "CLUSTER INFO",
                "CLUSTER MYID",
                &of("CLUSTER REPLICAS @", 0),
                &of("CLUSTER REPLICAS @", 3),
                &of("CLUSTER COUNT-FAILURE-REPORTS @", 3),
            ] {
                let [redis, ours] = [&real, &ours].map(|cluster| parts(cluster, node, protocol, line));
                assert_eq!(redis, ours, "{line} at {node}");
            }
        }
    }
}
