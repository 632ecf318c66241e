//! A simulated server with the history on, and the scripts of lock libraries.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use serde_json::Value;
use std::time::Duration;

/// Two owners as Redisson names them.
pub(crate) const A: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
pub(crate) const B: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:2";

/// Redisson's scripts of a plain lock: taking it, releasing it, renewing it.
pub(crate) const TAKE: &str = "if ((redis.call('exists', KEYS[1]) == 0) or \
     (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then \
     redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; \
     return redis.call('pttl', KEYS[1]);";
pub(crate) const GIVE_BACK: &str = "if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; \
     local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1); if (counter > 0) then \
     redis.call('pexpire', KEYS[1], ARGV[2]); return 0; else redis.call('del', KEYS[1]); \
     redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;";
pub(crate) const RENEW: &str = "if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then \
     redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end; return 0;";

/// redis-py's scripts: releasing a lock, and extending it.
pub(crate) const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
pub(crate) const COMPARE_AND_EXTEND: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
     return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

/// A server whose history is on.
pub(crate) struct Server {
    pub(crate) simulation: Simulation,
    /// The client that sends the requests.
    pub(crate) asker: u64,
}

impl Server {
    pub(crate) fn new() -> Self {
        let mut config = Config::default();
        config.lock_history = true;
        let mut simulation = Simulation::new(config, 7);
        let asker = simulation.connect();
        let mut server = Server { simulation, asker };
        server.ask("CLOCK.FREEZE");
        server
    }

    /// Connects a client.
    pub(crate) fn client(&mut self) -> u64 {
        self.simulation.connect()
    }

    /// Sends a client's request and returns the answer.
    pub(crate) fn send(&mut self, client: u64, line: &str) -> String {
        self.simulation.ask(client, line)
    }

    /// Sends a request of the default client and returns the answer.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.simulation.ask(self.asker, line)
    }

    /// Sends a request and returns the answer, perhaps after real time has passed: long histories are read in pieces.
    pub(crate) fn ask_long(&mut self, line: &str) -> String {
        let client = self.client();
        self.simulation.send(client, line);
        for _ in 0..10_000 {
            let reply = self.simulation.read(client);
            if !reply.is_empty() {
                return reply;
            }
            self.pass(2);
        }
        panic!("no answer");
    }

    /// Advances the clock.
    pub(crate) fn advance(&mut self, ms: u64) {
        self.ask(&format!("CLOCK.ADVANCE {ms}"));
    }

    /// Lets real time pass.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.simulation.pass(Duration::from_millis(ms));
    }

    /// Takes a lock as Redisson does.
    pub(crate) fn take(&mut self, client: u64, key: &str, owner: &str, lease_ms: u64) -> String {
        self.send(client, &format!("EVAL \"{TAKE}\" 1 {key} {lease_ms} {owner}"))
    }

    /// Releases the lock.
    pub(crate) fn give_back(&mut self, client: u64, key: &str, owner: &str) -> String {
        let channel = format!("redisson_lock__channel:{{{key}}}");
        self.send(client, &format!("EVAL \"{GIVE_BACK}\" 2 {key} {channel} 0 30000 {owner}"))
    }

    /// Renews the lock.
    pub(crate) fn renew(&mut self, client: u64, key: &str, owner: &str) -> String {
        self.send(client, &format!("EVAL \"{RENEW}\" 1 {key} 30000 {owner}"))
    }

    /// Reads the history.
    pub(crate) fn history(&mut self, options: &str) -> Value {
        let text = self.ask(&format!("LOCK.HISTORY {options} FORMAT JSON"));
        let (_, json) = text.split_once("\r\n").expect("a bulk string");
        serde_json::from_str(json.trim_end()).expect("JSON")
    }

    /// The entries about a key, each as its event and these fields.
    pub(crate) fn entry_lines(&mut self, fields: &[&str]) -> Vec<String> {
        let history = self.history("KEY *");
        let entries = history["entries"].as_array().expect("entries").clone();
        entries.iter().map(|entry| line(entry, fields)).collect()
    }
}

/// An entry's event and these fields.
fn line(entry: &Value, fields: &[&str]) -> String {
    let field = |name: &&str| match &entry[*name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    std::iter::once(&"event").chain(fields).map(field).collect::<Vec<_>>().join(" ")
}

/// Abbreviates an owner's name in a line.
pub(crate) fn short(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| line.replace(A, "A").replace(B, "B")).collect()
}
