//! Testcontainers waits for lines of a container's log. Containers need Docker, which this test does not use. It checks
//! our program's log against the patterns with the same engine, in Java.

use crate::stand_in::sources;
use lockwheel_tests::program;
use lockwheel_tests::tls::Certificates;
use lockwheel_tests::workshop::{find_tool, java};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Returns the output of a server with these options, up to the last of this number of lines that say it is ready.
fn log(options: &[&str], ready: usize) -> String {
    let mut command = Command::new(program::path());
    let mut child = command.args(options).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let mut log = String::new();
    while log.matches("eady to accept connections").count() < ready {
        assert_ne!(out.read_line(&mut log).expect("the log is text"), 0, "it has ended: {log}");
    }
    child.kill().expect("it runs");
    child.wait().expect("it is our child");
    log
}

/// Returns the number of matches of each pattern.
fn found(log: &str) -> Option<Vec<String>> {
    let mut command = java(&find_tool("java", "apt-get install default-jdk-headless")?);
    command.arg(sources().folder.join("testcontainers/Patterns.java"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Java starts");
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(log.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn each_ready_pattern_matches_one_log_line() {
    let log = log(&["--port", "0"], 1);
    let Some(found) = found(&log) else { return };
    assert_eq!(found.len(), 6, "{found:?}");
    for line in found {
        assert!(line.starts_with("1 "), "{line} in\n{log}");
    }
}

/// There is one line for each kind of client, as in Redis 7.2.
#[test]
fn with_tls_there_are_two_lines() {
    let certificates = Certificates::new();
    let file = |name: &str| certificates.path(name);
    let (cert, key, ca) = (file("server.crt"), file("server.key"), file("ca.crt"));
    let files = ["--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-ca-cert-file", &ca];
    let ports = (file("port"), file("tls-port"));
    let ports = ["--port", "0", "--port-file", &ports.0, "--tls-port-file", &ports.1];
    let log = log(&[ports, files].concat(), 2);
    let Some(found) = found(&log) else { return };
    assert_eq!(found[1], "2 .*Ready to accept connections.*\\n", "{log}");
}
