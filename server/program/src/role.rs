//! The role of the program, by the name that started it and by its first argument.

use std::ffi::OsStr;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A server. Under the name `redis-server` it accepts only configuration files and options.
    Server,
    /// The client that health checks use.
    RedisCli,
    Subcommand(Subcommand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subcommand {
    Run,
    Topology,
    Entrypoint,
    HealthCheck,
    Completions,
    Man,
    Help,
}

impl Subcommand {
    const NAMES: &[(&str, Subcommand)] = &[
        ("run", Subcommand::Run),
        ("topology", Subcommand::Topology),
        ("entrypoint", Subcommand::Entrypoint),
        ("healthcheck", Subcommand::HealthCheck),
        ("completions", Subcommand::Completions),
        ("man", Subcommand::Man),
        ("help", Subcommand::Help),
    ];

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, subcommand)| *subcommand == self);
        found.expect("each subcommand has its row").0
    }
}

pub(crate) const REDIS_SERVER: &str = "redis-server";
/// The name of Redis' sentinel. A server that is started by this name is a sentinel.
pub(crate) const REDIS_SENTINEL: &str = "redis-sentinel";

impl Role {
    /// Returns the role of a program that was started by this name, with this first argument.
    pub(crate) fn of(started_as: &OsStr, first: Option<&OsStr>) -> Self {
        if is_called(started_as, "redis-cli") {
            return Role::RedisCli;
        }
        let subcommand = Subcommand::NAMES.iter().find(|(name, _)| first == Some(OsStr::new(name)));
        match subcommand {
            Some((_, subcommand)) if !is_redis(started_as) => Role::Subcommand(*subcommand),
            _ => Role::Server,
        }
    }
}

/// Whether a program was started by a name of Redis, and therefore only has Redis' features.
pub(crate) fn is_redis(started_as: &OsStr) -> bool {
    [REDIS_SERVER, REDIS_SENTINEL].iter().any(|name| is_called(started_as, name))
}

pub(crate) fn is_called(started_as: &OsStr, name: &str) -> bool {
    let file = Path::new(started_as).file_name().unwrap_or_default();
    let suffix = std::env::consts::EXE_SUFFIX.as_bytes();
    let bytes = file.as_encoded_bytes();
    bytes.strip_suffix(suffix).unwrap_or(bytes) == name.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(started_as: &str, first: &str) -> Role {
        Role::of(OsStr::new(started_as), Some(OsStr::new(first)))
    }

    #[test]
    fn the_name_decides_and_then_the_first_argument() {
        let run = Role::Subcommand(Subcommand::Run);
        for (started_as, first, expected) in [
            ("lockwheel", "run", run),
            ("/usr/bin/lockwheel", "man", Role::Subcommand(Subcommand::Man)),
            ("lockwheel", "healthcheck", Role::Subcommand(Subcommand::HealthCheck)),
            ("lockwheel", "completions", Role::Subcommand(Subcommand::Completions)),
            ("lockwheel", "help", Role::Subcommand(Subcommand::Help)),
            ("redis-server", "help", Role::Server),
            ("lockwheel", "./run", Role::Server),
            ("lockwheel", "RUN", Role::Server),
            ("lockwheel", "--port", Role::Server),
            ("/opt/redis-server", "run", Role::Server),
            ("redis-sentinel", "run", Role::Server),
            ("redis-server-7", "run", run),
            ("redis-cli", "run", Role::RedisCli),
            ("./redis-cli", "ping", Role::RedisCli),
        ] {
            assert_eq!(role(started_as, first), expected, "{started_as} {first}");
        }
        assert_eq!(Role::of(OsStr::new("lockwheel"), None), Role::Server);
        assert_eq!(Role::of(OsStr::new(""), None), Role::Server);
    }
}
