//! The permits of semaphores: their entries in the history, and whether all permits are accounted for.

use crate::history::fixture::Server;
use crate::history::verify::{found, verify};

/// Redisson's scripts of `RSemaphore`.
const SET: &str = "local value = redis.call('get', KEYS[1]); if (value == false) then \
     redis.call('set', KEYS[1], ARGV[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return 0;";
const TAKE: &str = "local value = redis.call('get', KEYS[1]); \
     if (value ~= false and tonumber(value) >= tonumber(ARGV[1])) then \
     local val = redis.call('decrby', KEYS[1], ARGV[1]); return 1; end; return 0;";
const GIVE: &str = "local value = redis.call('incrby', KEYS[1], ARGV[1]); \
     redis.call(ARGV[2], KEYS[2], value); ";
const ADD: &str = "local value = redis.call('get', KEYS[1]); if (value == false) then value = 0; end; \
     redis.call('set', KEYS[1], value + ARGV[1]); redis.call('publish', KEYS[2], value + ARGV[1]); ";
const DRAIN: &str = "local value = redis.call('get', KEYS[1]); if (value == false) then return 0; end; \
     redis.call('set', KEYS[1], 0); return value;";

/// Redisson's scripts of `RPermitExpirableSemaphore`.
const TAKE_ID: &str = "local expiredIds = redis.call('zrangebyscore', KEYS[2], 0, ARGV[3], 'limit', 0, ARGV[1]); \
     if #expiredIds > 0 then redis.call('zrem', KEYS[2], unpack(expiredIds)); \
     local value = redis.call('incrby', KEYS[1], #expiredIds); \
     if tonumber(value) > 0 then redis.call(ARGV[5], KEYS[3], value); end; end; \
     local value = redis.call('get', KEYS[1]); if (value ~= false and tonumber(value) >= tonumber(ARGV[1])) then \
     redis.call('decrby', KEYS[1], ARGV[1]); for i = 6, #ARGV, 1 do \
     redis.call('zadd', KEYS[2], ARGV[2], ARGV[i]); end; return 'OK'; end; return nil;";
const GIVE_ID: &str = "local expire = redis.call('zscore', KEYS[3], ARGV[1]); \
     local removed = redis.call('zrem', KEYS[3], ARGV[1]); if tonumber(removed) ~= 1 then return 0; end; \
     local value = redis.call('incrby', KEYS[1], ARGV[2]); redis.call(ARGV[4], KEYS[2], value); \
     if tonumber(expire) <= tonumber(ARGV[3]) then return 0; end; return 1;";
const SET_IDS: &str = "local available = redis.call('get', KEYS[1]); if (available == false) then \
     redis.call('set', KEYS[1], ARGV[1]); redis.call(ARGV[2], KEYS[2], ARGV[1]); return; end; \
     local acquired = redis.call('zcount', KEYS[3], 0, '+inf'); \
     local maximum = (acquired == false and 0 or acquired) + tonumber(available); \
     if (maximum == tonumber(ARGV[1])) then return; end; \
     redis.call('incrby', KEYS[1], tonumber(ARGV[1]) - maximum); redis.call(ARGV[2], KEYS[2], ARGV[1]);";

const CHANNEL: &str = "redisson_sc:{s}";

/// Redisson's client.
struct Redisson<'s> {
    server: &'s mut Server,
    client: u64,
}

impl Redisson<'_> {
    fn eval(&mut self, script: &str, rest: &str) -> String {
        self.server.send(self.client, &format!("EVAL \"{script}\" {rest}"))
    }

    fn set(&mut self, permits: i64) {
        self.eval(SET, &format!("2 s {CHANNEL} {permits}"));
    }

    fn take(&mut self, permits: i64) {
        self.eval(TAKE, &format!("1 s {permits}"));
    }

    fn give(&mut self, permits: i64) {
        self.eval(GIVE, &format!("2 s {CHANNEL} {permits} publish"));
    }

    fn add(&mut self, permits: i64) {
        self.eval(ADD, &format!("2 s {CHANNEL} {permits}"));
    }

    fn drain(&mut self) {
        self.eval(DRAIN, "1 s");
    }

    /// Takes permits with these ids, whose leases end at an instant of Redisson's own clock.
    fn take_ids(&mut self, now: i64, end: i64, ids: &[&str]) -> String {
        let arguments = format!("{} {end} {now} 922337203685477 publish {}", ids.len(), ids.join(" "));
        self.eval(TAKE_ID, &format!("3 s {{s}}:timeout {CHANNEL} {arguments}"))
    }

    fn give_id(&mut self, now: i64, id: &str) -> String {
        self.eval(GIVE_ID, &format!("3 s {CHANNEL} {{s}}:timeout {id} 1 {now} publish"))
    }

    fn set_ids(&mut self, permits: i64) {
        self.eval(SET_IDS, &format!("3 s {CHANNEL} {{s}}:timeout {permits} publish"));
    }
}

fn redisson(server: &mut Server) -> Redisson<'_> {
    let client = server.client();
    Redisson { server, client }
}

/// The entries of the history about permits: cause, number, then the numbers left, held, and in total.
fn permit_lines(server: &mut Server) -> Vec<String> {
    let lines = server.entry_lines(&["cause", "holds", "left", "held", "total"]);
    let of_permits = |line: String| line.strip_prefix("permits ").map(str::to_owned);
    lines.into_iter().filter_map(of_permits).collect()
}

#[test]
fn native_permits_are_recorded_with_their_owners() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "SEM.INIT s 3");
    server.send(one, "SEM.ACQUIRE s a PERMITS 2 PX 100");
    server.send(two, "SEM.ACQUIRE s b PERMITS 2 SESSION IDS BLOCK 0");
    server.advance(100);
    server.send(one, "SEM.ADJUST s 2");
    server.send(one, "SEM.ACQUIRE s c");
    server.send(one, "SEM.RELEASE s c");
    server.send(one, "SEM.DRAIN s");
    server.simulation.close(two);
    server.simulation.notice();
    server.send(one, "SEM.RELEASE s a PERMITS 3 FORCE");
    server.send(one, "DEL s");
    let told = server.entry_lines(&["owner", "kind", "client", "cause", "holds", "left", "held", "total"]);
    assert_eq!(
        told,
        [
            "permits null native 2 init 3 3 0 3",
            "permits a native 2 acquire 2 1 2 3",
            "queued b native 3 null 0 null null null",
            "permits a native null expired 2 3 0 3",
            "permits b native 3 acquire 2 1 2 3",
            "permits null native 2 adjust 2 3 2 5",
            "permits c native 2 acquire 1 2 3 5",
            "permits c native 2 release 1 3 2 5",
            "permits null native 2 drain 3 0 5 5",
            "permits b native null disconnected 2 2 3 5",
            "permits a native 2 release 3 5 0 5",
            "permits null foreign 2 deleted 0 null 0 null",
        ]
    );
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn redisson_permits_are_recorded_from_the_effects_of_its_scripts() {
    let mut server = Server::new();
    let mut client = redisson(&mut server);
    client.set(3);
    client.take(2);
    client.take(2);
    client.add(4);
    client.give(1);
    client.drain();
    client.give(7);
    client.add(-7);
    client.take(1);
    assert_eq!(
        permit_lines(&mut server),
        [
            "init 3 3 0 3",
            "acquire 2 1 2 3",
            "adjust 4 5 2 7",
            "release 1 6 1 7",
            "drain 6 0 7 7",
            "release 7 7 0 7",
            "adjust -7 0 0 0",
        ]
    );
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn redisson_permits_with_ids_are_recorded_until_their_leases_end() {
    let mut server = Server::new();
    let mut client = redisson(&mut server);
    client.set_ids(2);
    client.take_ids(10, 110, &["a", "b"]);
    client.take_ids(20, 120, &["c"]);
    client.take_ids(115, 215, &["d", "e"]);
    client.give_id(120, "d");
    client.give_id(120, "d");
    client.set_ids(5);
    client.set_ids(2);
    client.take_ids(130, 230, &["f"]);
    assert_eq!(
        permit_lines(&mut server),
        [
            "init 2 2 0 2",
            "acquire 2 0 2 2",
            "acquire 2 0 2 2",
            "release 1 1 1 2",
            "adjust 3 4 1 5",
            "adjust -3 1 1 2",
            "acquire 1 0 2 2",
        ]
    );
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn native_and_redisson_permits_of_one_semaphore_are_recorded() {
    let mut server = Server::new();
    let native = server.client();
    let mut client = redisson(&mut server);
    client.set(4);
    client.server.send(native, "SEM.ACQUIRE s a PERMITS 2");
    client.take(1);
    client.server.send(native, "SEM.ACQUIRE s b IDS");
    client.give(1);
    client.server.send(native, "SEM.RELEASE s a PERMITS 2");
    client.server.send(native, "SEM.RELEASE s b");
    assert_eq!(
        permit_lines(&mut server),
        [
            "init 4 4 0 4",
            "acquire 2 2 2 4",
            "acquire 1 1 3 4",
            "acquire 1 0 4 4",
            "release 1 1 3 4",
            "release 2 3 1 4",
            "release 1 4 0 4",
        ]
    );
    assert_eq!(found(&mut server), ["ok"]);
}

/// The known mistake: `release` in a `finally`, also if nothing was taken.
#[test]
fn a_release_of_a_permit_that_is_not_held_is_found() {
    let mut server = Server::new();
    let mut client = redisson(&mut server);
    client.set(1);
    client.take(1);
    client.take(1);
    client.give(1);
    assert_eq!(found(client.server), ["ok"]);
    client.give(1);
    let (found, text) = verify(client.server, "LOCK.VERIFY");
    assert_eq!(found, ["violated", "violation permits-bound"]);
    assert!(text.contains("s: 2 permits are available and 0 are held, but the total is 1"), "{text}");
    client.take(2);
    client.give(2);
    assert_eq!(verify(client.server, "LOCK.VERIFY").0.len(), 2, "it is told once");
}

#[test]
fn a_semaphore_that_begins_without_permits_may_be_a_signal() {
    let mut server = Server::new();
    let mut client = redisson(&mut server);
    client.set(0);
    client.give(2);
    client.take(1);
    assert_eq!(permit_lines(client.server), ["init 0 0 0 0", "release 2 2 0 2", "acquire 1 1 1 2"]);
    assert_eq!(found(&mut server), ["ok"]);
}

#[test]
fn bare_commands_that_change_the_number_of_permits_are_found() {
    for (breaks, expected) in [
        ("DECRBY s 3", "2 permits were taken that were not available"),
        ("SET s 2", "2 permits are available and 1 are held, but the total is 2"),
        ("ZREM {s}:timeout a", "1 permits are available and 0 are held, but the total is 2"),
        ("ZADD {s}:timeout 500 x", "1 permits are available and 2 are held, but the total is 2"),
        ("DEL {s}:timeout", "1 permits are available and 0 are held, but the total is 2"),
        ("INCR s", "2 permits are available and 1 are held, but the total is 2"),
    ] {
        let mut server = Server::new();
        let mut client = redisson(&mut server);
        client.set_ids(2);
        client.take_ids(10, 110, &["a"]);
        assert_eq!(found(client.server), ["ok"]);
        client.server.ask(breaks);
        let (found, text) = verify(client.server, "LOCK.VERIFY KEY s");
        assert_eq!(found, ["violated", "violation permits-bound"], "{breaks}");
        assert!(text.contains(expected), "{breaks}: {text}");
    }
}

#[test]
fn an_overwritten_native_semaphore_is_a_violation() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "SEM.INIT s 2");
    server.send(one, "SEM.ACQUIRE s a");
    server.ask("SET s 2");
    assert_eq!(found(&mut server), ["violated", "violation permits-bound"]);
    let mut server = Server::new();
    server.ask("SEM.INIT s 2");
    server.ask("SET s 5");
    server.ask("SEM.ACQUIRE s a PERMITS 5");
    assert_eq!(found(&mut server), ["ok"], "nobody held any: it begins anew");
}

/// The number of permits before the history began is unknown.
#[test]
fn a_semaphore_whose_beginning_was_not_seen_is_not_judged() {
    let mut server = Server::new();
    let mut client = redisson(&mut server);
    client.server.ask("SET s 1");
    client.give(1);
    client.give(1);
    client.add(1);
    assert_eq!(permit_lines(client.server), ["adjust 2 2 0 null", "release 1 3 0 null", "adjust 1 4 0 null"]);
    client.server.ask("FLUSHALL");
    client.set(1);
    client.give(1);
    assert_eq!(found(&mut server), ["violated", "violation permits-bound"]);
}

/// Permits that FORCE adds count as returned permits of no particular owner, as far as there are any. SEM.INFO counts
/// them likewise.
#[test]
fn forced_permits_count_as_returned_by_unknown_owners() {
    for (taken, forced) in [
        ("SEM.DRAIN s", ["release 1 1 2 3", "release 4 5 0 5"]),
        ("DECR s", ["release 1 3 0 3", "release 4 7 0 7"]),
        ("DECRBY s 2", ["release 1 2 1 3", "release 4 6 0 6"]),
    ] {
        let mut server = Server::new();
        server.ask("SEM.INIT s 3");
        server.ask(taken);
        for (release, expected) in
            ["SEM.RELEASE s r FORCE", "SEM.RELEASE s r PERMITS 4 FORCE"].iter().zip(forced)
        {
            server.ask(release);
            assert_eq!(permit_lines(&mut server).last().unwrap(), expected, "{taken}");
            let info = server.ask("SEM.INFO s");
            let count = |name: &str| {
                let (_, after) = info.split_once(&format!("{name}\r\n:")).expect("it is told");
                after.split("\r\n").next().unwrap().parse::<i64>().unwrap()
            };
            let total = count("initial") + count("adjustments");
            let shown = format!("{} {} {total}", count("left"), count("held"));
            assert!(expected.ends_with(&shown), "{taken}: {expected} and {shown}");
        }
        assert_eq!(found(&mut server), ["ok"]);
    }
}

/// The history did not record the start of leases that a replica has.
#[test]
fn a_semaphore_with_leases_from_before_a_failover_is_not_judged() {
    let mut server = Server::new();
    let holder = server.client();
    server.ask("SEM.INIT s 3");
    server.ask("SEM.ACQUIRE s a IDS");
    server.send(holder, "SEM.ACQUIRE s b IDS PERMITS 2 SESSION PX 150");
    server.ask("FAULT.LAG");
    server.advance(100);
    server.ask("FAULT.FAILOVER");
    assert_eq!(server.ask("GET s"), "$1\r\n2\r\n", "the session has ended");
    let told = permit_lines(&mut server);
    assert_eq!(told.last().unwrap(), "disconnected 2 2 1 null");
    assert!(told.contains(&"failed-over 0 null 3 null".to_owned()), "{told:?}");
    assert_eq!(found(&mut server), ["ok"]);
}

/// The client that overwrites the count while permits are held is found, not the one that takes some afterwards.
#[test]
fn taking_permits_of_an_overwritten_semaphore_is_no_violation() {
    for (overwrite, broken) in [("SET s 1", false), ("SET s 2", true), ("GETSET s 5", true)] {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        server.ask("SEM.INIT s 3");
        server.send(one, "SEM.ACQUIRE s a PERMITS 2");
        server.ask(overwrite);
        let before = found(&mut server);
        assert_eq!(before.len(), 1 + usize::from(broken), "{overwrite}: {before:?}");
        server.send(two, "SEM.ACQUIRE s b");
        server.send(two, "SEM.RELEASE s b");
        assert_eq!(found(&mut server), before, "{overwrite}");
        let told = permit_lines(&mut server);
        let left = overwrite.rsplit(' ').next().unwrap();
        assert_eq!(told.last().unwrap(), &format!("release 1 {left} 0 {left}"));
    }
}
