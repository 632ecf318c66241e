//! redis-cli inspects a cluster of our servers, and moves slots with their keys.

use crate::cluster::nodes::{OurCluster, names, redis_cli};
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;

/// Keys of the cluster.
const KEYS: usize = 100_000;

#[test]
fn redis_cli_is_content_and_follows() {
    let cluster = OurCluster::start(&names());
    let first = cluster.addresses()[0];
    let Some((content, text)) = redis_cli(&["--cluster", "check", &first.to_string()]) else { return };
    assert!(content && text.contains("All 16384 slots covered."), "{text}");
    let (content, text) = redis_cli(&["--cluster", "info", &first.to_string()]).expect("it is there");
    assert!(content && text.contains("0 keys in 3 masters."), "{text}");
    let port = first.port().to_string();
    let (_, text) = redis_cli(&["-c", "-p", &port, "SET", "foo", "bar"]).expect("it is there");
    assert!(text.contains("OK"), "{text}");
    let (_, text) = redis_cli(&["-c", "-p", &port, "GET", "foo"]).expect("it is there");
    assert!(text.contains("bar"), "{text}");
}

/// Sets keys at the nodes that own them.
fn fill(clients: &mut [Client], keys: usize) {
    for chunk in (0..keys).collect::<Vec<_>>().chunks(1000) {
        // Each key is sent to all nodes, of which one accepts it.
        let requests: Vec<Vec<String>> =
            chunk.iter().map(|n| vec!["SET".to_owned(), format!("key:{n}"), n.to_string()]).collect();
        let taken: usize = clients
            .iter_mut()
            .map(|client| client.pipeline(&requests).iter().filter(|reply| !reply.is_error()).count())
            .sum();
        assert_eq!(taken, chunk.len());
    }
}

fn size(client: &mut Client) -> i64 {
    client.line("DBSIZE").as_int().expect("it is a number")
}

#[test]
fn redis_cli_moves_slots_with_their_keys() {
    let ids = names();
    let cluster = OurCluster::start(&ids);
    let addresses = cluster.addresses();
    let mut clients: Vec<Client> = addresses.iter().map(Client::connect).collect();
    fill(&mut clients, KEYS);
    let before: Vec<i64> = clients.iter_mut().map(size).collect();
    let first = addresses[0].to_string();
    let reshard = ["--cluster", "reshard", &first, "--cluster-from", &ids[0], "--cluster-to", &ids[1]];
    let options = ["--cluster-slots", "1000", "--cluster-yes", "--cluster-pipeline", "100"];
    let Some((content, text)) = redis_cli(&[&reshard[..], &options].concat()) else { return };
    assert!(content, "{}", text.lines().rev().take(10).collect::<Vec<_>>().join("\n"));
    let (content, text) = redis_cli(&["--cluster", "check", &first]).expect("it is there");
    assert!(content && text.contains("All 16384 slots covered."), "{text}");
    let after: Vec<i64> = clients.iter_mut().map(size).collect();
    assert_eq!(before.iter().sum::<i64>(), after.iter().sum::<i64>());
    assert!(after[0] < before[0] - 4000 && after[1] > before[1] + 4000, "{before:?} {after:?}");
    assert_eq!(clients[0].line("CLUSTER COUNTKEYSINSLOT 0"), Reply::Int(0));
    for n in (0..KEYS).step_by(997) {
        let found = clients.iter_mut().filter_map(|client| match client.line(&format!("GET key:{n}")) {
            Reply::Bulk(value) => Some(value),
            _ => None,
        });
        assert_eq!(found.collect::<Vec<_>>(), [n.to_string().into_bytes()]);
    }
}
