//! The parts of a fault rule: matching, action and affected clients.

use super::words::Words;
use std::time::Duration;

/// The action of a rule. Durations refer to the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action(pub(super) Words);

impl Action {
    fn of(words: &[&str]) -> Self {
        Action(Words::of(words))
    }

    /// Loses the request and everything after it on the connection, in both directions, until the client closes it.
    pub fn drop_request() -> Self {
        Action::of(&["DROPREQUEST"])
    }

    /// Executes the request and loses its reply, as [`Action::drop_request`] loses the request.
    pub fn drop_reply() -> Self {
        Action::of(&["DROPREPLY"])
    }

    /// Extends [`Action::drop_request`] or [`Action::drop_reply`]: the server cuts the connection after this duration.
    pub fn cut_after(self, duration: Duration) -> Self {
        Action(self.0.and("CLOSEAFTER").milliseconds(duration))
    }

    /// Varies [`Action::delay`] or [`Action::delay_reply`] by at most this duration either way, drawn with the seed.
    pub fn jitter(self, most: Duration) -> Self {
        Action(self.0.and("JITTER").milliseconds(most))
    }

    /// Delays the request. Later requests of the connection wait too.
    pub fn delay(by: Duration) -> Self {
        Action(Words::of(&["DELAY"]).milliseconds(by))
    }

    /// Executes the request at once and delays its reply.
    pub fn delay_reply(by: Duration) -> Self {
        Action(Words::of(&["DELAYREPLY"]).milliseconds(by))
    }

    /// Holds the request until [`Faults::go`](super::Faults::go) releases it.
    pub fn hold() -> Self {
        Action::of(&["HOLD"])
    }

    /// Executes the request at once and holds its reply until [`Faults::go`](super::Faults::go) releases it.
    pub fn hold_reply() -> Self {
        Action::of(&["HOLDREPLY"])
    }

    /// Replies with this error and does not execute the request.
    pub fn error(text: &str) -> Self {
        Action::of(&["ERROR", text])
    }

    /// Executes the request and replies null.
    pub fn reply_null() -> Self {
        Action::of(&["REPLY", "NULL"])
    }

    /// Executes the request and replies `OK`.
    pub fn reply_ok() -> Self {
        Action::of(&["REPLY", "OK"])
    }

    /// Executes the request and replies with this integer.
    pub fn reply_int(number: i64) -> Self {
        Action(Words::of(&["REPLY", "INT"]).number(number))
    }

    /// Executes the request and replies with this string.
    pub fn reply_bulk(text: impl AsRef<[u8]>) -> Self {
        Action(Words::of(&["REPLY", "BULK"]).and(text))
    }

    /// Executes the request and sends these bytes, which need not be a reply.
    pub fn reply_raw(bytes: impl AsRef<[u8]>) -> Self {
        Action(Words::of(&["REPLY", "RAW"]).and(bytes))
    }

    /// Cuts the connection before the request is executed.
    pub fn close() -> Self {
        Action::of(&["CLOSE"])
    }

    /// Executes the request, then cuts the connection without a reply.
    pub fn close_after() -> Self {
        Action::of(&["CLOSEAFTER"])
    }

    /// Does what [`Action::close`] does, by a TCP reset instead of an end of the stream.
    pub fn reset() -> Self {
        Action::of(&["RESET"])
    }

    /// Does what [`Action::close_after`] does, by a TCP reset instead of an end of the stream.
    pub fn reset_after() -> Self {
        Action::of(&["RESETAFTER"])
    }

    /// Sends the reply in pieces of this number of bytes, each in a separate write.
    pub fn slice(bytes: usize) -> Self {
        Action(Words::of(&["SLICE"]).number(bytes))
    }

    /// Extends [`Action::slice`]: one piece is sent per period.
    pub fn every(self, period: Duration) -> Self {
        Action(self.0.and("EVERY").milliseconds(period))
    }

    /// Sends the reply at this number of kilobytes a second.
    pub fn bandwidth(kilobytes: u64) -> Self {
        Action(Words::of(&["BANDWIDTH"]).number(kilobytes))
    }

    /// Sends this number of bytes of the reply, then cuts the connection.
    pub fn truncate(bytes: usize) -> Self {
        Action(Words::of(&["TRUNCATE"]).number(bytes))
    }

    /// Executes the request twice and replies once.
    pub fn duplicate() -> Self {
        Action::of(&["DUPLICATE"])
    }

    /// Executes the request and drops its published messages, only for these subscribers if the rule names clients.
    pub fn lose_publish() -> Self {
        Action::of(&["LOSEPUBLISH"])
    }

    /// Makes the server forget the script that the request names.
    pub fn no_script() -> Self {
        Action::of(&["NOSCRIPT"])
    }

    /// Lets the keys of the request expire just before it is executed.
    pub fn expire() -> Self {
        Action::of(&["EXPIRE"])
    }

    /// Adds `by` to an integer argument, then executes the request. Index 1 is the first argument after the command.
    pub fn arg_add(index: usize, by: i64) -> Self {
        Action(Words::of(&["ARG"]).number(index).and("ADD").number(by))
    }

    /// Shifts the times among the arguments by the distance that the clock was advanced, then executes the request.
    pub fn time_shift() -> Self {
        Action::of(&["TIMESHIFT"])
    }
}

/// A selection of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The client with this id.
    Id(u64),
    /// Clients whose name matches this pattern.
    Named(String),
    /// Clients whose library name, as set by CLIENT SETINFO, matches this pattern.
    Lib(String),
    /// Clients from this address, with or without a port.
    Addr(String),
    /// All clients except those that are exempt.
    All,
}

impl Clients {
    pub(super) fn words(&self) -> Words {
        match self {
            Clients::Id(id) => Words::default().number(id),
            Clients::Named(pattern) => Words::of(&["NAME", pattern]),
            Clients::Lib(pattern) => Words::of(&["LIB", pattern]),
            Clients::Addr(address) => Words::of(&["ADDR", address]),
            Clients::All => Words::of(&["ALL"]),
        }
    }

    /// Returns the words that select these clients in a rule. The server refuses selections that rules lack.
    fn of_rule(&self) -> Words {
        match self {
            Clients::Id(id) => Words::of(&["CLIENT"]).number(id),
            Clients::Named(pattern) => Words::of(&["CLIENTNAME", pattern]),
            other => other.words(),
        }
    }
}

/// The conditions of a rule: which requests match, and on which matches the rule acts. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match(pub(super) Words);

impl Match {
    /// Matches every request.
    pub fn any() -> Self {
        Match::default()
    }

    fn option(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        Match(self.0.and(name).and(value))
    }

    /// Restricts the match to requests of this command.
    pub fn on(self, command: &str) -> Self {
        self.option("ON", command)
    }

    /// Restricts the match to requests that run the script with this SHA-1 digest.
    pub fn script(self, digest: &str) -> Self {
        self.option("SCRIPT", digest)
    }

    /// Restricts the match to requests that run a script whose source contains this text.
    pub fn contains(self, text: &str) -> Self {
        self.option("CONTAINS", text)
    }

    /// Restricts the match to requests with a key that matches this pattern.
    pub fn key(self, pattern: &str) -> Self {
        self.option("KEY", pattern)
    }

    /// Restricts the match to requests with a channel that matches this pattern.
    pub fn channel(self, pattern: &str) -> Self {
        self.option("CHANNEL", pattern)
    }

    /// Restricts the match to requests with this argument. Index 1 is the first argument after the command.
    pub fn arg(self, index: usize, value: impl AsRef<[u8]>) -> Self {
        Match(self.0.and("ARG").number(index).and(value))
    }

    /// Restricts the match to requests of clients that are selected by id, name or library.
    pub fn client(self, clients: &Clients) -> Self {
        Match(self.0.then(&clients.of_rule()))
    }

    /// Restricts a rule with an action on replies to requests whose reply is of this kind: `OK`, `ERROR` or `NIL`.
    pub fn result(self, kind: &str) -> Self {
        self.option("RESULT", kind)
    }

    /// Skips this number of matches before the rule acts.
    pub fn skip(self, matches: u64) -> Self {
        self.option("SKIP", matches.to_string())
    }

    /// Limits how often the rule acts.
    pub fn times(self, hits: u64) -> Self {
        self.option("TIMES", hits.to_string())
    }

    /// Makes the rule act on each match with this probability, from 0 to 1. The seed determines the draw.
    pub fn prob(self, chance: f64) -> Self {
        self.option("PROB", chance.to_string())
    }
}
