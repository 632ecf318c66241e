//! A master with replicas, and three sentinels that watch them.

use super::process::{LOG, Make, Process, attempts, free_ports, until};
use super::replicated::Replicated;
use crate::client::Client;
use std::path::Path;

/// The quorum: two of the sentinels must agree.
const SENTINELS: usize = 3;

/// The sentinels name the master `m`.
#[derive(Debug)]
pub struct Watched {
    replicated: Replicated,
    sentinels: Vec<Process>,
}

impl Watched {
    /// Starts the servers, and waits until all know each other. Returns `None` if the program is missing.
    pub fn start(make: Make, replicas: usize) -> Option<Watched> {
        let program = make.program()?;
        let watched = attempts(|| Self::try_start(&program, replicas));
        watched.wait_until_known(replicas);
        Some(watched)
    }

    fn try_start(program: &Path, replicas: usize) -> Option<Watched> {
        let ports = free_ports(1 + replicas + SENTINELS);
        let (of_servers, of_sentinels) = ports.split_at(1 + replicas);
        let master = of_servers[0];
        let sentinel = |port: &u16| {
            let text = format!(
                "port {port}\nbind 127.0.0.1\nlogfile {LOG}\nsentinel monitor m 127.0.0.1 {master} 2\n\
                 sentinel down-after-milliseconds m 1500\nsentinel failover-timeout m 6000\n"
            );
            let arguments = vec!["sentinel.conf".to_owned(), "--sentinel".to_owned()];
            Process::start(program, *port, arguments, Some(("sentinel.conf", &text)))
        };
        let replicated = Replicated::try_start(program, of_servers)?;
        let sentinels = of_sentinels.iter().map(sentinel).collect::<Option<Vec<_>>>()?;
        Some(Watched { replicated, sentinels })
    }

    fn wait_until_known(&self, replicas: usize) {
        until("the sentinels know the replicas, which follow", || {
            self.sentinels.iter().all(|sentinel| {
                let known = sentinel.says("SENTINEL REPLICAS m");
                known.matches("\"master-link-status\", \"ok\"").count() == replicas
            })
        });
        until("the sentinels know each other", || {
            self.sentinels
                .iter()
                .all(|sentinel| sentinel.says("SENTINEL CKQUORUM m").starts_with("OK 3 usable"))
        });
    }

    /// The servers, of which the first is the master at the start.
    pub fn servers(&self) -> &[Process] {
        self.replicated.servers()
    }

    /// One of the servers.
    pub fn server(&mut self, at: usize) -> &mut Process {
        self.replicated.server(at)
    }

    /// The sentinels.
    pub fn sentinels(&self) -> &[Process] {
        &self.sentinels
    }

    /// The ports of the sentinels.
    pub fn sentinel_ports(&self) -> Vec<u16> {
        self.sentinels.iter().map(Process::port).collect()
    }

    /// Waits until all writes have reached all replicas.
    pub fn settle(&self) {
        self.replicated.settle(self.master());
    }

    /// Stops the replicas, and fills the buffers between the master and them. Later writes reach none of them. The
    /// replicas are not found to be down meanwhile.
    pub fn fall_behind(&self) {
        self.down_after("60000");
        self.servers()[1..].iter().for_each(Process::stand_still);
        self.servers()[0].write_much("bar");
    }

    /// Kills the master and resumes the stopped replicas. Waits for another master and returns its index.
    pub fn replace_master(&mut self) -> usize {
        self.server(0).kill();
        self.servers()[1..].iter().for_each(Process::go_on);
        self.down_after("1500");
        self.successor(0)
    }

    fn down_after(&self, ms: &str) {
        for sentinel in &self.sentinels {
            assert_eq!(sentinel.says(&format!("SENTINEL SET m down-after-milliseconds {ms}")), "OK");
        }
    }

    /// Returns the index of the server that the sentinels name, once all name the same.
    pub fn master(&self) -> usize {
        let mut named = Vec::new();
        until("they agree", || {
            named = self.sentinels.iter().map(|one| one.says("SENTINEL GET-MASTER-ADDR-BY-NAME m")).collect();
            named.iter().all(|name| *name == named[0])
        });
        let named = |server: &Process| named[0].contains(&format!("\"{}\"", server.port()));
        self.servers().iter().position(named).expect("it is one of them")
    }

    /// Waits until the sentinels name another server than this one, which is a master by then. Returns its index.
    pub fn successor(&self, old: usize) -> usize {
        until("there is another master", || {
            let new = self.master();
            new != old && self.servers()[new].says("ROLE").contains("\"master\"")
        });
        self.master()
    }

    /// A connection to the master.
    #[track_caller]
    pub fn client(&self) -> Client {
        self.servers()[self.master()].client()
    }
}
