//! The checking of tokens: by LOCK.CHECK and LOCK.ASSERT, and by resources that stand for other systems.

use lockwheel_tests::ours;

#[test]
fn a_token_is_checked_against_the_grants_of_a_lock() {
    let mut s = ours::manual_scenario();
    s.check("LOCK.CHECK l 1", ":0")
        .check("LOCK.ASSERT l 1", "-STALE token 1 is not current: there is no current token");
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.check("LOCK.CHECK l 1", ":1").check("LOCK.ASSERT l 1", "+OK");
    for stale in ["0", "2", "-1", "9223372036854775807", "-9223372036854775808"] {
        s.check(&format!("LOCK.CHECK l {stale}"), ":0");
        s.check(
            &format!("LOCK.ASSERT l {stale}"),
            &format!("-STALE token {stale} is not the current token 1"),
        );
    }
    s.check("LOCK.CHECK l x", "-ERR value is not an integer or out of range: *");
    s.run("CLOCK.ADVANCE 1000");
    s.check("LOCK.CHECK l 1", ":0").check("RPUSH other x", ":1").check("LOCK.CHECK other 1", ":0");
    s.run("HSET rw mode read a 1 b 1");
    s.check("LOCK.CHECK rw 2", ":0");
}

#[test]
fn a_transaction_with_a_stale_token_runs_nothing() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a PX 1000");
    for line in ["MULTI", "SET k 1", "LOCK.ASSERT l 1"] {
        s.run(line);
    }
    s.check("EXEC", "[+OK, +OK]").run("CLOCK.ADVANCE 1000");
    s.run("LOCK.ACQUIRE l b");
    for line in ["WATCH k", "MULTI", "SET k 2", "LOCK.ASSERT l 1", "SET k 3"] {
        s.run(line);
    }
    s.check("EXEC", "-EXECABORT Transaction discarded because of: STALE token 1 is not the current token 2");
    s.check("GET k", "\"1\"").check("EXEC", "-ERR EXEC without MULTI");
    // The check concerns the state before the transaction; within it, it is a command like others.
    for line in ["MULTI", "LOCK.RELEASE l b", "LOCK.ASSERT l 2", "SET k 4"] {
        s.run(line);
    }
    s.check("EXEC", "[:0, -STALE token 2 is not current: there is no current token, +OK]")
        .check("GET k", "\"4\"");
}

/// The check uses the database that the transaction has selected by then.
#[test]
fn a_token_is_checked_in_the_database_that_the_transaction_selects() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    s.run("SELECT 1");
    s.run("LOCK.ACQUIRE l a");
    s.run("SELECT 0");
    for line in ["MULTI", "SELECT 1", "SET k 1", "LOCK.ASSERT l 2", "SELECT 0", "LOCK.ASSERT l 1"] {
        s.run(line);
    }
    s.check("EXEC", "[+OK, +OK, +OK, +OK, +OK]");
    for line in ["MULTI", "SELECT 1", "SET k 2", "LOCK.ASSERT l 1"] {
        s.run(line);
    }
    s.check("EXEC", "-EXECABORT Transaction discarded because of: STALE token 1 is not the current token 2");
    s.check("EXISTS k", ":0").check("SELECT 1", "+OK").check("GET k", "\"1\"");
    // A transaction that selects nothing stays where it is.
    for line in ["MULTI", "SELECT 99", "LOCK.ASSERT l 2"] {
        s.run(line);
    }
    s.check("EXEC", "[-ERR DB index is out of range, +OK]");
}

#[test]
fn a_script_with_a_stale_token_ends_with_the_error() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    let script = "redis.call('LOCK.ASSERT', KEYS[1], ARGV[1]) return redis.call('SET', 'k', 'v')";
    s.check(&format!("EVAL \"{script}\" 1 l 1"), "+OK").check("DEL k", ":1");
    s.check_that(&format!("EVAL \"{script}\" 1 l 7"), |reply| {
        reply.to_string().starts_with("-STALE token 7 is not the current token 1")
    });
    s.check("EXISTS k", ":0");
    s.check(
        "EVAL \"return redis.pcall('LOCK.ASSERT', 'l', 7)\" 0",
        "-STALE token 7 is not the current token 1",
    );
}

#[test]
fn a_resource_refuses_a_token_below_the_highest() {
    let mut s = ours::manual_scenario();
    s.check("LOCK.FENCE disk 5", "+OK").check("LOCK.FENCE disk 5", "+OK").check("LOCK.FENCE disk 7", "+OK");
    s.check("LOCK.FENCE disk 6", "-STALE token 6 is below the highest token 7");
    for bad in ["0", "-1", "-9223372036854775808"] {
        s.check(&format!("LOCK.FENCE disk {bad}"), "-ERR token should be greater than 0: *");
    }
    s.check("LOCK.FENCE disk x", "-ERR value is not an integer or out of range: *");
    s.check("FLUSHALL", "+OK").check("SELECT 1", "+OK");
    s.check("LOCK.FENCE disk 6", "-STALE token 6 is below the highest token 7").check("DBSIZE", ":0");
    s.check("LOCK.FENCE atlas 9223372036854775807", "+OK");
    let disk = r#"["highest", :7, "source", (nil), "accepted", :3, "refused", :2]"#;
    s.check3("LOCK.FENCEINFO disk", disk, &as_map(disk));
    s.check_that("LOCK.FENCEINFO", |all| {
        let text = all.to_string();
        text.find("atlas").expect("it is there") < text.find("disk").expect("it is there")
    });
    s.check("LOCK.FENCEINFO none", "(nil)")
        .check("LOCK.FENCEINFO a b", "-ERR syntax error: 'b' is one word too many");
    s.check("LOCK.FENCERESET none", ":0").check("LOCK.FENCERESET disk", ":1");
    s.check("LOCK.FENCE disk 1", "+OK").check("LOCK.FENCERESET", ":2");
    s.check3("LOCK.FENCEINFO", "[]", "{}")
        .check("LOCK.FENCERESET a b", "-ERR syntax error: 'b' is one word too many");
    s.check("LOCK.FENCE disk 2", "+OK").check("CONTROL.RESET", "+OK").check("LOCK.FENCEINFO disk", "(nil)");
}

#[test]
fn a_grant_raises_the_highest_token_of_a_resource_at_once() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a PX 1000 FENCE disk");
    s.check("LOCK.FENCE disk 1", "+OK").run("CLOCK.ADVANCE 1000");
    s.run("LOCK.ACQUIRE l b FENCE disk");
    s.check("LOCK.FENCE disk 1", "-STALE token 1 is below the highest token 2");
    let disk = r#"["highest", :2, "source", "sequence", "accepted", :1, "refused", :1]"#;
    s.check3("LOCK.FENCEINFO disk", disk, &as_map(disk));
    // A client that does not get the lock raises no fence.
    s.check("LOCK.ACQUIRE l c FENCE other", "(nil)").check("LOCK.FENCEINFO other", "(nil)");
    s.check("LOCK.ACQUIRE l c FENCE", "-ERR syntax error: expected resource at the end");
}

#[test]
fn a_re_entry_keeps_the_token_source_of_a_resource() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    s.run("LOCK.ACQUIRE l a FENCED FENCE disk");
    let disk = r#"["highest", :1, "source", "sequence", "accepted", :0, "refused", :0]"#;
    s.check3("LOCK.FENCEINFO disk", disk, &as_map(disk));
    s.run("LOCK.ACQUIRE m a FENCED FENCE atlas");
    s.run("LOCK.ACQUIRE m a FENCE atlas");
    let atlas = r#"["highest", :1, "source", "counter", "accepted", :0, "refused", :0]"#;
    s.check3("LOCK.FENCEINFO atlas", atlas, &as_map(atlas)).check("HGET m a", "\"2\"");
}

/// The counters of two locks cannot be compared: a new holder's token might be below an old one's. A refused client has
/// taken nothing.
#[test]
fn a_resource_accepts_the_tokens_of_one_counter_only() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a FENCED FENCE disk");
    let other = "-ERR this resource accepts tokens of the counter, not of the counter of another lock";
    s.check("LOCK.ACQUIRE m a FENCED FENCE disk", other).check("EXISTS m", ":0");
    s.run("LOCK.RELEASE l a");
    s.run("LOCK.ACQUIRE l b FENCED FENCE disk");
    s.check("LOCK.FENCE disk 2", "+OK").run("LOCK.RELEASE l b");
    s.check("LOCK.MACQUIRE 2 l m a FENCED FENCE disk", other);
    s.check("LOCK.MACQUIRE 2 l m a FENCED FENCE atlas", other);
    // The first client continues with the sequence, and has one hold more.
    s.run("LOCK.ACQUIRE l a");
    let mixed = "-ERR this resource accepts tokens of the sequence, not of the counter";
    s.check("LOCK.MACQUIRE 2 l m a FENCED FENCE atlas", mixed).check("HGET l a", "\"1\"");
    s.check("EXISTS m redisson_lock_token:{m}", ":0").check("LOCK.FENCEINFO atlas", "(nil)");
    s.run("SELECT 1");
    s.check("LOCK.ACQUIRE l a FENCED FENCE disk", other);
    s.check("LOCK.FENCERESET disk", ":1").run("LOCK.ACQUIRE l a FENCED FENCE disk");
    s.check("LOCK.FENCE disk 1", "+OK");
}

#[test]
fn tokens_of_a_fenced_read_write_lock_come_from_the_counter() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE other x");
    s.run("LOCK.ACQUIRE l a SHARED FENCED FENCE disk");
    s.run("LOCK.CONVERT l a EXCLUSIVE");
    s.check("GET redisson_lock_token:{l}", "\"2\"");
    s.check("LOCK.CHECK l 2", ":1").check("LOCK.CHECK l 3", ":0").run("LOCK.CONVERT l a SHARED");
    s.check("LOCK.CHECK l 2", ":1").run("LOCK.RELEASE l a");
    // A writer that also reads.
    s.run("LOCK.ACQUIRE l b EXCLUSIVE FENCED FENCE disk");
    s.run("LOCK.ACQUIRE l b SHARED FENCED FENCE disk");
    s.check("LOCK.CHECK l 3", ":1").check("LOCK.CHECK l 4", ":1");
    s.check("LOCK.ASSERT l 2", "-STALE token 2 is not the current token 4").check("LOCK.FENCE disk 4", "+OK");
    s.check("SET redisson_lock_token:{w} x", "+OK").run("LOCK.ACQUIRE w a EXCLUSIVE");
    let error = "-ERR value is not an integer or out of range: *";
    s.check("LOCK.MACQUIRE 2 free w a SHARED FENCED", error).check("EXISTS free", ":0");
}

/// A flat map as RESP3 shows it.
fn as_map(flat: &str) -> String {
    let words: Vec<&str> = flat[1..flat.len() - 1].split(", ").collect();
    let pairs: Vec<String> = words.chunks(2).map(|pair| format!("{}: {}", pair[0], pair[1])).collect();
    format!("{{{}}}", pairs.join(", "))
}
