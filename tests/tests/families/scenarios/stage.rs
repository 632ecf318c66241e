//! The environment of each scenario: a server on a manual clock, with its history on, and the actors.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redisson::{Redisson, Version};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::{self, Jvm, Setup};
use lockwheel_tests::verdict;
use std::path::Path;
use std::sync::OnceLock;

/// The lock that all want.
pub(crate) const LOCK: &str = "order:42";

/// A script that releases a string lock if it is still the caller's.
pub(crate) const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// A server whose time moves only when told, and the connection that controls it.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) director: Client,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let server = ours::manual_server();
        let mut director = Client::connect_resp3(server.addr());
        director.line("CONFIG SET lock-history yes");
        Stage { server, director }
    }

    /// Opens another connection.
    pub(crate) fn connection(&self) -> Client {
        Client::connect_resp3(self.server.addr())
    }

    /// A client of Redisson of this name.
    #[track_caller]
    pub(crate) fn redisson<'a>(&self, jvm: &'a Jvm, name: &str, setup: Setup) -> steered::Client<'a> {
        jvm.client(name, self.server.port(), setup)
    }

    /// Sends a line of the director.
    #[track_caller]
    pub(crate) fn says(&mut self, line: &str, expected: &str) {
        check(&mut self.director, line, expected);
    }

    /// An owner takes the lock for ten seconds, and gets it. Returns its token.
    #[track_caller]
    pub(crate) fn token(&mut self, owner: &str) -> i64 {
        let line = format!("LOCK.ACQUIRE {LOCK} {owner} PX 10000");
        field(&mut self.director, &line, "token").as_int().expect("a token is a number")
    }

    /// An owner enters the section that the lock guards.
    #[track_caller]
    pub(crate) fn enters(&mut self, owner: &str) {
        self.says(&format!("LOCK.ENTER {LOCK} {owner}"), ":1");
    }

    /// An owner leaves the section.
    #[track_caller]
    pub(crate) fn leaves(&mut self, owner: &str) {
        self.says(&format!("LOCK.LEAVE {LOCK} {owner}"), ":1");
    }

    /// Requires these findings in the history of all events: level and invariant of each.
    #[track_caller]
    pub(crate) fn is_found(&mut self, expected: &[&str]) {
        let found = verdict::findings(&mut self.director);
        assert_eq!(found, expected, "{}", self.director.line("LOCK.VERIFY"));
    }

    /// Requires that the findings contain these words.
    #[track_caller]
    pub(crate) fn reports(&mut self, words: &str) {
        let verdict = self.director.line("LOCK.VERIFY").to_string();
        assert!(verdict.contains(words), "{words} is not in {verdict}");
    }

    /// Requires these events of the lock, in order.
    #[track_caller]
    pub(crate) fn has_happened(&mut self, expected: &[&str]) {
        let line = format!("LOCK.HISTORY KEY {LOCK}");
        let entries = field(&mut self.director, &line, "entries");
        let Reply::Array(items) = &entries else { panic!("{line}: {entries}") };
        let event = |entry: &Reply| entry.member("event").and_then(Reply::as_bytes).map(<[u8]>::to_vec);
        let events: Vec<_> = items.iter().filter_map(event).collect();
        let events: Vec<_> = events.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        assert_eq!(events, expected, "{entries}");
    }

    /// Advances the clock.
    #[track_caller]
    pub(crate) fn advance(&mut self, ms: u64) {
        let reply = self.director.line(&format!("CLOCK.ADVANCE {ms}"));
        assert!(!reply.is_error(), "{reply}");
    }
}

/// Sends a line and requires its answer.
#[track_caller]
pub(crate) fn check(connection: &mut Client, line: &str, expected: &str) {
    assert_eq!(connection.line(line).to_string(), expected, "{line}");
}

/// Sends a line that is answered by a map. Returns one of its values.
#[track_caller]
pub(crate) fn field(connection: &mut Client, line: &str, name: &str) -> Reply {
    let reply = connection.line(line);
    reply.member(name).unwrap_or_else(|| panic!("{line}: {reply}")).clone()
}

/// The JVMs that all scenarios share, where Java is installed.
pub(crate) fn redisson_3_6() -> Option<&'static Jvm> {
    static JVM: OnceLock<Option<Jvm>> = OnceLock::new();
    JVM.get_or_init(|| start(Version::new(3, 6, 5))).as_ref()
}

/// Works as [`redisson_3_6`].
pub(crate) fn redisson_3_17() -> Option<&'static Jvm> {
    static JVM: OnceLock<Option<Jvm>> = OnceLock::new();
    JVM.get_or_init(|| start(Version::new(3, 17, 0))).as_ref()
}

/// Works as [`redisson_3_6`].
pub(crate) fn redisson_3_24() -> Option<&'static Jvm> {
    static JVM: OnceLock<Option<Jvm>> = OnceLock::new();
    JVM.get_or_init(|| start(Version::new(3, 24, 3))).as_ref()
}

/// Works as [`redisson_3_6`].
pub(crate) fn redisson_4_7() -> Option<&'static Jvm> {
    static JVM: OnceLock<Option<Jvm>> = OnceLock::new();
    JVM.get_or_init(|| start(Version::new(4, 7, 0))).as_ref()
}

fn start(version: Version) -> Option<Jvm> {
    Redisson::prepare(version, Path::new(env!("CARGO_TARGET_TMPDIR"))).map(|redisson| Jvm::start(&redisson))
}
