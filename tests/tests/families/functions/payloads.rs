//! FUNCTION DUMP and RESTORE, by themselves and with a real redis-server.

use super::libraries::code;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours::{SEED, server};
use lockwheel_tests::rdb::{sealed, spoilt};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::Rng;

/// A string as it is stored, of less than 16,384 bytes.
fn string(text: &str) -> Vec<u8> {
    let len = text.len() as u16;
    let mut bytes = if len < 64 { vec![len as u8] } else { (len | 0x4000).to_be_bytes().to_vec() };
    bytes.extend(text.as_bytes());
    bytes
}

/// A library as it is stored.
fn library(name: &str, functions: &[&str]) -> Vec<u8> {
    [&b"\xf5"[..], &string(&code(name, functions).replace("\\n", "\n"))].concat()
}

fn restore(client: &mut Client, body: &[u8], policy: &[&str]) -> String {
    let payload = sealed(body, 10);
    let mut words: Vec<&[u8]> = vec![b"FUNCTION", b"RESTORE", &payload];
    words.extend(policy.iter().map(|word| word.as_bytes()));
    client.cmd(&words).to_string()
}

fn dump(client: &mut Client) -> Vec<u8> {
    match client.line("FUNCTION DUMP") {
        Reply::Bulk(payload) => payload,
        other => panic!("{other}"),
    }
}

/// The names of all functions.
fn names(client: &mut Client) -> Vec<String> {
    let list = client.line("FUNCTION LIST").to_string();
    list.split("\"name\", \"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// The answer of redis-server 7.0.15 for the same library, except the version.
#[test]
fn function_dump_writes_the_bytes_of_redis() {
    let server = server();
    let mut client = Client::connect(server.addr());
    assert_eq!(dump(&mut client), sealed(b"", 11));
    let line = "#!lua name=lib1\nredis.register_function('f1', function(k,a) return {#k,#a,k[1],a[1]} end)";
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", line]).to_string(), "\"lib1\"");
    let expected = sealed(&[b"\xf5@Y", line.as_bytes()].concat(), 11);
    assert_eq!(dump(&mut client), expected);
    assert_eq!(restore(&mut client, &[b"\xf5@Y", line.as_bytes()].concat(), &["FLUSH"]), "+OK");
    assert_eq!(dump(&mut client), expected);
}

#[test]
fn the_policy_of_function_restore_decides_about_existing_libraries() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let two = [library("a", &["fa"]), library("b", &["fb"])].concat();
    assert_eq!(restore(&mut client, &two, &[]), "+OK");
    assert_eq!(names(&mut client), ["fa", "fb"]);
    for (body, policy, reply) in [
        (two.clone(), "append", "-ERR Library a already exists"),
        (library("c", &["FB"]), "APPEND", "-ERR Function FB already exists"),
        (library("a", &["fb"]), "REPLACE", "-ERR Function fb already exists"),
        (
            [library("c", &["fc"]), library("c", &["fd"])].concat(),
            "REPLACE",
            "-ERR Library 'c' already exists",
        ),
        ([library("c", &["fc"]), library("d", &["FC"])].concat(), "FLUSH", "-ERR Function FC already exists"),
        ([library("c", &["fc"]), b"\x01".to_vec()].concat(), "FLUSH", "-ERR given type is not a function"),
        ([library("c", &["fc"]), b"\xf5".to_vec()].concat(), "FLUSH", "-ERR Failed loading library payload"),
        (library("c", &[]), "FLUSH", "-ERR No functions registered"),
    ] {
        assert_eq!(restore(&mut client, &body, &[policy]), reply);
        assert_eq!(names(&mut client), ["fa", "fb"], "nothing has changed");
    }
    assert_eq!(restore(&mut client, &library("a", &["fx", "fa"]), &["replace"]), "+OK");
    assert_eq!(names(&mut client), ["fa", "fx", "fb"]);
    let swapped = [library("a", &["fb"]), library("b", &["fa"])].concat();
    assert_eq!(restore(&mut client, &swapped, &["REPLACE"]), "+OK");
    assert_eq!(names(&mut client), ["fb", "fa"]);
    assert_eq!(client.line("FCALL fb 0").to_string(), "\"fb\"");
    assert_eq!(restore(&mut client, &library("z", &["fz"]), &["Flush"]), "+OK");
    assert_eq!(names(&mut client), ["fz"]);
    assert_eq!(restore(&mut client, b"", &["FLUSH"]), "+OK");
    assert_eq!(names(&mut client), [""; 0]);
}

#[test]
fn invalid_payloads_are_refused() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let wrong = "-ERR DUMP payload version or checksum are wrong";
    let body = library("a", &["f"]);
    for version in [0, 1, 10, 11, 12, 80] {
        let reply = client.cmd(&[&b"FUNCTION"[..], b"RESTORE", &sealed(&body, version), b"FLUSH"]);
        assert_eq!(reply.to_string(), "+OK", "{version}");
    }
    for payload in [b"".to_vec(), b"x".to_vec(), body.clone(), sealed(&body, 13), {
        let mut payload = sealed(&body, 10);
        payload[5] ^= 1;
        payload
    }] {
        assert_eq!(client.cmd(&[&b"FUNCTION"[..], b"RESTORE", &payload]).to_string(), wrong);
    }
    for (body, reply) in [
        (&b"\0\x01a"[..], "-ERR given type is not a function"),
        (b"\xff", "-ERR given type is not a function"),
        (b"\xf5", "-ERR Failed loading library payload"),
        (b"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff", "-ERR Failed loading library payload"),
        (b"\xf5\xc3\x01\x80\xff\xff\xff\xff\0", "-ERR Failed loading library payload"),
        (b"\xf5\xc0\x05", "-ERR Missing library metadata"),
        (b"\xf5\x0e#!lua name=x y", "-ERR Invalid library metadata"),
        (b"\xf5\x0f#!lua name=x y\n", "-ERR Invalid metadata value given: y"),
        (b"\xf5\x0c#!js name=x\n", "-ERR Engine 'js' not found"),
        (b"\xf6\x01x", "-ERR Failed loading library payload"),
    ] {
        assert_eq!(restore(&mut client, body, &[]), reply, "{}", body.escape_ascii());
    }
    for line in ["FUNCTION RESTORE x y", "FUNCTION RESTORE x \"\""] {
        let reply = client.line(line).to_string();
        assert_eq!(
            reply,
            "-ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
        );
    }
    let reply = client.line("FUNCTION RESTORE x FLUSH y").to_string();
    assert_eq!(
        reply,
        "-ERR unknown subcommand or wrong number of arguments for 'RESTORE'. Try FUNCTION HELP."
    );
    assert_eq!(names(&mut client), ["f"]);
}

#[test]
fn libraries_of_release_candidates_are_read() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let register = "redis.register_function('f', function() return 1 end)";
    let early = [b"\xf6", &*string("old"), &string("LUA"), b"\0", &string(register)].concat();
    assert_eq!(restore(&mut client, &early, &[]), "+OK");
    let described =
        [b"\xf6", &*string("old"), &string("LUA"), b"\x01", &string("about"), &string(register)].concat();
    assert_eq!(restore(&mut client, &described, &["REPLACE"]), "+OK");
    let list = client.line("FUNCTION LIST WITHCODE").to_string();
    assert!(list.contains(&format!("\"library_code\", \"#!LUA name=old\\n{register}\"")), "{list}");
    assert_eq!(client.line("FCALL f 0").to_string(), ":1");
}

/// Each of twenty thousand payloads is either refused, and nothing changes, or replaces the existing libraries.
#[test]
fn corrupt_payloads_with_a_valid_checksum_leave_no_partial_library() {
    const BATCH: usize = 200;
    let server = server();
    let mut client = Client::connect(server.addr());
    let mut rng = Rng::new(SEED);
    let three = [library("a", &["fa"]), library("b", &["fb", "fc"]), library("c", &["fd"])].concat();
    let payloads = [sealed(&three, 11), sealed(&library("a", &["f"]), 11)];
    assert_eq!(restore(&mut client, &library("old", &["f"]), &[]), "+OK");
    let old = dump(&mut client);
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
    let (mut refused, mut restored) = (0, 0);
    for _ in 0..100 {
        let requests: Vec<Vec<Vec<u8>>> = (0..BATCH)
            .flat_map(|_| {
                let payload = rng.pick(&payloads).clone();
                let payload = spoilt(&mut rng, &payload);
                [
                    words(&[b"FUNCTION", b"RESTORE", &old, b"FLUSH"]),
                    words(&[b"FUNCTION", b"RESTORE", &payload, b"FLUSH"]),
                    words(&[b"FUNCTION", b"DUMP"]),
                ]
            })
            .collect();
        let replies = client.pipeline(&requests);
        for (asked, replies) in requests.chunks(3).zip(replies.chunks(3)) {
            let payload = asked[1][2].escape_ascii();
            assert_eq!(replies[0].to_string(), "+OK");
            let is_as_before = replies[2].as_bytes() == Some(&old);
            assert_eq!(replies[1].is_error(), is_as_before, "{} {payload}", replies[1]);
            if is_as_before {
                refused += 1;
            } else {
                restored += 1;
            }
        }
    }
    assert!(refused > 1500 && restored > 100, "{refused} and {restored}");
}

/// The time for a payload is bounded as a whole, though each of its libraries may take as long as a loaded one.
#[test]
fn a_payload_of_endless_libraries_ends_soon() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let endless =
        |name: usize| [&b"\xf5"[..], &string(&format!("#!lua name=a{name}\nwhile true do end"))].concat();
    let good = |name: usize| library(&format!("g{name}"), &[&format!("f{name}")]);
    let body: Vec<u8> = (0..50).flat_map(|name| [good(name), endless(name)].concat()).collect();
    let timeout = "-ERR Error registering functions: ERR FUNCTION LOAD timeout";
    assert_eq!(restore(&mut client, &body, &[]), timeout);
    assert_eq!(names(&mut client), [""; 0]);
}

#[test]
fn payloads_are_exchanged_with_a_real_server() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let Some(real) = RealServer::start(kind, &[]) else { continue };
        let server = server();
        let (mut ours, mut theirs) = (Client::connect(server.addr()), Client::connect(real.addr()));
        let comment = "-- what compresses well, compresses well, compresses well\n".repeat(30);
        for code in [
            "#!lua name=a\nredis.register_function('f', function(keys, args) return #keys + #args end)"
                .to_owned(),
            format!("#!lua name=b\n{comment}redis.register_function('g', function() return 'g' end)"),
        ] {
            for client in [&mut ours, &mut theirs] {
                assert!(!client.cmd(&["FUNCTION", "LOAD", "REPLACE", &code]).is_error());
            }
            let of_ours = dump(&mut ours);
            // Redis 7.0 takes no payload of a later version.
            let version = if kind == Kind::Redis { 10 } else { 11 };
            let payloads = [sealed(&of_ours[..of_ours.len() - 10], version), dump(&mut theirs)];
            if kind == Kind::Redis && payloads.iter().all(|payload| payload.len() < 100) {
                assert_eq!(payloads[0], payloads[1]);
            }
            for payload in &payloads {
                for client in [&mut ours, &mut theirs] {
                    assert_eq!(
                        client.cmd(&[&b"FUNCTION"[..], b"RESTORE", payload, b"FLUSH"]).to_string(),
                        "+OK"
                    );
                    assert_eq!(client.line("FCALL f 1 k a b").to_string(), ":3");
                }
            }
        }
        assert_eq!(ours.line("FCALL g 0").to_string(), "\"g\"");
    }
}
