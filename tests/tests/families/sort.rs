//! SORT and SORT_RO, as a client sees them.

use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::family::{self, compare_lines};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn elements_are_sorted_as_numbers_or_texts() {
    family::same_everywhere(|s| {
        s.check("RPUSH l 10 9 -1 1.5", ":4")
            .check("SORT l", r#"["-1", "1.5", "9", "10"]"#)
            .check("SORT l DESC LIMIT 1 2", r#"["9", "1.5"]"#)
            .check("SORT l ALPHA", r#"["-1", "1.5", "10", "9"]"#)
            .check("SORT l LIMIT 0 -1 LIMIT 3 5", r#"["10"]"#)
            .check("SORT l LIMIT 5 1", "[]")
            .check("SORT l LIMIT -5 1", r#"["-1"]"#)
            .check("SORT none", "[]")
            .check("RPUSH l x", ":5")
            .check("SORT l", "-ERR One or more scores can't be converted into double")
            .check("SORT l BY nosort DESC LIMIT 0 2", r#"["x", "1.5"]"#)
            .check("SET s v", "+OK")
            .check("SORT s", WRONG_TYPE)
            .check("SORT s NOSUCH", "-ERR syntax error")
            .check("SORT_RO l STORE d", "-ERR syntax error");
    });
}

#[test]
fn keys_named_after_elements_give_weights_and_values() {
    family::same_everywhere(|s| {
        s.check("SADD t 1 2 3", ":3")
            .check("MSET w1 3 w3 1 o1 one o3 three", "+OK")
            .check("HSET h1 n a", ":1")
            .check("HSET h2 n b w 5", ":2")
            .check("SORT t BY w*", r#"["2", "3", "1"]"#)
            .check(
                "SORT t BY w* GET # GET o* GET h*->n GET const",
                r#"["2", (nil), "b", (nil), "3", "three", (nil), (nil), "1", "one", "a", (nil)]"#,
            )
            .check("SORT t BY h*->w", r#"["1", "3", "2"]"#)
            .check("SORT t BY w* GET o* STORE d", ":3")
            .check("LRANGE d 0 -1", r#"["", "three", "one"]"#)
            .check("SORT t ALPHA DESC STORE d", ":3")
            .check("LRANGE d 0 -1", r#"["3", "2", "1"]"#)
            .check("SORT none STORE d", ":0")
            .check("EXISTS d", ":0");
    });
}

#[test]
fn by_nosort_keeps_the_order_of_a_sorted_set() {
    family::same_everywhere(|s| {
        s.check("ZADD z 3 a 1 b 2 c", ":3")
            .check("OBJECT ENCODING z", "\"listpack\"")
            .check("SORT z BY nosort", r#"["b", "c", "a"]"#)
            .check("SORT z BY nosort DESC LIMIT 0 2", r#"["a", "c"]"#)
            .check("SORT z BY nosort LIMIT 1 5", r#"["c", "a"]"#)
            .check("SORT_RO z ALPHA", r#"["a", "b", "c"]"#)
            .check("OBJECT ENCODING z", "\"skiplist\"");
    });
}

#[test]
fn sets_are_sorted_where_the_result_must_be_deterministic() {
    family::same_everywhere(|s| {
        s.check("SADD t c b a 10 9", ":5")
            .check("SORT t BY nosort STORE d", ":5")
            .check("LRANGE d 0 -1", r#"["10", "9", "a", "b", "c"]"#)
            .check(
                "EVAL \"return redis.call('sort', 't', 'by', 'nosort', 'desc')\" 0",
                r#"["c", "b", "a", "9", "10"]"#,
            );
    });
}

#[test]
fn an_empty_text_is_zero_and_leading_space_is_skipped() {
    // Valkey refuses an empty text, and space before a number.
    family::same_on(&[Kind::Redis], |s| {
        s.check("RPUSH l ' 1' '' -1 0x10 +4", ":5").check("SORT l", r#"["-1", "", " 1", "+4", "0x10"]"#);
    });
}

#[test]
fn numbers_out_of_range_of_a_double_are_refused() {
    // Real servers remember such a number for all later sorting.
    family::same_on(&[], |s| {
        let not_a_double = "-ERR One or more scores can't be converted into double";
        s.check("RPUSH l 1 1e400", ":2").check("SORT l", not_a_double);
        s.check("RPUSH m 1 1e-400", ":2").check("SORT m", not_a_double);
        s.check("RPUSH n 2 1", ":2").check("SORT n", r#"["1", "2"]"#);
    });
}

/// CVE-2022-35977: a start and a count whose sum is too large.
#[test]
fn cve_2022_35977_limits_do_not_wrap_around() {
    family::same_everywhere(|s| {
        s.check("RPUSH l 1 2 3", ":3");
        for (limit, expected) in [
            ("2 9223372036854775807", r#"["3"]"#),
            ("9223372036854775807 9223372036854775807", "[]"),
            ("-9223372036854775808 9223372036854775807", r#"["1", "2", "3"]"#),
            ("0 -9223372036854775808", r#"["1", "2", "3"]"#),
        ] {
            s.check(&format!("SORT l LIMIT {limit}"), expected)
                .check(&format!("SORT_RO l BY nosort LIMIT {limit}"), expected);
        }
    });
}

#[test]
fn sort_publishes_events_for_stored_and_missing_keys() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET notify-keyspace-events EAm", "+OK").check("RPUSH l 1 2", ":2");
        family::listen(s);
        s.check("SORT l BY w* GET o* STORE d", ":2")
            .check("SORT none STORE d", ":0")
            .check("SORT none STORE d", ":0");
        family::expect_events(
            s,
            "keymiss w1, keymiss w2, keymiss o1, keymiss o2, sortstore d, keymiss none, del d, keymiss none",
        );
    });
}

/// CVE-2023-36824: the keys of a request are found even if an argument is missing.
#[test]
fn cve_2023_36824_the_keys_of_a_request_are_its_own() {
    family::same_everywhere(|s| {
        s.check("COMMAND GETKEYS SORT k", r#"["k"]"#)
            .check("COMMAND GETKEYS SORT k STORE d", r#"["k", "d"]"#)
            .check("COMMAND GETKEYS SORT k BY store GET store LIMIT store 1 STORE d STORE e", r#"["k", "e"]"#)
            .check("COMMAND GETKEYS SORT k STORE", r#"["k"]"#)
            .check("COMMAND GETKEYS SORT k LIMIT 1", r#"["k"]"#)
            .check("COMMAND GETKEYS SORT_RO k STORE d", r#"["k"]"#)
            .check_that("COMMAND GETKEYSANDFLAGS SORT k STORE d", |reply| {
                reply.to_string().contains("OW") && reply.to_string().contains("RO")
            });
    });
}

/// A random line with only one right answer: no equals among the members of a set, and no server's own order.
fn line(rng: &mut Rng) -> String {
    let key = *rng.pick(&["l1", "l2", "t1", "z1"]);
    let mut words = vec!["SORT".to_owned(), key.to_owned()];
    let is_list = key.starts_with('l');
    let by = *rng.pick(&["", "", "w*", "h*->w", "nosort"]);
    let (by, alpha) = match (is_list, by) {
        // Missing weights are equal among texts.
        (false, "w*" | "h*->w") => (by, false),
        (_, "nosort") if key == "t1" => ("", rng.chance(50)),
        _ => (by, rng.chance(50)),
    };
    if !by.is_empty() {
        words.extend(["BY".to_owned(), by.to_owned()]);
    }
    // With a limit, real servers sort equal texts in their own order.
    if rng.chance(50) && !(alpha && by.contains('*')) {
        let number = |rng: &mut Rng| *rng.pick(&["0", "1", "2", "-1", "5", "100", "9223372036854775807"]);
        words.extend(["LIMIT".to_owned(), number(rng).to_owned(), number(rng).to_owned()]);
    }
    for _ in 0..rng.below(3) {
        words
            .extend(["GET".to_owned(), (*rng.pick(&["#", "o*", "h*->w", "w*", "none*->f", "x"])).to_owned()]);
    }
    words.extend((alpha).then(|| "ALPHA".to_owned()));
    words.push((*rng.pick(&["ASC", "DESC"])).to_owned());
    words.extend(rng.chance(25).then(|| "STORE d".to_owned()));
    words.join(" ")
}

#[test]
fn random_lines_answer_as_real_servers() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let Some(real) = RealServer::start(kind, &[]) else { continue };
        let ours = ours::server();
        let mut both =
            [real.addr(), ours.addr()].map(|address| Client::connect_with(address, Protocol::Resp2));
        let mut rng = Rng::new(1);
        for round in 0..40 {
            let member = |rng: &mut Rng| format!("{}", rng.below(40) as i64 - 10);
            let members: Vec<String> = (0..rng.below(30) + 1).map(|_| member(&mut rng)).collect();
            let scores: Vec<String> =
                members.iter().map(|member| format!("{} {member}", rng.below(5))).collect();
            let mut lines = vec![
                "FLUSHALL".to_owned(),
                format!("RPUSH l1 {}", members.join(" ")),
                format!("RPUSH l2 {} x", members.join(" ")),
                format!("SADD t1 {}", members.join(" ")),
                format!("ZADD z1 {}", scores.join(" ")),
            ];
            for _ in 0..10 {
                lines.push(format!("SET w{} {}", member(&mut rng), rng.below(10)));
                lines.push(format!("SET o{} v{}", member(&mut rng), rng.below(10)));
                lines.push(format!("HSET h{} w {}.5", member(&mut rng), rng.below(10)));
            }
            for _ in 0..30 {
                lines.extend([line(&mut rng), "LRANGE d 0 -1".to_owned()]);
            }
            for line in &lines {
                let [expected, got] = both.each_mut().map(|client| client.line(line).to_string());
                assert_eq!(got, expected, "{kind:?}, round {round}: {line}\n{}", lines.join("\n"));
            }
        }
    }
}

#[test]
fn sorting_answers_as_real_servers() {
    compare_lines(Kind::Redis, LINES);
    compare_lines(Kind::Valkey, LINES);
}

const LINES: &str = r#"
    RPUSH l 3 1 2 10 -5 1.5 inf -inf 1e3
    SORT l
    SORT l DESC
    SORT l ALPHA
    SORT l ALPHA DESC LIMIT 2 3
    SORT l desc asc
    SORT l LIMIT 1
    SORT l LIMIT x 1
    SORT l LIMIT 1 x
    SORT l LIMIT 1 1.5
    SORT l BY
    SORT l GET
    SORT l STORE
    SORT l FOO
    SORT l BY x GET
    SORT l BY nosort BY w*
    SORT l BY w* BY nosort
    SORT l BY #
    SORT l GET #
    SORT l GET # GET # LIMIT 0 2
    SORT l GET *
    SORT l GET nothing LIMIT 0 2
    RPUSH bad 1 2 "3 "
    SORT bad
    SORT bad ALPHA
    SORT bad STORE d
    EXISTS d
    RPUSH nan 1 nan
    SORT nan
    RPUSH nul "1\x00x" "0\x00y"
    SORT nul
    RPUSH texts "a\x00b" "a\x00a" b a "" "\xff" A
    SORT texts ALPHA
    SORT texts ALPHA STORE d
    LRANGE d 0 -1
    SORT texts ALPHA DESC
    MSET w3 1 w1 2 w2 3 w10 x
    SORT l BY w*
    RPUSH m 3 1 2
    SORT m BY w*
    SORT m BY w* DESC GET w* GET #
    SORT m BY w* ALPHA DESC
    SORT m BY v*
    SORT m BY v* DESC
    SORT m BY w*->f
    HSET h3 f 1 g x
    HSET h1 f 2
    SORT m BY h*->f
    SORT m BY h*->f DESC GET h*->g
    SORT m BY h*->g
    SORT m BY h*->
    SORT m BY h*->f ALPHA LIMIT 0 2
    SORT m GET w*->f
    SORT m GET h*
    SORT m GET h*->f->g
    SORT m STORE m
    LRANGE m 0 -1
    SORT m DESC STORE d STORE e
    LRANGE e 0 -1
    EXPIRE e 100000
    SORT m STORE e
    TTL e
    OBJECT ENCODING e
    SORT none STORE e
    EXISTS e
    SORT m LIMIT 5 5 STORE e
    SORT m GET v* STORE e
    LRANGE e 0 -1
    SADD s 3 1 2 10
    SORT s
    SORT s DESC LIMIT 1 2
    SORT s BY nosort STORE e
    LRANGE e 0 -1
    SADD t c b a
    SORT t
    SORT t ALPHA
    SORT t ALPHA LIMIT 1 1
    ZADD z 3 1 1 2 2 3
    SORT z
    SORT z DESC
    SORT z BY nosort
    SORT z BY nosort DESC
    SORT z BY nosort LIMIT 1 1
    SORT z BY nosort DESC LIMIT 1 1
    SORT z BY nosort LIMIT 10 1
    SORT z BY nosort LIMIT 0 0
    SORT z BY w*
    OBJECT ENCODING z
    SORT m BY nosort
    SORT m BY nosort DESC
    SORT m BY nosort LIMIT 1 1 GET #
    SORT m BY nosort DESC LIMIT 0 1
    SORT_RO m
    SORT_RO m STORE d
    SORT_RO z BY nosort
    SORT_RO none
    SET str x
    SORT str
    SORT str LIMIT x y
    SORT_RO str
    HSET h f v
    SORT h
    SORT
    EVAL_RO "return redis.call('sort_ro', 's')" 0
    EVAL_RO "return redis.call('sort', 's')" 0
    EVAL "return redis.call('sort', 's', 'by', 'nosort')" 0
"#;
