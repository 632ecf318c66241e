//! Scripts that advance the clock: the effect comes when they have ended, and the transaction around them.

use lockwheel::{Config, Server};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;

#[test]
fn an_advance_in_a_script_happens_at_its_end() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 1000000");
    s.check("SET k v PX 100", "+OK").check("SET l v PX 200", "+OK");
    let script = "local t = redis.call('clock.advance', ARGV[1]).ok \
                  return {t, redis.call('pttl', 'k'), redis.call('time')[1]}";
    s.check(&format!("EVAL \"{script}\" 0 100"), r#"["OK", :100, "1000"]"#);
    s.check("EXISTS k", ":0").check("PTTL l", ":100").check("TIME", r#"["1000", "100000"]"#);
    s.check("EVAL \"return redis.call('CLOCK.STEP', -50)\" 0", "+OK").check("PTTL l", ":150");
    s.check("EVAL_RO \"return redis.call('CLOCK.STEP', 50)\" 0", "+OK").check("PTTL l", ":100");
    // The effects come in order, also if the script fails after them.
    let script = "redis.call('clock.advance', 60) redis.call('clock.step', -10) \
                  redis.call('clock.advance', 40, 'nowake') error('x')";
    s.check_that(&format!("EVAL \"{script}\" 0"), Reply::is_error);
    s.check("PTTL l", ":10").check("TIME", r#"["1000", "190000"]"#);
}

#[test]
fn an_advance_in_a_transaction_happens_at_its_end() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 100", "+OK").check("MULTI", "+OK");
    s.check("EVAL \"return redis.call('clock.advance', 100)\" 0", "+QUEUED").check("PTTL k", "+QUEUED");
    s.check("EXEC", "[+OK, :100]").check("EXISTS k", ":0");
}

#[test]
fn effects_of_a_script_come_before_those_of_its_advance() {
    let mut s = ours::manual_scenario();
    s.on("w").send("BLPOP list 1");
    s.check("AWAIT.BLOCKED 1", ":1");
    s.check("EVAL \"redis.call('rpush', 'list', 'v') return redis.call('clock.advance', 5000)\" 0", "+OK");
    s.on("w").expect(r#"["list", "v"]"#);
}

#[test]
fn an_invalid_advance_is_an_error_in_the_script() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 0");
    let call = |arguments: &str| format!("EVAL \"return redis.pcall({arguments}).err\" 0");
    let negative = "\"ERR value is not an integer or out of range: milliseconds must be an integer from 0 on that \
                    keeps the clocks within their range, not '-1'\"";
    s.check(&call("'clock.advance', -1"), negative);
    s.check(&call("'clock.advance', 1, 'settle', 20"), "\"ERR SETTLE is not allowed in a script\"");
    s.check(&call("'clock.next'"), "\"ERR This Redis command is not allowed from script\"");
    s.check(&call("'control.reset'"), "\"ERR This Redis command is not allowed from script\"");
    s.check(
        "EVAL \"redis.call('clock.step', 5) return redis.pcall('clock.step', -6).err\" 0",
        "\"ERR time is out of range: milliseconds must be a number that keeps the clocks within their range, not \
         '-6'\"",
    );
    s.check("TIME", r#"["0", "5000"]"#);
}

#[test]
fn a_script_may_advance_often_but_reverse_the_clock_a_limited_number() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 0");
    s.check("EVAL \"for _ = 1, 100000 do redis.call('clock.advance', 1) end\" 0", "(nil)");
    s.check("TIME", r#"["100", "0"]"#);
    let script = "for turn = 1, 1e9 do local answer = redis.pcall('clock.step', turn % 2 == 1 and 5 or -5) \
                  if answer.err then return {turn, answer.err} end end";
    s.check(
        &format!("EVAL \"{script}\" 0"),
        "[:65537, \"ERR too many advances of the clock in one script\"]",
    );
    s.check("TIME", r#"["100", "0"]"#);
}

#[test]
fn a_script_cannot_advance_the_clock_without_control() {
    let mut config = Config::default();
    config.control = false;
    let server = Server::builder().config(config).port(0).start().expect("loopback has a free port");
    let mut client = Client::connect(server.addr());
    let refused = client.line("EVAL \"return redis.pcall('clock.advance', 5).err\" 0").to_string();
    assert_eq!(refused, "\"ERR Unknown Redis command called from script\"");
    for line in ["CONTROL.RESET", "CONTROL.HELP", "CLOCK.ADVANCE 5"] {
        assert!(client.line(line).to_string().starts_with("-ERR unknown command"), "{line}");
    }
}
