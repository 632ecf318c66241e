//! DEBUG, against what a real server answers.

use lockwheel_tests::client::{Client, Protocol, encode};
use lockwheel_tests::program::Process;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};

/// Lines that create keys of all types, in all encodings, in two databases.
const DATA: &str = "SET s hello
    SET i 12
    SET e v EX 100000
    APPEND e w
    RPUSH l a 1 300 a
    HSET h f v g 1
    HSET table f aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa g 1
    SADD t a b c
    SADD n 1 2 300000
    ZADD z 1 a 0.1 b inf c -inf d 1e20 e 3 f
    ZADD skip 1.5 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 b
    XADD x 1-1 a 1 b 2
    XADD x 2-1 a 3 c 4
    XADD x 3-1 d 5
    XDEL x 2-1
    XGROUP CREATE x g 0
    SELECT 3
    SET other v
    SELECT 0";

#[test]
fn equal_data_have_equal_digests() {
    family::compare_lines(
        Kind::Redis,
        &format!(
            "DEBUG DIGEST
             {DATA}
             DEBUG DIGEST
             DEBUG DIGEST-VALUE
             DEBUG DIGEST-VALUE s i e l h table t n z skip x none
             DEBUG DIGEST x
             PEXPIRE s 100000000
             DEBUG DIGEST
             PERSIST s
             RENAME s s2
             DEBUG DIGEST
             DEBUG RELOAD
             DEBUG DIGEST
             DEBUG RELOAD NOSUCH"
        ),
    );
}

#[test]
fn values_of_every_type_of_the_protocol_are_sent() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let ours = ours::server();
    let kinds =
        "string integer double bignum null array set map attrib push verbatim true false nosuch STRING";
    for (kind, protocol) in
        kinds.split(' ').flat_map(|kind| [(kind, Protocol::Resp2), (kind, Protocol::Resp3)])
    {
        // The replies are compared as bytes, because a client hides attributes.
        let [theirs, own] = [real.addr(), ours.addr()].map(|addr| {
            let mut client = Client::connect_with(addr, protocol);
            client.send_raw(format!("DEBUG PROTOCOL {kind}\r\nQUIT\r\n").as_bytes());
            String::from_utf8_lossy(&client.read_to_close()).into_owned()
        });
        assert_eq!(own, theirs, "{kind}, {protocol:?}");
    }
}

#[test]
fn debug_protocol_in_a_script_returns_values_of_every_type() {
    let script = |kind: &str, protocol: u8| {
        format!("EVAL \"redis.setresp({protocol}); return redis.call('debug', 'protocol', '{kind}')\" 0")
    };
    let refused = "EVAL \"return redis.pcall('debug', 'protocol', 'string').err\" 0";
    let mut lines = vec![refused.to_owned(), "DEBUG SET-DISABLE-DENY-SCRIPTS 1".to_owned()];
    for kind in
        ["string", "integer", "double", "bignum", "null", "array", "verbatim", "true", "false", "attrib"]
    {
        lines.extend([script(kind, 2), script(kind, 3)]);
    }
    lines.extend([script("set", 2), script("map", 2)]);
    lines.extend(["DEBUG SET-DISABLE-DENY-SCRIPTS 0".to_owned(), refused.to_owned()]);
    family::compare_lines(Kind::Redis, &lines.join("\n"));
}

#[test]
fn debug_checks_its_arguments() {
    family::compare_lines(
        Kind::Redis,
        "DEBUG
         DEBUG NOSUCH
         DEBUG HELP x
         DEBUG ERROR foo
         DEBUG ERROR \"MYCODE a\\nb\"
         DEBUG ERROR
         DEBUG ERROR a b
         DEBUG OBJECT none
         DEBUG OBJECT
         DEBUG OBJECT a fast
         DEBUG SLEEP
         DEBUG PROTOCOL
         DEBUG SET-ACTIVE-EXPIRE 1
         DEBUG SET-ACTIVE-EXPIRE
         DEBUG SET-DISABLE-DENY-SCRIPTS
         DEBUG QUICKLIST-PACKED-THRESHOLD 100b
         DEBUG QUICKLIST-PACKED-THRESHOLD 4293918720
         DEBUG QUICKLIST-PACKED-THRESHOLD 4293918721
         DEBUG QUICKLIST-PACKED-THRESHOLD x
         DEBUG QUICKLIST-PACKED-THRESHOLD 5gb
         DEBUG QUICKLIST-PACKED-THRESHOLD 0
         DEBUG PAUSE-CRON 0
         DEBUG PAUSE-CRON
         DEBUG REPLYBUFFER
         DEBUG REPLYBUFFER RESIZING 1
         DEBUG REPLYBUFFER PEAK-RESET-TIME RESET
         DEBUG REPLYBUFFER PEAK-RESET-TIME NEVER
         DEBUG REPLYBUFFER PEAK-RESET-TIME 100
         DEBUG REPLYBUFFER PEAK-RESET-TIME x
         DEBUG REPLYBUFFER NOSUCH 1
         DEBUG CHANGE-REPL-ID
         DEBUG LOG hello
         DEBUG LOG
         DEBUG HTSTATS 16
         DEBUG HTSTATS x
         SET s v
         DEBUG HTSTATS-KEY s
         DEBUG HTSTATS-KEY none
         DEBUG SDSLEN none
         HSET h f v
         DEBUG SDSLEN h",
    );
}

#[test]
fn debug_populate_creates_missing_keys() {
    family::compare_lines(
        Kind::Redis,
        "SET key:1 mine
         DEBUG POPULATE 3
         MGET key:0 key:1 key:2
         DEBUG POPULATE 2 word 30
         MGET word:0 word:1 word:2
         DEBUG POPULATE 2 short 3
         GET short:1
         OBJECT ENCODING short:1
         DEBUG POPULATE 0
         DEBUG POPULATE 2 none 0
         GET none:1
         DBSIZE
         DEBUG DIGEST
         DEBUG POPULATE
         DEBUG POPULATE x
         DEBUG POPULATE -1
         DEBUG POPULATE 1 p x
         DEBUG POPULATE 1 p 3 4",
    );
    ours::scenario()
        .check("DEBUG POPULATE 16777217", "-ERR value is out of range")
        .check("DEBUG POPULATE 9223372036854775807 k 9223372036854775807", "-ERR value is out of range")
        .check("DBSIZE", ":0");
}

#[test]
fn debug_object_describes_a_value() {
    let mut s = ours::manual_scenario();
    let described = |of: &str| format!("+Value at:0x0 refcount:1 encoding:{of} lru:100 lru_seconds_idle:0");
    s.run("CLOCK.SET 100000");
    s.run("SET s hello");
    s.check("DEBUG OBJECT s", &described("embstr serializedlength:6"));
    s.check(
        "DEBUG SDSLEN s",
        "+key_sds_len:1, key_sds_avail:0, key_zmalloc: 8, val_sds_len:5, val_sds_avail:0, val_zmalloc: 0",
    );
    s.check("CONFIG SET list-max-listpack-size 2", "+OK").check("RPUSH l a b c", ":3");
    let list = described("quicklist serializedlength:28");
    s.check(
        "DEBUG OBJECT l",
        &format!(
            "{list} ql_nodes:2 ql_avg_node:1.50 ql_listpack_max:2 ql_compressed:0 ql_uncompressed_size:23"
        ),
    );
    s.check("EXPIRE l 1000", ":1");
    let of = |count: usize| match count {
        0 => "No stats available for empty dictionaries\\n".to_owned(),
        _ => format!(" number of elements: {count}\\n"),
    };
    let heading = "Hash table 0 stats (main hash table):\\n";
    let text = format!("\"[Dictionary HT]\\n{heading}{}[Expires HT]\\n{heading}{}\"", of(2), of(1));
    s.check3("DEBUG HTSTATS 0", &text, &format!("=txt:{text}"));
}

#[test]
fn without_active_expiry_a_key_expires_on_access() {
    let mut s = ours::manual_scenario();
    s.check("CONFIG SET notify-keyspace-events KEA", "+OK");
    family::listen(&mut s);
    s.check("DEBUG SET-ACTIVE-EXPIRE 0", "+OK").run("SET a v PX 100");
    family::expect_events(&mut s, "set a, expire a");
    s.run("CLOCK.ADVANCE 1000");
    s.check("SET b v", "+OK");
    family::expect_events(&mut s, "set b");
    s.check("GET a", "(nil)");
    family::expect_events(&mut s, "expired a");
    s.run("SET a v PX 100");
    s.run("CLOCK.ADVANCE 1000");
    s.check("DEBUG SET-ACTIVE-EXPIRE 1", "+OK").check("PING", "+PONG");
    family::expect_events(&mut s, "set a, expire a, expired a");
}

/// The end of a process, and the bytes that its client receives.
#[cfg(unix)]
#[test]
fn a_crash_ends_the_process_by_its_signal() {
    use std::os::unix::process::ExitStatusExt;
    for (line, signal) in [
        ("DEBUG SEGFAULT", 11),
        ("DEBUG PANIC", 6),
        ("DEBUG ASSERT", 6),
        ("DEBUG OOM", 6),
        ("DEBUG SEGFAULT x", 11),
    ] {
        let mut process = Process::start(&["--enable-debug-command", "yes"]);
        let mut client = Client::connect(process.addr());
        client.line("SET k v");
        client.send_line(line);
        assert_eq!(client.try_read_frame().ok().flatten(), None, "{line}");
        assert_eq!(process.wait().signal(), Some(signal), "{line}");
    }
}

/// Connects a client and returns its number of keys, unless the process has just closed the connection.
#[cfg(unix)]
fn answered_keys(address: std::net::SocketAddr) -> Option<(Client, Reply)> {
    let mut client = Client::over(std::net::TcpStream::connect(address).ok()?);
    client.try_send_raw(&encode(&["DBSIZE"])).ok()?;
    let keys = client.try_read_frame().ok()??;
    Some((client, keys))
}

#[cfg(unix)]
#[test]
fn a_restarted_process_keeps_its_id_and_port_and_no_keys() {
    for line in ["DEBUG RESTART", "DEBUG CRASH-AND-RECOVER 1"] {
        let process = Process::start(&["--enable-debug-command", "yes"]);
        let mut client = Client::connect(process.addr());
        client.line("SET k v");
        assert_eq!(
            client.line("DEBUG RESTART x").to_string(),
            "-ERR value is not an integer or out of range"
        );
        client.send_line(line);
        assert_eq!(client.try_read_frame().ok().flatten(), None, "{line}");
        let (mut client, keys) = loop {
            if let Some(answered) = answered_keys(process.addr()) {
                break answered;
            }
        };
        assert_eq!(keys.to_string(), ":0", "{line}");
        assert!(
            client.line("INFO server").to_string().contains(&format!("process_id:{}", process.process_id()))
        );
    }
}

/// Local clients may use DEBUG by default; none of them can end the process.
#[test]
fn a_crash_needs_an_explicit_yes() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    for line in ["DEBUG SEGFAULT", "DEBUG RESTART", "DEBUG OOM"] {
        assert!(client.line(line).to_string().starts_with("-ERR DEBUG command not allowed."), "{line}");
    }
    assert_eq!(client.line("PING").to_string(), "+PONG");
}
