//! Clients that wait for entries.

use lockwheel_tests::check::{Endpoint, Scenario};
use lockwheel_tests::differences::newer::as_in_7_2;
use lockwheel_tests::family::{await_blocked, same_everywhere, same_on};
use lockwheel_tests::ours;
use std::time::Duration;

/// Makes sessions wait, one after the other.
fn wait<S: Endpoint>(scenario: &mut Scenario<S>, lines: &[(&str, &str)]) {
    for (count, (session, line)) in lines.iter().enumerate() {
        scenario.on(session).send(line);
        await_blocked(scenario, count + 1);
    }
}

const NO_GROUP: &str = "-NOGROUP No such key 'x' or consumer group 'g' in XREADGROUP with GROUP option";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

/// A reply of one stream: in RESP2 and in RESP3.
fn of_stream(key: &str, entries: &str) -> [String; 2] {
    [format!("[[\"{key}\", {entries}]]"), format!("{{\"{key}\": {entries}}}")]
}

#[track_caller]
fn expect<S: Endpoint>(scenario: &mut Scenario<S>, session: &str, key: &str, entries: &str) {
    let [expected2, expected3] = of_stream(key, entries);
    scenario.on(session).expect3(&expected2, &expected3);
}

#[test]
fn a_blocked_xread_keeps_the_id_of_the_dollar() {
    same_everywhere(|s| {
        s.check("XADD x 1-1 f v", r#""1-1""#);
        wait(s, &[("a", "XREAD BLOCK 0 STREAMS x $"), ("b", "XREAD BLOCK 0 STREAMS x y $ 0-0")]);
        // A new stream under the name has lower ids: it has nothing new until its ids exceed the old ones.
        s.check("DEL x", ":1").check("XADD x 0-1 f v", r#""0-1""#).check("XADD x 1-1 f v", r#""1-1""#);
        await_blocked(s, 2);
        s.check("XADD x 1-2 f w", r#""1-2""#);
        expect(s, "a", "x", r#"[["1-2", ["f", "w"]]]"#);
        expect(s, "b", "x", r#"[["1-2", ["f", "w"]]]"#);
    });
}

#[test]
fn an_entry_reaches_every_reader_and_one_consumer_of_each_group() {
    same_everywhere(|s| {
        s.run("XGROUP CREATE x g $ MKSTREAM");
        s.run("XGROUP CREATE x h $");
        wait(
            s,
            &[
                ("first", "XREADGROUP GROUP g c COUNT 1 BLOCK 0 STREAMS x >"),
                ("reader", "XREAD BLOCK 0 STREAMS x $"),
                ("second", "XREADGROUP GROUP g d BLOCK 0 STREAMS x >"),
                ("other", "XREADGROUP GROUP h c BLOCK 0 NOACK STREAMS x >"),
            ],
        );
        s.check("MULTI", "+OK").check("XADD x 1-1 f v", "+QUEUED").check("XADD x 1-2 f w", "+QUEUED");
        s.check("EXEC", r#"["1-1", "1-2"]"#);
        expect(s, "first", "x", r#"[["1-1", ["f", "v"]]]"#);
        expect(s, "second", "x", r#"[["1-2", ["f", "w"]]]"#);
        expect(s, "reader", "x", r#"[["1-1", ["f", "v"]], ["1-2", ["f", "w"]]]"#);
        expect(s, "other", "x", r#"[["1-1", ["f", "v"]], ["1-2", ["f", "w"]]]"#);
        s.check("XPENDING x g", r#"[:2, "1-1", "1-2", [["c", "1"], ["d", "1"]]]"#);
        s.check3("XPENDING x h", "[:0, (nil), (nil), (nil)]", "[:0, (nil), (nil), (nil)]");
    });
}

#[test]
fn a_group_that_is_set_back_is_served_at_the_next_xadd() {
    same_everywhere(|s| {
        for id in ["1-1", "1-2", "1-3", "1-4"] {
            s.run(&format!("XADD x {id} f v"));
        }
        s.run("XGROUP CREATE x g $");
        wait(s, &[("a", "XREADGROUP GROUP g c BLOCK 0 STREAMS x >")]);
        s.check("XGROUP SETID x g 0", "+OK").check("XDEL x 1-2", ":1").check("XTRIM x MAXLEN 2", ":1");
        s.check("EXPIRE x 1000", ":1").check("PERSIST x", ":1").check("XSETID x 1-4", "+OK");
        await_blocked(s, 1);
        s.check("XADD x 2-1 f w", r#""2-1""#);
        expect(s, "a", "x", r#"[["1-3", ["f", "v"]], ["1-4", ["f", "v"]], ["2-1", ["f", "w"]]]"#);
    });
}

#[test]
fn blocked_readers_get_an_error_when_their_group_is_removed() {
    same_on(as_in_7_2("blocked readers of a removed group get a specific error"), |s| {
        let ends = [
            ("DEL x", NO_GROUP),
            ("UNLINK x", NO_GROUP),
            ("RENAME x y", NO_GROUP),
            ("FLUSHDB", NO_GROUP),
            ("FLUSHALL", NO_GROUP),
            ("XGROUP DESTROY x g", NO_GROUP),
            ("PEXPIREAT x 1", NO_GROUP),
            ("SET x v", WRONG_TYPE),
            ("RENAME s x", WRONG_TYPE),
            ("RENAME other x", NO_GROUP),
        ];
        for (line, told) in ends {
            s.run("FLUSHALL");
            s.run("XGROUP CREATE x g $ MKSTREAM");
            s.run("XADD other 1-1 f v");
            s.run("SET s v");
            wait(s, &[("w", "XREADGROUP GROUP g c BLOCK 0 STREAMS x >")]);
            s.run(line);
            s.on("w").expect(told);
        }
        // A group that is recreated in the same transaction is the same to the waiter.
        s.run("FLUSHALL");
        s.run("XADD x 1-1 f v");
        s.run("XGROUP CREATE x g $");
        wait(s, &[("w", "XREADGROUP GROUP g c BLOCK 0 STREAMS x >")]);
        for line in ["MULTI", "XGROUP DESTROY x g", "XGROUP CREATE x g 0", "EXEC"] {
            s.run(line);
        }
        expect(s, "w", "x", r#"[["1-1", ["f", "v"]]]"#);
    });
}

#[test]
fn other_changes_wake_nobody() {
    same_everywhere(|s| {
        s.run("XADD x 1-1 f v");
        s.run("XGROUP CREATE x g $");
        s.run("XGROUP CREATE x h $");
        wait(s, &[("w", "XREADGROUP GROUP g c BLOCK 0 STREAMS x >"), ("r", "XREAD BLOCK 0 STREAMS x $")]);
        for line in [
            "XGROUP DESTROY x h",
            "XGROUP SETID x g 0",
            "XACK x g 1-1",
            "XSETID x 2-0",
            "XGROUP DELCONSUMER x g c",
        ] {
            s.run(line);
        }
        await_blocked(s, 2);
        s.run("XADD x 3-1 f v");
        expect(s, "w", "x", r#"[["1-1", ["f", "v"]], ["3-1", ["f", "v"]]]"#);
        expect(s, "r", "x", r#"[["3-1", ["f", "v"]]]"#);
    });
}

#[test]
fn a_blocked_xread_gets_entries_of_all_its_streams() {
    same_on(as_in_7_2("a blocked XREAD gets entries of all its streams"), |s| {
        wait(s, &[("w", "XREAD BLOCK 0 STREAMS x y z 0 0 0")]);
        for line in ["MULTI", "XADD y 1-1 f v", "XADD x 2-1 f v", "EXEC"] {
            s.run(line);
        }
        s.on("w").expect3(
            r#"[["x", [["2-1", ["f", "v"]]]], ["y", [["1-1", ["f", "v"]]]]]"#,
            r#"{"x": [["2-1", ["f", "v"]]], "y": [["1-1", ["f", "v"]]]}"#,
        );
        // An entry that is deleted before the end of the transaction never existed.
        wait(s, &[("w", "XREAD BLOCK 0 STREAMS x $")]);
        for line in ["MULTI", "XADD x 3-1 f v", "XDEL x 3-1", "EXEC"] {
            s.run(line);
        }
        await_blocked(s, 1);
        s.run("SET y v");
        s.run("XADD x 4-1 f v");
        expect(s, "w", "x", r#"[["4-1", ["f", "v"]]]"#);
        wait(s, &[("w", "XREAD BLOCK 0 STREAMS x none $ $")]);
        s.run("SET none v");
        s.run("XADD x 5-1 f v");
        s.on("w").expect(WRONG_TYPE);
    });
}

#[test]
fn a_waiter_gets_null_at_its_timeout_and_waits_for_no_other_key() {
    let mut s = ours::manual_scenario();
    s.run("XGROUP CREATE x g $ MKSTREAM");
    let waits = [("r", "XREAD BLOCK 100 STREAMS x $"), ("g", "XREADGROUP GROUP g c BLOCK 100 STREAMS x >")];
    wait(&mut s, &waits);
    for server in s.servers() {
        server.advance(Duration::from_millis(99)).unwrap();
    }
    s.check("AWAIT.BLOCKED 2", ":1");
    for server in s.servers() {
        server.advance(Duration::from_millis(1)).unwrap();
    }
    for (session, _) in waits {
        s.on(session).expect3("(nil)", "(nil)");
        let raw = s.on(session).clients().each_ref().map(|client| client.raw().to_vec());
        assert_eq!(raw, [b"*-1\r\n".to_vec(), b"_\r\n".to_vec()]);
    }
    s.check("XADD x 1-1 f v", r#""1-1""#);
    // No client waits in a transaction or in a script.
    for line in [
        "MULTI",
        "XREAD BLOCK 0 STREAMS x $",
        "XREADGROUP GROUP g c BLOCK 0 STREAMS x >",
        "XREADGROUP GROUP g c BLOCK 0 STREAMS x >",
    ] {
        s.run(line);
    }
    s.check3(
        "EXEC",
        r#"[(nil), [["x", [["1-1", ["f", "v"]]]]], (nil)]"#,
        r#"[(nil), {"x": [["1-1", ["f", "v"]]]}, (nil)]"#,
    );
    s.check("EVAL \"return redis.call('XREAD', 'BLOCK', 0, 'STREAMS', 'x', '$')\" 0", "(nil)");
}

#[test]
fn an_unblocked_reader_has_read_nothing() {
    let mut s = ours::manual_scenario();
    s.run("XGROUP CREATE x g $ MKSTREAM");
    let ids = s.on("w").run("CLIENT ID");
    wait(&mut s, &[("w", "XREADGROUP GROUP g c BLOCK 0 STREAMS x >")]);
    assert_eq!(ids[0], ids[1]);
    s.check(&format!("CLIENT UNBLOCK {} ERROR", ids[0].as_int().unwrap()), ":1");
    s.on("w").expect("-UNBLOCKED client unblocked via CLIENT UNBLOCK");
    s.run("XADD x 1-1 f v");
    s.check("XPENDING x g", "[:0, (nil), (nil), (nil)]");
}
