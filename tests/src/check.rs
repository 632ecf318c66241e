//! `check("HSET k f v", ":1")`: a test is one line, run in RESP2 and in RESP3.
//!
//! A [`Scenario`] has two servers that see the same commands, one through RESP2, one through RESP3, so that
//! neither run disturbs the other. Texts are those of [`crate::reply`].

use crate::client::{Client, Protocol, split};
use crate::redis_server::RealServer;
use crate::reply::Reply;
use std::net::SocketAddr;

/// A value that listens on an address for as long as it lives.
pub trait Endpoint {
    /// The address on which it listens.
    fn addr(&self) -> SocketAddr;
}

impl Endpoint for RealServer {
    fn addr(&self) -> SocketAddr {
        RealServer::addr(self)
    }
}

impl<E: Endpoint + ?Sized> Endpoint for Box<E> {
    fn addr(&self) -> SocketAddr {
        (**self).addr()
    }
}

impl Endpoint for SocketAddr {
    fn addr(&self) -> SocketAddr {
        *self
    }
}

/// The protocol in which a line runs; also the index of its server.
const PROTOCOLS: [Protocol; 2] = [Protocol::Resp2, Protocol::Resp3];

/// Two servers, the same lines sent to both, and any number of named sessions on each.
///
/// The methods of [`Session`] are here too, for the session named `main`.
#[derive(Debug)]
pub struct Scenario<S> {
    servers: [S; 2],
    sessions: Vec<Session>,
}

impl<S: Endpoint> Scenario<S> {
    /// Creates a scenario on two empty servers: the first is spoken to in RESP2, the second in RESP3.
    #[track_caller]
    pub fn new(servers: [S; 2]) -> Scenario<S> {
        let main = Session::connect("main", &servers);
        Scenario { servers, sessions: vec![main] }
    }

    /// Creates a scenario on two servers from the same maker. Returns `None` if the maker returns none.
    #[track_caller]
    pub fn start(mut make: impl FnMut() -> Option<S>) -> Option<Scenario<S>> {
        Some(Scenario::new([make()?, make()?]))
    }

    /// The session of that name, connected at its first use.
    #[track_caller]
    pub fn on(&mut self, name: &str) -> &mut Session {
        let index = self.sessions.iter().position(|session| session.name == name).unwrap_or_else(|| {
            self.sessions.push(Session::connect(name, &self.servers));
            self.sessions.len() - 1
        });
        &mut self.sessions[index]
    }

    /// The servers: RESP2's, RESP3's.
    pub fn servers(&self) -> &[S; 2] {
        &self.servers
    }

    /// [`Session::check`] on the session `main`.
    #[track_caller]
    pub fn check(&mut self, line: &str, expected: &str) -> &mut Self {
        self.sessions[0].check(line, expected);
        self
    }

    /// [`Session::check3`] on the session `main`.
    #[track_caller]
    pub fn check3(&mut self, line: &str, expected2: &str, expected3: &str) -> &mut Self {
        self.sessions[0].check3(line, expected2, expected3);
        self
    }

    /// [`Session::check_sorted`] on the session `main`.
    #[track_caller]
    pub fn check_sorted(&mut self, line: &str, expected2: &str, expected3: &str) -> &mut Self {
        self.sessions[0].check_sorted(line, expected2, expected3);
        self
    }

    /// [`Session::check_that`] on the session `main`.
    #[track_caller]
    pub fn check_that(&mut self, line: &str, holds: impl Fn(&Reply) -> bool) -> &mut Self {
        self.sessions[0].check_that(line, holds);
        self
    }

    /// [`Session::run`] on the session `main`.
    #[track_caller]
    pub fn run(&mut self, line: &str) -> [Reply; 2] {
        self.sessions[0].run(line)
    }
}

/// Whether a reply is the expected one. In an expected error, `: *` at the end stands for any explanation.
pub fn is_expected(got: &str, expected: &str) -> bool {
    match expected.strip_suffix(": *").filter(|error| error.starts_with('-')) {
        Some(error) => got.strip_prefix(error).is_some_and(|behind| behind.starts_with(": ")),
        None => got == expected,
    }
}

/// One connection to each of a scenario's two servers, used alike.
#[derive(Debug)]
pub struct Session {
    name: String,
    clients: [Client; 2],
}

impl Session {
    #[track_caller]
    fn connect<S: Endpoint>(name: &str, servers: &[S; 2]) -> Session {
        let connect = |index: usize| Client::connect_with(servers[index].addr(), PROTOCOLS[index]);
        Session { name: name.to_string(), clients: [connect(0), connect(1)] }
    }

    /// Runs a line in both protocols and requires the same text of both. In an expected error, `: *` at the end stands
    /// for any explanation.
    #[track_caller]
    pub fn check(&mut self, line: &str, expected: &str) -> &mut Session {
        self.check3(line, expected, expected)
    }

    /// Runs a line in both protocols and requires one text in RESP2, another in RESP3.
    #[track_caller]
    pub fn check3(&mut self, line: &str, expected2: &str, expected3: &str) -> &mut Session {
        for (index, expected) in [expected2, expected3].into_iter().enumerate() {
            let got = self.clients[index].line(line);
            self.require(index, line, expected, &got);
        }
        self
    }

    /// Works as [`Session::check3`], but ignores the order of the outermost elements: they are compared in the order of
    /// their texts. A flat RESP2 array whose RESP3 form is a map is sorted by pairs.
    #[track_caller]
    pub fn check_sorted(&mut self, line: &str, expected2: &str, expected3: &str) -> &mut Session {
        let [got2, got3] = self.run(line);
        let got2 = if matches!(got3, Reply::Map(_)) { got2.sorted_pairs() } else { got2.sorted() };
        self.require(0, line, expected2, &got2);
        self.require(1, line, expected3, &got3.sorted());
        self
    }

    /// Runs a line in both protocols and requires a property of both replies.
    #[track_caller]
    pub fn check_that(&mut self, line: &str, holds: impl Fn(&Reply) -> bool) -> &mut Session {
        for (index, reply) in self.run(line).iter().enumerate() {
            assert!(holds(reply), "{}\n     got: {reply}", self.title(index, line));
        }
        self
    }

    /// Runs a line in both protocols and returns both replies.
    #[track_caller]
    pub fn run(&mut self, line: &str) -> [Reply; 2] {
        let [first, second] = &mut self.clients;
        [first.line(line), second.line(line)]
    }

    /// Sends a line in both protocols without waiting, for a command that blocks.
    #[track_caller]
    pub fn send(&mut self, line: &str) -> &mut Session {
        let arguments = split(line);
        for client in &mut self.clients {
            client.send(&arguments);
        }
        self
    }

    /// Sends bytes as they are on both connections.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) -> &mut Session {
        for client in &mut self.clients {
            client.send_raw(bytes);
        }
        self
    }

    /// Requires the text of the next reply to a request that was sent.
    #[track_caller]
    pub fn expect(&mut self, expected: &str) -> &mut Session {
        self.expect3(expected, expected)
    }

    /// Requires the text of the next reply: one in RESP2, another in RESP3.
    #[track_caller]
    pub fn expect3(&mut self, expected2: &str, expected3: &str) -> &mut Session {
        for (index, expected) in [expected2, expected3].into_iter().enumerate() {
            let got = self.clients[index].read_reply();
            self.require(index, "(the next reply)", expected, &got);
        }
        self
    }

    /// Requires the text of the next pushed array, `["message", "c", "m"]`, which RESP3 sends as a push.
    #[track_caller]
    pub fn expect_push(&mut self, expected: &str) -> &mut Session {
        for (index, protocol) in PROTOCOLS.into_iter().enumerate() {
            let got = match self.clients[index].read_push() {
                Reply::Push(items) if protocol == Protocol::Resp3 => Reply::Array(items),
                other => other,
            };
            self.require(index, "(the next push)", expected, &got);
        }
        self
    }

    /// The connections: RESP2's, RESP3's.
    pub fn clients(&mut self) -> &mut [Client; 2] {
        &mut self.clients
    }

    #[track_caller]
    fn require(&self, index: usize, line: &str, expected: &str, got: &Reply) {
        let got = got.to_string();
        assert!(
            is_expected(&got, expected),
            "{}\nexpected: {expected}\n     got: {got}",
            self.title(index, line)
        );
    }

    fn title(&self, index: usize, line: &str) -> String {
        format!("{:?}, session {}: {line}", PROTOCOLS[index], self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis_server::Kind;

    fn redis() -> Option<Scenario<RealServer>> {
        Scenario::start(|| RealServer::start(Kind::Redis, &[]))
    }

    #[test]
    fn one_line_runs_in_both_protocols() {
        let Some(mut scenario) = redis() else { return };
        scenario
            .check("HSET k f v 'a b' \"\\x01\"", ":2")
            .check("HGET k 'a b'", "\"\\x01\"")
            .check("HGET k", "-ERR wrong number of arguments for 'hget' command")
            .check3("HGETALL k", r#"["f", "v", "a b", "\x01"]"#, r#"{"f": "v", "a b": "\x01"}"#)
            .check_sorted("HGETALL k", r#"["a b", "\x01", "f", "v"]"#, r#"{"a b": "\x01", "f": "v"}"#)
            .check("GET none", "(nil)")
            .check_that("TTL k", |reply| reply.as_int() == Some(-1));
    }

    #[test]
    fn sessions_can_block_and_receive_pushes() {
        let Some(mut scenario) = redis() else { return };
        scenario.on("listener").check3(
            "SUBSCRIBE c",
            r#"["subscribe", "c", :1]"#,
            r#">["subscribe", "c", :1]"#,
        );
        scenario.on("blocked").send("BLPOP l 0");
        // The reply is the same whether the client waits already or not.
        scenario.check("PUBLISH c m", ":1").check("LPUSH l x", ":1");
        scenario.on("blocked").expect(r#"["l", "x"]"#);
        scenario.on("listener").expect_push(r#"["message", "c", "m"]"#);
    }

    #[test]
    #[should_panic(expected = "expected: :2")]
    fn a_wrong_text_fails() {
        let Some(mut scenario) = redis() else { panic!("expected: :2, but there is no redis-server") };
        scenario.check("DBSIZE", ":2");
    }

    #[test]
    #[should_panic(expected = "Resp3, session main")]
    fn a_wrong_text_of_resp3_alone_fails() {
        let Some(mut scenario) = redis() else { panic!("Resp3, session main: there is no redis-server") };
        scenario.check("HGETALL none", "[]");
    }
}
