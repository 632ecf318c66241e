//! Our own server in a test, and its table of commands.

use crate::check::{Endpoint, Scenario};
use lockwheel::{Config, Server, Time};
use lockwheel_engine::Engine;
use lockwheel_engine::keyspace::EventClasses;
use lockwheel_engine::spec::CommandTable;
use lockwheel_engine::time::Now;
use std::net::SocketAddr;
use std::sync::Arc;

impl Endpoint for Server {
    fn addr(&self) -> SocketAddr {
        Server::addr(self)
    }
}

/// The seed of every server that a test does not give another: a failure replays.
pub const SEED: u64 = 7;

/// A server on a free port, in real time.
///
/// # Panics
/// When it cannot start.
#[track_caller]
pub fn server() -> Server {
    Server::builder().port(0).seed(SEED).start().expect("loopback has a free port")
}

/// A server on a free port, in real time, that tells every keyspace event.
///
/// # Panics
/// When it cannot start.
#[track_caller]
pub fn eventful_server() -> Server {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(b"KEA").expect("known letters");
    Server::builder().config(config).port(0).seed(SEED).start().expect("loopback has a free port")
}

/// A server on a free port whose time moves only when told.
///
/// # Panics
/// When it cannot start.
#[track_caller]
pub fn manual_server() -> Server {
    Server::builder().port(0).seed(SEED).time(Time::Manual).start().expect("loopback has a free port")
}

/// A scenario on our own server, in real time.
#[track_caller]
pub fn scenario() -> Scenario<Server> {
    Scenario::new([server(), server()])
}

/// A scenario on our own server, with time that moves only when told: `scenario.servers()` has the clocks.
#[track_caller]
pub fn manual_scenario() -> Scenario<Server> {
    Scenario::new([manual_server(), manual_server()])
}

/// The table of all commands.
pub fn commands() -> Arc<CommandTable> {
    Arc::clone(&Engine::new(Config::default(), SEED, Now::default()).commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_server_answers_in_both_protocols() {
        scenario().check("PING", "+PONG").check("ECHO 'a b'", "\"a b\"");
        manual_scenario().check("PING x", "\"x\"");
    }

    #[test]
    fn the_table_knows_ping() {
        assert!(commands().find(b"PING").is_some());
        assert!(commands().find(b"no such").is_none());
    }
}
