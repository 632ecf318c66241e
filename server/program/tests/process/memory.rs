//! Requests that need more memory than the process may have. Each fails, and the process continues.

use crate::harness::{Client, Process, program};
use lockwheel_store::rdb::payload;
use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};

/// The address space that the process may use, in KiB: about a gigabyte in addition to what it needs at the start.
const LIMIT_KIB: &str = "1400000";
/// The length of the strings that are kept, in bytes. Few of them fit.
const LARGE: usize = 200 << 20;
/// An LZF instruction that copies 264 bytes from one byte back.
const COPY: &[u8] = b"\xe0\xff\x00";
const COPY_LEN: usize = 264;

pub(crate) fn short_of_memory() -> Process {
    limited_to(LIMIT_KIB)
}

pub(crate) fn limited_to(limit_kib: &str) -> Process {
    limited_with_errors_to(limit_kib, Stdio::inherit())
}

pub(crate) fn limited_with_errors_to(limit_kib: &str, standard_error: Stdio) -> Process {
    let limited = format!("ulimit -v {limit_kib}; exec \"$0\" \"$@\"");
    let path = program().get_program().to_owned();
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(path).args(["--port", "0", "--threads", "1"]);
    command.args(["--enable-debug-command", "yes", "--proto-max-bulk-len", "20gb"]);
    command.stdout(Stdio::piped()).stderr(standard_error);
    Process::from(&mut command)
}

/// Returns the first line of the reply to a request, or a text that says that the connection was closed.
pub(crate) fn outcome(process: &Process, words: &[&[u8]]) -> String {
    let mut client = process.client();
    send(&mut client, words);
    first_line(&mut client)
}

pub(crate) fn send(client: &mut Client, words: &[&[u8]]) {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend(format!("${}\r\n", word.len()).into_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    // The server may have closed the connection before the whole request is written.
    let _closed = client.0.get_mut().write_all(&request);
}

fn first_line(client: &mut Client) -> String {
    let mut line = Vec::new();
    for byte in client.0.by_ref().bytes() {
        match byte {
            Ok(b'\r') => break,
            Ok(byte) => line.push(byte),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}"),
        }
    }
    String::from_utf8(line).expect("the line is text")
}

#[track_caller]
fn check(process: &Process, line: &str, expected: &str) {
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let outcome = outcome(process, &words);
    assert_eq!(outcome, expected, "{line}");
    assert_eq!(process.client().ask("PING"), "+PONG", "after {line}");
}

#[track_caller]
fn check_script(process: &Process, script: &str, expected: &str) {
    let outcome = outcome(process, &[b"EVAL", script.as_bytes(), b"0"]);
    assert!(outcome.starts_with(expected), "{script}: {outcome}");
    assert_eq!(process.client().ask("PING"), "+PONG", "after {script}");
}

/// Returns a payload of RESTORE: a string that unpacks to about `len` equal bytes.
fn bomb(len: usize) -> Vec<u8> {
    let packed = [b"\x00a".as_slice(), &COPY.repeat(len / COPY_LEN)].concat();
    let mut body = vec![0, 0xc3];
    for length in [packed.len(), 1 + len / COPY_LEN * COPY_LEN] {
        body.push(0x81);
        body.extend((length as u64).to_be_bytes());
    }
    body.extend(packed);
    payload::seal(&mut body, payload::VERSION_7_2);
    body
}

pub(crate) const NO_MEMORY: &str = "-OOM Insufficient memory";
pub(crate) const CLOSED: &str = "";

#[test]
fn restore_refuses_a_payload_larger_than_the_memory() {
    let process = short_of_memory();
    let (small, large) = (bomb(LARGE), bomb(6_900_000_000 / 4));
    assert_eq!(outcome(&process, &[b"RESTORE", b"large", b"0", &large]), NO_MEMORY);
    assert_eq!(outcome(&process, &[b"RESTORE", b"small", b"0", &small]), "+OK");
    assert_eq!(process.client().ask("STRLEN small"), format!(":{}", 1 + LARGE / COPY_LEN * COPY_LEN));
    // Strings may be as long as those that other clients send.
    assert_eq!(process.client().ask("CONFIG SET proto-max-bulk-len 100mb"), "+OK");
    assert_eq!(outcome(&process, &[b"RESTORE", b"other", b"0", &small]), "-ERR Bad data format");
    assert_eq!(process.client().ask("EXISTS large other"), ":0");
}

#[test]
fn a_string_that_cannot_grow_for_lack_of_memory_stays_unchanged() {
    let process = short_of_memory();
    for line in [
        "SETRANGE new 3000000000 x",
        "SETBIT new 24000000000 1",
        "BITFIELD new SET u8 24000000000 1",
        "DEBUG POPULATE 1 new 4000000000",
    ] {
        check(&process, line, NO_MEMORY);
    }
    check(&process, "EXISTS new", ":0");
    check(&process, &format!("SETRANGE k {LARGE} x"), &format!(":{}", LARGE + 1));
    for line in ["SETRANGE k 3000000000 x", "SETBIT k 24000000000 1", "BITFIELD k SET u8 24000000000 1"] {
        check(&process, line, NO_MEMORY);
    }
    assert_eq!(process.client().ask("STRLEN k"), format!(":{}", LARGE + 1));
    let copies = ["COPY k a", "COPY k b", "COPY k c", "COPY k d", "COPY k e", "COPY k f"];
    let outcomes: Vec<String> = copies
        .iter()
        .map(|line| outcome(&process, &line.split(' ').map(str::as_bytes).collect::<Vec<_>>()))
        .collect();
    assert!(outcomes.contains(&NO_MEMORY.to_owned()), "{outcomes:?}");
    check(&process, "BITOP OR g k k", NO_MEMORY);
}

#[test]
fn a_reply_without_memory_ends_its_connection() {
    let process = short_of_memory();
    check(&process, "SETRANGE k 100000000 x", ":100000001");
    check(&process, &format!("MGET{}", " k".repeat(30)), CLOSED);
    check(&process, "SADD s member", ":1");
    check(&process, "RPUSH l k", ":1");
    for stored in ["", " STORE new"] {
        check(&process, &format!("SORT l BY nosort{}{stored}", " GET *".repeat(30)), CLOSED);
    }
    check(&process, "EXISTS new", ":0");
    let member = "x".repeat(10_000);
    check(&process, &format!("SADD s {member}"), ":1");
    check(&process, "SRANDMEMBER s -1000000", NO_MEMORY);
    check(&process, "CONFIG SET proto-max-bulk-len 100mb", "+OK");
    check(&process, "HSET h f 1", ":1");
    check(&process, &format!("HSET h f {member}"), ":0");
    check(&process, &format!("ZADD z 1 {member}"), ":1");
    for line in ["SRANDMEMBER s -1000000", "HRANDFIELD h -20000 WITHVALUES", "ZRANDMEMBER z -20000"] {
        check(&process, line, "-ERR value is out of range");
    }
    check(&process, "HRANDFIELD h -20000", "*20000");
    assert_eq!(process.client().ask("STRLEN k"), ":100000001");
}

/// Returns a long member of a set that begins with `number`.
fn long_member(number: usize) -> Vec<u8> {
    [number.to_string().into_bytes(), vec![b'x'; LONG_MEMBER]].concat()
}

const LONG_MEMBER: usize = 20 << 20;
/// The number of members of the sets. Copies of all members do not fit into memory.
const MEMBERS: usize = 30;

#[test]
fn a_client_list_without_memory_ends_its_connection() {
    let process = short_of_memory();
    let mut named = process.client();
    let id = named.ask("CLIENT ID");
    send(&mut named, &[b"CLIENT", b"SETNAME", &vec![b'n'; 20 << 20]]);
    assert_eq!(first_line(&mut named), "+OK");
    let ids = format!(" {}", id.trim_start_matches(':')).repeat(100);
    check(&process, &format!("CLIENT LIST ID{ids}"), CLOSED);
}

#[test]
fn a_long_name_without_memory_for_its_copy_is_refused() {
    let (process, name) = (short_of_memory(), vec![b'n'; 100 << 20]);
    check(&process, "SETRANGE k 500000000 x", ":500000001");
    for line in [
        "BLPOP V 0",
        "XREAD BLOCK 0 STREAMS V $",
        "WATCH V",
        "SUBSCRIBE V",
        "CLIENT SETNAME V",
        "CLIENT TRACKING ON BCAST PREFIX V",
        "LOCK.ACQUIRE V owner BLOCK 10",
    ] {
        let words: Vec<&[u8]> =
            line.split(' ').map(|word| if word == "V" { &*name } else { word.as_bytes() }).collect();
        assert_eq!(outcome(&process, &words), NO_MEMORY, "{line}");
    }
    check(&process, "EXISTS k", ":1");
}

#[test]
fn a_store_command_without_memory_stores_nothing() {
    let process = short_of_memory();
    for number in 0..MEMBERS {
        let score = number.to_string();
        assert_eq!(outcome(&process, &[b"ZADD", b"z", score.as_bytes(), &long_member(number)]), ":1");
    }
    for line in ["ZUNIONSTORE new 1 z", "ZDIFFSTORE new 1 z", "ZRANGESTORE new z 0 -1", "COPY z new"] {
        check(&process, line, NO_MEMORY);
    }
    check(&process, "ZSCAN z 0 COUNT 100", CLOSED);
    check(&process, "EXISTS new", ":0");
    check(&process, "ZCARD z", &format!(":{MEMBERS}"));
}

#[test]
fn nothing_is_popped_without_memory_for_the_reply() {
    let process = short_of_memory();
    for number in 0..MEMBERS {
        assert_eq!(outcome(&process, &[b"SADD", b"s", &long_member(number)]), ":1");
    }
    for count in [MEMBERS - 1, MEMBERS] {
        check(&process, &format!("SPOP s {count}"), CLOSED);
        check(&process, "SCARD s", &format!(":{MEMBERS}"));
    }
}

#[test]
fn a_script_without_memory_ends_and_the_next_one_runs() {
    let process = short_of_memory();
    check(&process, "SETRANGE k 100000000 x", ":100000001");
    let many = "local v = redis.call('GET', 'k') local t = {} for i = 1, 30 do t[i] = v end ";
    check_script(&process, &format!("{many} return t"), "-ERR script result is too large");
    for (script, expected) in [
        (format!("{many} return #cmsgpack.pack(t)"), "-ERR"),
        (format!("{many} return #table.concat(t)"), "-ERR"),
        ("return redis.call('SETRANGE', 'k', 3000000000, 'x')".to_owned(), NO_MEMORY),
        ("for i = 1, 6 do redis.call('APPEND', 'k', redis.call('GET', 'k')) end".to_owned(), ""),
    ] {
        check_script(&process, &script, expected);
    }
    check_script(&process, "return redis.call('DEL', 'k')", ":1");
    assert_eq!(process.client().ask("EVAL \"return 7\" 0"), ":7");
}

#[test]
fn a_request_without_memory_is_refused() {
    let process = short_of_memory();
    let large = vec![b'x'; LARGE];
    let outcomes: Vec<String> =
        (0..8).map(|key| outcome(&process, &[b"SET", format!("k{key}").as_bytes(), &large])).collect();
    assert_eq!(outcomes[0], "+OK");
    assert!(outcomes.iter().any(|outcome| [NO_MEMORY, CLOSED].contains(&&**outcome)), "{outcomes:?}");
    let failed = outcome(&process, &[b"HSET", b"h", b"f", &large]);
    assert!([NO_MEMORY, CLOSED].contains(&&*failed), "{failed}");
    assert_eq!(process.client().ask("EXISTS h"), ":0");
    assert_eq!(process.client().ask("FLUSHALL SYNC"), "+OK");
    // The freed blocks are then one block, large enough for the request and its data.
    assert_eq!(process.client().ask("MEMORY PURGE"), "+OK");
    assert_eq!(outcome(&process, &[b"HSET", b"h", b"f", &large]), ":1");
}
