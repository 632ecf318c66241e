//! Tests of conditions that end the server, and of the announcement that it is ready.

use crate::harness::{Client, Directory, Process, SAFETY_NET, program, ready_line, refused};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Waits until no server listens on this port any more.
fn await_end(port: u16) {
    let begin = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
        assert!(begin.elapsed() < SAFETY_NET, "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn idle_exit_ends_a_server_without_clients() {
    // The server continues while a client is connected, and ends after the client has left.
    let mut process = Process::start(&["--idle-exit", "1"]);
    let mut client = process.client();
    assert_eq!(client.ask("DEBUG SLEEP 1.2"), "+OK");
    assert_eq!(client.ask("PING"), "+PONG");
    assert!(process.child.try_wait().expect("it is our child").is_none());
    drop(client);
    let (status, _) = process.wait();
    assert_eq!(status.code(), Some(0));
    // A server to which no client ever connects ends as well.
    let (status, _) = Process::start(&["--idle-exit", "1"]).wait();
    assert_eq!(status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn exit_with_parent_ends_the_server_when_its_parent_is_killed() {
    let directory = Directory::new();
    let pid_file = directory.file("pid");
    // The shell stays, because it has another command to run.
    let script = "\"$0\" --port 0 --exit-with-parent --pidfile \"$1\" & wait; exit 3";
    let mut parent = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_lockwheel"), &pid_file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut out = BufReader::new(parent.stdout.take().expect("it is a pipe"));
    let ready = ready_line(&mut out);
    let port = ready.trim_end().rsplit_once("port=").and_then(|(_, port)| port.parse().ok());
    let port = port.unwrap_or_else(|| panic!("{ready}"));
    assert!(fs::exists(&pid_file).expect("the directory can be read"));
    drop((out, parent.stderr.take()));
    parent.kill().expect("it is our child");
    parent.wait().expect("it is our child");
    await_end(port);
    let begin = Instant::now();
    while fs::exists(&pid_file).expect("the directory can be read") {
        assert!(begin.elapsed() < SAFETY_NET, "it did not end in order");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn exit_with_parent_ignores_the_end_of_the_starting_thread() {
    let start = || Process::start(&["--exit-with-parent"]);
    let mut process = std::thread::spawn(start).join().expect("the thread ends");
    assert_eq!(process.client().ask("DEBUG SLEEP 0.2"), "+OK");
    assert_eq!(process.client().ask("PING"), "+PONG");
    assert!(process.child.try_wait().expect("it is our child").is_none());
    refused(&["--port", "0", "--exit-with-parent", "--daemonize", "yes"], &["exclude each other"]);
}

#[cfg(unix)]
#[test]
fn the_port_is_written_to_a_descriptor_which_is_closed() {
    let directory = Directory::new();
    let port_file = directory.file("port");
    // Descriptor 5 is the pipe; standard output is somewhere else. `cat` ends when the last writer has closed it.
    let script = "{ \"$0\" --port 0 --ready-fd 5 --port-file \"$1\" --idle-exit 1 5>&1 >/dev/null & } | cat; \
                  cat \"$1\"; wait";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_lockwheel"), &port_file])
        .output()
        .expect("there is a shell");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let lines: Vec<&str> = text.lines().collect();
    assert!(matches!(lines[..], [a, b] if a == b && a.parse::<u16>().is_ok_and(|port| port != 0)), "{text}");

    for (number, reason) in [("987", "Bad file descriptor"), ("1", "it is a standard stream")] {
        let told = format!("Can't write to the descriptor {number}: {reason}");
        refused(&["--port", "0", "--ready-fd", number], &[&told]);
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_server_at_once_with_1() {
    let directory = Directory::new();
    let log = directory.file("log");
    assert!(Command::new("mkfifo").arg(&log).status().expect("there is a mkfifo").success());
    let mut child = program().args(["--port", "0", "--logfile", &log]).spawn().expect("the program starts");
    // The server waits for a reader of its log at each line. Without a reader it cannot shut down cleanly.
    let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
    // Dropping it kills the process, whatever happens below.
    let mut process = Process { child, ready: String::new(), port: 0 };
    let reader = fs::OpenOptions::new().read(true).write(true).open(&log).expect("it can be read");
    let ready = ready_line(&mut out);
    assert!(ready.contains("Ready to accept connections"), "{ready}");
    drop(reader);
    let begin = Instant::now();
    let status = loop {
        let sent = Command::new("kill").args(["-TERM", &process.child.id().to_string()]).status();
        assert!(sent.is_ok());
        if let Some(status) = process.child.try_wait().expect("it is our child") {
            break status;
        }
        assert!(begin.elapsed() < SAFETY_NET, "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(1));
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("it is text");
}

#[test]
fn the_server_starts_with_the_configuration_of_jedis() {
    let directory = Directory::new();
    let file = directory.file("redis.conf");
    let text = format!(
        "daemonize no\nprotected-mode no\nport 0\nrequirepass foobared\npidfile \"{}\"\nlogfile \"{}\"\nsave \"\"\n\
         appendonly no\nenable-module-command yes\nclient-output-buffer-limit pubsub 256k 128k 5\n",
        directory.file("pid"),
        directory.file("log"),
    );
    fs::write(&file, text).expect("it can be written");
    let process = Process::from(program().arg(&file));
    let mut client = process.client();
    assert_eq!(client.ask("AUTH foobared"), "+OK");
    assert_eq!(client.ask("PING"), "+PONG");
}

/// Starts a server with the open-file limit that `ulimit` sets by these arguments.
#[cfg(unix)]
fn with_files(limit: &str) -> (Process, String) {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit {limit}; exec \"$0\" --port 0"), env!("CARGO_BIN_EXE_lockwheel")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let mut said = String::new();
    while !said.contains("eady to accept connections") {
        assert!(out.read_line(&mut said).expect("standard output is text") > 0, "not ready: {said}");
    }
    let port = said.trim_end().rsplit_once("port=").and_then(|(_, port)| port.parse().ok()).expect("a port");
    (Process { child, ready: said.clone(), port }, said)
}

#[cfg(unix)]
#[test]
fn maxclients_is_limited_by_the_descriptors_of_the_process() {
    // The soft limit may be raised up to the hard limit.
    let (soft, _) = with_files("-Sn 100; ulimit -Hn 500");
    assert!(["468", "10000"].contains(&&*soft.client().parameter("maxclients")));

    // A user who may raise the hard limit has enough files all the same.
    let raised =
        Command::new("sh").args(["-c", "ulimit -n 100; ulimit -n 20000"]).stderr(Stdio::null()).status();
    if raised.expect("there is a shell").success() {
        return;
    }
    let (server, said) = with_files("-n 100");
    for line in [
        "You requested maxclients of 10000 requiring at least 10032 max file descriptors.",
        "Server can't set maximum open files to 10032 because of OS error: Operation not permitted.",
        "Current maximum open files is 100. maxclients has been reduced to 68 to compensate for low ulimit. If you \
         need higher maxclients increase 'ulimit -n'.",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let mut clients: Vec<_> = (0..68).map(|_| server.client()).collect();
    assert!(clients.iter_mut().all(|client| client.ask("PING") == "+PONG"));
    assert_eq!(server.client().read(), "-ERR max number of clients reached");
    let told = "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able \
                to handle the specified number of clients, try with 68";
    assert_eq!(clients[0].ask("CONFIG SET maxclients 5000"), told);
    assert_eq!(clients[0].parameter("maxclients"), "68");
    assert_eq!(clients[0].ask("CONFIG SET maxclients 50"), "+OK");
    assert_eq!(clients[0].ask("CONFIG SET maxclients 68"), "+OK");

    let output = Command::new("sh")
        .args(["-c", "ulimit -n 32; exec \"$0\" --port 0 --threads 1", env!("CARGO_BIN_EXE_lockwheel")])
        .output()
        .expect("there is a shell");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    let why = "Your current 'ulimit -n' of 32 is not enough for the server to start. Please increase your open file \
               limit to at least 10032. Exiting.";
    assert!(told.contains(why), "{told}");
}

#[cfg(unix)]
#[test]
fn a_signal_waits_for_replicas_and_a_second_one_does_not() {
    let mut process = Process::start(&["--shutdown-timeout", "1000"]);
    let [mut client, mut replica] = [0; 2].map(|_| process.client());
    replica.send("PSYNC ? -1");
    let waits = |client: &mut Client| client.ask("INFO server").contains("shutdown_in_milliseconds:");
    let until = |client: &mut Client, reached: &dyn Fn(&mut Client) -> bool| {
        let begin = Instant::now();
        while !reached(client) {
            assert!(begin.elapsed() < SAFETY_NET);
        }
    };
    let is_followed = |client: &mut Client| client.ask("INFO replication").contains("connected_slaves:1");
    until(&mut client, &is_followed);
    process.signal("-TERM");
    until(&mut client, &waits);
    assert_eq!(client.ask("SHUTDOWN ABORT"), "+OK");
    process.signal("-INT");
    until(&mut client, &waits);
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));

    let mut process = Process::start(&["--shutdown-timeout", "1000", "--shutdown-on-sigterm", "now"]);
    let [mut client, mut replica] = [0; 2].map(|_| process.client());
    replica.send("PSYNC ? -1");
    until(&mut client, &is_followed);
    process.signal("-TERM");
    assert_eq!(process.wait().0.code(), Some(0));
}

#[test]
fn log_lines_show_the_role_of_the_process() {
    let directory = Directory::new();
    let log = directory.file("log");
    let saved = ["--dir", directory.0.to_str().expect("it is text")];
    let process =
        Process::start(&[&["--logfile", &log, "--replicaof", "127.0.0.1", "1"], &saved[..]].concat());
    let mut client = process.client();
    assert_eq!(client.ask("REPLICAOF NO ONE"), "+OK");
    assert_eq!(client.ask("SAVE"), "+OK");
    assert_eq!(client.ask("REPLICAOF 127.0.0.1 2"), "+OK");
    let text = fs::read_to_string(&log).expect("it is there");
    let role = |what: &str| {
        let line = text.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"));
        line.split([':', ' ']).nth(1).expect("it has one").to_owned()
    };
    assert_eq!(role("Connecting to MASTER 127.0.0.1:1"), "S");
    assert_eq!(role("DB saved on disk"), "M");
    assert_eq!(role("Connecting to MASTER 127.0.0.1:2"), "S");
}
