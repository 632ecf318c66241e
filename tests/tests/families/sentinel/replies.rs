//! Requests to a sentinel of ours and to one of Redis, with equal answers.

use crate::sentinel::process::{Sentinel, Whose};
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;

/// Requests whose answers are the same, in this order. Nobody listens on the master's address.
const SAME: &str = r##"
    PING
    PING x
    GET x
    SET x y
    MULTI
    EXEC
    EXEC x
    WATCH x
    DISCARD
    CONFIG GET x
    SELECT 1
    EVAL x 0
    DBSIZE
    ROLE
    ROLE x
    ACL WHOAMI
    CLIENT GETNAME
    CLIENT SETNAME me
    CLIENT GETNAME
    COMMAND COUNT x
    COMMAND INFO sentinel
    COMMAND INFO ping publish subscribe role shutdown auth hello info
    SHUTDOWN foo
    SHUTDOWN ABORT
    INFO nope
    PUBLISH a b
    PUBLISH __sentinel__:hello
    PUBLISH __sentinel__:hello foo
    PUBLISH __sentinel__:hello a,b,c,d,e,f,g,h
    SENTINEL
    SENTINEL nope
    SENTINEL MYID x
    SENTINEL MASTER
    SENTINEL MASTER nope
    SENTINEL MASTERS x
    SENTINEL REPLICAS nope
    SENTINEL REPLICAS m
    SENTINEL SLAVES m
    SENTINEL SENTINELS nope
    SENTINEL SENTINELS m
    SENTINEL GET-MASTER-ADDR-BY-NAME m
    SENTINEL GET-MASTER-ADDR-BY-NAME nope
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 0 *
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 2 0 *
    SENTINEL IS-MASTER-DOWN-BY-ADDR 1.2.3.4 99999 0 *
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 x 0 *
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 x *
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 3 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 3 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 2 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 5 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    SENTINEL FAILOVER m
    SENTINEL FAILOVER nope
    SENTINEL CKQUORUM m
    SENTINEL CKQUORUM nope
    SENTINEL MONITOR a
    SENTINEL MONITOR m 127.0.0.1 1 1
    SENTINEL MONITOR a no.such.host 1 1
    SENTINEL MONITOR a 127.0.0.1 77777 1
    SENTINEL MONITOR a 127.0.0.1 -1 1
    SENTINEL MONITOR a 127.0.0.1 x 1
    SENTINEL MONITOR a 127.0.0.1 1 x
    SENTINEL MONITOR a 127.0.0.1 1 0
    SENTINEL MONITOR a 127.0.0.1 2 1
    SENTINEL REMOVE a
    SENTINEL REMOVE a
    SENTINEL RESET
    SENTINEL RESET nope*
    SENTINEL SET m
    SENTINEL SET m quorum
    SENTINEL SET nope quorum 1
    SENTINEL SET m quorum 0
    SENTINEL SET m quorum x
    SENTINEL SET m quorum 3 parallel-syncs 2
    SENTINEL CKQUORUM m
    SENTINEL SET m quorum 3 foo
    SENTINEL SET m foo bar
    SENTINEL SET m down-after-milliseconds 0
    SENTINEL SET m down-after-milliseconds x
    SENTINEL SET m failover-timeout 0
    SENTINEL SET m failover-timeout 5000
    SENTINEL SET m parallel-syncs 0
    SENTINEL SET m master-reboot-down-after-period -1
    SENTINEL SET m master-reboot-down-after-period 100
    SENTINEL SET m notification-script /x
    SENTINEL SET m client-reconfig-script /x
    SENTINEL SET m auth-pass secret
    SENTINEL SET m auth-pass ""
    SENTINEL SET m rename-command a
    SENTINEL SET m rename-command "" x
    SENTINEL SET m rename-command a ""
    SENTINEL SET m rename-command CONFIG c
    SENTINEL CONFIG
    SENTINEL CONFIG GET
    SENTINEL CONFIG GET *
    SENTINEL CONFIG GET announce-*
    SENTINEL CONFIG GET nope
    SENTINEL CONFIG GET a b
    SENTINEL CONFIG SET nope x
    SENTINEL CONFIG SET announce-port x
    SENTINEL CONFIG SET announce-port 70000
    SENTINEL CONFIG SET announce-port 7000
    SENTINEL CONFIG SET announce-ip 127.0.0.2
    SENTINEL CONFIG SET resolve-hostnames maybe
    SENTINEL CONFIG SET sentinel-user u
    SENTINEL CONFIG GET *
    SENTINEL CONFIG what x
    SENTINEL DEBUG
    SENTINEL DEBUG foo
    SENTINEL DEBUG foo 1
    SENTINEL DEBUG ping-period 0
    SENTINEL DEBUG ping-period x
    SENTINEL DEBUG ping-period 900 Ask-Period 800
    SENTINEL DEBUG
    SENTINEL INFO-CACHE
    SENTINEL INFO-CACHE nope
    SENTINEL INFO-CACHE m
    SENTINEL SIMULATE-FAILURE
    SENTINEL SIMULATE-FAILURE foo
    SENTINEL SIMULATE-FAILURE help
    SENTINEL PENDING-SCRIPTS
    SENTINEL FLUSHCONFIG
    SENTINEL FLUSHCONFIG x
    SENTINEL HELP x
    QUIT
"##;

/// Removes the hints about 7.2 and the parts in another order.
fn comparable(request: &str, reply: &Reply) -> String {
    let text = reply.to_string();
    if !request.starts_with("COMMAND INFO") {
        return text;
    }
    // The order of subcommands differs: each line is counted.
    let mut words: Vec<&str> = text.split(", ").map(|word| word.trim_matches(['[', ']'])).collect();
    words.sort_unstable();
    words.join(" ")
}

#[test]
fn replies_of_a_sentinel_equal_those_of_redis() {
    if RealServer::start(Kind::Redis, &[]).is_none() {
        return;
    }
    let lines = "sentinel monitor m 127.0.0.1 1 1";
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let [redis, ours] = [Whose::Redis, Whose::Ours].map(|whose| Sentinel::start(whose, lines));
        let mut clients = [&redis, &ours].map(|one| Client::connect_with(one.addr(), protocol));
        let mut different = Vec::new();
        for request in SAME.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let [redis, ours] = clients.each_mut().map(|client| client.line(request));
            if comparable(request, &redis) != comparable(request, &ours) {
                different.push(format!("{request}\n  redis: {redis}\n  ours:  {ours}"));
            }
        }
        assert!(different.is_empty(), "{}", different.join("\n"));
    }
}

/// With one seed for all of them, sentinels still have different names.
#[test]
fn sentinels_with_the_same_seed_have_different_ids() {
    let [one, other] = [(); 2].map(|()| Sentinel::start(Whose::Ours, "seed 7"));
    assert_ne!(one.client().line("SENTINEL MYID"), other.client().line("SENTINEL MYID"));
}

#[test]
fn the_state_of_a_sentinel_survives_its_restart() {
    let lines = "sentinel monitor m 127.0.0.1 1 2\nsentinel auth-pass m \"a b\"";
    let mut sentinel = Sentinel::start(Whose::Ours, lines);
    let mut client = sentinel.client();
    let id = client.line("SENTINEL MYID");
    assert_eq!(client.line("SENTINEL MONITOR other 127.0.0.1 2 3").to_string(), "+OK");
    let request = "SENTINEL SET other failover-timeout 1234 rename-command config c";
    assert_eq!(client.line(request).to_string(), "+OK");
    let vote =
        |candidate: &str| format!("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 1 7 {}", candidate.repeat(40));
    let given = client.line(&vote("b"));
    let hello = "PUBLISH __sentinel__:hello \
                 127.0.0.1,5,bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,7,m,127.0.0.1,1,0";
    assert_eq!(client.line(hello).to_string(), ":1");
    sentinel.restart();
    let file = sentinel.file();
    let mut client = sentinel.client();
    assert_eq!(client.line("SENTINEL MYID"), id);
    assert_eq!(sentinel.fields("SENTINEL MASTERS").len(), 2, "{file}");
    assert_eq!(sentinel.fields("SENTINEL SENTINELS m")[0]["port"], "5", "{file}");
    assert_eq!(sentinel.fields("SENTINEL MASTERS")[1]["failover-timeout"], "1234", "{file}");
    assert!(
        file.contains("sentinel auth-pass m \"a b\"") && file.contains("sentinel leader-epoch m 7"),
        "{file}"
    );
    // The other's vote is remembered, though perhaps not its candidate: there is no second vote in that epoch.
    assert!(!client.line(&vote("c")).to_string().contains("ccc"), "{given}");
}
