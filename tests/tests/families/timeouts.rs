//! Timeouts at the limits of numbers, as the versions parse them.

use lockwheel::{Server, Version};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, RealServer};

/// Requests with a timeout `N`. No command waits within a transaction; its reply shows whether the timeout is valid.
const REQUESTS: &[&str] = &[
    "BLPOP k N",
    "BRPOP k N",
    "BLMOVE k l LEFT LEFT N",
    "BRPOPLPUSH k l N",
    "BLMPOP N 1 k LEFT",
    "BZPOPMIN k N",
    "BZPOPMAX k N",
    "BZMPOP N 1 k MIN",
    "XREAD BLOCK N STREAMS k $",
    "XREADGROUP GROUP g c BLOCK N STREAMS x >",
    "WAIT 0 N",
    "CLIENT PAUSE N WRITE",
    "EXPIRE kept N",
    "PEXPIRE kept N",
    "EXPIREAT kept N",
    "PEXPIREAT kept N",
    "SETEX s N v",
    "PSETEX s N v",
    "SET s v EX N",
    "SET s v PXAT N",
    "GETEX kept PX N",
];

const NUMBERS: &[&str] = &[
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "9223371000000000000",
    "9223370000000000000",
    "9223372036854775",
    "9223372036854776",
    "9223370000000000",
    "9223372036854775.807",
    "9223372036854775.8071",
    "9223372036854775.808",
    "92233720368547758.07",
    "18446744073709551615",
    "4611686018427387904",
    "1e16",
    "1e400",
    "-1e400",
    "inf",
    "-inf",
    "nan",
    "0x7fffffffffffffff",
    "-1",
    "-0.001",
    "-0.0001",
    "1e-400",
    "",
    "x",
];

#[track_caller]
fn compare(kind: Kind, version: Version) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let server = Server::builder().port(0).compat(version).start().expect("a free port");
    let mut clients = [real.addr(), server.addr()].map(Client::connect);
    for client in &mut clients {
        client.line("XGROUP CREATE x g $ MKSTREAM");
    }
    for request in REQUESTS {
        for number in NUMBERS {
            let words: Vec<&str> =
                request.split(' ').map(|word| if word == "N" { *number } else { word }).collect();
            let [real, ours] = clients.each_mut().map(|client| {
                client.line("SET kept v");
                client.line("MULTI");
                client.cmd(&words);
                client.line("CLIENT UNPAUSE");
                let reply = client.line("EXEC").to_string();
                client.line("DEL kept s");
                reply
            });
            assert_eq!(ours, real, "{request} {number} {version:?}");
        }
    }
}

#[test]
fn timeouts_are_read_as_by_7_0() {
    compare(Kind::Redis, Version::V7_0);
}

#[test]
fn timeouts_are_read_as_by_7_2() {
    compare(Kind::Valkey, Version::V7_2);
}

#[test]
fn before_7_2_huge_waits_last_for_ever_and_huge_pauses_end_at_once() {
    for version in [Version::V6_2, Version::V7_0] {
        let server = Server::builder().port(0).compat(version).start().expect("a free port");
        let [mut waiter, mut other] = [0; 2].map(|_| Client::connect(server.addr()));
        waiter.send(&["BLPOP", "l", "9223372036854775"]);
        other.line("AWAIT.WAITERS l 1");
        assert_eq!(other.line("CLIENT PAUSE 9223372036854775807").to_string(), "+OK");
        assert_eq!(other.line("RPUSH l x").to_string(), ":1");
        assert_eq!(waiter.read_reply().to_string(), "[\"l\", \"x\"]");
    }
}
