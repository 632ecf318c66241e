//! FCALL and FCALL_RO, the flags of functions and of scripts, and the effects of functions.

use super::libraries::load;
use lockwheel_tests::ours::{manual_scenario, scenario};

/// A library of functions that do what a script does.
const LIBRARY: &str = "FUNCTION LOAD REPLACE \"#!lua name=lib\\n\
    local total = 0 \
    redis.register_function('echo', function(keys, args) return {keys, args} end) \
    redis.register_function('call', function(keys, args) return redis.call(unpack(args)) end) \
    redis.register_function('try', function(keys, args) return redis.pcall(unpack(args)) end) \
    redis.register_function('count', function() total = total + 1 return total end) \
    redis.register_function{function_name='read', callback=function(keys, args) return redis.call(unpack(args)) end, \
    flags={'no-writes'}}\"";

#[test]
fn keys_come_before_arguments() {
    let mut s = scenario();
    s.check(LIBRARY, "\"lib\"");
    s.check("FCALL echo 0", "[[], []]").check("FCALL echo 0 a", "[[], [\"a\"]]");
    s.check("fcall ECHO 2 k l a b", "[[\"k\", \"l\"], [\"a\", \"b\"]]");
    s.check("COMMAND GETKEYS FCALL echo 2 k l a", "[\"k\", \"l\"]");
    s.check("FCALL count 0", ":1").check("FCALL count 0", ":2");
    s.check(LIBRARY, "\"lib\"").check("FCALL count 0", ":1");
}

#[test]
fn fcall_reports_errors_in_the_order_of_redis() {
    let mut s = scenario();
    s.check(LIBRARY, "\"lib\"");
    for name in ["FCALL", "FCALL_RO"] {
        s.check(name, &format!("-ERR wrong number of arguments for '{}' command", name.to_lowercase()));
        for (arguments, error) in [
            ("nosuch x", "Function not found"),
            ("call x", "Bad number of keys provided"),
            ("call \" 1\" a", "Bad number of keys provided"),
            ("call 9223372036854775808", "Bad number of keys provided"),
            ("call 9223372036854775807", "Number of keys can't be greater than number of args"),
            ("call 2 a", "Number of keys can't be greater than number of args"),
            ("call -1", "Number of keys can't be negative"),
            ("call -9223372036854775808", "Number of keys can't be negative"),
        ] {
            s.check(&format!("{name} {arguments}"), &format!("-ERR {error}"));
        }
    }
    let wrong = "-ERR Can not execute a script with write flag using *_ro command.";
    s.check("FCALL_RO call 0 GET k", wrong).check("FCALL call 0 GET k", "(nil)");
    let at = "script: call, on @user_function:2.";
    s.check("FCALL call 0 NOSUCH", &format!("-ERR Unknown Redis command called from script {at}"));
    s.check("FCALL try 0 NOSUCH", "-ERR Unknown Redis command called from script");
    s.check("SET s v", "+OK");
    s.check(
        "FCALL call 0 LPUSH s x",
        &format!("-WRONGTYPE Operation against a key holding the wrong kind of value {at}"),
    );
}

#[test]
fn a_read_only_function_cannot_write() {
    let mut s = scenario();
    s.check(LIBRARY, "\"lib\"").check("SET k v", "+OK");
    let refused =
        "-ERR Write commands are not allowed from read-only scripts. script: read, on @user_function:2.";
    for name in ["FCALL", "FCALL_RO"] {
        s.check(&format!("{name} read 1 k GET k"), "\"v\"");
        s.check(&format!("{name} read 1 k SET k w"), refused);
        s.check(&format!("{name} read 0 PUBLISH c m"), refused);
    }
    s.check("GET k", "\"v\"");
}

#[test]
fn a_script_runs_as_its_flags_say() {
    let mut s = scenario();
    let wrong = "-ERR Can not execute a script with write flag using *_ro command.";
    s.check("EVAL \"#!lua\\nreturn redis.call('set', 'k', 'v')\" 0", "+OK");
    s.check("EVAL_RO \"#!lua\\nreturn 1\" 0", wrong);
    s.check("EVAL_RO \"#!lua\\nreturn 1\" 5", "-ERR Number of keys can't be greater than number of args");
    s.check("EVAL_RO \"#!lua flags=allow-oom\\nreturn 1\" 0", wrong);
    s.check("EVAL_RO \"#!lua flags=no-writes\\nreturn redis.call('get', 'k')\" 0", "\"v\"");
    s.check("EVAL_RO \"return redis.call('get', 'k')\" 0", "\"v\"");
    let all = "no-writes,allow-oom,allow-stale,no-cluster,allow-cross-slot-keys";
    s.check(&format!("EVAL \"#!lua flags={all}\\nreturn 1\" 0"), ":1");
    s.check_that("EVAL \"#!lua flags=no-writes\\nreturn redis.call('del', 'k')\" 0", |reply| {
        reply.to_string().starts_with("-ERR Write commands are not allowed from read-only scripts. script: ")
    });
}

#[test]
fn functions_are_called_by_clients_and_transactions_and_not_by_scripts() {
    let mut s = scenario();
    s.check(LIBRARY, "\"lib\"");
    let at = "script: call, on @user_function:2.";
    for command in [
        "FCALL echo 0",
        "FCALL_RO read 0",
        "FUNCTION LIST",
        "FUNCTION STATS",
        "FUNCTION KILL",
        "FUNCTION FLUSH",
        "EVAL x 0",
    ] {
        s.check(
            &format!("FCALL call 0 {command}"),
            &format!("-ERR This Redis command is not allowed from script {at}"),
        );
    }
    s.check("MULTI", "+OK").check("FCALL echo 0 x", "+QUEUED").check("FUNCTION KILL", "+QUEUED");
    s.check("FUNCTION DELETE lib", "+QUEUED").check("FCALL echo 0", "+QUEUED");
    s.check(
        "EXEC",
        "[[[], [\"x\"]], -NOTBUSY No scripts in execution right now., +OK, -ERR Function not found]",
    );
}

#[test]
fn changes_of_a_function_are_seen_after_its_end() {
    let mut s = manual_scenario();
    s.check(LIBRARY, "\"lib\"");
    s.on("watcher").check("WATCH k", "+OK").check("MULTI", "+OK").check("PING", "+QUEUED");
    s.check("FCALL call 1 k SET k v", "+OK");
    s.on("watcher").check("EXEC", "(nil)");
    s.on("waiter").send("BLPOP q 0");
    s.check("AWAIT.BLOCKED 1 KEY q", ":1");
    s.check("FCALL call 1 q RPUSH q a b", ":2");
    s.on("waiter").expect("[\"q\", \"a\"]");
    s.check("FCALL call 1 q BLPOP q 0", "[\"q\", \"b\"]").check("FCALL call 1 q BLPOP q 0", "(nil)");
    s.check("FCALL call 0 SELECT 3", "+OK").check("GET k", "\"v\"");
}

#[test]
fn errors_of_functions_are_counted_as_those_of_scripts() {
    let mut s = scenario();
    s.check(LIBRARY, "\"lib\"");
    s.check("CONFIG RESETSTAT", "+OK");
    s.check("FCALL nosuch 0", "-ERR Function not found");
    s.check_that("FCALL call 0 GET", |reply| reply.is_error());
    s.check_that("INFO commandstats", |text| {
        let text = text.to_string();
        let line = text.split("\\r\\n").find(|line| line.starts_with("cmdstat_fcall:")).unwrap_or_default();
        line.contains("calls=2,") && line.contains("failed_calls=2")
    });
    s.check_that("INFO errorstats", |text| text.to_string().contains("errorstat_ERR:count=2"));
}

#[test]
fn function_names_of_any_length_are_found() {
    let mut s = scenario();
    let long = "f".repeat(300);
    load(&mut s, "a", &[&long, "_", "9"]);
    s.check(&format!("FCALL {} 0", long.to_uppercase()), &format!("\"{long}\""));
    s.check("FCALL _ 0", "\"_\"").check("FCALL 9 0", "\"9\"");
    s.check("FCALL \"\" 0", "-ERR Function not found").check("FCALL \"_\\x00\" 0", "-ERR Function not found");
}
