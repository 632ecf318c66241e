//! The parts of a script's environment that are no library: `SCRIPT DEBUG`, `redis.acl_check_cmd`.

use lockwheel_tests::ours::scenario;

#[test]
fn there_is_no_debugger() {
    let mut scenario = scenario();
    scenario
        .check("SCRIPT DEBUG NO", "+OK")
        .check("SCRIPT DEBUG YES", "-ERR this server has no debugger for scripts")
        .check("SCRIPT DEBUG sync", "-ERR this server has no debugger for scripts")
        .check("SCRIPT DEBUG maybe", "-ERR Use SCRIPT DEBUG YES/SYNC/NO")
        .check("SCRIPT DEBUG", "-ERR wrong number of arguments for 'script|debug' command")
        .check("SCRIPT DEBUG YES NO", "-ERR wrong number of arguments for 'script|debug' command")
        .check("EVAL \"return redis.breakpoint()\" 0", "(nil)")
        .check("EVAL \"return redis.debug('x', 1)\" 0", "(nil)");
}

#[test]
fn acl_check_cmd_knows_commands() {
    let mut scenario = scenario();
    let invalid = "-ERR Invalid command passed to redis.acl_check_cmd() script: *";
    for (call, may) in [
        ("'get', 'k'", true),
        ("'GET'", true),
        ("'config', 'get'", true),
        ("'CONFIG', 'GET', 'x', 'y'", true),
        ("'config'", true),
        ("'config|get'", false),
        ("'config', 'nosuch'", false),
        ("'nosuch'", false),
        ("''", false),
    ] {
        let line = format!("EVAL \"return redis.acl_check_cmd({call})\" 0");
        scenario.check_that(&line, |reply| {
            let text = reply.to_string();
            if may { text == ":1" || text == "#t" } else { text.starts_with(&invalid[..invalid.len() - 1]) }
        });
    }
}

#[test]
fn script_help_lists_the_subcommands() {
    let mut scenario = scenario();
    scenario.check_that("SCRIPT HELP", |reply| {
        let text = reply.to_string();
        ["DEBUG (YES|SYNC|NO)", "EXISTS <sha1>", "FLUSH [ASYNC|SYNC]", "KILL", "LOAD <script>", "HELP"]
            .iter()
            .all(|line| text.contains(line))
    });
}
