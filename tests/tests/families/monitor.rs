//! MONITOR: the calls of other clients as monitors see them, compared with a real redis-server.

use lockwheel::{Config, Server};
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::io::{BufRead, BufReader, Write};

/// Our server, and redis-server if it is installed.
fn servers() -> Vec<Box<dyn Endpoint>> {
    let real = RealServer::start(Kind::Redis, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
    [Box::new(ours::server()) as Box<dyn Endpoint>].into_iter().chain(real).collect()
}

/// A client that monitors every call.
fn monitor(server: &impl Endpoint) -> Client {
    let mut monitor = Client::connect(server.addr());
    assert_eq!(monitor.line("MONITOR").to_string(), "+OK");
    monitor
}

/// The next call on a monitor, without its time: first the database, then `own` or the caller's address.
fn next(monitor: &mut Client, own: &Client) -> String {
    let Reply::Status(line) = monitor.read_reply() else { panic!("a monitor is sent lines") };
    let line = String::from_utf8(line).expect("what cannot be printed is escaped");
    let (time, rest) = line.split_once(' ').expect("a time and more");
    let (seconds, us) = time.split_once('.').expect("microseconds");
    assert!(seconds.parse::<u64>().is_ok() && us.len() == 6 && us.parse::<u64>().is_ok(), "{time}");
    rest.replace(&own.local().to_string(), "own")
}

/// Requires that every server shows the same after these requests; their replies are ignored.
#[track_caller]
fn check_monitored(requests: &[&[&str]], expected: &[&str]) {
    for server in servers() {
        let mut monitor = monitor(&server);
        let mut client = Client::connect(server.addr());
        requests.iter().for_each(|request| drop(client.cmd(request)));
        client.line("ECHO end");
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.ends_with("\"ECHO\" \"end\"")) {
            lines.push(next(&mut monitor, &client));
        }
        lines.pop();
        assert_eq!(lines, expected);
    }
}

/// Works as [`check_monitored`], for lines.
#[track_caller]
fn check_lines_monitored(lines: &[&str], expected: &[&str]) {
    let requests: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    let requests: Vec<&[&str]> = requests.iter().map(Vec::as_slice).collect();
    check_monitored(&requests, expected);
}

#[test]
fn calls_are_shown_as_they_were_made() {
    check_monitored(
        &[
            &["get", "k"],
            &["SET", "k", "a \"q\" \0\n\r\t\x07\x08\\ü\x7f"],
            &["select", "3"],
            &["echo", ""],
            &["lpush", "l", "1"],
            &["incr", "l"],
            &["client", "setname", "joe"],
        ],
        &[
            "[0 own] \"get\" \"k\"",
            "[0 own] \"SET\" \"k\" \"a \\\"q\\\" \\x00\\n\\r\\t\\a\\b\\\\\\xc3\\xbc\\x7f\"",
            "[3 own] \"select\" \"3\"",
            "[3 own] \"echo\" \"\"",
            "[3 own] \"lpush\" \"l\" \"1\"",
            "[3 own] \"incr\" \"l\"",
            "[3 own] \"client\" \"setname\" \"joe\"",
        ],
    );
}

#[test]
fn refused_and_administrative_commands_are_not_shown() {
    check_lines_monitored(
        &[
            "nosuch x",
            "get",
            "config get port",
            "acl setuser joe",
            "client list",
            "slowlog len",
            "debug help",
        ],
        &[],
    );
    check_lines_monitored(
        &["acl whoami", "slowlog help"],
        &["[0 own] \"acl\" \"whoami\"", "[0 own] \"slowlog\" \"help\""],
    );
}

#[test]
fn secrets_are_not_shown() {
    check_lines_monitored(
        &[
            "auth secret",
            "AUTH name secret",
            "auth name secret more",
            "hello 3 auth name secret",
            "hello 2 setname auth AUTH name secret",
        ],
        &[
            "[0 own] \"auth\" \"(redacted)\"",
            "[0 own] \"AUTH\" \"(redacted)\" \"(redacted)\"",
            "[0 own] \"auth\" \"name\" \"secret\" \"more\"",
            "[0 own] \"hello\" \"3\" \"auth\" \"(redacted)\" \"(redacted)\"",
            "[0 own] \"hello\" \"2\" \"setname\" \"auth\" \"AUTH\" \"(redacted)\" \"(redacted)\"",
        ],
    );
}

#[test]
fn commands_of_a_transaction_are_shown_when_it_runs() {
    check_lines_monitored(
        &["multi", "set k 1", "get k", "exec", "multi", "get k", "discard", "multi", "monitor", "exec"],
        &[
            "[0 own] \"multi\"",
            "[0 own] \"set\" \"k\" \"1\"",
            "[0 own] \"get\" \"k\"",
            "[0 own] \"exec\"",
            "[0 own] \"multi\"",
            "[0 own] \"discard\"",
            "[0 own] \"multi\"",
            "[0 own] \"exec\"",
        ],
    );
}

#[test]
fn a_script_is_shown_before_its_calls() {
    let script = "redis.call('set','k',1) redis.call('select',7) return redis.call('get','k')";
    let eval = format!("[0 own] \"EVAL\" \"{script}\" \"0\"");
    let library = "#!lua name=l\nredis.register_function('f', function() return redis.call('ping') end)";
    let load = format!("[0 own] \"function\" \"load\" \"{}\"", library.replace('\n', "\\n"));
    check_monitored(
        &[
            &["EVAL", script, "0"],
            &["eval", "return 1", "x"],
            &["evalsha_ro", "nosuch", "0"],
            &["function", "load", library],
            &["fcall", "f", "0"],
        ],
        &[
            &eval,
            "[0 lua] \"set\" \"k\" \"1\"",
            "[7 lua] \"select\" \"7\"",
            "[7 lua] \"get\" \"k\"",
            "[0 own] \"eval\" \"return 1\" \"x\"",
            "[0 own] \"evalsha_ro\" \"nosuch\" \"0\"",
            &load,
            "[0 own] \"fcall\" \"f\" \"0\"",
            "[0 lua] \"ping\"",
        ],
    );
}

#[test]
fn a_blocking_request_is_shown_once() {
    for server in servers() {
        let mut monitor = monitor(&server);
        let [mut waiter, mut pusher] = [0; 2].map(|_| Client::connect(server.addr()));
        waiter.send_line("BLPOP l 0");
        assert_eq!(next(&mut monitor, &waiter), "[0 own] \"BLPOP\" \"l\" \"0\"");
        pusher.line("RPUSH l x");
        waiter.read_reply();
        pusher.line("PING");
        let told = [next(&mut monitor, &pusher), next(&mut monitor, &pusher)];
        assert_eq!(told, ["[0 own] \"RPUSH\" \"l\" \"x\"", "[0 own] \"PING\""]);
    }
}

#[test]
fn a_monitor_cannot_use_keys_and_is_shown_its_own_calls() {
    for server in servers() {
        let mut monitor = monitor(&server);
        for line in ["GET k", "SET k v", "EVAL \"return 1\" 0", "PUBLISH c m", "DBSIZE"] {
            assert_eq!(
                monitor.line(line).to_string(),
                "-ERR Replica can't interact with the keyspace",
                "{line}"
            );
        }
        // A second MONITOR gets no answer.
        monitor.send_line("MONITOR");
        assert_eq!(monitor.line("PING").to_string(), "+PONG");
        let own = monitor.local().to_string();
        assert!(monitor.read_reply().to_string().ends_with(&format!("[0 {own}] \"PING\"")));
        let list = monitor.line("CLIENT LIST TYPE normal").to_string();
        assert!(list.contains(" flags=O "), "{list}");
        assert_eq!(monitor.line("RESET").to_string(), "+RESET");
        let mut other = Client::connect(server.addr());
        other.line("PING");
        assert_eq!(monitor.line("GET k").to_string(), "(nil)");
        assert!(monitor.line("CLIENT INFO").to_string().contains(" flags=N "));
    }
}

#[test]
fn monitors_can_disconnect_and_reconnect() {
    for server in servers() {
        let [gone, mut first, mut second] = [0; 3].map(|_| monitor(&server));
        drop(gone);
        let mut client = Client::connect(server.addr());
        first.line("CLIENT KILL TYPE normal SKIPME no");
        second.read_to_close();
        first.read_to_close();
        drop(client);
        client = Client::connect(server.addr());
        let mut third = monitor(&server);
        client.line("PING");
        assert_eq!(next(&mut third, &client), "[0 own] \"PING\"");
    }
}

#[test]
fn a_client_of_a_unix_socket_is_shown_by_its_path() {
    let path = std::env::temp_dir().join(format!("lockwheel-monitor-{}", std::process::id()));
    let mut config = Config::default();
    (config.port, config.unixsocket) = (0, path.to_string_lossy().into_owned());
    let server = Server::builder().config(config).start().expect("it listens");
    let stream = std::os::unix::net::UnixStream::connect(&path).expect("it listens");
    let mut lines = BufReader::new(stream.try_clone().expect("it is open")).lines();
    (&stream).write_all(b"MONITOR\r\nPING\r\n").expect("it is read");
    let [ok, pong, call] = [0; 3].map(|_| lines.next().expect("it is open").expect("a line"));
    assert_eq!((&*ok, &*pong), ("+OK", "+PONG"));
    assert!(call.ends_with(&format!("[0 unix:{}] \"PING\"", path.display())), "{call}");
    drop(server);
}

/// A normal client would have no limit.
#[test]
fn a_monitor_that_does_not_read_is_disconnected() {
    let server = ours::server();
    let mut idle = monitor(&server);
    let mut client = Client::connect(server.addr());
    client.line("CONFIG SET client-output-buffer-limit \"pubsub 1mb 0 0\"");
    let large = "x".repeat(64 << 10);
    for _ in 0..1000 {
        client.cmd(&["ECHO", &large]);
    }
    let info = client.line("INFO stats").to_string();
    assert!(info.contains("client_output_buffer_limit_disconnections:1"), "{info}");
    idle.read_to_close();
}

#[test]
fn a_monitor_shows_the_manual_clock() {
    let server = ours::manual_server();
    let mut monitor = monitor(&server);
    let mut client = Client::connect(server.addr());
    client.line("CLOCK.SET 1700000000123");
    client.line("PING");
    let _set = monitor.read_reply();
    assert!(monitor.read_reply().to_string().starts_with("+1700000000.123000 [0 127.0.0.1:"));
}

/// The monitor's lines wait until the script has ended, but within a limit.
#[test]
fn a_long_script_does_not_fill_the_memory_with_monitor_lines() {
    let server = ours::server();
    let mut idle = monitor(&server);
    let mut client = Client::connect(server.addr());
    client.line("CONFIG SET client-output-buffer-limit \"pubsub 1mb 0 0\"");
    client.line("EVAL \"for i = 1, 50000 do redis.call('ping', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx') end\" 0");
    let info = client.line("INFO stats").to_string();
    assert!(info.contains("client_output_buffer_limit_disconnections:1"), "{info}");
    idle.read_to_close();
}
