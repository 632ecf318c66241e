//! What CLUSTER tells, field by field beside redis-server.

use crate::nodes::Both;
use lockwheel_tests::client::Protocol;

/// The lines of a text, without what the bus between real nodes leaves in it, in order.
fn lines(text: &str) -> Vec<String> {
    let text =
        text.trim_start_matches("=txt:").trim_matches('"').replace("\\r\\n", "\n").replace("\\n", "\n");
    let told = |line: &&str| !line.is_empty() && !line.starts_with("cluster_stats_messages");
    let mut lines: Vec<String> = text.lines().filter(told).map(without_times).collect();
    lines.sort();
    lines
}

/// A line of a node without the instants of its last sign of life, and without the port for nodes.
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
            // The order of shards is that of a table that is hashed at random.
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
fn preferred_endpoints_and_host_names_are_told_as_by_redis() {
    let Some(mut both) = Both::start(Protocol::Resp3) else { return };
    both.same(0, "CONFIG SET cluster-announce-hostname here.example");
    for preferred in ["hostname", "unknown-endpoint", "ip"] {
        both.same(0, &format!("CONFIG SET cluster-preferred-endpoint-type {preferred}"));
        both.same(0, "CLUSTER SLOTS");
        both.same(0, "GET foo");
    }
}
