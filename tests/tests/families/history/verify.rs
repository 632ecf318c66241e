//! LOCK.VERIFY: each invariant in a history that breaks it, and in one that does not.

use crate::history::fixture::{A, B, COMPARE_AND_DELETE, COMPARE_AND_EXTEND, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// Returns LOCK.VERIFY's verdict, and each finding as level and invariant.
pub(crate) fn found(server: &mut Server) -> Vec<String> {
    verify(server, "LOCK.VERIFY").0
}

/// Works as [`found`]. Returns also the whole reply.
pub(crate) fn verify(server: &mut Server, request: &str) -> (Vec<String>, String) {
    let text = server.ask(request);
    let lines: Vec<&str> = text.split("\r\n").collect();
    let after = |name: &str, at: usize| (lines[at] == name).then(|| lines[at + 2].to_owned());
    let verdict = (0..lines.len()).find_map(|at| after("verdict", at)).expect("a verdict");
    let findings = (0..lines.len()).filter_map(|at| {
        let level = after("level", at)?;
        Some(format!("{level} {}", lines[at + 6]))
    });
    (std::iter::once(verdict).chain(findings).collect(), text)
}

#[test]
fn right_locks_of_all_kinds_are_ok() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    for n in 0..5 {
        server.send(one, "LOCK.ACQUIRE native a PX 1000");
        server.send(two, "LOCK.ACQUIRE native b PX 1000 BLOCK 0");
        server.send(one, "LOCK.RENEW 1 native a PX 1000");
        server.send(one, "LOCK.RELEASE native a");
        server.send(two, "LOCK.RELEASE native b");
        server.take(one, "redisson", A, 1000);
        server.take(two, "redisson", B, 1000);
        server.take(one, "redisson", A, 1000);
        server.renew(one, "redisson", A);
        server.give_back(one, "redisson", A);
        server.give_back(one, "redisson", A);
        server.take(two, "redisson", B, 1000);
        server.give_back(two, "redisson", B);
        server.send(one, &format!("SET text t{n} NX PX 1000"));
        server.send(two, &format!("SET text u{n} NX PX 1000"));
        server.send(one, &format!("EVAL \"{COMPARE_AND_EXTEND}\" 1 text t{n} 2000"));
        server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 text t{n}"));
        server.advance(10);
    }
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn without_all_of_the_history_it_is_inconclusive() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("CONFIG SET lock-history-max 4");
    for _ in 0..3 {
        server.send(one, "LOCK.ACQUIRE l a");
        server.send(one, "LOCK.RELEASE l a");
    }
    assert_eq!(found(&mut server), ["inconclusive"]);
    let truncated = "the oldest entries of the history were dropped: lock-history-max sets how many are kept";
    assert_eq!(reason(&mut server), truncated);
    server.send(one, "LOCK.ENTER s a");
    server.send(one, "LOCK.ENTER s b");
    assert_eq!(found(&mut server), ["violated", "violation mutual-exclusion"]);
    assert_eq!(reason(&mut server), truncated);
    server.ask("CONFIG SET lock-history no");
    assert_eq!(found(&mut server), ["inconclusive"]);
    assert_eq!(reason(&mut server), "the history is off: CONFIG SET lock-history yes turns it on");
    server.ask("CONFIG SET lock-history yes");
    assert_eq!((found(&mut server), reason(&mut server)), (vec!["ok".to_owned()], "$-1".to_owned()));
}

/// The reason of LOCK.VERIFY.
fn reason(server: &mut Server) -> String {
    let text = server.ask("LOCK.VERIFY");
    let lines: Vec<&str> = text.split("\r\n").collect();
    let at = lines.iter().position(|line| *line == "reason").expect("a reason");
    if lines[at + 1].starts_with("$-") { lines[at + 1] } else { lines[at + 2] }.to_owned()
}

/// Lints are advice: they leave the verdict as it is.
#[test]
fn the_verdict_is_the_level_of_the_worst_finding() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "SET l 1 NX PX 100");
    server.send(one, "DEL l");
    assert_eq!(found(&mut server), ["ok", "lint bare-habits"]);
    server.take(one, "m", A, 1000);
    server.give_back(one, "m", A);
    server.renew(one, "m", A);
    server.renew(one, "m", A);
    assert_eq!(found(&mut server), ["suspect", "lint bare-habits", "suspect watchdog-leak"]);
    assert_eq!(verify(&mut server, "LOCK.VERIFY LEVEL VIOLATION").0, ["ok"]);
    assert_eq!(verify(&mut server, "LOCK.VERIFY KEY l").0, ["ok", "lint bare-habits"]);
    server.send(one, "LOCK.ENTER s a");
    server.send(one, "LOCK.ENTER s b");
    assert_eq!(found(&mut server)[0], "violated");
}

#[test]
fn an_overlap_of_two_holders_is_a_violation() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 1000);
    assert_eq!(found(&mut server), ["ok"]);
    server.send(two, &format!("HSET l {B} 1"));
    assert_eq!(found(&mut server), ["violated", "violation mutual-exclusion"]);
    let (_, text) = verify(&mut server, "LOCK.VERIFY KEY l LEVEL violation");
    assert!(text.contains(&format!("{B} took l while {A} held it")), "{text}");
    assert!(text.contains("acquired") && text.contains("grant 2, client 3"), "{text}");
    assert_eq!(verify(&mut server, "LOCK.VERIFY KEY other").0, ["ok"]);
}

#[test]
fn an_overlap_of_declared_sections_is_a_violation() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    for owner in ["a", "b", "a"] {
        server.send(one, &format!("LOCK.ENTER s {owner} TOKEN 3"));
        server.send(one, &format!("LOCK.LEAVE s {owner}"));
    }
    server.send(one, "LOCK.ENTER s a");
    server.send(one, "LOCK.ENTER s a");
    server.send(two, "LOCK.ENTER other b");
    assert_eq!(found(&mut server), ["ok"]);
    server.send(two, "LOCK.ENTER s b");
    assert_eq!(found(&mut server), ["violated", "violation mutual-exclusion", "violation mutual-exclusion"]);
}

#[test]
fn declared_names_are_limited_in_bytes() {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    let long = "x".repeat(1 << 20);
    let mut enter = |name: &str| client.line(&format!("LOCK.ENTER s {name}")).to_string();
    let entered = (0..9).take_while(|number| enter(&format!("{long}{number}")) == ":1").count();
    assert!((4..8).contains(&entered), "{entered}");
    assert_eq!(
        enter(&format!("{long}9")),
        "-ERR too many open sections: the maximum is 65536 sections, or 8388608 bytes of names"
    );
    assert_eq!(enter("short"), ":1");
    assert_eq!(client.line(&format!("LOCK.LEAVE s {long}0")).to_string(), ":1");
    assert_eq!(client.line(&format!("LOCK.ENTER s {long}9")).to_string(), ":1");
    let pattern = "x".repeat(4096);
    assert_eq!(client.line(&format!("LOCK.OBSERVE {pattern}")).to_string(), "+OK");
    let too_long = "-ERR the pattern is longer than 4096 bytes";
    assert_eq!(client.line(&format!("LOCK.OBSERVE {pattern}x")).to_string(), too_long);
}

#[test]
fn a_renewal_or_release_after_loss_is_reported() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 100);
    server.advance(100);
    server.renew(one, "l", A);
    assert_eq!(found(&mut server), ["ok", "lint renew-after-loss"]);
    server.take(two, "l", B, 100);
    server.renew(one, "l", A);
    server.give_back(one, "l", A);
    let late = "suspect mutual-exclusion";
    assert_eq!(found(&mut server), ["suspect", "lint renew-after-loss", late, late]);
    assert_eq!(verify(&mut server, "LOCK.VERIFY LEVEL suspect").0, ["suspect", late, late]);
    assert_eq!(verify(&mut server, "LOCK.VERIFY LEVEL VIOLATION").0, ["ok"]);
}

#[test]
fn a_late_release_of_a_native_or_text_lock_is_a_suspect() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "LOCK.ACQUIRE n a PX 100");
    server.send(one, "SET t 1 NX PX 100");
    server.advance(100);
    server.send(two, "LOCK.ACQUIRE n b PX 1000");
    server.send(two, "SET t 2 NX PX 1000");
    server.send(one, "LOCK.RELEASE n a");
    server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 t 1"));
    let late = "suspect mutual-exclusion";
    assert_eq!(found(&mut server), ["suspect", late, late]);
}

#[test]
fn a_bare_delete_of_anothers_lock_is_a_violation() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "SET l 1 NX PX 100");
    server.send(one, "DEL l");
    assert_eq!(found(&mut server), ["ok", "lint bare-habits"]);
    server.send(one, "SET l 1 NX PX 100");
    server.advance(100);
    server.send(two, "SET l 2 NX PX 100");
    server.send(one, "DEL l");
    assert_eq!(found(&mut server), ["violated", "lint bare-habits", "violation release-by-holder"]);
    server.send(two, "SET l 2 NX PX 100");
    server.send(one, "SET l 1");
    assert_eq!(found(&mut server)[3..], ["violation release-by-holder"]);
}

/// The connections of a pool are one process: the choice of the connection that releases a lock means nothing.
#[test]
fn a_bare_delete_by_a_connection_of_the_same_pool_is_no_violation() {
    let mut server = Server::new();
    let pool = [server.client(), server.client(), server.client()];
    for n in 0..9 {
        server.send(pool[n % 3], &format!("SET l {n} NX PX 100"));
        server.send(pool[(n + 1) % 3], "SET l other NX PX 100");
        server.send(pool[(n + 2) % 3], "DEL l");
    }
    assert_eq!(found(&mut server), [&["ok"][..], &["lint bare-habits"; 9]].concat());
    let (_, text) = verify(&mut server, "LOCK.VERIFY");
    assert!(
        text.contains("client 4 deleted l by a bare del while 0 held it, by another connection"),
        "{text}"
    );
    // The names of connections tell processes apart.
    for (client, name) in [(pool[0], "alice"), (pool[1], "alice"), (pool[2], "bob")] {
        server.send(client, &format!("CLIENT SETNAME {name}"));
    }
    server.send(pool[0], "SET m 1 NX PX 100");
    server.send(pool[1], "DEL m");
    assert_eq!(verify(&mut server, "LOCK.VERIFY KEY m").0, ["ok", "lint bare-habits"]);
    server.send(pool[0], "SET m 2 NX PX 100");
    server.send(pool[2], "DEL m");
    let found = verify(&mut server, "LOCK.VERIFY KEY m").0;
    assert_eq!(found, ["violated", "lint bare-habits", "violation release-by-holder"]);
}

/// WATCH, GET, MULTI, DEL, EXEC is a comparison, whichever connection sends it. If another client had taken the lock
/// since the read, nothing would have been deleted.
#[test]
fn a_delete_of_a_watched_lock_is_a_comparison() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    for (client, name) in [(one, "alice"), (two, "bob")] {
        server.send(client, &format!("CLIENT SETNAME {name}"));
    }
    let mut tried = |watch: &str, end: &str| {
        server.send(one, "SET l 1 NX PX 100");
        server.send(one, "SET m 1 NX PX 100");
        for line in [watch, "GET l", "MULTI", end, "EXEC"] {
            server.send(two, line);
        }
        let verdict = found(&mut server);
        for line in ["CONFIG SET lock-history no", "DEL l m", "CONFIG SET lock-history yes"] {
            server.ask(line);
        }
        verdict
    };
    for end in ["DEL l", "UNLINK l", "GETDEL l", "SET l 2 PX 100"] {
        assert_eq!(tried("WATCH l m", end), ["ok"], "{end}");
    }
    assert_eq!(tried("WATCH l m", "DEL l m"), ["ok"]);
    for (watch, end) in [("WATCH m", "DEL l"), ("UNWATCH", "DEL l"), ("WATCH l", "DEL l m")] {
        assert_eq!(tried(watch, end)[..1], ["violated"], "{watch}, {end}");
    }
}

#[test]
fn a_write_with_an_older_token_than_before_is_a_violation() {
    let mut server = Server::new();
    let one = server.client();
    for token in [1, 1, 5, 4, 6] {
        server.send(one, &format!("LOCK.FENCE disk {token}"));
    }
    server.send(one, "LOCK.ACQUIRE l a PX 10");
    server.advance(10);
    server.send(one, "LOCK.ACQUIRE l b PX 10");
    assert_eq!(found(&mut server), ["ok"]);
    // The resource forgets the tokens that it has seen: a stale write succeeds.
    server.send(one, "LOCK.FENCERESET disk");
    server.send(one, "LOCK.FENCE disk 3");
    assert_eq!(found(&mut server), ["violated", "violation write-after-fence"]);
}

/// A server that has lost its numbers repeats earlier grant numbers.
#[test]
fn repeated_token_numbers_are_reported() {
    for (fault, expected) in
        [("FAULT.RESTART", &["ok"][..]), ("FAULT.RESTART TOKENS", &["violated", "violation token-order"])]
    {
        let mut server = Server::new();
        let one = server.client();
        server.send(one, "LOCK.ACQUIRE l a PX 1000");
        server.ask(fault);
        let two = server.client();
        server.send(two, "LOCK.ACQUIRE l b PX 1000");
        assert_eq!(found(&mut server), expected, "{fault}");
    }
}

#[test]
fn a_lock_that_outlasts_its_lease_is_a_violation() {
    let mut server = Server::new();
    let one = server.client();
    server.take(one, "l", A, 10_000);
    server.ask("CLOCK.STEP -5000");
    assert_eq!(found(&mut server), ["ok"]);
    server.ask("CLOCK.STEP -50000");
    assert_eq!(found(&mut server), ["violated", "violation no-eternal-lock"]);
    let (_, text) = verify(&mut server, "LOCK.VERIFY");
    assert!(text.contains("for 65000 ms instead of 10000: the clock went back by 50000 ms"), "{text}");
    server.send(one, &format!("HSET m {B} 1"));
    assert_eq!(found(&mut server)[2..], ["violation no-eternal-lock"]);
    server.send(one, "PERSIST l");
    assert_eq!(found(&mut server)[3..], ["violation no-eternal-lock"]);
}

#[test]
fn a_waiter_that_nobody_wakes_is_a_suspect() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 5000);
    server.take(two, "l", B, 5000);
    server.send(two, "SUBSCRIBE redisson_lock__channel:{l}");
    let again = server.client();
    server.take(again, "l", B, 5000);
    server.send(one, "DEL other");
    server.advance(2000);
    server.give_back(one, "l", A);
    server.advance(1000);
    assert_eq!(found(&mut server), ["ok"]);
    server.advance(1);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
    server.ask("CONFIG SET lock-wakeup-limit 5000");
    assert_eq!(found(&mut server), ["ok"]);
    server.ask("CONFIG SET lock-wakeup-limit 500");
    server.take(one, "l", A, 5000);
    server.send(two, "UNSUBSCRIBE");
    server.give_back(one, "l", A);
    server.advance(9000);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
}

#[test]
fn a_waiter_during_a_delay_is_no_missed_wakeup() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, &format!("LOCK.ACQUIRE l {A} PX 1000 DELAY 4000"));
    server.take(two, "l", B, 5000);
    server.send(two, "SUBSCRIBE redisson_lock__channel:{l}");
    let again = server.client();
    server.take(again, "l", B, 5000);
    server.advance(5900);
    assert_eq!(found(&mut server), ["ok"]);
    server.advance(101);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
}

/// A thread of Redisson that is interrupted while it subscribes leaves its subscription behind, and does not ask again.
#[test]
fn a_subscription_of_an_interrupted_thread_counts_as_no_waiter() {
    let mut server = Server::new();
    let [one, two, pubsub] = [server.client(), server.client(), server.client()];
    server.take(one, "l", A, 5000);
    server.take(two, "l", B, 5000);
    server.send(pubsub, "SUBSCRIBE redisson_lock__channel:{l}");
    server.give_back(one, "l", A);
    server.advance(2000);
    assert_eq!(server.ask("AWAIT.WAITERS l 0 EXACT"), ":1\r\n", "who listens need not wait");
    assert_eq!(found(&mut server), ["ok"]);
    // Another thread of the same instance waits by the same subscription.
    server.take(one, "l", A, 5000);
    let third = B.replace(":2", ":3");
    server.take(two, "l", &third, 5000);
    server.take(two, "l", &third, 5000);
    server.give_back(one, "l", A);
    server.advance(2000);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
}

/// Only Redisson's threads ask twice.
#[test]
fn a_subscriber_that_asked_once_counts_as_a_waiter() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "SET l 1 NX PX 5000");
    server.send(two, "SET l 2 NX PX 5000");
    server.send(two, "SUBSCRIBE redisson_lock__channel:{l}");
    server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 l 1"));
    server.advance(2000);
    assert_eq!(found(&mut server), ["suspect", "suspect missed-wakeup"]);
}

/// For a fair lock, the thread also leaves its place in the queue behind. That place blocks nobody but the threads
/// behind it.
#[test]
fn an_interrupted_thread_in_a_fair_queue_counts_as_no_waiter() {
    let channel = format!("redisson_lock__channel:{{l}}:{B}");
    let join = "return {redis.call('rpush', KEYS[2], ARGV[1])}";
    let refuse = "return 100";
    for (while_waiting, expected) in [(false, "[]"), (true, "[\"suspect missed-wakeup\"]")] {
        let mut server = Server::new();
        let [one, two, pubsub] = [server.client(), server.client(), server.client()];
        server.take(one, "l", A, 5000);
        let keys = "3 l redisson_lock_queue:{l} redisson_lock_timeout:{l}";
        server.send(two, &format!("EVAL \"{join}\" {keys} {B}"));
        server.send(pubsub, &format!("SUBSCRIBE {channel}"));
        if while_waiting {
            server.send(two, &format!("EVAL \"{refuse}\" {keys} 30000 {B} 5000 1000"));
        }
        server.give_back(one, "l", A);
        server.advance(2000);
        assert_eq!(format!("{:?}", &found(&mut server)[1..]), expected);
        if while_waiting {
            // The thread is interrupted while it waits: it no longer listens, but still stands in the queue.
            server.take(one, "l", A, 5000);
            server.send(two, &format!("EVAL \"{refuse}\" {keys} 30000 {B} 5000 1000"));
            server.send(pubsub, "UNSUBSCRIBE");
            server.give_back(one, "l", A);
            server.advance(2000);
            let found = found(&mut server);
            assert_eq!(found.iter().filter(|finding| *finding == "suspect missed-wakeup").count(), 1);
        }
    }
}

/// An owner's field as a writer differs from its field as a reader.
#[test]
fn late_renewals_by_a_writer_that_was_a_reader_are_reported() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "LOCK.ACQUIRE l a SHARED PX 100");
    server.send(one, "LOCK.RELEASE l a");
    server.send(one, "LOCK.ACQUIRE l a EXCLUSIVE PX 100");
    server.advance(100);
    server.send(one, "LOCK.RENEW 1 l a PX 100");
    server.send(one, "LOCK.RENEW 1 l a PX 100");
    let late = "lint renew-after-loss";
    assert_eq!(found(&mut server), ["ok", late, late]);
    server.send(one, "LOCK.ACQUIRE l b EXCLUSIVE PX 100");
    server.send(one, "LOCK.RELEASE l b");
    server.send(one, "LOCK.RELEASE l a");
    assert_eq!(found(&mut server), ["suspect", late, late, "suspect mutual-exclusion"]);
}

#[test]
fn a_watchdog_that_renews_after_release_is_reported() {
    let mut server = Server::new();
    let one = server.client();
    server.take(one, "l", A, 1000);
    server.give_back(one, "l", A);
    server.renew(one, "l", A);
    assert_eq!(found(&mut server), ["ok"]);
    server.take(one, "l", A, 1000);
    server.give_back(one, "l", A);
    server.renew(one, "l", A);
    assert_eq!(found(&mut server), ["ok"]);
    server.renew(one, "l", A);
    server.renew(one, "l", A);
    assert_eq!(found(&mut server), ["suspect", "suspect watchdog-leak"]);
}

/// In its last millisecond, a lease has 0 ms left. A client that gets this answer was refused the lock, and has renewed
/// nothing.
#[test]
fn a_request_in_the_last_millisecond_of_a_lease_is_no_renewal() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 1000);
    server.give_back(one, "l", A);
    server.ask("CLOCK.RESUME");
    server.take(two, "l", B, 5);
    server.pass(5);
    for _ in 0..3 {
        assert_eq!(server.take(one, "l", A, 1000), ":0\r\n");
    }
    assert_eq!(server.entry_lines(&["owner"]).iter().filter(|line| line.starts_with("refused")).count(), 3);
    assert_eq!(found(&mut server), ["ok"]);
    // A fair lock's answer gives the time until the owner's turn, which may be now.
    let fair = "return 0";
    let keys = "3 l redisson_lock_queue:{l} redisson_lock_timeout:{l}";
    for _ in 0..3 {
        server.send(one, &format!("EVAL \"{fair}\" {keys} 30000 {A} 5000 1000"));
    }
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn two_kinds_of_lock_in_one_key_are_reported() {
    let mut server = Server::new();
    let one = server.client();
    let read = "redis.call('hset', KEYS[1], 'mode', 'read'); redis.call('hset', KEYS[1], ARGV[2], 1); \
                redis.call('pexpire', KEYS[1], ARGV[1]); return nil";
    for owner in [A, B] {
        server.send(one, &format!("EVAL \"{read}\" 1 readers 1000 {owner}"));
    }
    assert_eq!(found(&mut server), ["ok"]);
    server.take(one, "l", A, 1000);
    server.send(one, &format!("EVAL \"{read}\" 1 l 1000 {B}"));
    assert_eq!(found(&mut server), ["ok", "lint layout-mix"]);
    server.send(one, &format!("HSET readers {A}:write 1"));
    assert_eq!(found(&mut server), ["violated", "lint layout-mix", "violation mutual-exclusion"]);
}

#[test]
fn risky_commands_are_reported_as_bare_habits() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "SETNX l 1");
    server.send(one, "KEYS *");
    assert_eq!(found(&mut server), ["ok"]);
    server.send(one, "EXPIRE l 10");
    assert_eq!(found(&mut server), ["ok", "lint bare-habits", "lint bare-habits"]);
    server.send(one, "KEYS m*");
    assert_eq!(found(&mut server).len(), 3);
}

/// The order of a fair queue: joining it, and being taken from its head.
#[test]
fn a_fair_lock_granted_out_of_order_is_reported() {
    let join = "redis.call('rpush', 'redisson_lock_queue:{' .. KEYS[1] .. '}', ARGV[1]); return 1";
    let head = "redis.call('lpop', 'redisson_lock_queue:{' .. KEYS[1] .. '}'); \
                redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil";
    let mut server = Server::new();
    let [one, two, three] = [server.client(), server.client(), server.client()];
    let c = A.replace(":1", ":3");
    let fair = |server: &mut Server| {
        server.take(one, "l", A, 1000);
        for owner in [B, &c] {
            server.send(two, &format!("EVAL \"{join}\" 1 l {owner}"));
        }
        server.give_back(one, "l", A);
    };
    fair(&mut server);
    server.send(two, &format!("EVAL \"{head}\" 1 l 1000 {B}"));
    server.give_back(two, "l", B);
    server.send(two, &format!("EVAL \"{head}\" 1 l 1000 {c}"));
    server.give_back(two, "l", &c);
    assert_eq!(found(&mut server), ["ok"]);
    fair(&mut server);
    server.take(three, "l", &c, 1000);
    assert_eq!(found(&mut server), ["violated", "violation fair-order"]);
    // Another client removes the head from the queue, by its score.
    server.send(three, "EVAL \"return redis.call('lpop', KEYS[1])\" 1 redisson_lock_queue:{l}");
    assert_eq!(found(&mut server)[2..], ["suspect skew"]);
    server.simulation.close(two);
    server.simulation.notice();
    assert_eq!(found(&mut server)[1..], ["lint queue-leak", "violation fair-order", "suspect skew"]);
}

/// A thread of Redisson in a fair queue waits by its own channel: the pooled connection that sent its request may
/// close. Once nobody listens for the thread either, it no longer waits.
#[test]
fn a_place_in_a_fair_queue_outlives_the_connection_that_asked() {
    let join = "redis.call('rpush', 'redisson_lock_queue:{' .. KEYS[1] .. '}', ARGV[1]); return 1";
    for (listens, then, expected) in [
        (true, "", &["suspect", "suspect deadlock"][..]),
        (false, "", &["ok", "lint queue-leak"]),
        (true, "UNSUBSCRIBE", &["ok", "lint queue-leak", "lint deadlock"]),
    ] {
        let mut server = Server::new();
        let [one, two, pooled, listener] = [(); 4].map(|()| server.client());
        server.take(one, "l", A, 100_000);
        server.take(two, "m", B, 100_000);
        if listens {
            server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{m}}:{A}"));
        }
        server.send(pooled, &format!("EVAL \"{join}\" 1 m {A}"));
        server.simulation.close(pooled);
        server.simulation.notice();
        server.send(two, &format!("EVAL \"{join}\" 1 l {B}"));
        if !then.is_empty() {
            server.send(listener, then);
        }
        assert_eq!(found(&mut server), expected, "{listens} {then}");
    }
}

/// A native request that waits for a fair lock, but not fairly, stands in the server's own line. It goes first if it
/// came first, or by its priority.
#[test]
fn a_native_waiter_may_pass_the_head_of_a_fair_queue() {
    for request in ["LOCK.MACQUIRE 2 k j c", "LOCK.ACQUIRE k c", "LOCK.ACQUIRE k c PRIORITY 1"] {
        let mut server = Server::new();
        let [a, b, c] = [server.client(), server.client(), server.client()];
        server.send(a, "LOCK.ACQUIRE k a FAIR");
        server.send(c, &format!("{request} BLOCK 0"));
        server.send(b, "LOCK.ACQUIRE k b FAIR BLOCK 0");
        server.send(a, "LOCK.RELEASE k a");
        assert_ne!(server.simulation.read(c), "", "{request}");
        assert_eq!(found(&mut server), ["ok"], "{request}");
    }
}

/// A lock may be free while a request for several locks waits for the others. A client that the server lets pass this
/// request also passes the head of the fair queue behind it.
#[test]
fn a_request_that_passes_a_multi_lock_waiter_may_pass_a_fair_queue() {
    for (several, request) in [
        ("LOCK.MACQUIRE 2 k j c", "LOCK.ACQUIRE k d PRIORITY 1"),
        ("LOCK.MACQUIRE 2 k j c", "LOCK.MACQUIRE 1 k d PRIORITY 1"),
        ("LOCK.MACQUIRE 2 k j c SHARED", "LOCK.ACQUIRE k d SHARED"),
        ("LOCK.MACQUIRE 2 k j c SHARED", "LOCK.ACQUIRE k d SHARED BLOCK 0"),
    ] {
        let mut server = Server::new();
        let [a, b, c, d] = [server.client(), server.client(), server.client(), server.client()];
        let mode = if several.contains("SHARED") { " EXCLUSIVE" } else { "" };
        server.send(a, &format!("LOCK.ACQUIRE j a{mode}"));
        server.send(c, &format!("{several} BLOCK 0"));
        server.send(b, "LOCK.ACQUIRE k b FAIR BLOCK 0");
        assert!(server.ask("LOCK.INFO k").contains("free"), "{several}");
        assert!(server.send(d, request).starts_with('*'), "{request}");
        assert_eq!(found(&mut server), ["ok"], "{several}, {request}");
        let release = if request.contains("SHARED") { "LOCK.RELEASE k d SHARED" } else { "LOCK.RELEASE k d" };
        server.send(d, release);
        server.send(a, &format!("LOCK.RELEASE j a{mode}"));
        assert_ne!(server.simulation.read(c), "", "{request}");
        assert_eq!(found(&mut server), ["ok"], "{several}, {request}");
    }
    // A script does not know that line: it has passed the queue.
    let mut server = Server::new();
    let [a, b, c] = [server.client(), server.client(), server.client()];
    server.send(a, "LOCK.ACQUIRE j a");
    server.send(c, "LOCK.MACQUIRE 2 k j c BLOCK 0");
    server.send(b, "LOCK.ACQUIRE k b FAIR BLOCK 0");
    server.take(a, "k", A, 1000);
    assert_eq!(found(&mut server), ["violated", "violation fair-order"]);
}

#[test]
fn bad_requests_are_refused() {
    let mut server = Server::new();
    for request in
        ["LOCK.VERIFY LEVEL", "LOCK.VERIFY LEVEL none", "LOCK.VERIFY KEY a KEY b", "LOCK.VERIFY OWNER x"]
    {
        assert!(server.ask(request).starts_with("-ERR syntax error: "), "{request}");
    }
}
