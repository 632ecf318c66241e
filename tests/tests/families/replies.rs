//! CLIENT REPLY, and commands that change a connection within a transaction. The bytes that the client receives equal
//! those of a real server.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Returns the bytes that a client `a` receives in a sequence of lines, up to the end of its connection.
///
/// A line is `client: command`, or `until command => part of the answer`, which is repeated until the answer has this
/// part.
fn sent_to_a(server: SocketAddr, protocol: Protocol, lines: &[&str]) -> String {
    let mut clients: BTreeMap<&str, Client> = BTreeMap::new();
    let mut observer = Client::connect(server);
    observer.line("FLUSHALL");
    for line in lines.iter().copied().chain(["a: RESET", "a: QUIT"]) {
        if let Some((question, answer)) = line.strip_prefix("until ").and_then(|line| line.split_once(" => "))
        {
            while !observer.line(question).to_string().contains(answer) {}
            continue;
        }
        let (name, command) = line.split_once(": ").expect("a line names its client");
        let client = clients.entry(name).or_insert_with(|| Client::connect_with(server, protocol));
        if name == "a" { client.send_line(command) } else { drop(client.line(command)) }
    }
    let mut a = clients.remove("a").expect("there is a client named a");
    let sent = a.read_to_close().escape_ascii().to_string().replace("\\r\\n", " ");
    without_version(&sent).trim_end().to_string()
}

/// The text without the server's version and the client's number in a greeting.
fn without_version(sent: &str) -> String {
    let mut parts = sent.split("$7 version ");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (_, rest) = part.split_once("$5 proto").expect("a greeting goes on with the protocol");
        let (proto, rest) = rest.split_once("$2 id ").expect("a greeting goes on with the number");
        text.extend(["$5 proto", proto, rest.split_once(' ').map_or("", |(_, rest)| rest)]);
    }
    text
}

/// Requires that the lines send `expected` in RESP2, and the same as redis-server in both protocols.
#[track_caller]
fn case(lines: &[&str], expected: &str) {
    let expected = format!("{expected} +RESET +OK");
    compare(lines, |sent| assert_eq!(sent, expected.trim_start(), "{lines:#?}"));
}

#[track_caller]
fn compare(lines: &[&str], check_resp2: impl Fn(&str)) {
    let ours = ours::server();
    let sent = [Protocol::Resp2, Protocol::Resp3].map(|protocol| {
        let sent = sent_to_a(Endpoint::addr(&ours), protocol, lines);
        if protocol == Protocol::Resp2 {
            check_resp2(&sent);
        }
        (protocol, sent)
    });
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    for (protocol, sent) in sent {
        assert_eq!(sent, sent_to_a(real.addr(), protocol, lines), "{protocol:?}: {lines:#?}");
    }
}

const BLOCKED: &str = "until INFO clients => blocked_clients:1";
const UNBLOCKED: &str = "until INFO clients => blocked_clients:0";

#[test]
fn a_served_waiter_gets_no_reply_while_replies_are_off() {
    case(
        &[
            "a: CLIENT REPLY OFF",
            "a: BLPOP l 0",
            BLOCKED,
            "b: RPUSH l x",
            "a: PING",
            "a: CLIENT REPLY ON",
            "a: GET l",
        ],
        "+OK $-1",
    );
}

#[test]
fn skip_applies_to_the_reply_of_a_blocking_request() {
    case(
        &["a: CLIENT REPLY SKIP", "a: BLPOP l 0", BLOCKED, "b: RPUSH l x", "a: PING", "a: PING"],
        "+PONG +PONG",
    );
    case(
        &["a: CLIENT REPLY SKIP", "a: BLPOP l 0", "a: PING", BLOCKED, "b: RPUSH l x", "a: GET l"],
        "+PONG $-1",
    );
}

#[test]
fn a_wait_that_times_out_sends_nothing_while_replies_are_off() {
    case(
        &["a: CLIENT REPLY OFF", "a: BLPOP l 0.01", "a: PING", "a: CLIENT REPLY ON", "a: PING"],
        "+OK +PONG",
    );
    case(&["a: CLIENT REPLY SKIP", "a: BLPOP l 0.01", "a: PING", "a: PING"], "+PONG +PONG");
}

#[test]
fn a_waiter_gets_no_error_while_replies_are_off() {
    let lines = |mode| {
        [
            mode,
            "a: BLMOVE l k LEFT RIGHT 0",
            BLOCKED,
            "b: SET k v",
            "b: RPUSH l x",
            UNBLOCKED,
            "a: PING",
            "a: PING",
        ]
    };
    case(&lines("a: CLIENT REPLY OFF"), "");
    case(&lines("a: CLIENT REPLY SKIP"), "+PONG +PONG");
}

#[test]
fn an_unblocked_client_gets_no_reply_while_replies_are_off() {
    for (mode, rest) in [("OFF", ""), ("SKIP", "+PONG ")] {
        for reason in ["TIMEOUT", "ERROR"] {
            for server in servers() {
                let mut a = Client::connect(server.addr());
                let id = a.line("CLIENT ID").as_int().expect("a number");
                a.send_line(&format!("CLIENT REPLY {mode}"));
                a.send_line("BLPOP l 0");
                let mut other = Client::connect(server.addr());
                while other.line(&format!("CLIENT UNBLOCK {id} {reason}")).as_int() == Some(0) {}
                ["PING", "RESET", "QUIT"].iter().for_each(|line| a.send_line(line));
                let sent = a.read_to_close().escape_ascii().to_string().replace("\\r\\n", " ");
                assert_eq!(sent, format!("{rest}+RESET +OK "), "{mode} {reason}");
            }
        }
    }
}

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    real.into_iter().chain([Box::new(ours::server()) as Box<dyn Endpoint>]).collect()
}

const SUBSCRIBED: &str = "*3 $9 subscribe $1 c :1";
const MESSAGE: &str = "*3 $7 message $1 c $1 m";

#[test]
fn subscriptions_and_messages_are_sent_in_every_reply_mode() {
    for mode in ["a: CLIENT REPLY OFF", "a: CLIENT REPLY SKIP"] {
        case(
            &[mode, "a: SUBSCRIBE c", "until PUBSUB NUMSUB c => :1", "b: PUBLISH c m", "a: UNSUBSCRIBE"],
            &format!("{SUBSCRIBED} {MESSAGE} *3 $11 unsubscribe $1 c :0"),
        );
        case(
            &[mode, "a: PSUBSCRIBE c* d", "until PUBSUB NUMPAT => :2", "b: PUBLISH c m", "a: PUNSUBSCRIBE"],
            "*3 $10 psubscribe $2 c* :1 *3 $10 psubscribe $1 d :2 *4 $8 pmessage $2 c* $1 c $1 m \
             *3 $12 punsubscribe $2 c* :1 *3 $12 punsubscribe $1 d :0",
        );
        case(&[mode, "a: UNSUBSCRIBE"], "*3 $11 unsubscribe $-1 :0");
    }
    case(&["a: CLIENT REPLY OFF", "a: SUBSCRIBE c", "a: PING"], SUBSCRIBED);
    case(&["a: CLIENT REPLY OFF", "a: SUBSCRIBE"], "");
}

#[test]
fn client_reply_off_in_a_transaction_applies_from_there_on() {
    case(
        &["a: MULTI", "a: PING", "a: CLIENT REPLY OFF", "a: INCR k", "a: EXEC", "a: PING"],
        &["+OK +QUEUED +QUEUED +QUEUED", "*3 +PONG"].join(" "),
    );
    case(
        &[
            "a: MULTI",
            "a: CLIENT REPLY OFF",
            "a: INCR k",
            "a: CLIENT REPLY ON",
            "a: INCR k",
            "a: EXEC",
            "a: PING",
        ],
        "+OK +QUEUED +QUEUED +QUEUED +QUEUED *4 +OK :2 +PONG",
    );
    case(
        &["a: MULTI", "a: CLIENT REPLY OFF", "a: SUBSCRIBE c", "a: PING", "a: EXEC"],
        &format!("+OK +QUEUED +QUEUED +QUEUED *3 {SUBSCRIBED}"),
    );
}

#[test]
fn client_reply_on_in_a_transaction_turns_replies_on() {
    case(
        &[
            "a: CLIENT REPLY OFF",
            "a: MULTI",
            "a: PING",
            "a: CLIENT REPLY ON",
            "a: INCR k",
            "a: EXEC",
            "a: PING",
        ],
        "+OK :1 +PONG",
    );
}

#[test]
fn skip_within_a_transaction_skips_the_request_after_exec() {
    case(
        &["a: MULTI", "a: CLIENT REPLY SKIP", "a: INCR k", "a: EXEC", "a: PING", "a: PING"],
        "+OK +QUEUED +QUEUED *2 :1 +PONG",
    );
    case(
        &["a: MULTI", "a: CLIENT REPLY SKIP", "a: CLIENT REPLY ON", "a: EXEC", "a: PING", "a: PING"],
        "+OK +QUEUED +QUEUED *2 +OK +PONG",
    );
    case(&["a: CLIENT REPLY SKIP", "a: MULTI", "a: INCR k", "a: EXEC"], "+QUEUED *1 :1");
}

#[test]
fn reply_modes_apply_to_errors() {
    case(&["a: CLIENT REPLY OFF", "a: NOSUCH", "a: GET", "a: EXEC", "a: AUTH x", "a: CLIENT REPLY x"], "");
    case(&["a: CLIENT REPLY SKIP", "a: NOSUCH", "a: PING"], "+PONG");
}

#[test]
fn hello_changes_the_protocol_while_replies_are_off() {
    case(&["a: CLIENT REPLY OFF", "a: HELLO 3", "a: CLIENT REPLY ON", "a: HGETALL h"], "+OK %0");
    case(&["a: CLIENT REPLY SKIP", "a: HELLO 3", "a: HGETALL h"], "%0");
}

#[test]
fn each_reply_mode_may_follow_another() {
    case(&["a: CLIENT REPLY OFF", "a: CLIENT REPLY SKIP", "a: CLIENT REPLY ON", "a: PING"], "+OK +PONG");
    case(&["a: CLIENT REPLY SKIP", "a: CLIENT REPLY OFF", "a: PING", "a: PING"], "");
    case(&["a: CLIENT REPLY SKIP", "a: CLIENT REPLY ON", "a: PING"], "+OK +PONG");
    case(&["a: CLIENT REPLY SKIP", "a: CLIENT REPLY SKIP", "a: PING", "a: PING"], "+PONG");
}

#[test]
fn reset_turns_replies_on_but_its_own_reply_may_be_skipped() {
    case(&["a: CLIENT REPLY OFF", "a: RESET", "a: PING"], "+RESET +PONG");
    case(&["a: CLIENT REPLY SKIP", "a: RESET", "a: PING"], "+PONG");
}

/// Redis keeps these connections open for ever, without reading from them: a connection that waits for its last reply
/// to be written never gets one. Our server closes them.
#[test]
fn a_connection_without_replies_can_be_closed() {
    let server = ours::server();
    let last: [&[u8]; 3] = [b"QUIT\r\n", b"CLIENT KILL TYPE normal SKIPME no\r\n", b"*1\r\n:1\r\n"];
    for mode in ["OFF", "SKIP"] {
        for last in last {
            let mut client = Client::connect(Endpoint::addr(&server));
            client.send_line(&format!("CLIENT REPLY {mode}"));
            client.send_raw(last);
            assert_eq!(client.read_to_close(), b"");
        }
    }
}

#[test]
fn hello_in_a_transaction_changes_the_protocol_of_later_replies() {
    let rest = ["a: HGETALL h", "a: GET none", "a: EXEC", "a: HGETALL h"];
    let lines =
        |hello: &'static str| ["a: HSET h f v", "a: MULTI", "a: HGETALL h", hello].into_iter().chain(rest);
    for hello in ["a: HELLO 3", "a: HELLO 2", "a: HELLO", "a: HELLO 4", "a: HELLO x", "a: HELLO 3 SETNAME n"]
    {
        let lines: Vec<&str> = lines(hello).collect();
        compare(&lines, |sent| match hello {
            "a: HELLO 3" => {
                assert!(sent.contains("*4 *2 $1 f $1 v %7 "), "{sent}");
                assert!(sent.contains(" *0 %1 $1 f $1 v _ %1 $1 f $1 v "), "{sent}");
            }
            "a: HELLO 4" => {
                assert!(sent.contains("*2 $1 f $1 v -NOPROTO unsupported protocol version *2"), "{sent}")
            }
            _ => {}
        });
    }
    compare(
        &["a: MULTI", "a: HELLO 3", "a: GET none", "a: HELLO 2", "a: GET none", "a: EXEC", "a: GET none"],
        |sent| {
            assert!(sent.contains(" _ *14 "), "{sent}");
            assert!(sent.ends_with(" *0 $-1 $-1 +RESET +OK"), "{sent}");
        },
    );
}

#[test]
fn a_client_that_kills_itself_in_a_transaction_gets_no_more_replies() {
    for server in servers() {
        let mut client = Client::connect(server.addr());
        let requests =
            ["MULTI", "PING", "CLIENT KILL TYPE normal SKIPME no", "SET k v", "SUBSCRIBE c", "EXEC"];
        client.send_raw(requests.map(|line| format!("{line}\r\n")).concat().as_bytes());
        let sent = client.read_to_close();
        assert!(sent.ends_with(b"*4\r\n+PONG\r\n:1\r\n"), "{}", sent.escape_ascii());
        assert_eq!(Client::connect(server.addr()).line("GET k").to_string(), "\"v\"");
    }
}
