//! Injected faults: rules and their actions, connections that carry nothing, fail-overs and restarts.

mod failover;
mod holding;
mod links;
mod messages;
mod replies;
mod requests;
mod rules;
mod sockets;
mod toxics;

use lockwheel::{Config, Time};
use lockwheel_engine::core::Simulation;
use lockwheel_tests::check::is_expected;
use std::time::Duration;

/// A server without sockets on a manual clock, and the client that controls it.
struct Scene {
    server: Simulation,
    steer: u64,
}

impl Scene {
    fn new() -> Self {
        let mut config = Config::default();
        config.time = Time::Manual;
        let mut server = Simulation::new(config, 7);
        let steer = server.connect();
        Scene { server, steer }
    }

    fn client(&mut self) -> u64 {
        self.server.connect()
    }

    /// Sends a line, and returns the reply in one line.
    fn ask(&mut self, client: u64, line: &str) -> String {
        let reply = self.server.ask(client, line);
        reply.replace("\r\n", " ").trim_end().to_owned()
    }

    #[track_caller]
    fn check(&mut self, client: u64, line: &str, expected: &str) {
        let got = self.ask(client, line);
        assert!(is_expected(&got, expected), "{line}\nexpected: {expected}\n     got: {got}");
    }

    /// Works as [`Self::check`], for the controlling client.
    #[track_caller]
    fn steer(&mut self, line: &str, expected: &str) {
        self.check(self.steer, line, expected);
    }

    /// Returns the bytes that a client was sent meanwhile, in one line.
    fn read(&mut self, client: u64) -> String {
        self.server.read(client).replace("\r\n", " ").trim_end().to_owned()
    }

    fn advance(&mut self, ms: u64) {
        assert!(self.ask(self.steer, &format!("CLOCK.ADVANCE {ms}")).contains("fired"));
    }

    fn add(&mut self, rule: &str) {
        self.steer(&format!("FAULT.ADD {rule}"), "+OK");
    }

    /// Lets real time pass.
    fn pass(&mut self, ms: u64) {
        self.server.pass(Duration::from_millis(ms));
    }

    /// A field of a rule in FAULT.LIST.
    fn field(&mut self, rule: &str, name: &str) -> String {
        let list = self.ask(self.steer, "FAULT.LIST");
        let words: Vec<&str> = list.split(' ').collect();
        let from = words.iter().position(|word| *word == rule).expect("there is such a rule");
        let at = words[from..].iter().position(|word| *word == name).expect("each rule has it");
        words[from + at + 1].to_owned()
    }
}
