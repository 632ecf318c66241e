//! Members: adding, scoring, ranges, popping, waiting.

use lockwheel_tests::family::{await_blocked, expect_events, listen};
use lockwheel_tests::redis_server::Kind;
use lockwheel_tests::{family, ours};
use std::time::Duration;

#[test]
fn members_are_added_and_scored() {
    family::compare_lines(
        Kind::Valkey,
        "ZADD z 1 a 2.5 b 0.1 c 1e20 d 1e-7 e
         ZADD z 1 a 3 b
         ZADD z CH 1 a 4 b 5 f
         ZADD z XX 9 none
         ZADD z XX CH 9 none 6 f
         ZADD none XX 1 a
         ZADD none XX INCR 1 a
         ZADD z NX 7 f 7 g
         ZADD z GT 1 g 8 f
         ZADD z GT CH 9 g 1 h
         ZADD z LT CH 10 g 0.5 h
         ZADD z INCR 1 a
         ZADD z NX INCR 1 a
         ZADD z NX INCR 1 i
         ZADD z XX INCR 1 nope
         ZADD z GT INCR -1 a
         ZADD z GT INCR 1 a
         ZADD z LT INCR 1 a
         ZADD z XX GT LT 1 a
         ZADD z INCR 0 a
         ZADD z nx incr ch 3 j
         ZADD z inf big -inf small +Infinity big2
         ZADD z INCR -inf big
         ZADD z -0 zero
         ZADD z 1 twice 2 twice
         ZCARD z
         ZCARD none
         ZSCORE z a
         ZSCORE z zero
         ZSCORE z nope
         ZSCORE none a
         ZMSCORE z a nope big small d e c
         ZMSCORE none a b
         ZINCRBY z 1.5 a
         ZINCRBY z 0 a
         ZINCRBY new -2 a
         ZINCRBY z -inf big
         ZREM z a nope b
         ZREM none a
         ZREM new a
         ZCARD new
         ZRANGE z 0 -1 WITHSCORES
         ZADD k 1.7976931348623157e308 a
         ZINCRBY k 1.7976931348623157e308 a",
    );
}

#[test]
fn zadd_checks_its_arguments_in_the_order_of_the_real_server() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z
         ZADD z NX
         ZADD z NX 1
         ZADD z 1 a 2
         ZADD z NX XX 1
         ZADD z NX XX 1 a
         ZADD z GT LT 1 a
         ZADD z GT NX 1 a
         ZADD z LT NX 1 a
         ZADD z INCR NX XX 1 a 2 b
         ZADD z INCR 1 a 2 b
         ZADD z nan a
         ZADD z x a
         ZADD z 1 a x b
         ZADD z FOO 1 a
         ZADD z 1e400 a
         ZADD z 1_0 a
         ZADD z 0x10 a
         ZADD z CH CH 0x1p1 a
         ZINCRBY z nan a
         ZINCRBY z x a
         ZINCRBY z nx a
         ZRANGE z 0 -1",
    );
}

#[test]
fn members_are_counted_and_ranked() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z 1 a 2 b 2 bb 3 c inf d
         ZCOUNT z -inf +inf
         ZCOUNT z (1 3
         ZCOUNT z 1 (3
         ZCOUNT z (1 (2
         ZCOUNT z 3 1
         ZCOUNT z inf inf
         ZCOUNT z -inf (inf
         ZCOUNT z -1e400 1e400
         ZCOUNT z \"\" 2
         ZCOUNT z ( 2
         ZCOUNT z \" 1\" 2
         ZCOUNT z \"1 \" 2
         ZCOUNT z x 1
         ZCOUNT z 1 nan
         ZCOUNT z 1 (nan
         ZCOUNT z ((1 2
         ZCOUNT none x 1
         ZCOUNT none 1 2
         ZRANK z a
         ZRANK z bb
         ZRANK z d
         ZRANK z nope
         ZRANK none a
         ZREVRANK z a
         ZREVRANK z d
         ZREVRANK z nope
         ZADD l 0 a 0 b 0 c 0 d
         ZLEXCOUNT l - +
         ZLEXCOUNT l [b (d
         ZLEXCOUNT l + -
         ZLEXCOUNT l a +
         ZLEXCOUNT l - \"\"
         ZLEXCOUNT none - +",
    );
    family::compare_lines(
        Kind::Valkey,
        "ZADD z 1 a 2.5 b
         ZRANK z b WITHSCORE
         ZREVRANK z b withscore
         ZRANK z nope WITHSCORE
         ZREVRANK none a WITHSCORE
         ZRANK z a FOO
         ZRANK z a WITHSCORE x
         ZREVRANK z a WITHSCORE x",
    );
}

#[test]
fn ranges_are_by_rank_score_and_member() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z 1 a 2 b 3 c 4 d
         ZRANGE z 0 -1
         ZRANGE z 1 2 WITHSCORES
         ZRANGE z 0 1 REV
         ZRANGE z -2 -1 rev withscores
         ZRANGE z 5 2
         ZRANGE z -100 100
         ZRANGE z -9223372036854775808 9223372036854775807
         ZRANGE none 0 -1
         ZRANGE none 0 -1 WITHSCORES
         ZRANGE z (1 3 BYSCORE
         ZRANGE z 3 (1 BYSCORE REV WITHSCORES
         ZRANGE z 1 3 BYSCORE REV
         ZRANGE z 0 100 BYSCORE LIMIT 1 2
         ZRANGE z 0 100 BYSCORE LIMIT 1 -5
         ZRANGE z 0 100 BYSCORE LIMIT 1 0
         ZRANGE z 0 100 BYSCORE LIMIT -1 2
         ZRANGE z 0 100 BYSCORE LIMIT 9 2
         ZRANGE z 100 0 BYSCORE LIMIT 1 2 REV
         ZRANGE z 0 -1 LIMIT 1 -1
         ZRANGE z - + BYLEX
         ZRANGE z [c (a BYLEX REV
         ZRANGE z (a [c BYLEX LIMIT 1 1
         ZRANGE z + - BYLEX
         ZRANGE z 0 1 LIMIT 0 1
         ZRANGE z 0 1 LIMIT x 1
         ZRANGE z 0 1 LIMIT 0
         ZRANGE z 0 1 BYSCORE LIMIT 0 x
         ZRANGE z 0 1 BYSCORE LIMIT 0 1 LIMIT 1 1
         ZRANGE z 0 1 BYLEX BYSCORE
         ZRANGE z 0 1 REV REV
         ZRANGE z 0 1 FOO
         ZRANGE z 0 1 WITHSCORES WITHSCORES
         ZRANGE z - + BYLEX WITHSCORES
         ZRANGE z a + BYLEX
         ZRANGE z a 1 BYSCORE
         ZRANGE z a 1
         ZRANGEBYSCORE z -inf +inf WITHSCORES LIMIT 0 1
         ZRANGEBYSCORE z (1 (4 LIMIT 1 -1 WITHSCORES
         ZRANGEBYSCORE z x 1
         ZRANGEBYSCORE z x 1 LIMIT x 1
         ZRANGEBYSCORE z 1 2 REV
         ZRANGEBYSCORE z 1 2 BYSCORE
         ZREVRANGE z 0 1 WITHSCORES
         ZREVRANGE z 0 -1
         ZREVRANGE z -1 -1
         ZREVRANGE z 0 1 REV
         ZREVRANGE z 0 1 LIMIT 0 1
         ZREVRANGE z x 1
         ZREVRANGEBYSCORE z +inf (2 WITHSCORES
         ZREVRANGEBYSCORE z 3 1 LIMIT 1 5
         ZREVRANGEBYSCORE z 3 x
         ZRANGEBYLEX z - + LIMIT 1 2
         ZRANGEBYLEX z [b [c
         ZRANGEBYLEX z - + WITHSCORES
         ZRANGEBYLEX z b +
         ZREVRANGEBYLEX z + - LIMIT 0 1
         ZREVRANGEBYLEX z (d [b
         ZREVRANGEBYLEX z + - WITHSCORES",
    );
}

#[test]
fn ranges_of_a_large_set_equal_those_of_a_small_one() {
    let mut lines = String::new();
    for member in 0..300 {
        lines += &format!("ZADD z {} m{member}\n", member % 7);
    }
    lines += "ZRANGE z 100 110 WITHSCORES
              ZRANGE z 100 110 REV
              ZRANGEBYSCORE z (3 5 LIMIT 20 10
              ZREVRANGEBYSCORE z 5 (3 LIMIT 20 10 WITHSCORES
              ZRANK z m200
              ZREVRANK z m200
              ZCOUNT z (1 3
              ZREMRANGEBYSCORE z 2 3
              ZREMRANGEBYRANK z 50 59
              ZPOPMAX z 3
              ZPOPMIN z 3
              ZRANGE z 0 -1
              ZSCAN z 0 COUNT 1000
              ZREMRANGEBYRANK z 0 -2
              ZRANGE z 0 -1 WITHSCORES";
    family::compare_lines(Kind::Redis, &lines);
}

#[test]
fn zscan_of_a_large_set_shows_17_digits() {
    let mut lines = String::from("ZADD small 0.1 a inf b 1e20 c\nZSCAN small 0\n");
    for member in 0..200 {
        lines += &format!("ZADD z {}.1 m{member}\n", member % 3);
    }
    lines += "ZADD z inf m1 -inf m2 1e-7 m3 1e300 m4 3 m5 -0 m6\nZSCAN z 0 COUNT 1000\nZSCAN z 0 COUNT 1000 MATCH m1*";
    family::compare_lines(Kind::Valkey, &lines);
}

#[test]
fn zscan_reads_its_options_as_the_real_server_does() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z 1 a 2 b
         ZSCAN z 0
         ZSCAN z 0 MATCH a* COUNT 1
         ZSCAN z x
         ZSCAN none x
         ZSCAN none 0
         ZSCAN none 0 COUNT 0
         ZSCAN z 0 COUNT 0
         ZSCAN z 0 COUNT x
         ZSCAN z 0 FOO x
         ZSCAN z 0 MATCH
         ZSCAN z 18446744073709551615
         ZSCAN z 18446744073709551616",
    );
}

#[test]
fn ranges_are_removed_and_stored() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
         ZREMRANGEBYRANK z 0 0
         ZREMRANGEBYRANK z -1 -1
         ZREMRANGEBYRANK z 9 10
         ZREMRANGEBYRANK z x 0
         ZREMRANGEBYRANK none 0 -1
         ZREMRANGEBYSCORE z (2 3
         ZREMRANGEBYSCORE z x 3
         ZREMRANGEBYSCORE none 0 x
         ZREMRANGEBYSCORE none 0 1
         ZREMRANGEBYLEX z [b [b
         ZREMRANGEBYLEX z x +
         ZREMRANGEBYLEX none - +
         ZRANGE z 0 -1
         ZREMRANGEBYSCORE z -inf +inf
         ZCARD z
         ZADD z 1 a 2 b 3 c
         ZRANGESTORE d z 0 1
         ZRANGE d 0 -1 WITHSCORES
         ZRANGESTORE d z (1 inf BYSCORE LIMIT 1 1
         ZRANGESTORE d z + - BYLEX REV LIMIT 0 2
         ZRANGE d 0 -1 WITHSCORES
         ZRANGESTORE d z 0 -1 WITHSCORES
         ZRANGESTORE d z x 1
         ZRANGESTORE d z 0 1 LIMIT 0 1
         ZRANGESTORE z z 1 1
         ZRANGE z 0 -1
         RPUSH l a
         ZRANGESTORE d l 0 -1
         ZRANGESTORE l z 0 -1
         ZRANGE l 0 -1
         ZRANGESTORE l none 0 -1
         ZCARD l",
    );
}

#[test]
fn members_are_popped_from_either_end() {
    family::compare_lines(
        Kind::Redis,
        "ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g
         ZPOPMIN z
         ZPOPMAX z
         ZPOPMIN z 1
         ZPOPMAX z 2
         ZPOPMIN z 0
         ZPOPMIN none
         ZPOPMIN none 1
         ZPOPMAX none 0
         ZPOPMIN z -1
         ZPOPMIN z x
         ZPOPMIN none x
         ZPOPMIN z 99999999999999999999
         ZPOPMIN z 1 2
         ZMPOP 1 z MIN
         ZPOPMIN z 9223372036854775807
         ZCARD z
         ZADD z 1 a 2 b 3 c
         ZMPOP 2 none z MAX COUNT 2
         ZMPOP 2 none none MAX
         ZMPOP 0 z MIN
         ZMPOP x z MIN
         ZMPOP 2 z MIN
         ZMPOP 1 z LEFT
         ZMPOP 1 z MIN COUNT 0
         ZMPOP 1 z MIN COUNT
         ZMPOP 1 z MIN FOO 1
         ZMPOP 1 z MIN COUNT 9
         ZADD z 1 a 2.5 b 3 c 4 d
         BZPOPMIN none z 0
         BZPOPMAX z none 0
         BZMPOP 0 2 none z MIN COUNT 5
         BZPOPMIN z x
         BZPOPMAX z -1
         BZMPOP x 0 z MIN
         BZMPOP x 1 z UP
         BZMPOP x 1 z MIN
         BZMPOP -1 1 z MIN
         MULTI
         BZPOPMIN none 0
         BZPOPMAX none 0
         BZMPOP 0 1 none MIN
         EXEC",
    );
}

#[test]
fn another_type_is_refused_before_anything_changes() {
    family::compare_lines(
        Kind::Redis,
        "RPUSH l a
         ZADD z 1 a
         ZADD l x a
         ZADD l 1 a
         ZADD l XX 1 a
         ZADD l INCR 1 a
         ZINCRBY l x a
         ZINCRBY l 1 a
         ZREM l a
         ZSCORE l a
         ZMSCORE l a
         ZCARD l
         ZCOUNT l x 1
         ZCOUNT l 0 1
         ZLEXCOUNT l x +
         ZLEXCOUNT l - +
         ZRANK l a
         ZREVRANK l a
         ZRANGE l x 1
         ZRANGE l 0 1
         ZRANGEBYSCORE l 0 1
         ZREMRANGEBYRANK l x 1
         ZREMRANGEBYRANK l 0 1
         ZREMRANGEBYSCORE l 0 1
         ZREMRANGEBYLEX l - +
         ZPOPMIN l
         ZPOPMIN l x
         ZPOPMAX l 0
         ZMPOP 2 none l MIN
         ZMPOP 2 z l MIN
         ZSCAN l x
         ZSCAN l 0 COUNT 0
         BZPOPMIN none l 0
         BZPOPMAX l z 0
         BZMPOP 0 1 l MIN
         LRANGE l 0 -1",
    );
}

#[test]
fn one_zadd_serves_waiters_in_order() {
    family::same_everywhere(|scenario| {
        let waiters = [
            ("first", "BZPOPMAX k 0"),
            ("second", "BZMPOP 0 2 j k MIN COUNT 2"),
            ("third", "BZPOPMIN k j 0"),
        ];
        for (waiting, (session, line)) in waiters.into_iter().enumerate() {
            scenario.on(session).send(line);
            await_blocked(scenario, waiting + 1);
        }
        scenario.check("ZADD k 1 a 2.5 b 3 c 4 d 5 e", ":5");
        scenario.on("first").expect3(r#"["k", "e", "5"]"#, r#"["k", "e", ,5]"#);
        scenario
            .on("second")
            .expect3(r#"["k", [["a", "1"], ["b", "2.5"]]]"#, r#"["k", [["a", ,1], ["b", ,2.5]]]"#);
        scenario.on("third").expect3(r#"["k", "c", "3"]"#, r#"["k", "c", ,3]"#);
        scenario.check("ZRANGE k 0 -1", r#"["d"]"#);
    });
}

#[test]
fn a_list_does_not_serve_waiters_for_a_sorted_set() {
    family::same_everywhere(|scenario| {
        scenario.on("sorted").send("BZPOPMIN k 0");
        await_blocked(scenario, 1);
        scenario.on("list").send("BLPOP k 0");
        await_blocked(scenario, 2);
        scenario.check("RPUSH k a", ":1");
        scenario.on("list").expect(r#"["k", "a"]"#);
        scenario.check("ZADD k 1 a", ":1");
        scenario.on("sorted").expect3(r#"["k", "a", "1"]"#, r#"["k", "a", ,1]"#);
    });
}

#[test]
fn a_waiter_gets_null_at_its_timeout() {
    let mut scenario = ours::manual_scenario();
    let waits = [("min", "BZPOPMIN k 1.5"), ("max", "BZPOPMAX k j 1.5"), ("many", "BZMPOP 1.5 1 k MIN")];
    for (session, line) in waits {
        scenario.on(session).send(line);
    }
    scenario.check("AWAIT.BLOCKED 3", ":1");
    for server in scenario.servers() {
        server.advance(Duration::from_millis(1500)).unwrap();
    }
    for (session, _) in waits {
        scenario.on(session).expect("(nil)");
        let raw = scenario.on(session).clients().each_ref().map(|client| client.raw().to_vec());
        assert_eq!(raw, [b"*-1\r\n".to_vec(), b"_\r\n".to_vec()]);
    }
    scenario.check("ZADD k 1 a", ":1").check("ZCARD k", ":1");
}

#[test]
fn events_have_the_order_of_redis() {
    let lines = "ZADD z 1 a 2 b|ZADD z 1 a|ZADD z INCR 1 a|ZADD z CH XX 1 nope|ZINCRBY z 0 a|ZREM z a nope|ZREM z b|\
                 ZADD z 1 a 2 b 3 c 4 d 5 e 6 f|ZPOPMIN z|ZPOPMIN z 2|ZPOPMIN z 0|ZMPOP 1 z MAX|\
                 ZREMRANGEBYRANK z 0 0|ZREMRANGEBYSCORE z 5 5|ZADD z 1 a|ZREMRANGEBYLEX z - +|ZADD z 1 a|\
                 ZRANGESTORE d z 0 -1|ZRANGESTORE d z 5 6|ZRANGESTORE d z 5 6|BZPOPMAX z 0";
    family::same_everywhere(|scenario| {
        listen(scenario);
        for line in lines.split('|') {
            scenario.run(line);
        }
        let told = "zadd z, zincr z, zrem z, zrem z, del z, zadd z, zpopmin z, zpopmin z, \
                    zpopmax z, zremrangebyrank z, zremrangebyscore z, del z, zadd z, \
                    zremrangebylex z, del z, zadd z, zrangestore d, del d, zpopmax z, del z";
        expect_events(scenario, told);
    });
}
