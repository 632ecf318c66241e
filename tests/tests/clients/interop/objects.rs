//! The objects that native clients and Redisson share: the rule of each, the first Redisson version that has it, and
//! its native use.

use crate::interop::referee::{Referee, Rule, Side, Way};
use lockwheel_tests::client::Client;
use lockwheel_tests::redisson::Version;
use lockwheel_tests::reply::Reply;
use std::net::SocketAddr;
use std::time::Duration;

/// A lease longer than any test: the end of a lease does not make up for a missed wake-up.
const LEASE: &str = "600000";

/// A short lease. Redisson forgets a finished writer's message that comes between its own attempt and its wait: it
/// assumes that there are as many messages as waiters. The end of the lease, which it requests, makes up for that.
const READ_WRITE_LEASE: &str = "10000";

/// Permits of the semaphores, fewer than there are members.
const PERMITS: usize = 2;

/// The number of members that count the latch down in each round: one of each side, while the others wait.
const COUNTDOWNS: u64 = 2;

const RATE: usize = 50;
const RATE_INTERVAL: Duration = Duration::from_millis(100);

/// One kind of object.
#[derive(Debug)]
pub(crate) struct Object {
    /// The name of the object on the Java side, and its key.
    pub(crate) name: &'static str,
    pub(crate) since: Version,
    pub(crate) rule: Rule,
    /// The lines that a native client sends before all begin.
    pub(crate) setup: &'static [&'static str],
    /// A native client's turn.
    turn: fn(&mut Native<'_>, u64),
}

const V3_6: Version = Version::new(3, 6, 5);
const V3_17: Version = Version::new(3, 17, 0);
const V3_24: Version = Version::new(3, 24, 3);

/// All kinds, each with the first tested version that has it.
pub(crate) const OBJECTS: &[Object] = &[
    Object {
        name: "plain",
        since: V3_6,
        rule: Rule::Within(1),
        setup: &[],
        turn: |native, _| native.locked(&[], Way::Alone),
    },
    Object {
        name: "fair",
        since: V3_6,
        rule: Rule::Within(1),
        setup: &[],
        turn: |native, _| native.locked(&["FAIR"], Way::Alone),
    },
    Object {
        name: "spin",
        since: V3_17,
        rule: Rule::Within(1),
        setup: &[],
        turn: |native, _| native.locked(&[], Way::Alone),
    },
    Object {
        name: "read-write",
        // Up to 3.6, the message of a finished writer has no effect: Redisson recognises only that of the other locks.
        since: V3_17,
        rule: Rule::ReadWrite,
        setup: &[],
        turn: |native, turn| native.read_or_written(turn),
    },
    Object {
        name: "fenced",
        since: V3_24,
        rule: Rule::Fenced,
        setup: &[],
        turn: |native, _| native.fenced(),
    },
    Object {
        name: "semaphore",
        since: V3_6,
        rule: Rule::Within(PERMITS),
        setup: &["SEM.INIT", "semaphore", "2"],
        turn: |native, _| native.permitted(),
    },
    Object {
        name: "permits",
        since: V3_6,
        rule: Rule::Within(PERMITS),
        setup: &["SEM.INIT", "permits", "2"],
        turn: |native, _| native.permitted_by_name(),
    },
    Object {
        name: "latch",
        since: V3_6,
        rule: Rule::Latch(COUNTDOWNS),
        setup: &[],
        turn: |native, turn| native.latched(turn),
    },
    Object {
        name: "rate",
        since: V3_17,
        rule: Rule::Rate(RATE, RATE_INTERVAL),
        setup: &["RATE.SET", "rate", "50", "100"],
        turn: |native, _| native.limited(),
    },
];

/// One native client.
struct Native<'a> {
    key: &'a str,
    owner: String,
    member: usize,
    referee: &'a Referee,
    connection: Client,
}

impl Object {
    /// Takes part as a native client until the referee announces the end.
    pub(crate) fn play(&self, referee: &Referee, server: SocketAddr) {
        let member = referee.join(Side::Native);
        let connection = Client::connect_resp3(server);
        // An owner that waited for two objects at once would be refused with a deadlock.
        let owner = format!("native-{}-{member}", self.name);
        let mut native = Native { key: self.name, owner, member, referee, connection };
        while let Some(turn) = referee.turn(member) {
            (self.turn)(&mut native, turn);
        }
    }
}

impl Drop for Native<'_> {
    fn drop(&mut self) {
        self.referee.leaves(self.member);
    }
}

impl Native<'_> {
    /// Takes a lock with these options, and releases it.
    fn locked(&mut self, options: &[&str], way: Way) {
        self.take(LEASE, options);
        self.referee.enter(self.member, way);
        self.give_back(&[]);
    }

    /// Takes the write lock in every third turn, each member in another one.
    fn read_or_written(&mut self, turn: u64) {
        let writes = (turn + self.member as u64).is_multiple_of(3);
        let (mode, way) = if writes { ("EXCLUSIVE", Way::Alone) } else { ("SHARED", Way::Shared) };
        self.take(READ_WRITE_LEASE, &[mode]);
        self.referee.enter(self.member, way);
        self.give_back(&[mode]);
    }

    /// Takes a lock with the token that Redisson counts, too.
    fn fenced(&mut self) {
        let grant = self.take(LEASE, &["FENCED"]);
        let token = field(&grant, "token").and_then(Reply::as_int).expect("a grant has a token");
        self.referee.enter(self.member, Way::Token(token.try_into().expect("a token is positive")));
        self.give_back(&[]);
    }

    /// The grant of the lock.
    fn take(&mut self, lease: &str, options: &[&str]) -> Vec<(Reply, Reply)> {
        let owner = self.owner.clone();
        self.map(&[&["LOCK.ACQUIRE", self.key, &owner, "PX", lease, "BLOCK", "0"], options].concat())
    }

    fn give_back(&mut self, options: &[&str]) {
        self.referee.leave(self.member);
        let words = [&["LOCK.RELEASE", self.key, &self.owner], options].concat();
        assert_eq!(self.connection.cmd(&words), Reply::Int(0), "{words:?}");
    }

    /// Takes a permit, and returns it.
    fn permitted(&mut self) {
        self.map(&["SEM.ACQUIRE", self.key, &self.owner.clone(), "BLOCK", "0"]);
        self.referee.enter(self.member, Way::Alone);
        self.referee.leave(self.member);
        let left = self.connection.cmd(&["SEM.RELEASE", self.key, &self.owner]);
        assert!(left.as_int().is_some(), "{left}");
    }

    /// Takes a permit with a name and a lease, and returns it.
    fn permitted_by_name(&mut self) {
        let owner = self.owner.clone();
        let grant = self.map(&["SEM.ACQUIRE", self.key, &owner, "IDS", "PX", LEASE, "BLOCK", "0"]);
        let Some(Reply::Array(ids)) = field(&grant, "ids") else { panic!("{grant:?}") };
        self.referee.enter(self.member, Way::Alone);
        self.referee.leave(self.member);
        let id = ids[0].to_string();
        let left = self.connection.cmd(&["SEM.RELEASE", self.key, &owner, "ID", id.trim_matches('"')]);
        assert!(left.as_int().is_some(), "{left}");
    }

    /// One member sets the latch in its turn. In the next turn two count it down, and the others wait for them.
    fn latched(&mut self, turn: u64) {
        let round = turn / 2 + self.member as u64;
        let way = match (turn % 2, round % 2) {
            (0, _) => {
                if round.is_multiple_of(4) {
                    assert_eq!(self.connection.cmd(&["LATCH.SET", self.key, "2"]), Reply::Int(1));
                }
                Way::Done
            }
            (_, 0) => {
                self.referee.counts_down();
                let left = self.connection.cmd(&["LATCH.COUNTDOWN", self.key]);
                assert!(left.as_int().is_some(), "{left}");
                Way::Done
            }
            _ => {
                self.map(&["LATCH.AWAIT", self.key, "BLOCK", "0"]);
                Way::Awaited
            }
        };
        self.referee.enter(self.member, way);
    }

    /// Takes a permit of the rate. One member waits for it in the server, the other asks again.
    fn limited(&mut self) {
        let waits: &[&str] = if self.member.is_multiple_of(2) { &["BLOCK", "0"] } else { &[] };
        let reply = self.connection.cmd(&[&["RATE.ACQUIRE", self.key, "1"], waits].concat());
        let Reply::Array(numbers) = &reply else { panic!("{reply}") };
        match numbers[0] {
            Reply::Int(1) => self.referee.enter(self.member, Way::Alone),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }

    /// A reply that is a map.
    #[track_caller]
    fn map(&mut self, words: &[&str]) -> Vec<(Reply, Reply)> {
        match self.connection.cmd(words) {
            Reply::Map(fields) => fields,
            other => panic!("{words:?}: {other}"),
        }
    }
}

/// The value of this field.
fn field<'a>(fields: &'a [(Reply, Reply)], name: &str) -> Option<&'a Reply> {
    let wanted = Reply::Bulk(name.as_bytes().to_vec());
    fields.iter().find(|(field, _)| *field == wanted).map(|(_, value)| value)
}
