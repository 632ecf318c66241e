//! A master with replicas and without sentinels: the test itself promotes a replica.

use super::process::{Make, Process, attempts, free_ports, until};
use std::path::Path;

/// Only the servers know which of them is the master.
#[derive(Debug)]
pub struct Replicated {
    servers: Vec<Process>,
}

impl Replicated {
    /// Starts the servers, and waits until the replicas have the master's data. Returns `None` if the program is
    /// missing.
    pub fn start(make: Make, replicas: usize) -> Option<Replicated> {
        let program = make.program()?;
        let replicated = attempts(|| Self::try_start(&program, &free_ports(1 + replicas)));
        until("the replicas follow", || replicated.servers[1..].iter().all(follows));
        Some(replicated)
    }

    /// Starts the servers on these ports, the master's first. Returns `None` if one ends at once.
    pub(super) fn try_start(program: &Path, ports: &[u16]) -> Option<Replicated> {
        let master = ports[0].to_string();
        let server = |port: &u16| {
            let follow = ["--replicaof", "127.0.0.1", &master];
            // A real master waits five seconds for more replicas unless told otherwise.
            let more = ["--repl-diskless-sync-delay", "0"];
            let more = if *port == ports[0] { more.to_vec() } else { [&more[..], &follow].concat() };
            Process::start(program, *port, Process::arguments(*port, &more), None)
        };
        Some(Replicated { servers: ports.iter().map(server).collect::<Option<Vec<_>>>()? })
    }

    /// The servers, of which the first is the master at the start.
    pub fn servers(&self) -> &[Process] {
        &self.servers
    }

    /// One of the servers.
    pub fn server(&mut self, at: usize) -> &mut Process {
        &mut self.servers[at]
    }

    /// The ports of the servers.
    pub fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(Process::port).collect()
    }

    /// Waits until all writes to the master have reached all replicas.
    pub fn settle(&self, master: usize) {
        let mut client = self.servers[master].client();
        client.line("SET settled 1");
        let replicas = self.servers.len() - 1;
        assert_eq!(client.line(&format!("WAIT {replicas} 0")).to_string(), format!(":{replicas}"));
    }

    /// Promotes a replica as an operator does: it becomes the master, and then the other running servers follow it.
    pub fn promote(&self, heir: usize) {
        assert_eq!(self.servers[heir].says("REPLICAOF NO ONE"), "OK");
        let follow = format!("REPLICAOF 127.0.0.1 {}", self.servers[heir].port());
        let others =
            || self.servers.iter().enumerate().filter(|(at, _)| *at != heir).map(|(_, server)| server);
        let there: Vec<_> = others().filter(|server| server.says(&follow) == "OK").collect();
        until("they follow it", || there.iter().all(|server| follows(server)));
    }
}

/// Whether a replica has the data of its master.
fn follows(server: &Process) -> bool {
    server.says("INFO replication").contains("master_link_status:up")
}
