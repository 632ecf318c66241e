//! redis-cli's own modes, on our server and on a real one.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, encode};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer, find_in_path, is_wanted, skip};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Prints this number of lines of a program's output as in a terminal, and ends the program: redis-cli buffers its
/// output to a pipe.
const TERMINAL: &str = "\
import os, pty, signal, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
text = ''
while text.count('\\n') < int(sys.argv[1]):
    text += os.read(terminal, 4096).decode()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(text)
";

fn redis_cli() -> Option<PathBuf> {
    let found = find_in_path("redis-cli").filter(|_| is_wanted("redis-cli"));
    if found.is_none() {
        skip(&["redis-cli"], "redis-cli is not installed (apt-get install redis-tools)");
    }
    found
}

/// Our server, and a real one if it is installed, each with the same few keys.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    let servers: Vec<_> = [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect();
    for server in &servers {
        let mut client = Client::connect(server.addr());
        for line in [
            "MSET string:1 1 string:2 22",
            "RPUSH list:1 a b c",
            "RPUSH list:2 a",
            "SADD set:1 a b",
            "ZADD zset:1 1 a",
            "HSET hash:1 a 1 b 2",
        ] {
            client.line(line);
        }
    }
    servers
}

/// Returns redis-cli's output with these arguments.
fn output(program: &PathBuf, server: &dyn Endpoint, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(program)
        .args(["-p", &server.addr().port().to_string()])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("redis-cli starts");
    child.stdin.take().expect("it has a pipe").write_all(input).expect("redis-cli reads");
    let output = child.wait_with_output().expect("redis-cli ends");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("redis-cli shows text")
}

/// Requires the same lines of both servers, in any order.
#[track_caller]
fn same_lines(arguments: &[&str], is_compared: impl Fn(&str) -> bool) {
    let Some(program) = redis_cli() else { return };
    let outputs: Vec<Vec<String>> = servers()
        .iter()
        .map(|server| {
            let text = output(&program, server.as_ref(), arguments, b"");
            let mut lines: Vec<String> =
                text.lines().filter(|line| is_compared(line)).map(str::to_owned).collect();
            lines.sort();
            lines
        })
        .collect();
    assert!(outputs[0].len() > 1, "{outputs:?}");
    assert!(outputs.iter().all(|lines| *lines == outputs[0]), "{outputs:?}");
}

#[test]
fn scan_lists_the_keys() {
    same_lines(&["--scan"], |_| true);
    same_lines(&["--scan", "--pattern", "*:1"], |_| true);
}

/// The intermediate findings depend on the order of the keys.
#[test]
fn bigkeys_finds_the_biggest() {
    same_lines(&["--bigkeys"], |line| !line.contains("found so far"));
}

#[test]
fn hotkeys_finds_what_is_used_most() {
    let Some(program) = redis_cli() else { return };
    for server in servers() {
        let mut client = Client::connect(server.addr());
        client.line("CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 0");
        client.line("FLUSHALL");
        client.line("MSET rare a often b sometimes c");
        (0..20).for_each(|_| drop(client.line("GET often")));
        (0..10).for_each(|_| drop(client.line("GET sometimes")));
        let text = output(&program, server.as_ref(), &["--hotkeys"], b"");
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("hot key found")).collect();
        let expected = [(25, "often"), (15, "sometimes"), (5, "rare")]
            .map(|(count, key)| format!("hot key found with counter: {count}\tkeyname: \"{key}\""));
        assert_eq!(found, expected, "{text}");
    }
}

/// The memory of a key differs between servers, so the output is compared with MEMORY USAGE.
#[test]
fn memkeys_adds_up_what_keys_take() {
    let Some(program) = redis_cli() else { return };
    for server in servers() {
        let text = output(&program, server.as_ref(), &["--memkeys"], b"");
        let mut client = Client::connect(server.addr());
        for (kind, keys) in [
            ("string", &["string:1", "string:2"][..]),
            ("list", &["list:1", "list:2"]),
            ("set", &["set:1"]),
            ("zset", &["zset:1"]),
            ("hash", &["hash:1"]),
        ] {
            let usage = |key| client.line(&format!("MEMORY USAGE {key}")).as_int().expect("the key is there");
            let taken: i64 = keys.iter().map(usage).sum();
            let row = format!("{} {kind}s with {taken} bytes (", keys.len());
            assert!(text.lines().any(|line| line.starts_with(&row)), "{row}\n{text}");
        }
    }
}

#[test]
fn monitor_shows_what_clients_send() {
    let Some(program) = redis_cli() else { return };
    if !is_wanted("python3") || find_in_path("python3").is_none() {
        return skip(&["python3"], "python3 is not installed");
    }
    for server in servers() {
        let monitor = Command::new("python3")
            .args(["-c", TERMINAL, "3"])
            .arg(&program)
            .args(["-p", &server.addr().port().to_string(), "MONITOR"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut client = Client::connect(server.addr());
        // A monitor does not show administrative commands.
        while !list_has_monitor(&mut client) {}
        client.line("SELECT 3");
        client.cmd(&[&b"SET"[..], b"a key", b"\x00\xff\"\n"]);
        let output = monitor.wait_with_output().expect("python3 ends");
        let text = String::from_utf8(output.stdout).expect("redis-cli shows text");
        let address = client.local();
        let shown: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(" [").map(|(_, request)| request.trim_end()))
            .collect();
        let expected = [
            format!("3 {address}] \"SELECT\" \"3\""),
            format!("3 {address}] \"SET\" \"a key\" \"\\x00\\xff\\\"\\n\""),
        ];
        assert_eq!(shown, expected, "{text}");
    }
}

/// Whether a client of the server monitors it.
fn list_has_monitor(client: &mut Client) -> bool {
    let list = client.line("CLIENT LIST");
    let text = String::from_utf8_lossy(list.as_bytes().expect("a text")).into_owned();
    text.lines().any(|line| line.contains(" flags=O "))
}

#[test]
fn pipe_sends_everything_and_counts_the_replies() {
    let Some(program) = redis_cli() else { return };
    for server in servers() {
        let requests: Vec<u8> =
            (0..2000).flat_map(|n| encode(&["SET", &format!("key:{n}"), "value"])).collect();
        let text = output(&program, server.as_ref(), &["--pipe"], &requests);
        assert!(text.contains("errors: 0, replies: 2000"), "{text}");
        assert_eq!(Client::connect(server.addr()).line("EXISTS key:0 key:1999").as_int(), Some(2));
    }
}

#[test]
fn latency_is_measured() {
    let Some(program) = redis_cli() else { return };
    let server = ours::server();
    let text = output(&program, &server, &["--latency", "-i", "0.05"], b"");
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    // The minimum, the maximum, the average, and the number of samples.
    assert!(matches!(numbers[..], [least, most, _, count] if least <= most && count >= 1.0), "{text}");
}

#[test]
fn statistics_are_shown_as_they_change() {
    let Some(program) = redis_cli() else { return };
    if !is_wanted("python3") || find_in_path("python3").is_none() {
        return skip(&["python3"], "python3 is not installed");
    }
    for server in servers() {
        let output = Command::new("python3")
            .args(["-c", TERMINAL, "4"])
            .arg(&program)
            .args(["-p", &server.addr().port().to_string(), "--stat", "-i", "0.01"])
            .output()
            .expect("python3 starts");
        let text = String::from_utf8(output.stdout).expect("redis-cli shows text");
        let rows: Vec<Vec<&str>> =
            text.lines().skip(2).take(2).map(|row| row.split_whitespace().collect()).collect();
        // Keys, memory, clients, blocked clients, requests with their growth, connections.
        assert!(rows.len() == 2 && rows.iter().all(|row| row.len() >= 7 && row[0] == "7"), "{text}");
    }
}
