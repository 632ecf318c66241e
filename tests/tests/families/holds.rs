//! Records of holds, whoever takes them: their grants, their ends, and the reply to a late release.

use lockwheel::Server;
use lockwheel_tests::check::Scenario;
use lockwheel_tests::ours;

/// Two threads of one Redisson client.
const T1: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
const T2: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:2";

/// The essence of Redisson's scripts, without their conditions: KEYS[1] is the lock, ARGV[1] the owner.
const TAKE: &str = "redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], 30000)";
const UNLOCK: &str = "if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end \
                      redis.call('del', KEYS[1]) return 1";
const READ: &str = "redis.call('hset', KEYS[1], 'mode', 'read') redis.call('hincrby', KEYS[1], ARGV[1], 1) \
                    redis.call('set', '{' .. KEYS[1] .. '}:' .. ARGV[1] .. ':rwlock_timeout:1', 1, 'px', 9000) \
                    redis.call('pexpire', KEYS[1], 30000)";
const WRITE: &str = "redis.call('hset', KEYS[1], 'mode', 'write') \
                     redis.call('hset', KEYS[1], ARGV[1] .. ':write', 1) redis.call('pexpire', KEYS[1], 30000)";
/// A script that names no owner.
const FORCE: &str = "redis.call('del', KEYS[1])";

fn scenario() -> Scenario<Server> {
    let mut s = ours::manual_scenario();
    s.check("CLOCK.SET 5000000", ":5000000");
    s
}

fn eval(script: &str, words: &str) -> String {
    let keys = if words.is_empty() { 0 } else { 1 };
    format!("EVAL \"{script}\" {keys} {words}")
}

/// A field of the only holder that LOCK.INFO shows.
#[track_caller]
fn check_holder(s: &mut Scenario<Server>, key: &str, field: &str, value: &str) {
    s.check_that(&format!("LOCK.INFO {key}"), |info| {
        let text = info.to_string().replace("\": ", "\", ");
        text.contains(&format!("\"{field}\", {value}"))
    });
}

#[track_caller]
fn check_token(s: &mut Scenario<Server>, line: &str, token: i64) {
    let starts = [format!("[\"token\", :{token},"), format!("{{\"token\": :{token},")];
    s.check_that(line, |reply| starts.iter().any(|start| reply.to_string().starts_with(start)));
}

#[test]
fn every_observed_acquisition_takes_the_next_grant() {
    let mut s = scenario();
    check_token(&mut s, "LOCK.ACQUIRE a me", 1);
    s.run(&eval(TAKE, &format!("b {T1}")));
    s.run(&eval(TAKE, &format!("b {T1}")));
    check_holder(&mut s, "b", "grant", ":2");
    check_holder(&mut s, "b", "token", "(nil)");
    check_holder(&mut s, "b", "kind", "\"foreign\"");
    s.check("SET c me NX PX 1000", "+OK");
    check_holder(&mut s, "c", "grant", ":3");
    s.check(&format!("HSET d {T1} 1"), ":1").check(&format!("HSETNX e {T1} 1"), ":1");
    check_holder(&mut s, "d", "grant", ":4");
    check_holder(&mut s, "e", "grant", ":5");
    s.run(&eval(WRITE, &format!("f {T1}")));
    check_holder(&mut s, "f", "grant", ":6");
    // Commands on a key that is no lock take none.
    s.check("HSET g field 1", ":1").check("SET h v NX", "+OK").check("SET i v PX 1000", "+OK");
    for key in ["g", "h", "i"] {
        s.check_that(&format!("LOCK.INFO {key}"), |info| {
            info.to_string().replace("\": ", "\", ").contains("\"grant\", (nil)")
        });
    }
    check_token(&mut s, "LOCK.ACQUIRE j me", 7);
    check_holder(&mut s, "j", "token", ":7");
    // A thread that holds the lock by Redisson's script re-enters natively: it is the same hold.
    check_token(&mut s, &format!("LOCK.ACQUIRE b {T1}"), 2);
    s.check("FLUSHALL", "+OK");
    check_token(&mut s, "LOCK.ACQUIRE k me", 8);
}

#[test]
fn each_of_several_holders_has_a_grant() {
    let mut s = scenario();
    s.run(&eval(READ, &format!("l {T1}")));
    s.run(&eval(READ, &format!("l {T2}")));
    for (n, owner) in [(1, T1), (2, T2)] {
        s.check_that("LOCK.INFO l", |info| {
            let text = info.to_string().replace("\": ", "\", ");
            text.contains(&format!(
                r#""owner", "{owner}", "mode", "shared", "holds", :1, "kind", "foreign", "token", (nil), "grant", :{n}"#
            ))
        });
    }
    s.check(&format!("HDEL l {T1}"), ":1");
    s.check_that("LOCK.INFO l", |info| info.to_string().replace("\": ", "\", ").contains("\"grant\", :2"));
    s.run("CLOCK.ADVANCE 30000");
    s.check(
        &format!("LOCK.RELEASE l {T2}"),
        "-LOCKLOST this owner lost the lock: grant 2 ended (expired) at 5030000, current grant none",
    );
    s.check(&format!("LOCK.RELEASE l {T1}"), "-NOTHELD this owner does not hold the lock");
}

/// A line, the next owner's reply about its predecessor, and the reply to a late release, if the hold was lost.
const ENDS: [(&str, &str, Option<&str>); 12] = [
    ("LOCK.RELEASE l OWNER", "released", None),
    ("HDEL l OWNER", "released", None),
    ("EVAL UNLOCK 1 l OWNER", "released", None),
    ("EVAL FORCE 2 l OWNER", "released", None),
    ("EVAL FORCE 1 l", "forced", Some("forced")),
    ("EVAL FORCE 1 l somebody", "forced", Some("forced")),
    ("DEL l", "deleted", Some("deleted")),
    ("FLUSHALL", "deleted", Some("deleted")),
    ("RENAME l m", "deleted", Some("deleted")),
    ("RENAME other l", "overwritten", Some("overwritten")),
    ("CLOCK.ADVANCE 30000", "expired", Some("expired")),
    ("PEXPIRE l 0", "deleted", Some("deleted")),
];

/// A line of [`ENDS`], with the placeholders of scripts and the owner replaced.
fn line_of(line: &str, owner: &str) -> String {
    let line = line.replace("OWNER", owner);
    line.replace("UNLOCK", &format!("\"{UNLOCK}\"")).replace("FORCE", &format!("\"{FORCE}\""))
}

#[test]
fn each_end_of_a_hold_is_reported_with_its_cause() {
    for (line, predecessor, loss) in ENDS {
        for native in [true, false] {
            let mut s = scenario();
            s.run("HSET other f v");
            match native {
                true => drop(s.run(&format!("LOCK.ACQUIRE l {T1}"))),
                false => drop(s.run(&eval(TAKE, &format!("l {T1}")))),
            }
            s.on("w").send("LOCK.ACQUIRE l next BLOCK 0");
            s.check("AWAIT.BLOCKED 1 KEY l", ":1");
            s.run(&line_of(line, T1));
            if line.starts_with("RENAME other") {
                s.check("AWAIT.BLOCKED 1 KEY l", ":1").check("DEL l", ":1");
            }
            for client in s.on("w").clients() {
                let told = client.read_reply().to_string().replace("\": ", "\", ");
                let expected = if line.starts_with("RENAME other") { "deleted" } else { predecessor };
                assert!(
                    told.contains(&format!("\"predecessor\", \"{expected}\"")),
                    "{line} {native}: {told}"
                );
            }
            let told = match loss {
                None => "-NOTHELD this owner does not hold the lock".to_owned(),
                Some(cause) => {
                    let at = if cause == "expired" { 5_030_000 } else { 5_000_000 };
                    // Under its new name, the lock is held by a grant of its own.
                    let current = if line.starts_with("RENAME l ") { 3 } else { 2 };
                    format!(
                        "-LOCKLOST this owner lost the lock: grant 1 ended ({cause}) at {at}, current grant {current}"
                    )
                }
            };
            s.check(&format!("LOCK.RELEASE l {T1}"), &told);
        }
    }
}

#[test]
fn the_end_of_a_text_lock_is_reported_like_any_other() {
    let unlock = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end";
    for (line, told) in [
        (eval(unlock, "l me"), "-NOTHELD this owner does not hold the lock"),
        (
            "SET l other".to_owned(),
            "-LOCKLOST this owner lost the lock: grant 1 ended (overwritten) at 5000000, current grant none",
        ),
        (
            "DEL l".to_owned(),
            "-LOCKLOST this owner lost the lock: grant 1 ended (deleted) at 5000000, current grant none",
        ),
        // The text is the same owner's, who continues to hold the lock.
        ("SET l me XX PX 500".to_owned(), ":0"),
    ] {
        let mut s = scenario();
        s.check("SET l me NX PX 1000", "+OK");
        s.run(&line);
        s.check("LOCK.RELEASE l me", told);
    }
}

/// A later message does not change the record.
#[test]
fn a_deletion_stays_a_deletion_after_an_unlock_message() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a");
    s.run("DEL l");
    s.run("PUBLISH redisson_lock__channel:{l} 0");
    s.check(
        "LOCK.RELEASE l a",
        "-LOCKLOST this owner lost the lock: grant 1 ended (deleted) at 5000000, current grant none",
    );
}

#[test]
fn a_loss_is_remembered_for_each_owner_until_it_acquires_again() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.run("CLOCK.ADVANCE 1000");
    s.run("LOCK.ACQUIRE l b PX 1000");
    s.check("LOCK.RELEASE l b", ":0");
    s.run(&eval(TAKE, &format!("l {T1}")));
    s.run(&eval(FORCE, "l"));
    check_token(&mut s, "LOCK.ACQUIRE l c", 4);
    s.check(
        "LOCK.RELEASE l a",
        "-LOCKLOST this owner lost the lock: grant 1 ended (expired) at 5001000, current grant 4",
    );
    s.check(
        &format!("LOCK.RELEASE l {T1}"),
        "-LOCKLOST this owner lost the lock: grant 3 ended (forced) at 5001000, current grant 4",
    );
    s.check("LOCK.RELEASE l b", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l c", ":0");
    s.run("LOCK.ACQUIRE l a");
    s.check("LOCK.RELEASE l a", ":0");
    s.check("LOCK.RELEASE l a", "-NOTHELD this owner does not hold the lock");
}

#[test]
fn a_stale_token_changes_nothing() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.run("CLOCK.ADVANCE 1000");
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.check("LOCK.RELEASE l a TOKEN 1", "-STALE token 1 is not the current token 2");
    s.check("LOCK.RELEASE l a ALL TOKEN 1", "-STALE token 1 is not the current token 2");
    s.check("LOCK.RENEW 1 l a PX 5000 TOKEN 1", "-STALE token 1 is not the current token 2");
    s.run("LOCK.ACQUIRE m a PX 1000");
    s.check("LOCK.RENEW 2 m l a PX 5000 GT TOKEN 3", "-STALE token 3 is not the current token 2");
    s.check("PTTL l", ":1000").check("PTTL m", ":1000");
    s.check("LOCK.RENEW 2 l none a PX 5000 TOKEN 2 GT", "[:1, :0]").check("PTTL l", ":5000");
    s.check("LOCK.RELEASE l b TOKEN 2", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l a TOKEN 2", ":0");
    s.check("HSET n a 1", ":1")
        .check("LOCK.RELEASE n a TOKEN 2", "-STALE token 2 is not current: there is no current token");
}

#[test]
fn a_lease_accepted_before_the_wait_is_granted_up_to_the_maximum() {
    let mut s = scenario();
    let lease = i64::MAX - 5_000_000;
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.on("w").send(&format!("LOCK.ACQUIRE l b PX {lease} BLOCK 0"));
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    s.run("CLOCK.ADVANCE 1000");
    for client in s.on("w").clients() {
        assert!(client.read_reply().to_string().contains(&lease.to_string()));
    }
    s.check("PEXPIRETIME l", ":9223372036854775807").check("LOCK.RELEASE l b", ":0");
}

#[test]
fn a_plain_hold_is_released_after_the_key_became_a_read_write_lock() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a");
    s.run(&eval(READ, &format!("l {T1}")));
    s.check("LOCK.RELEASE l a", ":0").check("HKEYS l", &format!("[\"mode\", \"{T1}\"]"));
    s.check("PTTL l", ":9000").check("LOCK.RELEASE l a", "-NOTHELD this owner does not hold the lock");
    s.on("w")
        .send("SUBSCRIBE redisson_rwlock:{l}")
        .expect_push(r#"["subscribe", "redisson_rwlock:{l}", :1]"#);
    s.check(&format!("LOCK.RELEASE l {T1}"), ":0").check("KEYS *", "[]");
    s.on("w").expect_push(r#"["message", "redisson_rwlock:{l}", "0"]"#);
    s.run("LOCK.ACQUIRE l a");
    s.run(&eval(WRITE, &format!("l {T1}")));
    s.check("LOCK.RELEASE l a", ":0").check("HGET l mode", "\"write\"");
    s.check(&format!("LOCK.RELEASE l {T1}"), ":0").check("KEYS *", "[]");
    s.on("w").expect_push(r#"["message", "redisson_rwlock:{l}", "1"]"#);
}

#[test]
fn a_release_of_one_mode_keeps_the_hold_in_the_other() {
    let mut s = scenario();
    s.run(&eval(WRITE, &format!("l {T1}")));
    s.run(&format!("HSET l {T1} 1"));
    s.check(
        &format!("LOCK.RELEASE l {T1}"),
        "-LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
    );
    s.check(&format!("HDEL l {T1}"), ":1");
    s.run(&format!("HSET l {T2} 1"));
    s.on("w")
        .send("SUBSCRIBE redisson_rwlock:{l}")
        .expect_push(r#"["subscribe", "redisson_rwlock:{l}", :1]"#);
    s.check(&format!("LOCK.RELEASE l {T1}"), ":0").check("HGET l mode", "\"read\"");
    s.on("w").expect_push(r#"["message", "redisson_rwlock:{l}", "1"]"#);
    s.check(&format!("LOCK.RELEASE l {T2} ALL"), ":0").check("EXISTS l", ":0");
}

#[test]
fn waiters_of_redisson_are_shown_and_counted() {
    let mut s = scenario();
    s.run("LOCK.ACQUIRE l a");
    s.on("n").send("LOCK.ACQUIRE l b BLOCK 0");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    for (n, (name, line)) in [
        ("p", "SUBSCRIBE redisson_lock__channel:{l}".to_owned()),
        ("q", "PSUBSCRIBE redisson_lock__channel:*".to_owned()),
        ("r", format!("SUBSCRIBE redisson_lock__channel:{{l}}:{T1}")),
        ("r", format!("SUBSCRIBE redisson_lock__channel:{{l}}:{T2}")),
        ("t", "SUBSCRIBE redisson_sc:{l}".to_owned()),
        ("u", "SUBSCRIBE redisson_countdownlatch__channel__{l}".to_owned()),
        ("v", "PSUBSCRIBE redisson_lock__channel:{l}:*".to_owned()),
        ("x", "SUBSCRIBE redisson_lock__channel:{m}".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        s.on(name).send(&line);
        let waiting = if name == "x" { n } else { n + 1 };
        s.check(&format!("AWAIT.WAITERS l {}", waiting + 1), ":1");
    }
    s.check("AWAIT.WAITERS l 9 LIMIT 1", "(nil)").check("AWAIT.WAITERS m 2 LIMIT 1000", ":1");
    s.check_that("LOCK.INFO l", |info| {
        let text = info.to_string().replace("\": ", "\", ").replace(['{', '}'], "|");
        let waiter = |owner: &str, kind: &str, client: u64| {
            let mode = if kind == "native" { "\"exclusive\"" } else { "(nil)" };
            format!(r#""owner", {owner}, "mode", {mode}, "kind", "{kind}", "client", :{client}"#)
        };
        let (t1, t2) = (format!("\"{T1}\""), format!("\"{T2}\""));
        let all = [
            waiter("\"b\"", "native", 2),
            waiter("(nil)", "foreign", 3),
            waiter("(nil)", "foreign", 4),
            waiter(&t1, "foreign", 5),
            waiter(&t2, "foreign", 5),
            waiter("(nil)", "foreign", 6),
            waiter("(nil)", "foreign", 7),
            waiter("(nil)", "foreign", 8),
        ];
        let places: Vec<_> = all.iter().map(|waiter| text.find(waiter.as_str())).collect();
        places.iter().all(Option::is_some) && places.is_sorted()
    });
    s.check("MULTI", "+OK").check("LOCK.INFO none", "+QUEUED").run("EXEC");
}

#[test]
fn a_renamed_or_copied_lock_is_held_by_a_new_grant() {
    let mut s = scenario();
    check_token(&mut s, "LOCK.ACQUIRE a me", 1);
    s.check("RENAME a b", "+OK");
    check_holder(&mut s, "b", "kind", "\"native\"");
    check_holder(&mut s, "b", "token", ":2");
    s.check("LOCK.RENEW 1 b me PX 1000 TOKEN 2", "[:1]");
    check_token(&mut s, "LOCK.ACQUIRE b me", 2);
    s.check("LOCK.RELEASE b me TOKEN 1", "-STALE token 1 is not the current token 2");
    s.check(
        "LOCK.RELEASE a me",
        "-LOCKLOST this owner lost the lock: grant 1 ended (deleted) at 5000000, current grant none",
    );
    s.run(&eval(TAKE, &format!("c {T1}")));
    check_holder(&mut s, "c", "grant", ":3");
    s.check("COPY c d", ":1");
    check_holder(&mut s, "c", "grant", ":3");
    check_holder(&mut s, "d", "grant", ":4");
    check_holder(&mut s, "d", "kind", "\"foreign\"");
    s.check("RENAME d e", "+OK").check("RENAME e d", "+OK");
    check_holder(&mut s, "d", "grant", ":6");
    s.check("DEL d", ":1");
    s.check(
        &format!("LOCK.RELEASE d {T1}"),
        "-LOCKLOST this owner lost the lock: grant 6 ended (deleted) at 5000000, current grant none",
    );
    // Several owners, and a text.
    s.run(&eval(READ, &format!("f {T1}")));
    s.run(&eval(READ, &format!("f {T2}")));
    s.check("RENAME f g", "+OK").check("DEL g", ":1");
    for owner in [T1, T2] {
        s.check_that(&format!("LOCK.RELEASE g {owner}"), |reply| reply.to_string().starts_with("-LOCKLOST"));
    }
    s.check("SET t me NX PX 1000", "+OK").check("RENAME t u", "+OK");
    s.check_that("LOCK.INFO u", |info| {
        !info.to_string().replace("\": ", "\", ").contains("\"grant\", (nil)")
    });
}
