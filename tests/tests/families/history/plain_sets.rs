//! `bare-habits`: texts that are set without a condition on keys that are released by a comparison, as when the options
//! of SET were passed in another client's style.

use crate::history::fixture::{COMPARE_AND_DELETE, Server};
use crate::history::verify::{found, verify};

const HABIT: &str = "lint bare-habits";

/// Scripts that take a lock as node-redlock does, renew it and hand it over. Also a cache's script that replaces the
/// value that it has read.
const TAKE: &str = "if redis.call('exists', KEYS[1]) == 1 then return 0 end \
     redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
const EXTEND: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
     redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1";
const HAND_OVER: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
     redis.call('set', KEYS[1], ARGV[2], 'PX', 1000) return 1";
const SWAP: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[2]) return 1 end \
     return 0";
const SET: &str = "return redis.call('set', KEYS[1], ARGV[1], 'PX', 1000)";

/// A request that runs a script on `k` with these arguments.
fn run(script: &str, arguments: &str) -> String {
    format!("EVAL \"{script}\" 1 k {arguments}")
}

fn release(owner: &str) -> String {
    run(COMPARE_AND_DELETE, owner)
}

/// Returns the findings after these requests of one client, with their full texts.
fn verify_after<'a>(lines: impl IntoIterator<Item = &'a str>) -> (Vec<String>, String) {
    let mut server = Server::new();
    lines.into_iter().for_each(|line| drop(server.ask(line)));
    verify(&mut server, "LOCK.VERIFY")
}

fn findings_after<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    verify_after(lines).0
}

#[test]
fn every_unconditional_set_that_is_later_compared_is_a_habit() {
    for set in [
        "SET k token",
        "SET k token PX 1000",
        "SET k token GET PX 1000",
        "SETEX k 10 token",
        "PSETEX k 10 token",
        "GETSET k token",
        "MSET other text k token",
    ] {
        let queued = ["MULTI", set, "EXEC"];
        for set in [&[set][..], &queued] {
            let (taken, release) = ("SET k other NX PX 1000", release("token"));
            let given_back = self::release("other");
            let all = [taken, &*given_back].into_iter().chain(set.iter().copied());
            assert_eq!(findings_after(all), ["ok", HABIT], "another has given it back: {set:?}");
            let once = || set.iter().copied().chain([&*release]);
            assert_eq!(findings_after(once()), ["ok", HABIT], "{set:?}");
            assert_eq!(findings_after(once().chain(once())), ["ok", HABIT], "{set:?}");
            assert_eq!(
                findings_after(set.iter().copied().chain(["DELIFEQ k token"])),
                ["ok", HABIT],
                "{set:?}"
            );
            for other in ["DEL k", "EVAL \"return redis.call('del', KEYS[1])\" 1 k", "GETDEL k"] {
                assert_eq!(findings_after(set.iter().copied().chain([other])), ["ok"], "{set:?} {other}");
            }
        }
    }
    let (_, text) = verify_after(["SET k token PX 1000", &release("token")]);
    assert!(text.contains("k was set to token by a SET without NX, which excludes nobody"), "{text}");
}

/// A script or `SET XX` on an absent key, or on the owner's own text, gives no finding.
#[test]
fn every_overwrite_of_a_text_lock_without_nx_is_a_habit() {
    let script = run(SET, "you");
    for set in ["SET k you", "SET k you XX PX 1000", "SET k you KEEPTTL", "GETSET k you", &script] {
        for given_back in [&*release("you"), "DELIFEQ k you"] {
            let (found, text) = verify_after(["SET k me", set, given_back]);
            assert_eq!(found, ["ok", HABIT], "{set}");
            let told = "by a SET without NX, which excludes nobody, and is given back by a comparison, as a lock is, \
                        whose last owner has lost it by that";
            assert!(text.contains(told), "{set}: {text}");
        }
        assert_eq!(findings_after(["SET k me", set, "DEL k"]), ["ok"], "{set}");
    }
}

/// The first mistake is made by the owner that has lost the lock to another one.
#[test]
fn a_comparison_that_fails_counts_as_a_release_too() {
    let mut server = Server::new();
    let sha = server.ask(&format!("SCRIPT LOAD \"{COMPARE_AND_DELETE}\""));
    let by_sha = format!("EVALSHA {} 1 k me", sha.split("\r\n").nth(1).expect("a bulk string"));
    for refused in [&*release("me"), "DELIFEQ k me", &by_sha] {
        let mut server = Server::new();
        server.ask(&format!("SCRIPT LOAD \"{COMPARE_AND_DELETE}\""));
        let [me, you] = [server.client(), server.client()];
        server.send(me, "SET k me PX 1000");
        server.send(you, "SET k you PX 1000");
        assert_eq!(found(&mut server), ["ok"], "nobody has used it as a lock");
        assert_eq!(server.send(me, refused), ":0\r\n", "{refused}");
        assert_eq!(found(&mut server), ["ok", HABIT], "{refused}");
        server.send(you, &release("you"));
        let (found, text) = verify(&mut server, "LOCK.VERIFY");
        assert_eq!(found, ["ok", HABIT], "{refused}");
        assert!(text.contains("whose last owner has lost it by that"), "{text}");
    }
    // The lease was over, or nobody has the lock.
    let late = ["SET k me PX 100", "CLOCK.ADVANCE 100", &release("me")];
    assert_eq!(findings_after(late), ["ok", HABIT]);
    assert_eq!(findings_after([&*release("me"), "SET k me"]), ["ok", HABIT]);
}

#[test]
fn conditional_sets_are_no_habit() {
    let (take, extend, over) = (run(TAKE, "me 1000"), run(EXTEND, "me 2000"), run(HAND_OVER, "me you"));
    let (mine, yours, set) = (release("me"), release("you"), run(SET, "me"));
    for lines in [
        &["SET k me NX PX 1000", &mine, "SET k me NX PX 1000", &yours][..],
        &["MULTI", "MSETNX k me other x", "PEXPIRE k 1000", "PEXPIRE other 1000", "EXEC", &mine, &mine],
        &[&take, &extend, &mine, &take, &yours, &mine, &mine],
        &["SET k me NX PX 1000", &extend, &over, &mine, &yours],
        &["SET k me NX PX 1000", "SET k me XX PX 2000", "SET k me XX KEEPTTL", &mine],
        &["SET k me NX PX 1000", "SET k me PX 2000", &mine],
        &["SET k me NX PX 1000", "SET k you IFEQ me PX 1000", &mine, &yours],
        &[&set, &mine],
        &["WATCH k", "GET k", "MULTI", "SET k me PX 1000", "EXEC", &mine],
        &["WATCH k", "GET k", "MULTI", "GETSET k me", "PEXPIRE k 1000", "EXEC", "DELIFEQ k me"],
    ] {
        assert_eq!(findings_after(lines.iter().copied()), ["ok"], "{lines:?}");
    }
}

#[test]
fn texts_of_caches_are_no_habit() {
    let (swap, lost) = (run(SWAP, "v w"), run(SWAP, "x y"));
    for lines in [
        &["SET k v", "GET k", "SET k w", "GETSET k v", "MSET k w", "SET k v XX", "DEL k"][..],
        &["SET k v", &swap, &lost, "SET k v", &lost, "GETDEL k"],
        &["SET k v", "SET other token NX PX 9", "DELIFEQ other token", "DELIFEQ other token", "SET k w"],
        &["SET k v", "DELIFEQ other v", "SET k w", "RENAME k other"],
        &["SET k 1", "INCR k", "SET k 1", "APPEND k 1", "SETRANGE k 0 2", "UNLINK k"],
    ] {
        assert_eq!(findings_after(lines.iter().copied()), ["ok"], "{lines:?}");
    }
}

/// A key that a test names as a lock also counts as one if its owner set it without a condition.
#[test]
fn an_unconditional_set_of_an_observed_key_is_a_habit() {
    let lines = ["LOCK.OBSERVE k", "SET k me PX 1000", &release("me")];
    assert_eq!(findings_after(lines), ["ok", HABIT]);
    let lines = ["LOCK.OBSERVE k", "SET k me NX PX 1000", &release("me"), "SET k me NX PX 1000"];
    assert_eq!(findings_after(lines), ["ok"]);
}
