//! Rules for faults: what they match, what they do, and whom they hit.

use super::words::Words;
use std::time::Duration;

/// What a rule does. Durations are of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action(pub(super) Words);

impl Action {
    fn of(words: &[&str]) -> Self {
        Action(Words::of(words))
    }

    /// Loses the request, and all that its connection sends and is sent from there on, until the client closes it.
    pub fn drop_request() -> Self {
        Action::of(&["DROPREQUEST"])
    }

    /// Executes the request and loses its reply, as [`Action::drop_request`] loses the request.
    pub fn drop_reply() -> Self {
        Action::of(&["DROPREPLY"])
    }

    /// [`Action::drop_request`] or [`Action::drop_reply`] on a connection that the server cuts after so long.
    pub fn cut_after(self, duration: Duration) -> Self {
        Action(self.0.and("CLOSEAFTER").milliseconds(duration))
    }

    /// [`Action::delay`] or [`Action::delay_reply`] by up to so much sooner or later; the seed draws.
    pub fn jitter(self, most: Duration) -> Self {
        Action(self.0.and("JITTER").milliseconds(most))
    }

    /// Executes the request so much later; what is behind it on its connection waits too.
    pub fn delay(by: Duration) -> Self {
        Action(Words::of(&["DELAY"]).milliseconds(by))
    }

    /// Executes the request at once and answers it so much later.
    pub fn delay_reply(by: Duration) -> Self {
        Action(Words::of(&["DELAYREPLY"]).milliseconds(by))
    }

    /// Executes the request when [`Faults::go`](super::Faults::go) says so.
    pub fn hold() -> Self {
        Action::of(&["HOLD"])
    }

    /// Executes the request at once and answers it when [`Faults::go`](super::Faults::go) says so.
    pub fn hold_reply() -> Self {
        Action::of(&["HOLDREPLY"])
    }

    /// Answers this error and does not execute the request.
    pub fn error(text: &str) -> Self {
        Action::of(&["ERROR", text])
    }

    /// Executes the request and answers null.
    pub fn reply_null() -> Self {
        Action::of(&["REPLY", "NULL"])
    }

    /// Executes the request and answers `OK`.
    pub fn reply_ok() -> Self {
        Action::of(&["REPLY", "OK"])
    }

    /// Executes the request and answers this integer.
    pub fn reply_int(number: i64) -> Self {
        Action(Words::of(&["REPLY", "INT"]).number(number))
    }

    /// Executes the request and answers this string.
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

    /// Cuts the connection after the request was executed; there is no reply.
    pub fn close_after() -> Self {
        Action::of(&["CLOSEAFTER"])
    }

    /// [`Action::close`] by a reset of TCP instead of an end of the stream.
    pub fn reset() -> Self {
        Action::of(&["RESET"])
    }

    /// [`Action::close_after`] by a reset of TCP instead of an end of the stream.
    pub fn reset_after() -> Self {
        Action::of(&["RESETAFTER"])
    }

    /// Sends the reply in pieces of so many bytes, each in a write of its own.
    pub fn slice(bytes: usize) -> Self {
        Action(Words::of(&["SLICE"]).number(bytes))
    }

    /// [`Action::slice`] with one piece each time that so long has passed.
    pub fn every(self, period: Duration) -> Self {
        Action(self.0.and("EVERY").milliseconds(period))
    }

    /// Sends the reply at so many kilobytes a second.
    pub fn bandwidth(kilobytes: u64) -> Self {
        Action(Words::of(&["BANDWIDTH"]).number(kilobytes))
    }

    /// Ends the reply after so many bytes and cuts the connection.
    pub fn truncate(bytes: usize) -> Self {
        Action(Words::of(&["TRUNCATE"]).number(bytes))
    }

    /// Executes the request twice and answers it once.
    pub fn duplicate() -> Self {
        Action::of(&["DUPLICATE"])
    }

    /// Executes the request; the messages that it publishes reach nobody, or not the clients that are named.
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

    /// Executes the request with this integer argument changed; 1 is the first behind the command.
    pub fn arg_add(index: usize, by: i64) -> Self {
        Action(Words::of(&["ARG"]).number(index).and("ADD").number(by))
    }

    /// Executes the request with the instants among its arguments moved as far as the clock was turned.
    pub fn time_shift() -> Self {
        Action::of(&["TIMESHIFT"])
    }
}

/// Some clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// One, by its number.
    Id(u64),
    /// Those with a name like this.
    Named(String),
    /// Those whose library has a name like this, as CLIENT SETINFO told it.
    Lib(String),
    /// Those from this address, with or without a port.
    Addr(String),
    /// All but those that are exempt.
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

    /// As a rule names them; what a rule cannot name, the server refuses.
    fn of_rule(&self) -> Words {
        match self {
            Clients::Id(id) => Words::of(&["CLIENT"]).number(id),
            Clients::Named(pattern) => Words::of(&["CLIENTNAME", pattern]),
            other => other.words(),
        }
    }
}

/// Which requests a rule matches, and which of these it acts on: all that is named has to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match(pub(super) Words);

impl Match {
    /// Every request.
    pub fn any() -> Self {
        Match::default()
    }

    fn option(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        Match(self.0.and(name).and(value))
    }

    /// Of these, those of a command.
    pub fn on(self, command: &str) -> Self {
        self.option("ON", command)
    }

    /// Of these, those that run the script with this digest.
    pub fn script(self, digest: &str) -> Self {
        self.option("SCRIPT", digest)
    }

    /// Of these, those that run a script with this in its text.
    pub fn contains(self, text: &str) -> Self {
        self.option("CONTAINS", text)
    }

    /// Of these, those with a key like this.
    pub fn key(self, pattern: &str) -> Self {
        self.option("KEY", pattern)
    }

    /// Of these, those with a channel like this.
    pub fn channel(self, pattern: &str) -> Self {
        self.option("CHANNEL", pattern)
    }

    /// Of these, those with this argument; 1 is the first behind the command.
    pub fn arg(self, index: usize, value: impl AsRef<[u8]>) -> Self {
        Match(self.0.and("ARG").number(index).and(value))
    }

    /// Of these, those of clients by id, name or library.
    pub fn client(self, clients: &Clients) -> Self {
        Match(self.0.then(&clients.of_rule()))
    }

    /// Of these, for actions on the reply, those that are answered `OK`, `ERROR` or `NIL`.
    pub fn result(self, kind: &str) -> Self {
        self.option("RESULT", kind)
    }

    /// Of these, not the first so many.
    pub fn skip(self, matches: u64) -> Self {
        self.option("SKIP", matches.to_string())
    }

    /// Of these, until the rule has acted so often.
    pub fn times(self, hits: u64) -> Self {
        self.option("TIMES", hits.to_string())
    }

    /// Of these, each with this chance, from 0 to 1; the seed draws.
    pub fn prob(self, chance: f64) -> Self {
        self.option("PROB", chance.to_string())
    }
}
