//! The program that starts several servers, as a user does.

use crate::topology::sentinels::{master_port_of, text};
use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use lockwheel_tests::tls::Certificates;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// The program. Dropping it kills the process.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn the_program_prints_the_addresses_and_roles_of_the_servers() {
    let directory = std::env::temp_dir().join(format!("lockwheel-topology-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    let file = directory.join("ports");
    let mut command = Command::new(program::path());
    command.args(["topology", "sentinel", "3", "--replicas", "2", "--time", "manual", "--port", "0"]);
    command.arg("--port-file").arg(&file).arg("--dir").arg(&directory).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let _running = Running(child);
    let lines: Vec<String> = output.lines().take(7).map(|line| line.expect("a line")).collect();
    let told: Vec<(&str, &str)> = lines[..6].iter().filter_map(|line| line.split_once(' ')).collect();
    let roles: Vec<&str> = told.iter().map(|(role, _)| *role).collect();
    assert_eq!(roles, ["master", "replica", "replica", "sentinel", "sentinel", "sentinel"]);
    let port = told[0].1.rsplit(':').next().expect("a port");
    assert!(lines[6].ends_with(&format!("Ready to accept connections tcp, port={port}")), "{}", lines[6]);
    let addresses: Vec<&str> = told.iter().map(|(_, address)| *address).collect();
    let written = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(written.lines().collect::<Vec<_>>(), addresses);

    let mut sentinel = Client::connect(addresses[3]);
    assert!(addresses[0].ends_with(&format!(":{}", master_port_of(&mut sentinel))));
    let mut replica = Client::connect(addresses[1]);
    assert_eq!(text(&mut replica, "FAULT.DOWN 0"), "+OK");
    sentinel.line("CLOCK.ADVANCE 60000");
    assert!(!addresses[0].ends_with(&format!(":{}", master_port_of(&mut sentinel))));
    let kept: Vec<_> =
        std::fs::read_dir(&directory).expect("it is one").map(|entry| entry.expect("one").path()).collect();
    assert_eq!(kept, [file], "nothing else is written");
    let _removed = std::fs::remove_dir_all(&directory);
}

/// Servers over TLS alone, or on a unix socket alone, would not reach one another.
#[test]
fn a_topology_with_tls_also_needs_a_plain_port() {
    let certificates = Certificates::new();
    let tls = ["tls-cert-file", "tls-key-file", "tls-ca-cert-file"].map(|name| format!("--{name}"));
    let files = ["server.crt", "server.key", "ca.crt"].map(|name| certificates.path(name));
    let socket = certificates.path("socket");
    for alone in [["--tls-port-file", &certificates.path("port")], ["--unixsocket", &socket]] {
        let mut command = Command::new(program::path());
        command.args(["topology", "replicas", "1", "--port", "0"]).args(alone);
        command.args(tls.iter().zip(&files).flat_map(|(name, file)| [name, file]));
        let output = command.output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("reach one another without TLS: beside --tls-port, "), "{told}");
    }
}

#[test]
fn options_that_contradict_the_shape_are_refused() {
    for (line, told) in [
        ("cluster 3x0 --cluster-enabled no", "are nodes of a cluster, without cluster-enabled"),
        ("cluster 3x0 --cluster-enabled yes", "are nodes of a cluster, without cluster-enabled"),
        ("cluster 3x1 --replicaof 127.0.0.1 1", "without replicaof"),
        ("replicas 1 --cluster-enabled yes", "when its shape is 'cluster'"),
        ("sentinel 3 --cluster-enabled yes", "when its shape is 'cluster'"),
    ] {
        let mut command = Command::new(program::path());
        command.arg("topology").args(line.split(' ')).args(["--port", "0"]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut text = String::new();
        child.stderr.take().expect("it is a pipe").read_to_string(&mut text).expect("it is text");
        let running = Running(child);
        assert!(text.contains(told), "{line}: {text}");
        drop(running);
    }
}
