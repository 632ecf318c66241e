//! Lists, against what a real server answers.

use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::family::{await_blocked, expect_events, listen};
use lockwheel_tests::redis_server::Kind;
use lockwheel_tests::{family, ours};
use std::time::Duration;

#[test]
fn elements_are_pushed_read_and_popped() {
    family::compare_lines(
        Kind::Redis,
        "LPUSH l a b c
         RPUSH l d e
         LPUSHX none x
         RPUSHX none x
         LPUSHX l x y
         RPUSHX l z
         LLEN l
         LLEN none
         LRANGE l 0 -1
         LRANGE l -3 -2
         LRANGE l 5 2
         LRANGE l -100 100
         LRANGE none 0 -1
         LRANGE l x 1
         LRANGE none 0 1.0
         LINDEX l 0
         LINDEX l -1
         LINDEX l 100
         LINDEX l -100
         LINDEX none x
         LINDEX l x
         LPOP l
         RPOP l
         LPOP l 2
         RPOP l 2
         RPOP l 0
         LPOP none
         LPOP none 0
         LPOP none 3
         LPOP l -1
         LPOP none x
         LPOP l 99999999999999999999
         LPOP l 1 2
         RPOP l 1 2
         RPOP l 9223372036854775807
         LRANGE l 0 -1",
    );
}

#[test]
fn elements_are_replaced_inserted_and_removed() {
    family::compare_lines(
        Kind::Redis,
        "LSET none 0 x
         LSET none x x
         RPUSH l a b a c a b
         LSET l x x
         LSET l 6 x
         LSET l -7 x
         LSET l -1 B
         LSET l 0 A
         LINSERT l before b x
         LINSERT l AFTER c y
         LINSERT l AFTER none y
         LINSERT none AFTER c y
         LINSERT l MIDDLE c y
         LRANGE l 0 -1
         LREM l x a
         LREM none 1 a
         LREM l 1 a
         LREM l -1 zz
         RPUSH l a q a
         LREM l -2 a
         LRANGE l 0 -1
         LREM l 0 a
         LRANGE l 0 -1
         LTRIM none 0 1
         LTRIM l x 1
         LTRIM l 1 -2
         LRANGE l 0 -1
         LREM l 9223372036854775807 x
         LTRIM l 5 1
         LLEN l
         RPUSH one a a
         LREM one 0 a
         LLEN one",
    );
}

#[test]
fn a_trim_that_removes_nothing_converts_a_list_to_listpack() {
    family::compare_lines(
        Kind::Valkey,
        "CONFIG SET list-max-listpack-size 2
         RPUSH l a b c
         OBJECT ENCODING l
         CONFIG SET list-max-listpack-size 128
         LREM l 0 x
         OBJECT ENCODING l
         LTRIM l 0 -1
         OBJECT ENCODING l",
    );
}

#[test]
fn matches_are_found_by_rank_count_and_length() {
    family::compare_lines(
        Kind::Redis,
        "RPUSH l a b a c a b a
         LPOS l a
         LPOS l zz
         LPOS none a
         LPOS none a COUNT 0
         LPOS l zz COUNT 1
         LPOS l a COUNT 0
         LPOS l a count 2
         LPOS l a RANK 2
         LPOS l a RANK -1
         LPOS l a RANK -2 COUNT 0
         LPOS l a RANK 2 COUNT 2 MAXLEN 3
         LPOS l a RANK -1 MAXLEN 1
         LPOS l b RANK -1 MAXLEN 1
         LPOS l a RANK 5
         LPOS l a RANK 9223372036854775807
         LPOS l a RANK -9223372036854775807
         LPOS l a MAXLEN 0
         LPOS l a RANK 0
         LPOS l a RANK x
         LPOS l a COUNT -1
         LPOS l a COUNT x
         LPOS l a MAXLEN -1
         LPOS l a MAXLEN x
         LPOS l a RANK
         LPOS l a FOO 1
         LPOS l a RANK 2 RANK 1",
    );
    // If the two real servers differ, the newer one's answer is right.
    family::compare_lines(
        Kind::Valkey,
        "RPUSH l a b a
         LPOS l a RANK -9223372036854775808
         LREM l -9223372036854775808 a
         LREM l -9223372036854775807 a",
    );
}

#[test]
fn elements_move_between_lists() {
    family::compare_lines(
        Kind::Redis,
        "RPUSH l a b c d
         LMOVE l m LEFT RIGHT
         LMOVE l m RIGHT left
         LMOVE l l LEFT RIGHT
         RPOPLPUSH l l
         RPOPLPUSH l m
         LRANGE l 0 -1
         LRANGE m 0 -1
         LMOVE l m LEFT LEFT
         LLEN l
         LMOVE l m LEFT LEFT
         RPOPLPUSH l m
         LMOVE l m UP LEFT
         LMOVE l m LEFT UP
         LMPOP 1 m LEFT
         LMPOP 2 none m RIGHT COUNT 2
         LMPOP 2 none none LEFT
         LMPOP 0 m LEFT
         LMPOP -1 m LEFT
         LMPOP x m LEFT
         LMPOP 2 m LEFT
         LMPOP 1 m UP
         LMPOP 1 m LEFT COUNT
         LMPOP 1 m LEFT COUNT 0
         LMPOP 1 m LEFT COUNT x
         LMPOP 1 m LEFT COUNT 1 COUNT 1
         LMPOP 1 m LEFT FOO 1
         LMPOP 1 m LEFT COUNT 9223372036854775807
         RPUSH m one
         LMOVE m m RIGHT LEFT
         LLEN m",
    );
}

#[test]
fn another_type_is_refused_before_anything_changes() {
    family::compare_lines(
        Kind::Redis,
        "ZADD s 1 x
         RPUSH l a b
         LPUSH s a
         RPUSHX s a
         LPOP s
         LPOP s 0
         RPOP s -1
         LLEN s
         LINDEX s x
         LRANGE s 0 0
         LRANGE s x 0
         LPOS s a
         LPOS s a RANK 0
         LINSERT s BEFORE a b
         LINSERT s UNDER a b
         LSET s x a
         LREM s 0 a
         LREM s x a
         LTRIM s 0 0
         LMOVE l s LEFT LEFT
         LMOVE s l LEFT LEFT
         LMOVE none s LEFT LEFT
         RPOPLPUSH l s
         LMPOP 2 none s LEFT
         LMPOP 2 l s LEFT
         BLPOP none s 0
         BLPOP s l 0
         BLPOP l s 0
         RPUSH l a
         BLMOVE l s LEFT LEFT 0
         BLMOVE s l LEFT LEFT 0
         BRPOPLPUSH l s 0
         BLMPOP 0 2 none s LEFT
         LRANGE l 0 -1",
    );
}

#[test]
fn blocking_commands_return_available_elements_at_once() {
    family::compare_lines(
        Kind::Valkey,
        "RPUSH l a b c d e f g
         BLPOP none l 0
         BRPOP l none 0
         BLMOVE l m LEFT RIGHT 0
         BRPOPLPUSH l m 0
         BLMPOP 0 2 none l LEFT COUNT 2
         BLPOP l x
         BLPOP l -1
         BLPOP l 1e300
         BLPOP l inf
         BLPOP l nan
         BLMOVE l m UP LEFT x
         BLMOVE l m LEFT LEFT x
         BLMOVE l m LEFT LEFT -1
         BRPOPLPUSH l m x
         BRPOPLPUSH l m -0.5
         BLMPOP x 0 l LEFT
         BLMPOP x 1 l UP
         BLMPOP x 1 l LEFT COUNT 0
         BLMPOP x 1 l LEFT
         BLMPOP -1 1 l LEFT
         BLMPOP 0 1 l LEFT COUNT 1 COUNT 1
         LRANGE l 0 -1
         LRANGE m 0 -1
         # Inside a transaction nobody waits.
         MULTI
         BLPOP none 0
         BRPOP none 0
         BLMOVE none x LEFT LEFT 0
         BRPOPLPUSH none x 0
         BLMPOP 0 1 none LEFT
         BLPOP l 0
         EXEC",
    );
}

#[test]
fn one_push_serves_waiters_in_order() {
    family::same_everywhere(|scenario| {
        for (session, line) in [("first", "BLPOP k 0"), ("second", "BRPOP j k 0"), ("third", "BLPOP k j 0")] {
            scenario.on(session).send(line);
            await_blocked(
                scenario,
                ["first", "second", "third"].iter().position(|&s| s == session).unwrap() + 1,
            );
        }
        // The pusher's reply has the length before any waiter was served.
        scenario.check("RPUSH k a b c d", ":4").check("LRANGE k 0 -1", r#"["c"]"#);
        scenario.on("first").expect(r#"["k", "a"]"#);
        scenario.on("second").expect(r#"["k", "d"]"#);
        scenario.on("third").expect(r#"["k", "b"]"#);
    });
}

#[test]
fn keys_are_checked_in_the_order_of_the_command() {
    family::same_on(as_in_7_2("keys are checked in the order of the command"), |scenario| {
        scenario.on("waiter").send("BLPOP a b c 0");
        await_blocked(scenario, 1);
        scenario.check("MULTI", "+OK").check("RPUSH c 3", "+QUEUED").check("RPUSH b 2", "+QUEUED");
        scenario.check("EXEC", "[:1, :1]");
        scenario.on("waiter").expect(r#"["b", "2"]"#);
        scenario.check("LRANGE c 0 -1", r#"["3"]"#);
    });
}

#[test]
fn a_list_emptied_by_the_same_transaction_wakes_no_waiter() {
    family::same_everywhere(|scenario| {
        scenario.on("waiter").send("BLPOP k 0");
        await_blocked(scenario, 1);
        scenario.check("MULTI", "+OK").check("RPUSH k a", "+QUEUED").check("LPOP k", "+QUEUED");
        scenario.check("EXEC", r#"[:1, "a"]"#);
        // A key of another type does not disturb the waiter either.
        scenario.check("ZADD k 1 m", ":1").check("ZREM k m", ":1").check("RPUSH k b", ":1");
        scenario.on("waiter").expect(r#"["k", "b"]"#);
    });
}

#[test]
fn a_push_passes_through_a_chain_of_blocked_moves() {
    family::same_everywhere(|scenario| {
        scenario.on("end").send("BLPOP c 0");
        await_blocked(scenario, 1);
        scenario.on("middle").send("BLMOVE b c LEFT RIGHT 0");
        await_blocked(scenario, 2);
        scenario.on("start").send("BRPOPLPUSH a b 0");
        await_blocked(scenario, 3);
        scenario.check("LPUSH a x", ":1");
        for session in ["start", "middle"] {
            scenario.on(session).expect("\"x\"");
        }
        scenario.on("end").expect(r#"["c", "x"]"#);
        scenario.check("LLEN a", ":0").check("LLEN b", ":0").check("LLEN c", ":0");
    });
}

#[test]
fn a_blocked_move_to_a_wrong_type_fails_and_the_next_waiter_is_served() {
    family::same_everywhere(|scenario| {
        scenario.check("ZADD other 1 m", ":1");
        scenario.on("mover").send("BLMOVE k other LEFT LEFT 0");
        await_blocked(scenario, 1);
        scenario.on("popper").send("BLMPOP 0 1 k RIGHT COUNT 5");
        await_blocked(scenario, 2);
        scenario.check("RPUSH k a b", ":2");
        let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        scenario.on("mover").expect(wrong_type);
        scenario.on("popper").expect(r#"["k", ["b", "a"]]"#);
        scenario.check("LLEN k", ":0");
    });
}

#[test]
fn a_waiter_gets_null_at_its_timeout() {
    let mut scenario = ours::manual_scenario();
    let waits = [
        ("blpop", "BLPOP k 0.1"),
        ("brpop", "BRPOP k j 0.1"),
        ("blmove", "BLMOVE k j LEFT LEFT 0.1"),
        ("brpoplpush", "BRPOPLPUSH k j 0.1"),
        ("blmpop", "BLMPOP 0.1 1 k LEFT"),
        ("rounded", "BLPOP k 0.0991"),
    ];
    for (session, line) in waits {
        scenario.on(session).send(line);
    }
    scenario.check("AWAIT.BLOCKED 6", ":1");
    for server in scenario.servers() {
        server.advance(Duration::from_millis(99)).unwrap();
    }
    scenario.check("AWAIT.BLOCKED 6", ":1");
    for server in scenario.servers() {
        server.advance(Duration::from_millis(1)).unwrap();
    }
    for (session, _) in waits {
        // The harness writes a null array of RESP2 like any null, so the bytes are compared.
        scenario.on(session).expect3("(nil)", "(nil)");
        assert_eq!(
            scenario.on(session).clients().each_ref().map(|client| client.raw().to_vec()),
            [b"*-1\r\n".to_vec(), b"_\r\n".to_vec()]
        );
    }
    // Nothing of the elements is left.
    scenario.check("RPUSH k a", ":1").check("LLEN k", ":1");
}

#[test]
fn events_have_the_order_of_redis() {
    let lines = "RPUSH l a b c|LPOP l 0|LPOP l 5|RPUSH l a b c|LMOVE l l LEFT RIGHT|LMOVE l m LEFT LEFT|\
                 LMOVE l m LEFT LEFT|RPOPLPUSH m n|LTRIM l 5 6|LSET m 0 x|RPUSH q a a b|LREM q 0 a|LREM q 0 zz|\
                 LINSERT q BEFORE b c|LTRIM q 0 -1|LTRIM q 5 1|RPUSH q x y|LMPOP 1 q LEFT COUNT 5|BLPOP m 0|\
                 LPUSHX none a|RPOP n";
    family::same_everywhere(|scenario| {
        listen(scenario);
        for line in lines.split('|') {
            scenario.run(line);
        }
        let told = "rpush l, lpop l, del l, rpush l, rpush l, lpop l, lpush m, lpop l, lpush m, lpop l, \
                    lpush n, rpop m, ltrim l, del l, lset m, rpush q, lrem q, linsert q, ltrim q, ltrim q, del q, \
                    rpush q, lpop q, del q, lpop m, del m, rpop n, del n";
        expect_events(scenario, told);
    });
}

#[test]
fn the_event_of_a_served_waiter_follows_that_of_the_push() {
    family::same_everywhere(|scenario| {
        listen(scenario);
        scenario.on("waiter").send("BRPOP k 0");
        await_blocked(scenario, 1);
        scenario.check("LPUSH k a", ":1");
        scenario.on("waiter").expect(r#"["k", "a"]"#);
        expect_events(scenario, "lpush k, rpop k, del k");
    });
}

#[test]
fn a_waiter_for_several_keys_is_served_by_the_ready_one() {
    let mut s = ours::manual_scenario();
    s.on("first").send("BLPOP x 0");
    s.check("AWAIT.BLOCKED 1", ":1");
    s.on("second").send("BLPOP y x 0");
    s.check("AWAIT.BLOCKED 2", ":1");
    s.run("MULTI");
    s.run("RPUSH y 1");
    s.run("RPUSH x 2");
    s.run("LPOP y");
    s.check("EXEC", r#"[:1, :1, "1"]"#);
    s.on("first").expect(r#"["x", "2"]"#);
    s.check("AWAIT.BLOCKED 1", ":1").check("RPUSH y 3", ":1");
    s.on("second").expect(r#"["y", "3"]"#);
}
