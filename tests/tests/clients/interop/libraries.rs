//! Other libraries' locks, each taken, extended, lost and released by its real client. The server must recognise the
//! holders and the ends of the holds as it does for a native lock.

use crate::interop::workshop::{self, Program};
use lockwheel::{Config, Server, Time};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::verdict::findings;
use std::time::Duration;

const LEASE: u64 = 8_000;

/// The behaviour of a library.
struct Library {
    start: fn(u16, &str, u64) -> Option<Program>,
    /// The key of its lock `job`.
    key: &'static str,
    /// Whether the library compares before it deletes: the hold then counts as released. Otherwise it is deleted,
    /// whoever owns it.
    compares: bool,
}

impl Library {
    /// The next owner's information about a hold that was given back.
    fn given_back(&self) -> &'static str {
        if self.compares { "released" } else { "deleted" }
    }
}

/// One client of the library, and the server's view of it.
struct Scene {
    server: Server,
    client: Client,
    key: &'static str,
}

impl Scene {
    #[track_caller]
    fn info(&mut self) -> String {
        self.client.cmd(&["LOCK.INFO", self.key]).to_string()
    }

    /// Requires that the lock is this owner's, with at least this lease left. Returns its grant.
    #[track_caller]
    fn is_held(&mut self, owner: &str, at_least: u64) -> u64 {
        let info = self.info();
        let of_owner = format!(
            r#""holders": [{{"owner": "{owner}", "mode": "exclusive", "holds": :1, "kind": "foreign", "token": (nil), "#
        );
        assert!(info.starts_with(r#"{"mode": "exclusive", "layout": "string", "#), "{info}");
        assert!(info.contains(&of_owner), "{owner} is to hold it: {info}");
        let ttl = number_after(&info, r#""ttl": :"#).expect("it has a lease");
        assert!((at_least..=LEASE).contains(&ttl), "{at_least} ms are to be left: {info}");
        number_after(&info, r#""grant": :"#).expect("it was seen to be taken")
    }

    #[track_caller]
    fn is_free(&mut self) {
        let info = self.info();
        assert!(info.starts_with(r#"{"mode": "free""#), "{info}");
    }

    /// Requires that the next owner learns how the last hold ended.
    #[track_caller]
    fn ended(&mut self, how: &str) {
        let grant = self.client.cmd(&["LOCK.ACQUIRE", self.key, "next"]);
        let told = grant.to_string().contains(&format!(r#""predecessor": "{how}""#));
        assert!(told, "{how}: {grant}");
        assert_eq!(self.client.cmd(&["LOCK.RELEASE", self.key, "next"]), Reply::Int(0));
    }

    #[track_caller]
    fn advance(&self, millis: u64) {
        self.server.advance(Duration::from_millis(millis)).expect("the clock does not overflow");
    }
}

/// The number behind this text.
fn number_after(text: &str, before: &str) -> Option<u64> {
    let rest = text.split_once(before)?.1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The server recognises the library's lock from its acquisition to its end, by release and by loss.
#[track_caller]
fn is_seen(library: &Library) {
    let server = recording_server();
    let start = || (library.start)(server.port(), "job", LEASE);
    let (Some(mut first), Some(mut second)) = (start(), start()) else { return };
    let client = Client::connect_resp3(server.addr());
    let mut scene = Scene { client, server, key: library.key };
    is_taken_and_given_back(&mut scene, library, &mut first, &mut second);
    is_lost(&mut scene, library, &mut first, &mut second);
    is_judged(&mut scene, library);
}

/// A server on a manual clock that keeps the history.
fn recording_server() -> Server {
    let mut config = Config::default();
    config.lock_history = true;
    let server = Server::builder().config(config).port(0).seed(ours::SEED).time(Time::Manual).start();
    server.expect("loopback has a free port")
}

/// The history has the loss, and the verdict distinguishes a library that compares from one that ends another owner's
/// lock.
#[track_caller]
fn is_judged(scene: &mut Scene, library: &Library) {
    let found = findings(&mut scene.client);
    assert_eq!(found.iter().any(|one| one.starts_with("violation")), !library.compares, "{found:?}");
    let events = events(&mut scene.client, scene.key);
    assert!(events.iter().any(|event| event == "lost expired"), "{events:?}");
}

/// The events of this key, in order.
fn events(client: &mut Client, key: &str) -> Vec<String> {
    let history = client.cmd(&["LOCK.HISTORY", "KEY", key]);
    let Some(Reply::Array(entries)) = history.member("entries") else { panic!("{history}") };
    let of = |entry: &Reply, name| {
        let text = entry.member(name).and_then(Reply::as_bytes).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    entries.iter().map(|entry| format!("{} {}", of(entry, "event"), of(entry, "cause"))).collect()
}

#[track_caller]
fn is_taken_and_given_back(scene: &mut Scene, library: &Library, first: &mut Program, second: &mut Program) {
    let owner = take(scene, first);
    // ShedLock counts the lease from the time of its request.
    let nearly = if library.compares { LEASE } else { LEASE / 2 + 1 };
    let grant = scene.is_held(&owner, nearly);
    scene.advance(LEASE / 2);
    assert_eq!(second.step("take"), "refused");
    assert_eq!(scene.is_held(&owner, 1), grant);
    assert_eq!(first.step("extend"), "done");
    assert_eq!(scene.is_held(&owner, nearly), grant);
    assert_eq!(first.step("release"), "done");
    scene.is_free();
    scene.ended(library.given_back());
}

#[track_caller]
fn is_lost(scene: &mut Scene, library: &Library, first: &mut Program, second: &mut Program) {
    let owner = take(scene, first);
    let grant = scene.is_held(&owner, 1);
    scene.advance(LEASE);
    scene.is_free();
    scene.ended("expired");
    let next = take(scene, second);
    assert!(scene.is_held(&next, 1) >= grant);
    if library.compares {
        assert_eq!(first.step("extend"), "lost");
        assert_eq!(first.step("release"), "lost");
        scene.is_held(&next, 1);
        assert_eq!(second.step("release"), "done");
        scene.ended(library.given_back());
    } else {
        // The client does not know of its loss, and ends the other's lock.
        first.step("release");
        scene.is_free();
        scene.ended(library.given_back());
    }
}

/// The owner in the key, and the library, if it is named.
#[track_caller]
fn take(scene: &mut Scene, program: &mut Program) -> String {
    let said = program.step("take");
    let told = said.strip_prefix("held ").unwrap_or_else(|| panic!("it is free: {said}"));
    let written = scene.client.cmd(&["GET", scene.key]).to_string();
    let written = written.trim_matches('"');
    assert!(told == "?" || told == written, "{told} is not {written}");
    written.to_string()
}

#[test]
fn redis_py() {
    is_seen(&Library {
        start: |port, name, lease| workshop::python("redis_py_lock.py", port, name, lease),
        key: "job",
        compares: true,
    });
}

#[test]
fn python_redis_lock() {
    is_seen(&Library {
        start: |port, name, lease| workshop::python("python_redis_lock.py", port, name, lease),
        key: "lock:job",
        compares: true,
    });
}

/// The library's script checks whether the key exists, then sets it without NX.
#[test]
fn node_redlock() {
    is_seen(&Library {
        start: |port, name, lease| workshop::node("redlock.mjs", port, name, lease),
        key: "job",
        compares: true,
    });
}

#[test]
fn redis_semaphore() {
    is_seen(&Library {
        start: |port, name, lease| workshop::node("redis_semaphore.mjs", port, name, lease),
        key: "mutex:job",
        compares: true,
    });
}

/// The library's semaphore is a sorted set of the permits' holders, by its clients' clocks; only the deadline of the
/// key is the server's.
#[test]
fn redis_semaphore_of_two_permits() {
    let server = recording_server();
    let start = || workshop::node("redis_semaphore_permits.mjs", server.port(), "job", LEASE);
    let (Some(mut first), Some(mut second), Some(mut third)) = (start(), start(), start()) else { return };
    let mut client = Client::connect_resp3(server.addr());
    assert!(first.step("take").starts_with("held "));
    assert!(second.step("take").starts_with("held "));
    assert_eq!(third.step("take"), "refused");
    assert_eq!(client.line("ZCARD semaphore:job").to_string(), ":2");
    assert_eq!(first.step("extend"), "done");
    assert_eq!(first.step("release"), "done");
    let held = third.step("take");
    let held = held.strip_prefix("held ").expect("a permit is free");
    assert!(client.cmd(&["ZSCORE", "semaphore:job", held]) != Reply::Null);
    assert_eq!(first.step("take"), "refused");
    // The key's lease ends, and all permits with it: a late client is refused.
    server.advance(Duration::from_millis(LEASE)).expect("the clock does not overflow");
    assert_eq!(client.line("EXISTS semaphore:job").to_string(), ":0");
    assert_eq!(second.step("extend"), "lost");
    assert!(first.step("take").starts_with("held "));
    assert_eq!(third.step("release"), "lost");
    assert_eq!(first.step("release"), "done");
    assert_eq!(client.line("EXISTS semaphore:job").to_string(), ":0");
    // The server does not consider it a lock.
    assert_eq!(events(&mut client, "semaphore:job"), [""; 0]);
}

#[test]
fn redsync() {
    is_seen(&Library { start: workshop::go, key: "job", compares: true });
}

/// Spring's provider extends by `SET XX` and releases by `DEL`.
#[test]
fn shed_lock() {
    is_seen(&Library { start: workshop::java, key: "job-lock:default:job", compares: false });
}
