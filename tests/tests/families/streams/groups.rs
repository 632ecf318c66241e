//! Consumer groups: creation, reading, acknowledgement, claiming.

use lockwheel_tests::client::Client;
use lockwheel_tests::family::compare_lines;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};

#[test]
fn groups_are_made_moved_and_removed() {
    compare_lines(
        Kind::Redis,
        "XGROUP CREATE
         XGROUP CREATE x g
         XGROUP CREATE x g $
         XGROUP CREATE x g x
         XGROUP CREATE x g x MKSTREAM
         XGROUP CREATE x g $ FOO
         XGROUP CREATE x g $ MKSTREAM FOO
         XGROUP CREATE x g $ MKSTREAM ENTRIESREAD
         XGROUP CREATE x g $ MKSTREAM ENTRIESREAD x
         XGROUP CREATE x g $ MKSTREAM ENTRIESREAD -2
         EXISTS x
         XGROUP CREATE x g $ MKSTREAM ENTRIESREAD -1 ENTRIESREAD 5 MKSTREAM
         XGROUP CREATE x g $ MKSTREAM ENTRIESREAD 5
         XINFO GROUPS x
         XINFO STREAM x
         XGROUP CREATE x h -
         XGROUP CREATE x h +
         XGROUP CREATE x h 5
         XGROUP CREATE x g x
         SET s v
         XGROUP CREATE s g $
         XGROUP CREATE s g x
         XGROUP CREATE s g x MKSTREAM
         XGROUP CREATE s g $ FOO
         XGROUP SETID
         XGROUP SETID x g
         XGROUP SETID x g x
         XGROUP SETID x none x
         XGROUP SETID x none $
         XGROUP SETID none g $
         XGROUP SETID s g $
         XGROUP SETID x g $ MKSTREAM
         XGROUP SETID x g $ ENTRIESREAD
         XGROUP SETID x g $ ENTRIESREAD 7
         XGROUP SETID none g $ FOO
         XGROUP SETID none g $ ENTRIESREAD -2
         XINFO GROUPS x
         XADD x 1-1 f v
         XADD x 2-1 f v
         XGROUP SETID x g 1-1
         XINFO GROUPS x
         XGROUP SETID x g $
         XINFO GROUPS x
         XGROUP SETID x g 0 ENTRIESREAD 100
         XINFO GROUPS x
         XGROUP DESTROY x
         XGROUP DESTROY x none
         XGROUP DESTROY none g
         XGROUP DESTROY s g
         XGROUP CREATECONSUMER x g
         XGROUP CREATECONSUMER x none c
         XGROUP CREATECONSUMER none g c
         XGROUP CREATECONSUMER s g c
         XGROUP CREATECONSUMER x g c
         XGROUP CREATECONSUMER x g c d
         XGROUP DELCONSUMER x none c
         XGROUP DELCONSUMER none g c
         XGROUP DELCONSUMER x g none
         XGROUP FOO x
         XGROUP
         XGROUP HELP x
         XGROUP FOO
         XGROUP CREATE x g 0 MKSTREAM X Y Z",
    );
}

#[test]
fn entries_are_delivered_once_and_pending_ones_are_read_again() {
    compare_lines(
        Kind::Redis,
        "SET s v
         XGROUP CREATE x g 0 MKSTREAM
         XADD x 1-1 f v
         XADD x 2-1 f v
         XREADGROUP GROUP g c STREAMS x $
         XREADGROUP GROUP none c STREAMS x $
         XREADGROUP GROUP g c STREAMS x >
         XREADGROUP GROUP g c STREAMS x 0
         XREADGROUP GROUP g c STREAMS x 1-1
         XREADGROUP GROUP g c COUNT 1 STREAMS x 0
         XREADGROUP GROUP g c STREAMS x 18446744073709551615-18446744073709551615
         XREADGROUP GROUP g c STREAMS x 18446744073709551615-18446744073709551614
         XREADGROUP GROUP g c STREAMS x -
         XREADGROUP GROUP g c GROUP h d STREAMS x >
         XREADGROUP GROUP none c GROUP h d NOACK COUNT -5 STREAMS x >
         XREADGROUP GROUP g c STREAMS x s > >
         XREADGROUP GROUP g c STREAMS x none > >
         XREADGROUP GROUP g c STREAMS x x > 0
         XREADGROUP GROUP g c STREAMS x x 0 >
         XACK x
         XACK x g
         XACK x g x
         XACK x none x
         XACK none g x
         XACK s g x
         XACK s g 1-1
         XACK x g 1-1 1-1 2-1 x
         XACK x g 1-1 1-1 2-1
         XPENDING x
         XPENDING x g
         XPENDING x none
         XPENDING none g
         XPENDING s g
         XPENDING x g -
         XPENDING x g - +
         XPENDING x g - + 10
         XPENDING x g - + x
         XPENDING x g - + -1
         XPENDING x g - + 0
         XPENDING x g - + 10 c
         XPENDING x g - + 10 none
         XPENDING x g - + 10 c d
         XPENDING x g IDLE
         XPENDING x g IDLE 10
         XPENDING x g IDLE 10 -
         XPENDING x g IDLE 10 - +
         XPENDING x g IDLE 10 - + 10
         XPENDING x g IDLE x - + 10
         XPENDING x g IDLE -10 - + 10
         XPENDING x g IDLE 0 - + 10 c
         XPENDING x g IDLE 0 - + 10 c d
         XPENDING x g FOO 0 - + 10 c
         XPENDING x g ( + 10
         XPENDING x g (1 + 10
         XPENDING x g (18446744073709551615-18446744073709551615 + 10
         XPENDING x g - (0-0 10
         XPENDING x g + - 10
         XPENDING x none x + 10
         XPENDING none g x + 10
         XPENDING x g 1-1 1 10",
    );
}

#[test]
fn pending_entries_are_claimed() {
    compare_lines(
        Kind::Valkey,
        "SET s v
         XGROUP CREATE x g 0 MKSTREAM
         XADD x 1-1 f v
         XADD x 2-1 f v
         XREADGROUP GROUP g c STREAMS x >
         XACK x g 1-1 2-1
         XADD x 3-1 f v
         XADD x 4-1 f v
         XADD x 5-1 f v
         XCLAIM x
         XCLAIM x g c 0
         XCLAIM x g c x 1-1
         XCLAIM x g c 0 x
         XCLAIM x g c -5 3-1
         XCLAIM x none c 0 3-1
         XCLAIM none g c 0 3-1
         XCLAIM s g c 0 3-1
         XCLAIM x none c x 3-1
         XCLAIM x g c 0 3-1 FORCE
         XCLAIM x g c 0 3-1 FORCE JUSTID
         XCLAIM x g c 0 4-1 FORCE JUSTID RETRYCOUNT 5
         XPENDING x g - + 10
         XCLAIM x g c 0 3-1 RETRYCOUNT -5
         XCLAIM x g c 0 3-1 RETRYCOUNT x
         XCLAIM x g c 0 3-1 RETRYCOUNT
         XCLAIM x g c 0 3-1 IDLE x
         XCLAIM x g c 0 3-1 TIME x
         XCLAIM x g c 0 3-1 LASTID x
         XCLAIM x g c 0 3-1 LASTID 9-1 JUSTID
         XINFO GROUPS x
         XCLAIM x g c 0 3-1 FOO
         XCLAIM x g c 0 3-1 4-1 JUSTID FORCE 5-1
         XCLAIM x g c 0 JUSTID
         XCLAIM x g c 0 JUSTID 3-1
         XCLAIM x g c 0 3-1 - JUSTID
         XCLAIM x g c 0 + JUSTID
         XCLAIM x g c 0 5-1 5-1 5-1 JUSTID FORCE
         XCLAIM x g c 0 3-1 IDLE 9223372036854775807
         XCLAIM x g c 0 3-1 TIME 9223372036854775807
         XCLAIM x g c 0 3-1 TIME -5
         XCLAIM x g c 0 3-1 IDLE -5
         XCLAIM x g c 9223372036854775807 3-1
         XCLAIM x g d 0 3-1 5-1 4-1
         XPENDING x g
         XDEL x 4-1
         XCLAIM x g d 0 4-1 5-1
         XPENDING x g
         XCLAIM x g d 0 4-1 5-1 FORCE",
    );
}

#[test]
fn xautoclaim_claims_old_pending_entries_in_pages() {
    compare_lines(
        Kind::Valkey,
        "SET s v
         XGROUP CREATE x g 0 MKSTREAM
         XADD x 1-1 f v
         XADD x 2-1 f v
         XADD x 3-1 f v
         XADD x 4-1 f v
         XADD x 5-1 f v
         XREADGROUP GROUP g c STREAMS x >
         XAUTOCLAIM x
         XAUTOCLAIM x g e 0
         XAUTOCLAIM x g e x 0
         XAUTOCLAIM x g e 0 x
         XAUTOCLAIM x g e 0 (
         XAUTOCLAIM x g e 0 (18446744073709551615-18446744073709551615
         XAUTOCLAIM x g e 0 +
         XAUTOCLAIM x g e 0 -
         XAUTOCLAIM x none e 0 -
         XAUTOCLAIM none g e 0 -
         XAUTOCLAIM s g e 0 -
         XAUTOCLAIM s g e x -
         XAUTOCLAIM x g e 0 0 COUNT
         XAUTOCLAIM x g e 0 0 COUNT 0
         XAUTOCLAIM x g e 0 0 COUNT -1
         XAUTOCLAIM x g e 0 0 COUNT x
         XAUTOCLAIM x g e 0 0 COUNT 9223372036854775807
         XAUTOCLAIM x g e 0 0 COUNT 8070450532247928833
         XAUTOCLAIM x g e 0 0 COUNT 8070450532247928832
         XAUTOCLAIM x g e 0 0 COUNT 1 COUNT 2
         XAUTOCLAIM x g e 0 0 COUNT 1
         XAUTOCLAIM x g e 0 0 JUSTID
         XAUTOCLAIM x g e 0 0 JUSTID COUNT 1
         XAUTOCLAIM x g e 0 0 FOO
         XAUTOCLAIM x g e -5 0
         XAUTOCLAIM x g e 0 3
         XAUTOCLAIM x g e 0 (3-1
         XADD x 6-1 f v
         XADD x 7-1 f v
         XREADGROUP GROUP g q STREAMS x >
         XGROUP SETID x g 0
         XREADGROUP GROUP g q STREAMS x >
         XDEL x 5-1 6-1
         XAUTOCLAIM x g e 0 0 COUNT 1
         XAUTOCLAIM x g e 0 5 COUNT 1
         XAUTOCLAIM x g e 0 0 COUNT 5
         XREADGROUP GROUP g e STREAMS x 0
         XDEL x 7-1
         XREADGROUP GROUP g e STREAMS x 0
         XGROUP DELCONSUMER x g e
         XGROUP DELCONSUMER x g q
         XPENDING x g
         XGROUP DESTROY x g
         XGROUP DESTROY x h",
    );
}

#[test]
fn idle_times_of_pending_entries_follow_the_clock() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 10000");
    s.run("XGROUP CREATE x g 0 MKSTREAM");
    for id in ["1-1", "1-2", "1-3"] {
        s.run(&format!("XADD x {id} f v"));
    }
    s.check3("XREADGROUP GROUP g c COUNT 2 STREAMS x >", TWO_2, TWO_3);
    s.run("CLOCK.ADVANCE 500");
    s.run("XREADGROUP GROUP g c STREAMS x >");
    s.run("CLOCK.ADVANCE 100");
    s.check(
        "XPENDING x g - + 10",
        r#"[["1-1", "c", :600, :1], ["1-2", "c", :600, :1], ["1-3", "c", :100, :1]]"#,
    );
    s.check("XPENDING x g IDLE 600 - + 10 c", r#"[["1-1", "c", :600, :1], ["1-2", "c", :600, :1]]"#);
    s.check("XPENDING x g IDLE 601 - + 10", "[]");
    s.check("XCLAIM x g d 600 1-1 1-3 JUSTID", r#"["1-1"]"#);
    s.check("XCLAIM x g d 0 1-2 IDLE 50", r#"[["1-2", ["f", "v"]]]"#);
    s.check("XPENDING x g - + 10 d", r#"[["1-1", "d", :0, :1], ["1-2", "d", :50, :2]]"#);
    s.check("XAUTOCLAIM x g e 75 - COUNT 1 JUSTID", r#"["0-0", ["1-3"], []]"#);
    s.check3("XINFO CONSUMERS x g", CONSUMERS_2, CONSUMERS_3);
    // A consumer whose attempt gets nothing is seen, but not active.
    s.run("CLOCK.ADVANCE 1000");
    s.check3("XREADGROUP GROUP g c STREAMS x >", "(nil)", "(nil)");
    let consumers = s.run("XINFO CONSUMERS x g");
    assert!(
        consumers[0].to_string().contains(r#""pending", :0, "idle", :0, "inactive", :1100"#),
        "{consumers:?}"
    );
    let full = s.run("XINFO STREAM x FULL");
    let told = r#"["name", "c", "seen-time", :11600, "active-time", :10500, "pel-count", :0, "pending", []]"#;
    assert!(full[0].to_string().contains(told), "{full:?}");
    let pending = r#""pel-count", :2, "pending", [["1-1", :10600, :1], ["1-2", :10550, :2]]]"#;
    let told = format!(r#"["name", "d", "seen-time", :10600, "active-time", :10600, {pending}"#);
    assert!(full[0].to_string().contains(&told), "{full:?}");
}

const CONSUMERS_2: &str = concat!(
    r#"[["name", "c", "pending", :0, "idle", :100, "inactive", :100], "#,
    r#"["name", "d", "pending", :2, "idle", :0, "inactive", :0], "#,
    r#"["name", "e", "pending", :1, "idle", :0, "inactive", :0]]"#
);
const CONSUMERS_3: &str = concat!(
    r#"[{"name": "c", "pending": :0, "idle": :100, "inactive": :100}, "#,
    r#"{"name": "d", "pending": :2, "idle": :0, "inactive": :0}, "#,
    r#"{"name": "e", "pending": :1, "idle": :0, "inactive": :0}]"#
);
const TWO_2: &str = r#"[["x", [["1-1", ["f", "v"]], ["1-2", ["f", "v"]]]]]"#;
const TWO_3: &str = r#"{"x": [["1-1", ["f", "v"]], ["1-2", ["f", "v"]]]}"#;

#[test]
fn help_explains_the_subcommands() {
    for container in ["XGROUP", "XINFO"] {
        let ours = ours::scenario().run(&format!("{container} HELP"))[0].to_string();
        assert!(ours.ends_with("+HELP, +    Print this help.]"), "{ours}");
        for kind in [Kind::Redis, Kind::Valkey] {
            let Some(real) = RealServer::start(kind, &[]) else { continue };
            let help = Client::connect(real.addr()).line(&format!("{container} HELP")).to_string();
            // 7.2 writes `Print`.
            assert_eq!(help.replace("Prints this help", "Print this help"), ours);
        }
    }
}
