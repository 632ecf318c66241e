//! Tests of the program as a process: arguments, ready line, signals, exit codes.

mod harness;
mod life;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod out_of_memory;
// Only Linux has a whole network of loopback addresses.
#[cfg(target_os = "linux")]
mod listening;
mod starting;
#[cfg(unix)]
mod subcommands;
#[cfg(unix)]
mod unix_socket;

use harness::{Client, Directory, Process, ends_at_once, program, refused, run};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_ready_line_has_the_shape_of_redis_and_says_the_port() {
    let process = Process::start(&[]);
    let id = process.child.id();
    assert!(process.ready.starts_with(&format!("{id}:M ")), "{}", process.ready);
    let (stamp, text) = process.ready.split_once(" * ").expect("a line of the log has a level");
    assert_eq!(stamp.split(' ').count(), 5, "{stamp}");
    assert_eq!(text, format!("Ready to accept connections tcp, port={}\n", process.port));
    assert_ne!(process.port, 0);
    assert_eq!(process.client().ask("PING"), "+PONG");
    assert_eq!(process.client().parameter("port"), process.port.to_string());
}

#[test]
fn the_port_and_the_process_are_written_to_files() {
    let directory = Directory::new();
    let (port, pid) = (directory.file("port"), directory.file("pid"));
    let mut process = Process::start(&["--port-file", &port, "--pidfile", &pid]);
    assert_eq!(
        fs::read_to_string(&port).expect("it is there before the ready line").trim(),
        process.port.to_string()
    );
    assert_eq!(fs::read_to_string(&pid).expect("it is there").trim(), process.child.id().to_string());
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    assert!(!fs::exists(&pid).expect("the directory can be read"));
}

#[test]
fn signals_end_the_server_with_0_within_a_second() {
    for signal in ["-TERM", "-INT"] {
        ends_at_once(signal, || {
            let process = Process::start(&[]);
            process.client().ask("PING");
            process
        });
    }
}

#[test]
fn a_signal_ends_the_server_during_a_script_or_a_sleep() {
    for request in [
        "EVAL \"while true do end\" 0",
        "EVAL \"redis.call('SET', 'k', 1) while true do end\" 0",
        "DEBUG SLEEP 1000",
    ] {
        ends_at_once("-TERM", || {
            let arguments = ["--enable-debug-command", "yes", "--busy-reply-threshold", "10"];
            let process = Process::start(&arguments);
            process.client().send(request);
            if request.starts_with("EVAL") {
                // The script is running once other clients get BUSY.
                let mut other = process.client();
                while !other.ask("GET k").starts_with("-BUSY") {}
            }
            process
        });
    }
}

#[test]
fn a_signal_ends_the_server_during_slow_commands() {
    ends_at_once("-TERM", || {
        let process = Process::start(&["--threads", "2"]);
        let mut client = process.client();
        let fill = "EVAL \"for i = 1, 3000 do redis.call('RPUSH', 'l', unpack(ARGV)) end\" 0";
        client.ask(&format!("{fill}{}", " x".repeat(100)));
        client.send(&"LPOS l y\r\n".repeat(20_000));
        // The commands are running once another client has to wait. The second connection belongs to the other thread.
        let other = TcpStream::connect((Ipv4Addr::LOCALHOST, process.port)).expect("it listens");
        other.set_read_timeout(Some(Duration::from_millis(100))).expect("the time is not zero");
        while { &other }.write(b"PING\r\n").is_ok() && { &other }.read(&mut [0; 7]).is_ok() {}
        process
    });
}

#[test]
fn shutdown_ends_the_server_with_0() {
    for request in ["SHUTDOWN", "SHUTDOWN NOSAVE", "SHUTDOWN SAVE NOW FORCE"] {
        let directory = Directory::new();
        let mut process = Process::start(&["--dir", &directory.file("")]);
        let mut client = process.client();
        client.send(request);
        let mut rest = Vec::new();
        // The connection just ends.
        let _ = client.0.read_to_end(&mut rest);
        assert_eq!(rest, b"");
        assert_eq!(process.wait().0.code(), Some(0), "{request}");
    }
}

#[test]
fn shutdown_nosave_ends_a_script_that_has_written() {
    let mut process = Process::start(&["--busy-reply-threshold", "10"]);
    process.client().send("EVAL \"redis.call('SET', 'k', 1) while true do end\" 0");
    let mut client = process.client();
    while !client.ask("GET k").starts_with("-BUSY") {}
    assert!(client.ask("SCRIPT KILL").starts_with("-UNKILLABLE"));
    assert!(client.ask("SHUTDOWN").starts_with("-BUSY"));
    client.send("SHUTDOWN NOSAVE");
    assert_eq!(process.wait().0.code(), Some(0));
}

#[test]
fn the_server_can_restart_on_its_port() {
    let mut process = Process::start(&[]);
    let port = process.port.to_string();
    // Connections that the server closes first stay around for a while after its end.
    let mut clients: Vec<Client> = (0..4).map(|_| process.client()).collect();
    clients.iter_mut().for_each(|client| drop(client.ask("PING")));
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
    let again = Process::from(program().args(["--port", &port]));
    assert_eq!(again.client().ask("PING"), "+PONG");
}

#[test]
fn a_port_in_use_is_reported() {
    let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = holder.local_addr().expect("it is bound").port().to_string();
    refused(
        &["--port", &port],
        &["Could not create server TCP listening socket", &port, "bind: Address already in use"],
    );
}

#[test]
fn invalid_parameters_are_reported() {
    refused(&["--nonsense", "1"], &["There is no option '--nonsense'.\n"]);
    refused(&["--prot", "1"], &["There is no option '--prot'. Did you mean '--port'?\n"]);
    refused(&["helthcheck"], &["There is no subcommand 'helthcheck'", "Did you mean 'healthcheck'?"]);
    refused(&["--port", "70000"], &["argument must be between 0 and 65535 inclusive"]);
    refused(&["--databases", "0"], &["argument must be between 1 and 100000 inclusive"]);
    refused(&["--databases", "2147483647"], &["argument must be between 1 and 100000 inclusive"]);
    refused(&["--appendonly", "maybe"], &["argument must be 'yes' or 'no'"]);
    refused(&["/no/such/file.conf"], &["can't open config file '/no/such/file.conf'"]);
    refused(&["--time", "yesterday"], &["argument must be 'real', 'manual' or an instant"]);
    refused(&["--load", "/no/such/file.rdb"], &["'/no/such/file.rdb'", "No such file or directory"]);
    let no_rdb = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let named = format!("Fatal error loading the DB '{no_rdb}': Invalid argument. Exiting.");
    refused(&["--load", no_rdb], &["Wrong signature trying to load DB from file", &named]);
    refused(&["--bind", "192.0.2.1"], &["192.0.2.1"]);
}

#[test]
fn the_server_has_the_configured_number_of_databases() {
    let process = Process::start(&["--databases", "100000"]);
    let mut client = process.client();
    client.send("SELECT 99999\r\nSET k v\r\nDBSIZE\r\nSELECT 100000");
    let replies: Vec<String> = (0..4).map(|_| client.read()).collect();
    assert_eq!(replies, ["+OK", "+OK", ":1", "-ERR DB index is out of range"]);
}

#[test]
fn version_and_help_are_printed() {
    for argument in ["--version", "-v"] {
        let output = run(&[argument]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let own = concat!("Lockwheel v=", env!("CARGO_PKG_VERSION"), " (Redis 7.2.");
        assert!(text.starts_with(own), "{text}");
        assert!(text.contains(" build=lockwheel-"), "{text}");
    }
    for (arguments, begin) in [
        (&["--help"][..], "Usage: lockwheel [/path"),
        (&["help"], "Usage: lockwheel [/path"),
        (&["help", "run"], "Usage: lockwheel run"),
    ] {
        let help = run(arguments);
        assert_eq!(help.status.code(), Some(0), "{arguments:?}");
        assert!(String::from_utf8_lossy(&help.stdout).starts_with(begin), "{arguments:?}: {help:?}");
    }
    refused(&["help", "rum"], &["rum", "run"]);
}

#[test]
fn arguments_are_read_as_redis_server_reads_them() {
    let directory = Directory::new();
    let dir = directory.0.to_str().expect("the path is text");
    let process = Process::start(&[
        "--requirepass",
        "a b",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        dir,
        "--notify-keyspace-events",
        "Egx",
        "--databases 8",
        "--maxclients",
        "100",
    ]);
    let mut client = process.client();
    assert_eq!(client.ask("PING"), "-NOAUTH Authentication required.");
    assert_eq!(client.ask("AUTH \"a b\""), "+OK");
    for (name, value) in [
        ("requirepass", "a b"),
        ("save", ""),
        ("appendonly", "no"),
        ("dir", dir),
        ("notify-keyspace-events", "gxE"),
        ("databases", "8"),
        ("maxclients", "100"),
    ] {
        assert_eq!(client.parameter(name), value, "{name}");
    }
    assert_eq!(client.ask("SELECT 8"), "-ERR DB index is out of range");
}

#[test]
fn arguments_of_test_harnesses_are_accepted() {
    let directory = Directory::new();
    let log = directory.file("log");
    let process = Process::start(&[
        "--daemonize",
        "no",
        "--rdbcompression",
        "yes",
        "--rdbchecksum",
        "no",
        "--appendonly",
        "no",
        "--databases",
        "8",
        "--timeout",
        "0",
        "--dbfilename",
        "dump.rdb",
        "--logfile",
        &log,
        "--loglevel",
        "notice",
        "--syslog-enabled",
        "no",
        "--bind",
        "127.0.0.1",
        "--save 900 1",
        "--enable-debug-command",
        "yes",
    ]);
    let mut client = process.client();
    assert_eq!(client.parameter("save"), "900 1");
    assert_eq!(client.parameter("bind"), "127.0.0.1");
    assert_eq!(client.ask("DEBUG SLEEP 0"), "+OK");
}

#[test]
fn parameters_come_from_a_file_and_from_standard_input() {
    let directory = Directory::new();
    let file = directory.file("redis.conf");
    fs::write(&file, "# a comment\nport 0\nmaxclients 77\nhash-max-listpack-entries 5\n")
        .expect("it can be written");
    // The later options override the file.
    let process = Process::from(program().arg(&file).args(["--maxclients", "78"]));
    let mut client = process.client();
    assert_eq!(client.parameter("maxclients"), "78");
    assert_eq!(client.parameter("hash-max-listpack-entries"), "5");

    let input = directory.file("input");
    fs::write(&input, "port 0\nmaxclients 79\n").expect("it can be written");
    let process = Process::from(program().arg("-").stdin(fs::File::open(&input).expect("it is there")));
    assert_eq!(process.client().parameter("maxclients"), "79");
}

#[test]
fn a_manual_clock_is_frozen_and_a_seed_repeats_random_replies() {
    let numbers = |seed: &str| {
        let process = Process::start(&["--time", "manual", "--seed", seed]);
        let mut client = process.client();
        assert_eq!(client.ask("TIME"), client.ask("TIME"), "time stands");
        client.ask("SADD s a b c d e f g h i j k l m n o p");
        (0..8).map(|_| client.ask("SRANDMEMBER s")).collect::<Vec<_>>()
    };
    assert_eq!(numbers("1"), numbers("1"));
    assert_ne!(numbers("1"), numbers("2"));
    let process = Process::start(&["--time", "2030-01-01T00:00:00Z"]);
    assert_eq!(process.client().ask("TIME"), "1893456000 0");
}

#[test]
fn the_server_works_with_any_number_of_threads() {
    for threads in ["1", "2", "8"] {
        let process = Process::start(&["--threads", threads]);
        let mut clients: Vec<Client> = (0..20).map(|_| process.client()).collect();
        clients.iter_mut().for_each(|client| client.send("INCR n"));
        clients.iter_mut().for_each(|client| drop(client.read()));
        assert_eq!(clients[0].ask("GET n"), "20", "{threads}");
    }
}

#[test]
fn control_commands_can_be_disabled() {
    let process = Process::start(&["--control", "no"]);
    assert!(process.client().ask("CLOCK.INFO").starts_with("-ERR unknown command 'CLOCK.INFO'"));
}

#[test]
fn the_server_prints_nothing_on_standard_error() {
    let mut process = Process::from(program().args(["--port", "0"]).stdout(Stdio::piped()));
    process.client().ask("nonsense");
    process.signal("-TERM");
    process.wait();
    let mut told = String::new();
    let mut err = process.child.stderr.take().expect("standard error is a pipe");
    err.read_to_string(&mut told).expect("it is text");
    assert_eq!(told, "");
}

#[test]
fn a_signal_right_after_listening_ends_the_server_properly() {
    for _ in 0..20 {
        let directory = Directory::new();
        let socket = directory.file("s");
        let mut child = program().args(["--port", "0", "--unixsocket", &socket]).spawn().expect("it starts");
        // The server listens before it reports that it is ready.
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {}
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill").success());
        assert_eq!(child.wait().expect("it is a child").code(), Some(0));
        assert!(!fs::exists(&socket).expect("the directory can be read"), "it has left its socket");
    }
}

#[test]
fn a_hangup_does_not_end_the_server() {
    let mut process = Process::start(&[]);
    process.signal("-HUP");
    assert_eq!(process.client().ask("PING"), "+PONG");
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
}
