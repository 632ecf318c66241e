//! Errors in and of scripts are counted as Redis counts them.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours::server;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::collections::BTreeMap;

/// Scripts, and the declared number of their keys. There is a string at `s`.
const SCRIPTS: &[(&str, &str)] = &[
    ("return 1", "0"),
    ("return {err = 'My Err'}", "0"),
    ("return {err = 'oneword'}", "0"),
    ("return {err = ''}", "0"),
    ("return {err = ' x'}", "0"),
    ("return {err = '-CODE x'}", "0"),
    ("return {err = 'ACODEOFTHIRTYCHARACTERSANDMORE x'}", "0"),
    ("return {err = 'ACODEOFTHIRTYCHARACTERSAND1MORE x'}", "0"),
    ("return {err = 'AVERYLONGCODEOFMORETHANTHIRTYTWOCHARACTERS x'}", "0"),
    ("return {err = 'a b', ignore_error_stats_update = true}", "0"),
    ("return {err = 'a b', ignore_error_stats_update = false}", "0"),
    ("return {err = 'a b', ignore_error_stats_update = 1}", "0"),
    ("return {{err = 'a b'}, {err = 'C d'}, {err = 'a b'}}", "0"),
    ("return {map = {a = {err = 'X y'}}}", "0"),
    ("return redis.error_reply('MY err')", "0"),
    ("return redis.error_reply('one')", "0"),
    ("return redis.error_reply('-CODE x')", "0"),
    ("return redis.error_reply(1)", "0"),
    ("redis.error_reply(1) redis.error_reply('MY err') return 1", "0"),
    ("return redis.pcall('hget', 's', 'x')", "0"),
    ("redis.pcall('hget', 's', 'x') return 1", "0"),
    ("pcall(redis.call, 'hget', 's', 'x') return 1", "0"),
    ("return redis.call('hget', 's', 'x')", "0"),
    ("local e = redis.pcall('hget', 's', 'x') error(e)", "0"),
    ("local e = redis.pcall('hget', 's', 'x') return {e, e, e}", "0"),
    ("local e = redis.pcall('hget', 's', 'x') e.ignore_error_stats_update = nil return e", "0"),
    ("return {redis.pcall('hget', 's', 'x'), {err = 'INNER x'}}", "0"),
    ("for i = 1, 3 do redis.pcall('incr', 's') end return redis.call('incr', 's')", "0"),
    ("return redis.call('incr', 's')", "0"),
    ("return redis.call('set', 'k', 'v', 'xx', 'nx')", "0"),
    ("return redis.call('get')", "0"),
    ("return redis.pcall('get')", "0"),
    ("redis.pcall('get') return 1", "0"),
    ("return redis.call('nosuch')", "0"),
    ("redis.pcall('nosuch') return 1", "0"),
    ("return redis.call('config', 'nosuch')", "0"),
    ("return redis.call('config')", "0"),
    ("return redis.pcall('object', 'nosuch')", "0"),
    ("return redis.call()", "0"),
    ("redis.pcall() return 1", "0"),
    ("return redis.pcall({})", "0"),
    ("return redis.call('subscribe', 'x')", "0"),
    ("redis.pcall('multi') return 1", "0"),
    ("return redis.call('eval', 'return 1', 0)", "0"),
    ("return redis.call('set', 'k', 'v')", "0"),
    ("redis.pcall('set', 'k', 'v') return 1", "0"),
    ("redis.pcall('publish', 'c', 'm') return 1", "0"),
    ("#!lua flags=no-writes\nreturn redis.pcall('set', 'k', 'v')", "0"),
    ("error('boom')", "0"),
    ("error()", "0"),
    ("error({err = 'MINE boom'})", "0"),
    ("error({err = 'a b', ignore_error_stats_update = true})", "0"),
    ("local x = nosuchglobal", "0"),
    ("redis.setresp(9)", "0"),
    ("redis.log(1)", "0"),
    ("return (", "0"),
    ("#!lua flags=bad\nreturn 1", "0"),
    ("#!nosuch\nreturn 1", "0"),
    ("return 1", "x"),
    ("return 1", "3"),
    ("return 1", "-1"),
];

/// The counters of errors and of calls, without those of the requests that ask.
fn counted(client: &mut Client) -> BTreeMap<String, String> {
    let mut counted = BTreeMap::new();
    for section in ["errorstats", "commandstats", "stats"] {
        let Reply::Bulk(text) = client.line(&format!("INFO {section}")) else {
            panic!("INFO is a bulk string")
        };
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let asks = ["cmdstat_info", "cmdstat_config|resetstat", "cmdstat_hello"].contains(&name);
            let known =
                ["errorstat_", "cmdstat_", "total_error_replies"].iter().any(|known| name.starts_with(known));
            if known && !asks {
                let parts = value.split(',').filter(|part| !part.starts_with("usec"));
                counted.insert(name.to_owned(), parts.collect::<Vec<_>>().join(","));
            }
        }
    }
    counted
}

/// The counters after a request, alone or in a transaction, with its last answer.
fn count(client: &mut Client, request: &[&str], in_transaction: bool) -> (String, BTreeMap<String, String>) {
    for line in ["FLUSHALL", "SCRIPT FLUSH", "SET s x", "CONFIG RESETSTAT"] {
        assert_eq!(client.line(line).to_string(), "+OK");
    }
    let reply = if in_transaction {
        assert_eq!(client.line("MULTI").to_string(), "+OK");
        client.cmd(request);
        client.line("EXEC")
    } else {
        client.cmd(request)
    };
    (reply.to_string(), counted(client))
}

#[test]
fn errors_of_scripts_are_counted_as_by_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let ours = server();
    let (mut real, mut ours) = (Client::connect(real.addr()), Client::connect(ours.addr()));
    let digest = "0".repeat(40);
    let mut requests = vec![
        vec!["EVALSHA", &digest, "0"],
        vec!["EVALSHA_RO", &digest, "0"],
        vec!["SCRIPT", "LOAD", "return ("],
        vec!["SCRIPT", "KILL"],
        vec!["SCRIPT", "NOSUCH"],
        vec!["SCRIPT", "FLUSH", "x"],
        vec!["SCRIPT"],
        vec!["EVAL", "return 1"],
    ];
    for (script, keys) in SCRIPTS {
        requests.push(vec!["EVAL", script, keys]);
        requests.push(vec!["EVAL_RO", script, keys]);
    }
    for request in &requests {
        for in_transaction in [false, true] {
            let expected = count(&mut real, request, in_transaction);
            assert_eq!(count(&mut ours, request, in_transaction), expected, "{request:?}, {in_transaction}");
        }
    }
}

#[test]
fn the_error_of_a_killed_script_is_counted() {
    let server = server();
    let mut client = Client::connect(server.addr());
    client.line("CONFIG SET busy-reply-threshold 1");
    let mut runner = Client::connect(server.addr());
    for script in ["while true do end", "local t = {err = 'MINE x'} for i = 1, 30 do t = {t, t} end return t"]
    {
        client.line("CONFIG RESETSTAT");
        runner.send(&["EVAL", script, "0"]);
        while client.line("SCRIPT KILL").to_string() != "+OK" {}
        assert!(runner.read_reply().is_error());
        let counted = counted(&mut client);
        assert_eq!(counted["cmdstat_eval"], "calls=1,rejected_calls=0,failed_calls=1");
        assert_eq!(counted.get("errorstat_ERR").map(String::as_str), Some("count=1"), "{counted:?}");
        assert!(!counted.contains_key("errorstat_MINE"));
    }
}
