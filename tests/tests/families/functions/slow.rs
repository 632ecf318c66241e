//! Slow functions: other clients get an error, FUNCTION STATS shows them, FUNCTION KILL ends them, and each kill
//! command ends only its own kind.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::net::SocketAddr;

const BUSY: &str =
    "-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";
const BUSY_SCRIPT: &str =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
const NOT_BUSY: &str = "-NOTBUSY No scripts in execution right now.";
const KILLED: &str = "-ERR Script killed by user with SCRIPT KILL... script: loop, on @user_function:2.";
const UNKILLABLE: &str = "-UNKILLABLE Sorry the script already executed write commands against the dataset. You can \
    either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";

const LIBRARY: &str = "#!lua name=slow\n\
    redis.register_function('loop', function() while true do end end) \
    redis.register_function('stubborn', function() while true do pcall(function() while true do end end) end end) \
    redis.register_function('write', function(keys) redis.call('set', keys[1], 'v') while true do end end)";

/// Makes a server consider functions slow at once, and loads the library.
fn prepare(addr: SocketAddr) -> Client {
    let mut client = Client::connect(addr);
    assert_eq!(client.line("CONFIG SET busy-reply-threshold 1").to_string(), "+OK");
    assert_eq!(client.cmd(&["FUNCTION", "LOAD", LIBRARY]).to_string(), "\"slow\"");
    client
}

fn server(threads: usize) -> (Server, Client) {
    let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
    let client = prepare(server.addr());
    (server, client)
}

/// Sends a request until the server answers that it is busy. Returns the answer.
fn until_busy(client: &mut Client) -> String {
    loop {
        let reply = client.line("PING").to_string();
        if reply != "+PONG" {
            return reply;
        }
    }
}

/// Begins a call, and waits until it is slow.
fn begin(addr: SocketAddr, other: &mut Client, line: &str) -> Client {
    let mut runner = Client::connect(addr);
    runner.send_line(line);
    until_busy(other);
    runner
}

/// The answers of a server to a few requests, while a function or a script is slow and after it.
fn answers(addr: SocketAddr) -> Vec<String> {
    let mut other = prepare(addr);
    let mut answers = Vec::new();
    for (call, kill, more) in [
        (
            "FCALL loop 0",
            "FUNCTION KILL",
            &["SCRIPT KILL", "FUNCTION LIST", "FCALL loop 0", "EVAL x 0", "SHUTDOWN"][..],
        ),
        ("FCALL stubborn 0", "FUNCTION KILL", &["MULTI", "FUNCTION STATS", "FUNCTION KILL", "GET k", "EXEC"]),
        ("EVAL \"while true do end\" 0", "SCRIPT KILL", &["FUNCTION KILL", "FUNCTION STATS", "FCALL loop 0"]),
        (
            "FCALL loop 0",
            "FUNCTION KILL",
            &["FUNCTION KILL x", "FUNCTION", "FUNCTION x", "FUNCTION HELP x", "EXEC"],
        ),
        ("FCALL_RO loop 0", "PING", &[]),
    ] {
        if call.starts_with("FCALL_RO") {
            answers.push(other.line(call).to_string());
            continue;
        }
        let mut runner = begin(addr, &mut other, call);
        for line in ["PING"].iter().chain(more).chain(&[kill]) {
            answers.push(format!("{line}: {}", other.line(line)));
        }
        answers.push(runner.read_reply().to_string());
        for line in ["FUNCTION KILL", "SCRIPT KILL", "PING"] {
            answers.push(format!("{line}: {}", other.line(line)));
        }
    }
    answers
}

#[test]
fn replies_during_a_slow_function_equal_those_of_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let expected = answers(real.addr());
    for threads in [1, 2] {
        let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
        assert_eq!(answers(server.addr()), expected, "{threads} threads");
    }
}

#[test]
fn function_kill_ends_a_slow_function_on_one_two_and_four_threads() {
    for threads in [1, 2, 4] {
        let (server, mut other) = server(threads);
        let mut runner = Client::connect(server.addr());
        runner.cmd(&["SET", "k", "v"]);
        runner.send(&["FCALL", "LOOP", "1", "a key", "an\r\nargument"]);
        assert_eq!(until_busy(&mut other), BUSY);
        let stats = other.line("FUNCTION STATS").to_string();
        let running = "[\"running_script\", [\"name\", \"loop\", \"command\", [\"FCALL\", \"LOOP\", \"1\", \"a key\", \
                       \"an\\r\\nargument\"], \"duration_ms\", :";
        assert!(stats.starts_with(running), "{stats}");
        assert!(
            stats.ends_with("\"engines\", [\"LUA\", [\"libraries_count\", :1, \"functions_count\", :3]]]"),
            "{stats}"
        );
        assert_eq!(other.line("SCRIPT KILL").to_string(), BUSY);
        assert_eq!(other.line("FUNCTION KILL").to_string(), "+OK");
        assert_eq!(runner.read_reply().to_string(), KILLED);
        assert_eq!(other.line("FUNCTION KILL").to_string(), NOT_BUSY);
        assert!(other.line("FUNCTION STATS").to_string().starts_with("[\"running_script\", (nil), "));
    }
}

#[test]
fn a_script_is_not_killed_as_a_function() {
    for threads in [1, 2] {
        let (server, mut other) = server(threads);
        let mut runner = begin(server.addr(), &mut other, "EVAL \"while true do end\" 0");
        assert_eq!(other.line("FUNCTION KILL").to_string(), BUSY_SCRIPT);
        assert_eq!(other.line("FUNCTION STATS").to_string(), BUSY_SCRIPT);
        assert_eq!(other.line("SCRIPT KILL").to_string(), "+OK");
        assert!(runner.read_reply().is_error());
    }
}

#[test]
fn a_function_that_has_written_ends_only_with_the_server() {
    for threads in [1, 2] {
        let (server, mut other) = server(threads);
        let _runner = begin(server.addr(), &mut other, "FCALL write 1 k");
        assert_eq!(other.line("FUNCTION KILL").to_string(), UNKILLABLE);
        assert_eq!(other.line("SCRIPT KILL").to_string(), UNKILLABLE);
        assert_eq!(other.line("SHUTDOWN").to_string(), BUSY);
        other.send_line("SHUTDOWN NOSAVE");
        server.wait();
    }
}

#[test]
fn kills_of_functions_are_counted() {
    for threads in [1, 2] {
        let (server, mut other) = server(threads);
        let mut runner = begin(server.addr(), &mut other, "FCALL loop 0");
        assert_eq!(other.line("SCRIPT KILL").to_string(), BUSY);
        assert_eq!(other.line("FUNCTION KILL").to_string(), "+OK");
        assert!(runner.read_reply().is_error());
        let stats = other.line("INFO commandstats").to_string();
        let of = |name: &str| {
            stats.split("\\r\\n").find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
        };
        assert!(of("cmdstat_function|kill:").contains("calls=1,"), "{stats}");
        assert!(of("cmdstat_script|kill:").contains("failed_calls=1"), "{stats}");
    }
}

/// A client whose function is slow disconnects: the function ends by itself or by a kill, and the server continues.
#[test]
fn a_client_may_disconnect_during_its_function() {
    for threads in [1, 2] {
        let (server, mut other) = server(threads);
        let runner = begin(server.addr(), &mut other, "FCALL stubborn 0");
        runner.reset();
        assert_eq!(other.line("FUNCTION KILL").to_string(), "+OK");
        while other.line("PING").to_string() != "+PONG" {}
        assert_eq!(other.line("FUNCTION DELETE slow").to_string(), "+OK");
        assert_eq!(other.line("FCALL loop 0").to_string(), "-ERR Function not found");
    }
}

/// No client gets `BUSY` while a library is loaded, however low the threshold for slow scripts is.
#[test]
fn loading_a_library_is_not_a_running_function() {
    let (server, mut other) = server(2);
    let mut loader = Client::connect(server.addr());
    loader.send(&["FUNCTION", "LOAD", "#!lua name=endless\nwhile true do end"]);
    (0..20).for_each(|_| assert_eq!(other.line("PING").to_string(), "+PONG"));
    let timeout = "-ERR Error registering functions: ERR FUNCTION LOAD timeout";
    assert_eq!(loader.read_reply().to_string(), timeout);
}
