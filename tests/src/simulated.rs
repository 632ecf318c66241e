//! A simulated server on a clock that stands still, with waiting clients and one client that controls the test.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

/// The server, the waiting clients, and the controlling client.
pub struct Simulated {
    server: Simulation,
    clients: Vec<u64>,
    main: u64,
}

impl Simulated {
    /// Creates a server with this number of waiting clients.
    pub fn new(clients: usize) -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        let clients = (0..clients).map(|_| server.connect()).collect();
        server.ask(main, "CLOCK.FREEZE");
        Simulated { server, clients, main }
    }

    /// Sends a line as the controlling client and returns the answer.
    pub fn ask(&mut self, line: &str) -> String {
        self.server.ask(self.main, line)
    }

    /// Sends a request of a client, which may then wait.
    pub fn send(&mut self, client: usize, line: &str) {
        self.server.send(self.clients[client], line);
    }

    /// Returns the replies to a client since the last call, or an empty text while the client waits. `granted`
    /// describes a reply from its lines.
    pub fn reply_to(&mut self, client: usize, granted: impl FnOnce(&[&str]) -> String) -> String {
        let answer = self.server.read(self.clients[client]);
        match answer.as_str() {
            "" => answer,
            "$-1\r\n" => "nothing".into(),
            text if text.starts_with("-UNBLOCKED") => "unblocked".into(),
            text => granted(&text.split("\r\n").collect::<Vec<_>>()),
        }
    }

    /// Ends the wait of a client with an error, if it waits.
    pub fn unblock(&mut self, client: usize) {
        let id = self.clients[client];
        self.ask(&format!("CLIENT UNBLOCK {id} ERROR"));
    }

    /// Closes the connection of a client and opens another in its place.
    pub fn replace(&mut self, client: usize) {
        self.server.close(self.clients[client]);
        self.server.notice();
        self.clients[client] = self.server.connect();
    }
}

/// The number that follows a name in the lines of a reply.
///
/// # Panics
/// Panics if there is no such number.
pub fn number(lines: &[&str], name: &str) -> i64 {
    let at = lines.iter().position(|line| *line == name).unwrap_or_else(|| panic!("no {name} in {lines:?}"));
    lines[at + 1][1..].parse().unwrap_or_else(|_| panic!("{name} in {lines:?}"))
}
