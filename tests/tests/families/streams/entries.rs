//! Entries: added, trimmed, deleted, listed.

use lockwheel_tests::family::compare_lines;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::Kind;

#[test]
fn entries_are_added_by_every_option_and_id() {
    compare_lines(
        Kind::Redis,
        "XADD x 0-0 f v
         XADD x * f
         XADD x MAXLEN
         XADD x MAXLEN x 1-1 f v
         XADD x MAXLEN -1 1-1 f v
         XADD x MAXLEN = 5 1-1 f v
         XADD x MAXLEN = ~ 5 1-2 f v
         XADD x MAXLEN ~ = 5 1-2 f v
         XADD x MAXLEN 5 MAXLEN 5 1-2 f v
         XADD x MAXLEN 5 MINID 5 1-2 f v
         XADD x MINID 5 MAXLEN 5 1-2 f v
         XADD x MAXLEN 5 LIMIT 5 1-2 f v
         XADD x MAXLEN ~ 5 LIMIT 5 1-2 f v
         XADD x MAXLEN ~ 5 LIMIT -5 1-3 f v
         XADD x MAXLEN ~ 5 LIMIT x 1-3 f v
         XADD x LIMIT 5 1-3 f v
         XADD x LIMIT 5 MAXLEN ~ 5 1-3 f v
         XADD x LIMIT 0 MAXLEN 5 1-4 f v
         XADD x LIMIT 5 MAXLEN = 5 1-4 f v
         XADD x MAXLEN ~ 5 LIMIT 1 LIMIT 0 1-4 f v
         XADD x NOMKSTREAM NOMKSTREAM 1-5 f v
         XADD x NOMKSTREAM
         XADD x 1-6 NOMKSTREAM v
         XADD x MINID x 1-7 f v
         XADD x MINID - 1-7 f v
         XADD x MINID + 1-8 f v
         XADD x MINID 1 1-7 f v
         XADD x MINID = 1-2 1-8 f v
         XADD x MINID ~ 1-2 1-9 f v
         XADD x 1-* f v
         XADD x 2-* f v
         XADD x 2-* f v
         XADD x 1-* f v
         XADD x *-1 f v
         XADD x *-* f v
         XADD x 3-** f v
         XADD x - f v
         XADD x + f v
         XADD x 5 f v
         XADD x 5 f v
         XADD x 6-1 f
         XADD x 6-1 f v g
         XADD x 6-1",
    );
}

#[test]
fn ids_are_read_as_loosely_as_the_real_server_reads_them() {
    compare_lines(
        Kind::Redis,
        "XADD x 5 f v
         XADD x 06-1 f v
         XADD x +7-1 f v
         XADD x \" 8-1\" f v
         XADD x 9-01 f v
         XADD x 9--5 f v
         XADD x 9--05 f v
         XADD x 10-+5 f v
         XADD x \"11 -5\" f v
         XADD x \"11- 5\" f v
         XADD x -12-5 f v
         XADD x 12.5 f v
         XADD x \"\" f v
         XADD x 12- f v
         XADD x 18446744073709551616-1 f v
         XADD x 12-18446744073709551616 f v
         XADD x 18446744073709551615-18446744073709551614 f v
         XADD x 18446744073709551615-* f v
         XADD x 18446744073709551615-* f v
         XADD x * f v
         XADD x 18446744073709551615-18446744073709551615 f v
         XADD none NOMKSTREAM MAXLEN x * f v
         XADD none NOMKSTREAM 0-0 f v
         XADD none NOMKSTREAM 1-1 f v",
    );
}

#[test]
fn another_type_is_refused_and_a_stream_may_be_empty() {
    compare_lines(
        Kind::Redis,
        "SET s v
         XADD s 1-1 f v
         XADD s NOMKSTREAM 0-0 f v
         XADD s 0-0 f v
         XADD s x f v
         XADD y 0-* f v
         XADD y 0-* f v
         XADD y MAXLEN ~ 0 1-1 f v
         XADD y MAXLEN 0 1-2 f v
         XLEN y
         XLEN none
         XLEN s",
    );
}

#[test]
fn streams_are_trimmed_to_a_length_or_an_id() {
    compare_lines(
        Kind::Redis,
        "XADD y 0-* f v
         XADD y 1-1 f v
         SET s v
         XTRIM y
         XTRIM y MAXLEN
         XTRIM y MAXLEN 1 x
         XTRIM y NOMKSTREAM 1
         XTRIM y LIMIT 1
         XTRIM y MAXLEN ~ 1 LIMIT
         XTRIM y MAXLEN ~ 1 LIMIT 1
         XTRIM y LIMIT 1 MAXLEN ~ 1
         XTRIM y MINID = 1
         XTRIM none MAXLEN x
         XTRIM none MAXLEN 1
         XTRIM s MAXLEN 1
         XTRIM y FOO 1
         XTRIM y MAXLEN 9223372036854775808
         XTRIM y MAXLEN 9223372036854775807
         XTRIM y 1 1
         XTRIM y = 1",
    );
}

#[test]
fn ranges_go_both_ways_and_entries_are_deleted() {
    compare_lines(
        Kind::Redis,
        "XADD x 5-18446744073709551615 f v
         XADD x 5-* f v
         DEL x
         XADD x 1-1 f v
         XADD x 1-2 f v g w
         XADD x 2-1 f v
         XADD x 3-1 a b
         XRANGE x - +
         XREVRANGE x + -
         XRANGE x 1 1
         XRANGE x (1 +
         XRANGE x (1-1 (3
         XRANGE x (1-1 (3-1 COUNT 1
         XRANGE x ( +
         XRANGE x (- +
         XRANGE x - (+
         XRANGE x - (0-0
         XRANGE x (18446744073709551615-18446744073709551615 +
         XREVRANGE x (18446744073709551615 -
         XREVRANGE x + (18446744073709551615
         XREVRANGE x + (18446744073709551615-18446744073709551615
         XRANGE x + -
         XRANGE x - + COUNT
         XRANGE x - + COUNT x
         XRANGE x - + COUNT 0
         XRANGE x - + COUNT -5
         XRANGE x - + COUNT 1 COUNT 2
         XRANGE x - + COUNT 1 FOO
         XRANGE x - + FOO 1
         XRANGE none - + FOO 1
         XRANGE none - + COUNT 0
         XRANGE none - +
         XRANGE none x +
         SET s v
         XRANGE s - +
         XRANGE s - + COUNT 0
         XREVRANGE none + -
         XREVRANGE x - +
         XREVRANGE x 2 1 COUNT 2
         XDEL x
         XDEL x 1-1 x
         XLEN x
         XDEL none x
         XDEL none 1-1
         XDEL s 1-1
         XDEL s x
         XDEL x -
         XDEL x 1
         XDEL x 1-1 1-1 1-1
         XDEL x (1-2",
    );
}

#[test]
fn xsetid_sets_the_last_id_and_counters_of_a_stream() {
    compare_lines(
        Kind::Valkey,
        "SET s v
         XADD x 1-1 f v
         XADD x 1-2 f v g w
         XADD x 2-1 f v
         XADD x 3-1 a b
         XDEL x 1-1
         XSETID x
         XSETID x 1-1
         XSETID x 3-1
         XSETID x 9
         XSETID x +
         XSETID none 1-1
         XSETID s 1-1
         XSETID s x
         XSETID x 9 ENTRIESADDED 5
         XSETID x 9 ENTRIESADDED 5 MAXDELETEDID
         XSETID x 9 ENTRIESADDED 5 MAXDELETEDID 10-1
         XSETID x 9 ENTRIESADDED -5 MAXDELETEDID 1-1
         XSETID x 9 ENTRIESADDED x MAXDELETEDID 1-1
         XSETID x 9 ENTRIESADDED 5 MAXDELETEDID x
         XSETID x 9 ENTRIESADDED 1 MAXDELETEDID 1-1
         XSETID x 9 ENTRIESADDED 3 MAXDELETEDID 0-0
         XINFO STREAM x
         XSETID x 9 ENTRIESADDED 5 MAXDELETEDID 0-5
         XSETID x 9 MAXDELETEDID 1-1 ENTRIESADDED 7
         XSETID x 9 MAXDELETEDID 1-1 MAXDELETEDID 0-2
         XSETID x 9 FOO
         XSETID x 9 FOO 1
         XINFO STREAM x
         XSETID x 9 MAXDELETEDID 1-1
         XSETID x 9 ENTRIESADDED 5
         XSETID x 0-5 MAXDELETEDID 1-1
         XSETID x 4-0 MAXDELETEDID 4-0
         XSETID x 4-0 MAXDELETEDID 4-1
         XSETID x 3-0 MAXDELETEDID 2-0
         XINFO STREAM x
         DEL x
         XADD x 1-1 f v
         XDEL x 1-1
         XSETID x 0-1
         XSETID x 1-0
         XSETID x 0-0
         XINFO STREAM x
         XADD x 1-1 f v
         XADD x 7-1 f v
         DEL x
         XADD x 1-1 f v
         XADD x 1-2 f v
         XADD x 1-3 f v
         XDEL x 1-1 1-2
         XSETID x 1-2
         XSETID x 1-3 MAXDELETEDID 1-1
         XINFO STREAM x FULL
         XTRIM x MAXLEN 0
         XSETID x 1-0
         XSETID x 0-0",
    );
}

#[test]
fn streams_are_described() {
    compare_lines(
        Kind::Redis,
        "SET s v
         XADD x 1-1 f v
         XINFO STREAM x FULL COUNT
         XINFO STREAM x FULL COUNT -1
         XINFO STREAM x FULL COUNT x
         XINFO STREAM x FULL FOO 1
         XINFO STREAM x FOO
         XINFO STREAM x FULL COUNT 1 1
         XINFO STREAM none
         XINFO STREAM s
         XINFO STREAM none FULL x 1
         XINFO
         XINFO FOO
         XINFO FOO x
         XINFO GROUPS none
         XINFO GROUPS s
         XINFO GROUPS x
         XINFO CONSUMERS none g
         XINFO CONSUMERS x g
         XINFO CONSUMERS s g
         XINFO CONSUMERS x",
    );
}

#[test]
fn streams_are_read_after_an_id() {
    compare_lines(
        Kind::Redis,
        "SET s v
         XADD x 1-1 f v
         XADD x 7-1 f v
         XREAD
         XREAD STREAMS x
         XREAD STREAMS x y
         XREAD STREAMS x y 0
         XREAD STREAMS x 0
         XREAD COUNT x STREAMS x 0
         XREAD COUNT STREAMS x 0
         XREAD COUNT -1 STREAMS x 0
         XREAD BLOCK x STREAMS x 0
         XREAD BLOCK -1 STREAMS x 0
         XREAD BLOCK 1.5 STREAMS x 0
         XREAD BLOCK 9223372036854775807 STREAMS x y
         XREAD BLOCK 9223372036854775808 STREAMS x 0
         XREAD BLOCK STREAMS x 0
         XREAD FOO STREAMS x 0
         XREAD COUNT 1 BLOCK 1 x 0
         XREAD GROUP g c STREAMS x 0
         XREAD NOACK STREAMS x 0
         XREAD STREAMS x >
         XREAD STREAMS x x
         XREAD STREAMS x -
         XREAD STREAMS x +
         XREAD STREAMS s 0
         XREAD STREAMS s x
         XREAD STREAMS x s y 0
         XREAD STREAMS x $
         XREAD STREAMS none $
         XREAD STREAMS s $
         XREAD COUNT 1 COUNT 2 STREAMS x 0
         XREAD BLOCK 1 STREAMS none 0
         XREAD STREAMS x 18446744073709551615-18446744073709551615
         XREADGROUP
         XREADGROUP GROUP g c STREAMS x
         XREADGROUP GROUP g c STREAMS x y z
         XREADGROUP GROUP g c STREAMS x 0
         XREADGROUP GROUP g c STREAMS none 0
         XREADGROUP GROUP g c STREAMS s 0
         XREADGROUP COUNT 1 NOACK STREAMS x 0
         XREADGROUP COUNT 1 BLOCK 1 STREAMS x 0
         XREADGROUP NOACK NOACK NOACK NOACK STREAMS x y
         XREADGROUP GROUP g COUNT 1 STREAMS x 0
         XREADGROUP STREAMS x y 0 0 0 0 0
         XREADGROUP STREAMS a b c d e f g h",
    );
}

/// The time of an id is the server's, and never decreases.
#[test]
fn generated_ids_contain_the_time_of_the_server() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000");
    s.check("XADD x * f v", r#""5000-0""#).check("XADD x * f v", r#""5000-1""#);
    s.run("CLOCK.ADVANCE 7");
    s.check("XADD x * f v", r#""5007-0""#);
    s.run("CLOCK.STEP -1000");
    s.check("XADD x * f v", r#""5007-1""#).check("XADD x 5007-* f v", r#""5007-2""#);
    s.check("XADD x 6000-5 f v", r#""6000-5""#).check("XADD x * f v", r#""6000-6""#);
    // A script and a transaction happen at one instant.
    s.run("CLOCK.SET 9000");
    s.check(
        "EVAL \"redis.call('XADD', 'x', '*', 'f', 'v'); return redis.call('XADD', 'x', '*', 'f', 'v')\" 0",
        r#""9000-1""#,
    );
    s.check("XRANGE x 9000 9000", r#"[["9000-0", ["f", "v"]], ["9000-1", ["f", "v"]]]"#);
}

#[test]
fn a_stream_is_a_value_like_any_other() {
    compare_lines(
        Kind::Redis,
        "XADD x 1-1 f v
         XGROUP CREATE x g 0
         XREADGROUP GROUP g c STREAMS x >
         TYPE x
         OBJECT ENCODING x
         COPY x y
         XDEL x 1-1
         XRANGE y - +
         XPENDING y g
         EXISTS x
         RENAME y z
         XINFO GROUPS z
         SCAN 0 TYPE stream COUNT 100
         SCAN 0 TYPE list COUNT 100
         EXPIRE z 1000
         XADD z 2-1 f v
         PERSIST z
         LPUSH z a
         GET z
         DEL x z
         EXISTS x z",
    );
}
