//! A simulation of clients in this process, without sockets or threads. Time passes only on request.

use super::engine::{Engine, Host};
use super::output::Output;
use super::progress::Progress;
use super::target::{NotConnected, Target, TargetAddress};
use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::config::{Config, HostChanges, HostRefusal};
use crate::outbound::OutboundEvent;
use lockwheel_resp::split_words;
use lockwheel_store::time::Now;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// An engine and its clients, driven step by step. The same steps, configuration and seed yield the same bytes.
///
/// As in a server, the requests of a blocked client wait, and [`Engine::poll_output`] is drained after each batch. A
/// deadline fires at its own instant.
///
/// ```
/// use lockwheel_engine::config::Config;
/// use lockwheel_engine::core::Simulation;
///
/// let mut server = Simulation::new(Config::default(), 7);
/// let [holder, waiter] = [server.connect(), server.connect()];
/// server.send(holder, "SET k v");
/// server.send(waiter, "BLPOP list 0");
/// server.send(holder, "RPUSH list x");
/// assert_eq!(server.read(holder), "+OK\r\n:1\r\n");
/// assert_eq!(server.read(waiter), "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n");
/// ```
pub struct Simulation {
    engine: Engine,
    now: Now,
    clients: BTreeMap<u64, Client>,
    /// Clients that have closed their connections, whose EOF the server has not read.
    gone: BTreeSet<u64>,
    deadline_us: Option<u64>,
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Client {
    /// `None` if the connection is closed.
    slot: Option<Slot>,
    /// Sent requests that the server has not run.
    requests: VecDeque<Vec<Vec<u8>>>,
    received: Vec<u8>,
}

struct World {
    now: Now,
    gone: BTreeSet<u64>,
}

impl Host for World {
    fn now(&self) -> Now {
        self.now
    }

    fn stopwatch_ns(&self) -> u64 {
        self.now.monotonic_us * 1000
    }

    /// Does nothing, since no script is slow.
    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Err(HostRefusal::Listening)
    }

    fn is_gone(&self, session: u64) -> bool {
        self.gone.contains(&session)
    }

    /// Fails, since there is no other server.
    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}

impl Simulation {
    /// Creates a server without clients. Its wall clock shows 1,000,000 seconds since the epoch.
    pub fn new(config: Config, seed: u64) -> Self {
        let now = Now { wall_us: 1_000_000_000_000, monotonic_us: 0 };
        let mut simulation = Simulation {
            engine: Engine::new(config, seed, now),
            now,
            clients: BTreeMap::new(),
            gone: BTreeSet::new(),
            deadline_us: None,
            has_ended: false,
        };
        simulation.set_world();
        simulation
    }

    /// Returns the engine for inspection.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Connects a new client. Returns its client id.
    pub fn connect(&mut self) -> u64 {
        let slot = self.engine.connect(Peer::default());
        let id = self.engine.sessions().get(slot).id;
        self.clients.insert(id, Client { slot: Some(slot), ..Client::default() });
        self.collect(id);
        id
    }

    /// Sends a request: a line of words as in a terminal, quoted where needed. It runs unless the client is blocked.
    ///
    /// # Panics
    /// Panics if the client does not exist, or a quote is not closed.
    pub fn send(&mut self, client: u64, line: &str) {
        let words = split_words(line.as_bytes()).expect("each quote is closed");
        self.client(client).requests.push_back(words);
        self.run_batches(VecDeque::from([client]));
    }

    /// Returns the unread output of a client, even of a disconnected one.
    ///
    /// # Panics
    /// Panics if the client does not exist.
    pub fn read(&mut self, client: u64) -> String {
        let received = std::mem::take(&mut self.client(client).received);
        String::from_utf8_lossy(&received).into_owned()
    }

    /// Calls [`Simulation::send`], then [`Simulation::read`].
    ///
    /// # Panics
    /// Panics as these two do.
    pub fn ask(&mut self, client: u64, line: &str) -> String {
        self.send(client, line);
        self.read(client)
    }

    /// Closes a client's connection. The server can detect that, but reads EOF only in [`Simulation::notice`].
    ///
    /// # Panics
    /// Panics if the client does not exist.
    pub fn close(&mut self, client: u64) {
        self.client(client);
        self.gone.insert(client);
        self.set_world();
    }

    /// Lets the server read EOF from closed connections whose input is not held, and end their sessions.
    pub fn notice(&mut self) {
        for id in std::mem::take(&mut self.gone) {
            let slot = self.client(id).slot;
            if slot.is_some_and(|slot| self.engine.link(slot).holds_input) {
                self.gone.insert(id);
            } else {
                self.disconnect(id);
            }
        }
        self.set_world();
        self.run_batches(VecDeque::new());
    }

    /// Whether the server has kept a client's connection open.
    ///
    /// # Panics
    /// Panics if the client does not exist.
    pub fn is_connected(&self, client: u64) -> bool {
        self.clients[&client].slot.is_some()
    }

    /// Whether SHUTDOWN has ended the server.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Advances the system's time. Deadlines on the way fire at their own instants.
    pub fn pass(&mut self, time: Duration) {
        let end_us = self.now.monotonic_us + time.as_micros() as u64;
        while let Some(due_us) = self.deadline_us.filter(|&due_us| due_us <= end_us) {
            self.go_to(due_us);
        }
        self.go_to(end_us);
    }

    fn go_to(&mut self, monotonic_us: u64) {
        let by = Duration::from_micros(monotonic_us.saturating_sub(self.now.monotonic_us));
        self.move_clocks(by);
        self.run_batches(VecDeque::new());
    }

    fn move_clocks(&mut self, by: Duration) {
        let us = by.as_micros() as u64;
        self.now.monotonic_us += us;
        self.now.wall_us += us as i64;
        self.set_world();
    }

    fn set_world(&mut self) {
        self.engine.set_host(Arc::new(World { now: self.now, gone: self.gone.clone() }));
    }

    fn client(&mut self, id: u64) -> &mut Client {
        self.clients.get_mut(&id).expect("a client that has connected")
    }

    /// Runs a batch of each of these clients and of those that they unblock; at least one batch, even without a client.
    fn run_batches(&mut self, mut ready: VecDeque<u64>) {
        while !self.has_ended {
            self.engine.begin(self.now);
            if let Some(id) = ready.pop_front() {
                self.run(id, &mut ready);
            }
            self.drain(&mut ready);
            // Deadlines due at once do not wait.
            if ready.is_empty() && self.deadline_us.is_none_or(|due_us| due_us > self.now.monotonic_us) {
                return;
            }
        }
    }

    /// Runs a client's requests as far as possible. A client stopped by anything but a wait gets another batch.
    fn run(&mut self, id: u64, ready: &mut VecDeque<u64>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let Some(slot) = client.slot else { return };
        if self.engine.link(slot).is_lost {
            client.requests.clear();
        }
        while !self.engine.sessions().get(slot).is_blocked()
            && let Some(request) =
                client.requests.pop_front_if(|request| self.engine.link(slot).carries(request))
        {
            let argv: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            if !argv.is_empty() && self.engine.execute(slot, &argv) == Progress::Stop {
                ready.push_back(id);
                break;
            }
        }
        self.collect(id);
    }

    fn drain(&mut self, ready: &mut VecDeque<u64>) {
        loop {
            match self.engine.poll_output() {
                Output::Sleep(time) => self.move_clocks(time),
                Output::Session(id) => {
                    self.collect(id);
                    ready.push_back(id);
                }
                // There are no other servers.
                Output::Outbound(id) => self.engine.outbound_event(id, OutboundEvent::Closed { reason: "" }),
                Output::Garbage(garbage) => drop(garbage),
                Output::Shutdown => self.has_ended = true,
                Output::Crash(crash) => self.engine.crash_alone(crash),
                Output::Idle { deadline_us } => {
                    self.deadline_us = deadline_us;
                    return;
                }
            }
        }
    }

    /// Hands a client its output unless it is held, and closes the connection if the session requires that.
    fn collect(&mut self, id: u64) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let Some(slot) = client.slot else { return };
        let closing = self.engine.sessions().get(slot).closing();
        if self.engine.link(slot).holds_output && closing != Some(Closing::Now) {
            return self.engine.sessions_mut().acknowledge_wake(slot);
        }
        let mut output = Outbox::default();
        self.engine.take_output(slot, &mut output);
        client.received.extend_from_slice(output.bytes());
        // The client receives the output at once.
        self.engine.sessions().buffers(slot).set_unwritten(0);
        if closing.is_some() {
            self.disconnect(id);
        }
    }

    fn disconnect(&mut self, id: u64) {
        let client = self.client(id);
        let unrun = client.requests.drain(..).filter(|request| !request.is_empty()).collect();
        if let Some(slot) = client.slot.take() {
            self.engine.disconnect_behind(slot, unrun);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulation() -> Simulation {
        Simulation::new(Config::default(), 7)
    }

    #[test]
    fn requests_behind_a_wait_run_when_it_ends() {
        let mut server = simulation();
        let [waiter, other] = [server.connect(), server.connect()];
        server.send(waiter, "BLPOP q 0");
        assert_eq!(server.ask(waiter, "PING"), "");
        assert_eq!(server.ask(other, "RPUSH q v"), ":1\r\n");
        assert_eq!(server.read(waiter), "*2\r\n$1\r\nq\r\n$1\r\nv\r\n+PONG\r\n");
    }

    #[test]
    fn a_wait_ends_at_its_deadline_when_the_clock_is_advanced() {
        let mut server = simulation();
        let [waiter, other] = [server.connect(), server.connect()];
        server.send(waiter, "BLPOP q 0.05");
        server.pass(Duration::from_millis(50));
        assert_eq!(server.read(waiter), "");
        server.pass(Duration::from_millis(1));
        assert_eq!(server.read(waiter), "*-1\r\n");
        assert_eq!(server.ask(other, "TIME"), "*2\r\n$7\r\n1000000\r\n$5\r\n51000\r\n");
    }

    #[test]
    fn a_closed_client_is_not_served() {
        let mut server = simulation();
        let [waiter, other] = [server.connect(), server.connect()];
        server.send(waiter, "BLPOP q 0");
        server.close(waiter);
        assert_eq!(server.ask(other, "RPUSH q v"), ":1\r\n");
        assert_eq!(server.ask(other, "LLEN q"), ":1\r\n");
        assert!(!server.is_connected(waiter), "it was cut off");
        server.notice();
        assert_eq!(server.ask(other, "AWAIT.BLOCKED 0"), ":1\r\n");
        assert_eq!(server.read(waiter), "");
    }

    #[test]
    fn a_batch_sleeps_before_its_effects_and_ends_the_server_after_them() {
        let mut config = Config::default();
        config.enable_debug_command = crate::config::Permission::Yes;
        let mut server = Simulation::new(config, 7);
        let [listener, other] = [server.connect(), server.connect()];
        server.ask(listener, "SUBSCRIBE c");
        server.ask(other, "DEBUG SLEEP 2");
        assert_eq!(server.ask(other, "TIME"), "*2\r\n$7\r\n1000002\r\n$1\r\n0\r\n");
        server.send(other, "MULTI");
        server.send(other, "PUBLISH c m");
        server.send(other, "EXEC");
        assert_eq!(server.read(listener), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n");
        server.send(other, "QUIT");
        assert!(!server.is_connected(other) && !server.has_ended());
        server.send(listener, "RESET");
        server.send(listener, "SHUTDOWN");
        assert!(server.has_ended());
    }
}
