//! SCAN.

use crate::keys::compared::check_against_redis;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;
use std::collections::BTreeSet;

/// A page of SCAN: the next cursor and the keys.
#[track_caller]
fn page(reply: Reply) -> (String, Vec<String>) {
    let text = |reply: &Reply| String::from_utf8_lossy(reply.as_bytes().expect("a bulk string")).into_owned();
    let parts = reply.into_elements().expect("a page is an array");
    let [cursor, keys] = parts.as_slice() else { panic!("a page has two parts") };
    let keys = keys.clone().into_elements().expect("the keys are an array");
    (text(cursor), keys.iter().map(text).collect())
}

/// Reads all pages from cursor 0; after each, `meanwhile` may change the database.
#[track_caller]
fn scan_all(client: &mut Client, options: &str, mut meanwhile: impl FnMut(&mut Client)) -> Vec<String> {
    let (mut cursor, mut found) = ("0".to_string(), Vec::new());
    loop {
        let (next, keys) = page(client.line(&format!("SCAN {cursor} {options}")));
        found.extend(keys);
        if next == "0" {
            return found;
        }
        cursor = next;
        meanwhile(client);
    }
}

#[test]
fn a_scan_returns_every_key_that_exists_throughout() {
    let ours = ours::manual_server();
    let mut client = Client::connect(ours.addr());
    let stay: BTreeSet<String> = (0..500).map(|i| format!("stay:{i}")).collect();
    for key in &stay {
        client.line(&format!("SET {key} v"));
    }
    for i in 0..500 {
        client.line(&format!("SET go:{i} v"));
    }
    let mut step = 0;
    let seen = scan_all(&mut client, "COUNT 7", |client| {
        for i in step * 10..step * 10 + 10 {
            client.line(&format!("DEL go:{i}"));
            client.line(&format!("MSET come:{i} v come:{i}:2 v come:{i}:3 v"));
        }
        step += 1;
    });
    assert!(step > 50, "only {step} pages");
    let seen: BTreeSet<String> = seen.into_iter().filter(|key| key.starts_with("stay:")).collect();
    assert_eq!(seen, stay);
}

#[test]
fn a_scan_of_unchanging_keys_returns_each_once() {
    let ours = ours::manual_server();
    let mut client = Client::connect(ours.addr());
    for i in 0..300 {
        client.line(&format!("SET s:{i} v"));
        client.line(&format!("RPUSH l:{i} v"));
    }
    for (options, count) in [
        ("", 600),
        ("COUNT 1", 600),
        ("COUNT 9223372036854775807", 600),
        ("TYPE list", 300),
        ("TYPE LIST MATCH l:1*", 111),
        ("MATCH s:1* COUNT 50", 111),
        ("TYPE hash", 0),
    ] {
        let seen = scan_all(&mut client, options, |_| {});
        assert_eq!(seen.len(), count, "{options}");
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), count, "{options}");
    }
}

#[test]
fn pages_answer_as_the_real_server() {
    check_against_redis(PAGES);
}

const PAGES: &str = r#"
    SCAN 0
    MSET k 1 key 2 "" 3
    LPUSH l a
    SCAN 0
    SCAN x
    SCAN -1
    SCAN 18446744073709551615
    SCAN 18446744073709551616
    SCAN -18446744073709551616
    SCAN " 0"
    SCAN "0 "
    SCAN "0\x00x"
    SCAN 0x
    SCAN +
    SCAN -
    SCAN --1
    SCAN +0
    SCAN 01
    SCAN -0
    SCAN 0 COUNT 0
    SCAN 0 COUNT -1
    SCAN 0 COUNT x
    SCAN 0 COUNT
    SCAN 0 MATCH
    SCAN 0 TYPE
    SCAN 0 FOO 1
    SCAN 0 COUNT 9223372036854775807
    SCAN 0 COUNT 9223372036854775808
    SCAN 0 COUNT 100 COUNT 0
    SCAN 0 COUNT x COUNT 1
    SCAN 0 COUNT 0 FOO 1
    SCAN x FOO
    SCAN 0 TYPE string
    SCAN 0 type LIST
    SCAN 0 TYPE foo
    SCAN 0 TYPE ""
    SCAN 0 TYPE "string\x00"
    SCAN 0 TYPE foo TYPE string
    SCAN 0 MATCH *
    SCAN 0 MATCH **
    SCAN 0 MATCH k* MATCH l*
    SCAN 0 MATCH k* COUNT 100 TYPE string
    SCAN 0 MATCH ""
"#;
