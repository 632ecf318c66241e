//! Slow scripts: other clients get `BUSY`, the script can be killed, and nothing else about the server suffers.

use lockwheel::Server;
use lockwheel_tests::client::Client;

const BUSY: &str = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
const UNKILLABLE: &str = "-UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
    either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";

/// A server that considers every script slow at once, with this number of threads.
fn server(threads: usize) -> Server {
    let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
    let set = Client::connect(server.addr()).line("CONFIG SET busy-reply-threshold 1");
    assert_eq!(set.to_string(), "+OK");
    server
}

/// Sends a request until the server answers that it is busy.
fn until_busy(client: &mut Client) {
    while client.line("PING").to_string() != BUSY {}
}

fn kill(client: &mut Client) -> String {
    client.line("SCRIPT KILL").to_string()
}

const LOOPS: &[&str] = &[
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "local co = coroutine.wrap(function() while true do end end) co()",
    "while true do pcall(redis.call, 'get', 'k') end",
    "local function f() return f() end f()",
    "for i = 1, 1e18 do end",
    "return string.find(string.rep('a', 60), string.rep('a?', 60) .. string.rep('a', 61))",
    "while true do pcall(error) end",
];

fn every_shape_of_loop_is_killed(threads: usize) {
    let server = server(threads);
    let mut other = Client::connect(server.addr());
    for script in LOOPS {
        let mut runner = Client::connect(server.addr());
        runner.send(&["EVAL", script, "0"]);
        until_busy(&mut other);
        assert_eq!(kill(&mut other), "+OK", "{script}");
        let reply = runner.read_reply().to_string();
        assert!(reply.contains("Script killed by user with SCRIPT KILL"), "{script}: {reply}");
        assert_eq!(other.line("PING").to_string(), "+PONG");
        assert_eq!(
            runner.line("EVAL 'return 1' 0").to_string(),
            ":1",
            "the interpreter is usable after {script}"
        );
    }
    assert_eq!(kill(&mut other), "-NOTBUSY No scripts in execution right now.");
}

#[test]
fn every_shape_of_loop_is_killed_on_one_thread() {
    every_shape_of_loop_is_killed(1);
}

#[test]
fn every_shape_of_loop_is_killed_on_two_threads() {
    every_shape_of_loop_is_killed(2);
}

/// The thread that watches for slow scripts had been idle for a while when this script began.
#[test]
fn a_script_behind_a_slow_request_of_its_batch_can_be_killed() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    // A transaction runs in one batch.
    for line in ["MULTI", "DEBUG SLEEP 0.5", "EVAL 'while true do end' 0"] {
        runner.line(line);
    }
    runner.send_line("EXEC");
    until_busy(&mut other);
    assert_eq!(kill(&mut other), "+OK");
    let reply = runner.read_reply().to_string();
    assert!(reply.contains("Script killed by user with SCRIPT KILL"), "{reply}");
}

#[test]
fn a_script_that_has_written_ends_only_with_the_server() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    runner.send(&["EVAL", "redis.call('set', 'k', 'v') while true do end", "0"]);
    until_busy(&mut other);
    assert_eq!(kill(&mut other), UNKILLABLE);
    other.send_line("SHUTDOWN NOSAVE");
    server.wait();
}

/// Requests that end nothing while a script is slow, with the replies of redis-server 7.0.15, whether the script has
/// written or not.
const NO_SHUTDOWNS: &[(&str, &str)] = &[
    ("SHUTDOWN", BUSY),
    ("SHUTDOWN SAVE", BUSY),
    ("SHUTDOWN NOW", BUSY),
    ("SHUTDOWN FORCE", BUSY),
    ("SHUTDOWN ABORT", "-ERR No shutdown in progress."),
    ("SHUTDOWN x", "-ERR syntax error"),
    ("SHUTDOWN NOSAVE x", "-ERR syntax error"),
    ("SHUTDOWN NOSAVE SAVE", "-ERR syntax error"),
    ("SHUTDOWN NOSAVE ABORT", "-ERR syntax error"),
];

#[test]
fn while_a_script_is_slow_only_shutdown_nosave_ends_the_server() {
    for (threads, writes) in
        [(1, ""), (2, ""), (1, "redis.call('set', 'k', 'v')"), (2, "redis.call('del', 'k')")]
    {
        for ends in ["SHUTDOWN NOSAVE", "shutdown now NoSave", "SHUTDOWN NOSAVE FORCE NOSAVE"] {
            let server = server(threads);
            let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
            runner.send(&["EVAL", &format!("{writes} while true do end"), "0"]);
            until_busy(&mut other);
            for (request, reply) in NO_SHUTDOWNS {
                assert_eq!(other.line(request).to_string(), *reply, "{request}");
            }
            assert_eq!(other.line("GET k").to_string(), BUSY);
            other.send_line(ends);
            server.wait();
        }
    }
}

#[test]
fn a_transaction_queues_a_kill_and_refuses_to_end_the_server() {
    for threads in [1, 2] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
        runner.send(&["EVAL", "while true do end", "0"]);
        until_busy(&mut other);
        assert_eq!(other.line("MULTI").to_string(), "+OK");
        assert_eq!(kill(&mut other), "+QUEUED");
        let refused = "-ERR Command not allowed inside a transaction";
        assert_eq!(other.line("SHUTDOWN NOSAVE").to_string(), refused);
        assert_eq!(kill(&mut Client::connect(server.addr())), "+OK");
        assert!(runner.read_reply().is_error());
    }
}

#[test]
fn a_new_client_can_connect_greet_and_kill_while_a_script_runs() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    runner.send(&["EVAL", "while true do end", "0"]);
    until_busy(&mut other);
    let mut late = Client::connect(server.addr());
    assert!(late.line("HELLO 3").to_string().contains("proto"));
    assert_eq!(late.line("GET k").to_string(), BUSY);
    assert_eq!(late.line("NOSUCH").to_string(), "-ERR unknown command 'NOSUCH', with args beginning with: ");
    assert_eq!(late.line("MULTI").to_string(), "+OK");
    assert_eq!(late.line("SET k v").to_string(), BUSY);
    assert_eq!(kill(&mut other), "+OK");
    assert!(runner.read_reply().is_error());
    assert_eq!(late.line("EXEC").to_string(), "-EXECABORT Transaction discarded because of previous errors.");
}

#[test]
fn a_script_that_starts_during_a_pause_can_be_killed() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    for line in ["MULTI", "CLIENT PAUSE 1 ALL", "EVAL \"while true do end\" 0"] {
        assert!(!runner.line(line).is_error(), "{line}");
    }
    runner.send_line("EXEC");
    // The pause holds a new client until the script is slow; the client then gets the answer.
    until_busy(&mut Client::connect(server.addr()));
    assert_eq!(kill(&mut other), "+OK");
    assert!(runner.read_reply().to_string().contains("Script killed by user with SCRIPT KILL"));
    assert_eq!(other.line("PING").to_string(), "+PONG");
}

#[test]
fn an_unauthenticated_client_gets_noauth_and_cannot_kill_a_script() {
    let server = Server::builder().port(0).password("secret").threads(1).start().expect("a server starts");
    let mut runner = Client::connect(server.addr());
    runner.line("AUTH secret");
    runner.line("CONFIG SET busy-reply-threshold 1");
    let mut other = Client::connect(server.addr());
    other.line("AUTH secret");
    runner.send(&["EVAL", "while true do end", "0"]);
    until_busy(&mut other);
    let mut stranger = Client::connect(server.addr());
    assert_eq!(kill(&mut stranger), "-NOAUTH Authentication required.");
    assert_eq!(stranger.line("AUTH secret").to_string(), "+OK");
    assert_eq!(kill(&mut stranger), "+OK");
    assert!(runner.read_reply().is_error());
}

#[test]
fn dropping_the_server_stops_its_script() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    runner.send(&["EVAL", "redis.call('set', 'k', 'v') while true do end", "0"]);
    until_busy(&mut other);
    drop(server);
}

#[test]
fn writes_of_a_slow_script_wake_waiters_only_at_its_end() {
    let server = server(1);
    let mut waiting = Client::connect(server.addr());
    waiting.send_line("BLPOP q 0");
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    assert_eq!(other.line("AWAIT.BLOCKED 1 KEY q").to_string(), ":1");
    let script = "redis.call('rpush', 'q', 'x') for i = 1, 2e8 do end return redis.call('lpop', 'q')";
    runner.send(&["EVAL", script, "0"]);
    until_busy(&mut other);
    // The following requests run on the script's thread while it is slow. The session of the client that closes is
    // removed there.
    assert!(other.line("HELLO 3").to_string().contains("proto"));
    drop(Client::connect(server.addr()));
    assert_eq!(runner.read_reply().as_bytes(), Some(&b"x"[..]));
    assert_eq!(other.line("RPUSH q y").to_string(), ":1");
    assert_eq!(waiting.read_reply().to_string(), "[\"q\", \"y\"]");
}

#[test]
fn deadlines_passed_by_a_slow_script_fire_at_its_end() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    let mut waiting = Client::connect(server.addr());
    waiting.send_line("BLPOP q 0.2");
    assert_eq!(other.line("AWAIT.BLOCKED 1 KEY q").to_string(), ":1");
    runner.send(&["EVAL", "for i = 1, 2e8 do end return 1", "0"]);
    until_busy(&mut other);
    assert_eq!(runner.read_reply().to_string(), ":1");
    // No client sends anything more.
    assert_eq!(waiting.read_reply().to_string(), "(nil)");
}

#[test]
fn a_refusal_before_a_transaction_does_not_abort_it() {
    let server = server(1);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    runner.send(&["EVAL", "while true do end", "0"]);
    until_busy(&mut other);
    assert_eq!(other.line("MULTI").to_string(), "+OK");
    let mut third = Client::connect(server.addr());
    assert_eq!(kill(&mut third), "+OK");
    assert!(runner.read_reply().is_error());
    assert_eq!(other.line("SET k v").to_string(), "+QUEUED");
    assert_eq!(other.line("EXEC").to_string(), "[+OK]");
}

fn an_exec_while_a_script_is_slow_discards_the_transaction(threads: usize) {
    let server = server(threads);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    assert_eq!(other.line("MULTI").to_string(), "+OK");
    assert_eq!(other.line("SET k v").to_string(), "+QUEUED");
    runner.send(&["EVAL", "while true do end", "0"]);
    let mut third = Client::connect(server.addr());
    until_busy(&mut third);
    let aborted = format!("-EXECABORT Transaction discarded because of: {}", &BUSY[1..]);
    assert_eq!(other.line("EXEC").to_string(), aborted);
    assert_eq!(other.line("GET k").to_string(), BUSY);
    // Within a transaction a kill is queued, like every command that is allowed now.
    assert_eq!(other.line("MULTI").to_string(), "+OK");
    assert_eq!(kill(&mut other), "+QUEUED");
    assert_eq!(other.line("DISCARD").to_string(), "+OK");
    assert_eq!(kill(&mut other), "+OK");
    assert!(runner.read_reply().is_error());
    assert_eq!(other.line("GET k").to_string(), "(nil)");
}

#[test]
fn a_busy_exec_discards_its_transaction_on_one_two_and_four_threads() {
    [1, 2, 4].into_iter().for_each(an_exec_while_a_script_is_slow_discards_the_transaction);
}

fn what_is_refused_while_a_script_is_slow_is_counted(threads: usize) {
    let server = server(threads);
    let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
    runner.send(&["EVAL", "while true do end", "0"]);
    until_busy(&mut other);
    let mut third = Client::connect(server.addr());
    (0..7).for_each(|_| assert_eq!(third.line("GET k").to_string(), BUSY));
    assert_eq!(kill(&mut third), "+OK");
    assert!(runner.read_reply().is_error());
    let stats = third.line("INFO commandstats").to_string();
    let get = stats.split("\\r\\n").find(|line| line.starts_with("cmdstat_get:"));
    assert!(get.is_some_and(|get| get.contains("rejected_calls=7")), "{stats}");
    let errors = third.line("INFO errorstats").to_string();
    assert!(errors.contains("errorstat_BUSY:count="), "{errors}");
}

#[test]
fn kills_are_counted_on_one_two_and_four_threads() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
        let mut third = Client::connect(server.addr());
        runner.send(&["EVAL", "while true do end", "0"]);
        until_busy(&mut other);
        assert_eq!(kill(&mut third), "+OK");
        assert!(runner.read_reply().is_error());
        runner.send(&["EVAL", "redis.call('set', 'k', 1) for i = 1, 2e8 do end", "0"]);
        until_busy(&mut other);
        assert_eq!(kill(&mut third), UNKILLABLE);
        runner.read_reply();
        let stats = third.line("INFO commandstats").to_string();
        let kills = stats.split("\\r\\n").find(|line| line.starts_with("cmdstat_script|kill:"));
        let counts = kills.is_some_and(|it| it.contains("calls=2,") && it.contains("failed_calls=1"));
        assert!(counts, "{stats}");
        assert!(third.line("INFO errorstats").to_string().contains("errorstat_UNKILLABLE:count=1"));
    }
}

#[test]
fn busy_refusals_are_counted_on_one_two_and_four_threads() {
    [1, 2, 4].into_iter().for_each(what_is_refused_while_a_script_is_slow_is_counted);
}

#[test]
fn with_a_threshold_of_0_no_script_is_ever_slow() {
    for threads in [1, 2] {
        let server = server(threads);
        let (mut runner, mut other) = (Client::connect(server.addr()), Client::connect(server.addr()));
        assert_eq!(other.line("CONFIG SET busy-reply-threshold 0").to_string(), "+OK");
        runner.send(&["EVAL", "for i = 1, 2e7 do end return 1", "0"]);
        // PING is answered normally before the script, behind it or meanwhile, but only once the script has ended.
        (0..20).for_each(|_| assert_eq!(other.line("PING").to_string(), "+PONG"));
        assert_eq!(runner.read_reply().to_string(), ":1");
    }
}
