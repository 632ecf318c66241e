//! The options of the program beyond Redis' parameters, for the help, shell completions and the man page.

use lockwheel_engine::spec::Version;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerOption {
    pub(crate) name: &'static str,
    /// The kind of its value; empty if the option needs no value.
    pub(crate) value: &'static str,
    /// The possible values, if they are words.
    pub(crate) words: &'static [&'static str],
    pub(crate) help: &'static str,
}

const YES_NO: &[&str] = &["yes", "no"];

/// All options. `port` is an option of Redis, but with an additional value.
pub(crate) const OPTIONS: &[ServerOption] = &[
    option(
        "port",
        "port",
        "Where to listen; 0: a free port; beside TLS or a unix socket: only with a port-file",
    ),
    option("port-file", "path", "Write the port there when the server is ready"),
    option("tls-port-file", "path", "The same for tls-port, which is then a free one if it is 0"),
    option(
        "ready-fd",
        "n",
        "Write the port (or TLS's) to this descriptor when the server is ready, and close it",
    ),
    option("load", "path", "Begin with the keys of this RDB file instead of dbfilename's"),
    option("exit-with-parent", "", "End when the parent process has ended, however that happens"),
    option("idle-exit", "seconds", "End when no client has been connected for so long"),
    option("threads", "n", "How many threads serve connections; 0: one a core"),
    ServerOption {
        words: &["real", "manual", "2030-01-01T00:00:00Z"],
        ..option("time", "instant", "'manual': start with the clock stopped; or stopped at an instant")
    },
    option("seed", "n", "What decides every random choice"),
    ServerOption {
        words: YES_NO,
        ..option("control", "yes|no", "'no' refuses the commands that steer the server in a test")
    },
    ServerOption {
        words: Version::NAMES,
        ..option("compat", "version", "The version of Redis whose commands and options there are")
    },
    ServerOption {
        words: YES_NO,
        ..option("lock-history", "yes|no", "Keep a history of locks, for LOCK.VERIFY")
    },
    option("lock-history-max", "n", "The most entries of that history"),
    ServerOption {
        words: YES_NO,
        ..option("lock-ledger", "yes|no", "'no' observes no locks but those of LOCK commands")
    },
    option("lock-jeopardy", "ms", "Tell owners when their lease has so much left; 0: do not"),
    ServerOption {
        words: YES_NO,
        ..option(
            "lock-deadlock-inferred",
            "yes|no",
            "Refuse deadlocks with Redisson clients that seem to wait",
        )
    },
    option("lock-handoff-delay", "ms", "Keep a free lock from native waiters so long, for Redisson's"),
    option("lock-wakeup-limit", "ms", "Suspect a lost message after a lock was free so long with waiters"),
    option("lock-herd-limit", "n", "Tell of hand-offs that wake more waiters of Redisson in vain"),
];

const fn option(name: &'static str, value: &'static str, help: &'static str) -> ServerOption {
    ServerOption { name, value, words: &[], help }
}

pub(crate) const EXAMPLES: &[&str] = &[
    "lockwheel (listens on port 6379 of the loopback interface)",
    "lockwheel /etc/redis/6379.conf --loglevel verbose",
    "lockwheel --port 7777 --requirepass secret",
    "echo 'notify-keyspace-events KEA' | lockwheel -",
    "lockwheel run -- pytest",
    "lockwheel run --time manual -- npm test",
];
