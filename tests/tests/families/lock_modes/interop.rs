//! Native commands and Redisson's own scripts of all versions on one key. State and messages are equal, whichever side
//! takes and releases the lock.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::redisson_scripts::{Script, scripts_of};
use lockwheel_tests::rng::Rng;
use std::path::Path;

const VERSIONS: [&str; 4] = ["3.6.5", "3.17.0", "3.24.3", "4.7.0"];
/// Random runs, and steps of each.
const SEEDS: u64 = 12;
const STEPS: usize = 120;
/// Threads of a Redisson client. Its scripts consider them their own, native commands consider them ordinary owners.
pub(crate) const OWNERS: [&str; 3] = [
    "8743c9c0-0795-4907-87fd-6c719a6b4586:1",
    "8743c9c0-0795-4907-87fd-6c719a6b4586:2",
    "8743c9c0-0795-4907-87fd-6c719a6b4586:3",
];
/// A client's latch for the answer of one unlock; the client deletes it afterwards.
const LATCH: &str = "redisson_unlock_latch:{l}:1";

/// An action of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Lock,
    Unlock,
    Read,
    EndRead,
    Write,
    EndWrite,
    Fence,
}

/// The scripts of a version.
pub(crate) struct Scripts {
    version: &'static str,
    /// The scripts, each with its text without blanks.
    all: Vec<(Script, String)>,
}

impl Scripts {
    pub(crate) fn of(version: &'static str) -> Option<Self> {
        let (all, _) = scripts_of(version, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let all = all.into_iter().filter(|script| script.class.ends_with("Lock"));
        let squeezed = |script: Script| (script.text.split_whitespace().collect(), script);
        Some(Scripts { version, all: all.map(squeezed).map(|(text, script)| (script, text)).collect() })
    }

    /// Returns the text of the only script of a class that has all of these parts and none of those.
    pub(crate) fn find(&self, class: &str, with: &[&str], without: &[&str]) -> &str {
        let is_it = |(script, text): &&(Script, String)| {
            let has = |part: &&str| text.contains(part);
            script.class == class && with.iter().all(has) && !without.iter().any(has)
        };
        let found: Vec<_> = self.all.iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{} {class} {with:?}", self.version);
        &found[0].0.text
    }

    /// The request that a client of Redisson sends.
    pub(crate) fn request(&self, act: Act, owner: &str) -> String {
        let unlock = ["hincrby", ",-1)"];
        let lease_and_owner = format!("30000 {owner}");
        let prefix = format!("{{l}}:{owner}:rwlock_timeout");
        // 3.6.5 also returns 0 when a writer's hold ends.
        let written = if self.version == "3.6.5" { 0 } else { 1 };
        let (text, keys, words) = match act {
            Act::Lock => (
                self.find("RedissonLock", &["pexpire", "hincrby", "return"], &[",-1)", "KEYS[2]"]),
                "1 l".to_owned(),
                lease_and_owner,
            ),
            Act::Unlock => (
                self.find("RedissonLock", &unlock, &[]),
                format!("3 l redisson_lock__channel:{{l}} {LATCH}"),
                format!("0 30000 {owner} publish 9000"),
            ),
            Act::Read => (
                self.find("RedissonReadLock", &["'mode','read'"], &[]),
                format!("2 l {prefix}"),
                format!("{lease_and_owner} {owner}:write"),
            ),
            Act::EndRead => (
                self.find("RedissonReadLock", &unlock, &[]),
                format!("5 l redisson_rwlock:{{l}} {prefix} {{l}} {LATCH}"),
                format!("0 {owner} publish 9000"),
            ),
            Act::Write => (
                self.find("RedissonWriteLock", &["'mode','write'"], &[]),
                "1 l".to_owned(),
                format!("{lease_and_owner}:write"),
            ),
            Act::EndWrite => (
                self.find("RedissonWriteLock", &unlock, &[]),
                format!("3 l redisson_rwlock:{{l}} {LATCH}"),
                format!("{written} 30000 {owner}:write publish 9000"),
            ),
            Act::Fence => (
                self.find("RedissonFencedLock", &["return{-1,token}"], &[]),
                "2 l redisson_lock_token:{l}".to_owned(),
                lease_and_owner,
            ),
        };
        format!("EVAL \"{text}\" {keys} {words}")
    }
}

/// The native request with the same effect.
fn native(act: Act, owner: &str) -> String {
    match act {
        Act::Lock => format!("LOCK.ACQUIRE l {owner}"),
        Act::Unlock => format!("LOCK.RELEASE l {owner}"),
        Act::Read => format!("LOCK.ACQUIRE l {owner} SHARED"),
        Act::EndRead => format!("LOCK.RELEASE l {owner} SHARED"),
        Act::Write => format!("LOCK.ACQUIRE l {owner} EXCLUSIVE"),
        Act::EndWrite => format!("LOCK.RELEASE l {owner} EXCLUSIVE"),
        Act::Fence => format!("LOCK.ACQUIRE l {owner} FENCED"),
    }
}

/// A server with a client, and a subscriber to all messages.
pub(crate) struct World {
    pub(crate) server: Simulation,
    client: u64,
    listener: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let (client, listener) = (server.connect(), server.connect());
        server.ask(client, "CLOCK.FREEZE");
        server.ask(listener, "PSUBSCRIBE redisson_*");
        World { server, client, listener }
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.server.ask(self.client, line)
    }

    /// Returns the published messages, the last word of each.
    pub(crate) fn take_messages(&mut self) -> Vec<String> {
        let text = self.server.read(self.listener);
        let messages = text.split("pmessage\r\n").skip(1);
        messages.map(|message| message.split("\r\n").skip(1).collect::<Vec<_>>().join(" ")).collect()
    }

    /// All keys with their contents and times, without the client's latch.
    pub(crate) fn state(&mut self) -> Vec<String> {
        self.ask(&format!("DEL {LATCH}"));
        let keys = self.ask("KEYS *");
        let mut names: Vec<&str> = keys.split("\r\n").skip(2).step_by(2).collect();
        names.sort_unstable();
        let names: Vec<String> =
            names.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let of = |world: &mut World, name: &str| {
            let value = match world.ask(&format!("TYPE {name}")).as_str() {
                "+hash\r\n" => world.ask(&format!("HGETALL {name}")),
                "+list\r\n" => world.ask(&format!("LRANGE {name} 0 -1")),
                "+zset\r\n" => world.ask(&format!("ZRANGE {name} 0 -1 WITHSCORES")),
                _ => world.ask(&format!("GET {name}")),
            };
            format!("{name}: {value} {}", world.ask(&format!("PTTL {name}")))
        };
        names.iter().map(|name| of(self, name)).collect()
    }

    fn holds(&mut self, owner: &str, suffix: &str) -> bool {
        self.ask(&format!("HEXISTS l {owner}{suffix}")) == ":1\r\n"
    }

    /// The number of holds of a lock's field.
    fn count(&mut self, owner: &str, suffix: &str) -> i64 {
        let reply = self.ask(&format!("HGET l {owner}{suffix}"));
        reply.split("\r\n").nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// The outcome of an owner's last action.
    fn outcome(&mut self, act: Act, owner: &str) -> Outcome {
        let suffix = if matches!(act, Act::Write | Act::EndWrite) { ":write" } else { "" };
        let holds = self.count(owner, suffix);
        let is_fenced = act == Act::Fence;
        match act {
            Act::Unlock | Act::EndWrite => Outcome::Left { holds, ends: holds == 0 },
            Act::EndRead => Outcome::Left { holds, ends: self.ask("EXISTS l") == ":0\r\n" },
            _ if holds > 0 => {
                let token = self.ask("GET redisson_lock_token:{l}");
                let token = token.split("\r\n").nth(1).filter(|_| is_fenced).map(str::to_owned);
                Outcome::Got { holds, token }
            }
            _ => {
                let reads = act == Act::Write && self.holds(owner, "");
                Outcome::Refused { lease_ms: lease(self), reads, is_fenced }
            }
        }
    }
}

/// Chooses an action on whose answer both sides agree. No write lock is re-entered, because Redisson then adds up its
/// leases. Neither is a fenced lock, because Redisson then draws a new token.
fn choose(world: &mut World, rng: &mut Rng, acts: &[Act]) -> Option<(Act, &'static str)> {
    let (act, owner) = (*rng.pick(acts), *rng.pick(&OWNERS));
    let is_possible = match act {
        Act::Lock | Act::Read => true,
        Act::Write => !world.holds(owner, ":write"),
        Act::Fence => !world.holds(owner, ""),
        Act::Unlock | Act::EndRead => world.holds(owner, ""),
        Act::EndWrite => world.holds(owner, ":write"),
    };
    is_possible.then_some((act, owner))
}

/// Three servers perform the same actions: one by scripts, one natively, one by a random choice of both.
fn compare(acts: &[Act], versions: &[&'static str]) {
    for version in versions {
        let Some(scripts) = Scripts::of(version) else { return };
        for seed in 0..SEEDS {
            let mut rng = Rng::new(seed);
            let mut worlds = [World::new(), World::new(), World::new()];
            for step in 0..STEPS {
                let Some((act, owner)) = choose(&mut worlds[0], &mut rng, acts) else { continue };
                let lines = [scripts.request(act, owner), native(act, owner)];
                let chance = usize::from(rng.chance(50));
                let told = [0, 1, chance].map(|by| lines[by].clone());
                let what = format!("{version}, seed {seed}, step {step}: {act:?} {owner}");
                let told: Vec<(String, String)> = worlds
                    .iter_mut()
                    .zip(told)
                    .map(|(world, line)| {
                        let reply = world.ask(&line);
                        (line, reply)
                    })
                    .collect();
                check_replies(&mut worlds, act, owner, &told, &what);
                let [script, natively, mixed] = worlds.each_mut().map(World::state);
                assert_eq!(natively, script, "{what}, natively");
                assert_eq!(mixed, script, "{what}, mixed");
                check_messages(&mut worlds, act, version, &what);
            }
        }
    }
}

/// Checks the outcome that each answer reports, a script's in Redisson's form and a native one in its own. The outcome
/// is the new holder with its token, the remaining time of another holder, or the remaining holds. The states are
/// equal, so the outcomes are too.
fn check_replies(worlds: &mut [World; 3], act: Act, owner: &str, told: &[(String, String)], what: &str) {
    for (world, (line, reply)) in worlds.iter_mut().zip(told) {
        let (is_script, outcome) = (line.starts_with("EVAL"), world.outcome(act, owner));
        let [begin, part] = if is_script { [outcome.by_script(), String::new()] } else { outcome.natively() };
        let form = if is_script { "by script" } else { "natively" };
        let is_right = reply.starts_with(&begin) && reply.contains(&part);
        assert!(is_right, "{what}, {form}: {reply:?} is not {begin:?}…{part:?}…");
    }
}

/// The outcome of an action, as the state after it shows.
enum Outcome {
    /// The number of holds, and the token of a fenced lock.
    Got { holds: i64, token: Option<String> },
    /// Another owner has the lock for this long. Whether the owner reads the lock that it would write, and whether the
    /// lock is fenced.
    Refused { lease_ms: i64, reads: bool, is_fenced: bool },
    /// The number of the owner's remaining holds, and whether the lock is free.
    Left { holds: i64, ends: bool },
}

impl Outcome {
    fn by_script(&self) -> String {
        match self {
            Outcome::Got { token: Some(token), .. } => format!("*2\r\n:-1\r\n:{token}\r\n"),
            Outcome::Got { token: None, .. } => "$-1\r\n".to_owned(),
            Outcome::Refused { lease_ms, is_fenced: true, .. } => format!("*2\r\n:{lease_ms}\r\n"),
            Outcome::Refused { lease_ms, .. } => format!(":{lease_ms}\r\n"),
            Outcome::Left { ends, .. } => format!(":{}\r\n", u8::from(*ends)),
        }
    }

    /// The beginning of the answer, and another part that it must have.
    fn natively(&self) -> [String; 2] {
        match self {
            Outcome::Got { holds, token } => [
                token
                    .as_ref()
                    .map_or("*10\r\n".to_owned(), |token| format!("*10\r\n$5\r\ntoken\r\n:{token}\r\n")),
                format!("$5\r\nholds\r\n:{holds}\r\n$3\r\nttl\r\n:30000\r\n"),
            ],
            Outcome::Refused { reads: true, .. } => {
                ["-DEADLOCK this owner holds the lock in shared mode".to_owned(), String::new()]
            }
            Outcome::Refused { .. } => ["$-1\r\n".to_owned(), String::new()],
            Outcome::Left { holds, .. } => [format!(":{holds}\r\n"), String::new()],
        }
    }
}

/// The messages are equal, with one exception: a native release of a writer sends some if readers remain, and Redisson
/// forgets them.
fn check_messages(worlds: &mut [World; 3], act: Act, version: &str, what: &str) {
    let [script, natively, _] = worlds.each_mut().map(World::take_messages);
    let is_downgrade = act == Act::EndWrite && worlds[0].ask("EXISTS l") == ":1\r\n";
    let written = |message: &String| match version {
        "3.6.5" if act == Act::EndWrite => message.replace("$1 0", "$1 1"),
        _ => message.clone(),
    };
    if is_downgrade {
        assert_eq!((script.len(), natively.len()), (0, 1), "{what}");
    } else {
        assert_eq!(natively, script.iter().map(written).collect::<Vec<_>>(), "{what}, messages");
    }
}

#[test]
fn plain_locks_are_the_same_by_script_and_natively() {
    compare(&[Act::Lock, Act::Lock, Act::Unlock], &VERSIONS);
}

#[test]
fn read_write_locks_are_the_same_by_script_and_natively() {
    compare(&[Act::Read, Act::Write, Act::EndRead, Act::EndWrite], &VERSIONS);
}

#[test]
fn fenced_locks_are_the_same_by_script_and_natively() {
    compare(&[Act::Fence, Act::Unlock], &["3.24.3", "4.7.0"]);
}

/// Native waiters are served in their order when a script releases the lock: readers together.
#[test]
fn native_waiters_are_served_in_order_when_a_script_gives_the_lock_back() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = World::new();
        world.ask(&scripts.request(Act::Write, OWNERS[0]));
        let waiters = ["a SHARED", "b SHARED", "c EXCLUSIVE", "d SHARED"];
        let clients = waiters.map(|waiter| {
            let client = world.server.connect();
            world.server.send(client, &format!("LOCK.ACQUIRE l {waiter} BLOCK 0"));
            client
        });
        world.ask(&scripts.request(Act::EndWrite, OWNERS[0]));
        world.ask(&format!("DEL {LATCH}"));
        let served = |world: &mut World| clients.map(|client| world.server.read(client).contains("token"));
        assert_eq!(served(&mut world), [true, true, false, false], "{version}");
        // Redisson's readers join the current readers, and its scripts release only their own holds.
        world.ask(&scripts.request(Act::Read, OWNERS[1]));
        assert!(world.holds(OWNERS[1], ""), "{version}");
        for line in ["LOCK.RELEASE l a", "LOCK.RELEASE l b"] {
            world.ask(line);
        }
        assert_eq!(served(&mut world), [false; 4], "{version}");
        world.ask(&scripts.request(Act::EndRead, OWNERS[1]));
        assert_eq!(served(&mut world), [false, false, true, false], "{version}");
        world.ask("LOCK.RELEASE l c");
        assert_eq!(served(&mut world), [false, false, false, true], "{version}");
    }
}

/// The remaining lease of the lock in a world, in milliseconds.
fn lease(world: &mut World) -> i64 {
    let reply = world.ask("PTTL l");
    reply.trim_end().trim_start_matches(':').parse().expect("a number")
}

/// Tests the leases that native commands treat differently, as `docs/interop.md` lists them. The steps run by script
/// and natively, a second before the last; then the leases are compared.
#[track_caller]
fn leases_differ(versions: &[&'static str], steps: &[Act], by_script: i64, natively: i64) {
    for version in versions {
        let Some(scripts) = Scripts::of(version) else { return };
        let (last, before) = steps.split_last().expect("there are steps");
        let requests: [&dyn Fn(Act) -> String; 2] =
            [&|act| scripts.request(act, OWNERS[0]), &|act| native(act, OWNERS[0])];
        for (request, expected) in requests.into_iter().zip([by_script, natively]) {
            let mut world = World::new();
            for act in before {
                world.ask(&request(*act));
            }
            world.ask("CLOCK.ADVANCE 1000");
            world.ask(&request(*last));
            assert_eq!(lease(&mut world), expected, "{version} {steps:?}");
        }
    }
}

#[test]
fn only_scripts_add_up_leases_when_a_writer_re_enters() {
    leases_differ(&VERSIONS, &[Act::Write, Act::Write], 59_000, 30_000);
}

#[test]
fn only_scripts_renew_the_lease_when_one_of_several_holds_is_released() {
    leases_differ(&VERSIONS, &[Act::Lock, Act::Lock, Act::Unlock], 30_000, 29_000);
    leases_differ(&VERSIONS, &[Act::Write, Act::Write, Act::EndWrite], 30_000, 29_000);
}

/// The lease of another reader is longer: the oldest version ignores that.
#[test]
fn only_the_oldest_script_shortens_the_lease_when_a_reader_re_enters() {
    for version in VERSIONS {
        let Some(scripts) = Scripts::of(version) else { return };
        let mut world = World::new();
        for line in [
            scripts.request(Act::Read, OWNERS[0]),
            format!("LOCK.ACQUIRE l {} SHARED PX 90000", OWNERS[1]),
            scripts.request(Act::Read, OWNERS[0]),
        ] {
            world.ask(&line);
        }
        assert_eq!(lease(&mut world), if version == "3.6.5" { 30_000 } else { 90_000 }, "{version}");
    }
}
