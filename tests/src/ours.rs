//! Our own server in a test, and its table of commands.

use crate::check::{Endpoint, Scenario};
use lockwheel::{Builder, Config, Server, Time};
use lockwheel_engine::Engine;
use lockwheel_engine::spec::{CommandTable, Version};
use lockwheel_store::keyspace::EventClasses;
use lockwheel_store::time::Now;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

impl Endpoint for Server {
    fn addr(&self) -> SocketAddr {
        Server::addr(self)
    }
}

/// The default seed of the servers of tests: a failure can be replayed.
pub const SEED: u64 = 7;

/// Starts a server on a free port, in real time.
///
/// # Panics
/// Panics if it cannot start.
#[track_caller]
pub fn server() -> Server {
    builder().start().expect("loopback has a free port")
}

/// Returns the builder with which each of our servers in a test begins: a free port, and a directory that they share.
/// No server reads a file that another one saved.
pub fn builder() -> Builder {
    configured(Config::default())
}

/// Returns the builder of [`builder`], with these parameters.
pub fn configured(mut config: Config) -> Builder {
    static DIRECTORY: OnceLock<String> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("lockwheel-ours-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("it can be made");
        path.to_string_lossy().into_owned()
    });
    config.dir.clone_from(directory);
    // Most tests wait for each reply. Errors of several threads appear only with several threads.
    config.threads = 2;
    Server::builder().config(config).port(0).seed(SEED)
}

/// Starts a server on a free port, in real time, that publishes every keyspace event.
///
/// # Panics
/// Panics if it cannot start.
#[track_caller]
pub fn eventful_server() -> Server {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(b"KEA").expect("known letters");
    configured(config).start().expect("loopback has a free port")
}

/// Starts a server on a free port whose time moves only when told.
///
/// # Panics
/// Panics if it cannot start.
#[track_caller]
pub fn manual_server() -> Server {
    builder().time(Time::Manual).start().expect("loopback has a free port")
}

/// A scenario on our own server, in real time.
#[track_caller]
pub fn scenario() -> Scenario<Server> {
    Scenario::new([server(), server()])
}

/// A scenario on our own server, whose time moves only when told: `scenario.servers()` has the clocks.
#[track_caller]
pub fn manual_scenario() -> Scenario<Server> {
    Scenario::new([manual_server(), manual_server()])
}

/// The table of all commands.
pub fn commands() -> Arc<CommandTable> {
    commands_of(Version::Newest)
}

/// The table of the commands of a server of this version.
pub fn commands_of(version: Version) -> Arc<CommandTable> {
    let mut config = Config::default();
    config.compat = version;
    Arc::clone(&Engine::new(config, SEED, Now::default()).commands)
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
