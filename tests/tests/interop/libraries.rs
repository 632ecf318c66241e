//! Other libraries' locks, each taken, prolonged, lost and given back by its real client: who holds them, and how that
//! ended, is seen as it is of a native lock.

use crate::workshop::{self, Program};
use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::reply::Reply;
use std::time::Duration;

const LEASE: u64 = 8_000;

/// What a library does.
struct Library {
    start: fn(u16, &str, u64) -> Option<Program>,
    /// The key of its lock `job`.
    key: &'static str,
    /// Whether it takes the lock by `SET NX`; if not, the acquisition is not seen, and has no grant.
    sets_if_absent: bool,
    /// Whether it compares before it deletes: the hold is released. Else it is deleted, whoever's it is.
    compares: bool,
}

/// What the next owner is told when nothing was lost.
const WELL: &[&str] = &["none", "released"];

impl Library {
    /// What the next owner is told of a hold that was given back.
    fn given_back(&self) -> &'static [&'static str] {
        if self.compares { WELL } else { &["deleted"] }
    }
}

/// One client of the library, and the server as it sees it.
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

    /// The lock is this owner's, with a lease of which at least so much is left; its grant, if it has one.
    #[track_caller]
    fn is_held(&mut self, owner: &str, at_least: u64) -> Option<u64> {
        let info = self.info();
        let of_owner = format!(
            r#""holders": [{{"owner": "{owner}", "mode": "exclusive", "holds": :1, "kind": "foreign", "token": (nil), "#
        );
        assert!(info.starts_with(r#"{"mode": "exclusive", "layout": "string", "#), "{info}");
        assert!(info.contains(&of_owner), "{owner} is to hold it: {info}");
        let ttl = number_after(&info, r#""ttl": :"#).expect("it has a lease");
        assert!((at_least..=LEASE).contains(&ttl), "{at_least} ms are to be left: {info}");
        number_after(&info, r#""grant": :"#)
    }

    #[track_caller]
    fn is_free(&mut self) {
        let info = self.info();
        assert!(info.starts_with(r#"{"mode": "free""#), "{info}");
    }

    /// Whoever comes next is told how the last hold ended.
    #[track_caller]
    fn ended(&mut self, how: &[&str]) {
        let grant = self.client.cmd(&["LOCK.ACQUIRE", self.key, "next"]);
        let told = how.iter().any(|how| grant.to_string().contains(&format!(r#""predecessor": "{how}""#)));
        assert!(told, "{how:?}: {grant}");
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

/// The library's lock is seen from its taking to its end, by release and by loss.
#[track_caller]
fn is_seen(library: &Library) {
    let server = ours::manual_server();
    let start = || (library.start)(server.port(), "job", LEASE);
    let (Some(mut first), Some(mut second)) = (start(), start()) else { return };
    let client = Client::connect_resp3(server.addr());
    let mut scene = Scene { client, server, key: library.key };
    is_taken_and_given_back(&mut scene, library, &mut first, &mut second);
    is_lost(&mut scene, library, &mut first, &mut second);
}

#[track_caller]
fn is_taken_and_given_back(scene: &mut Scene, library: &Library, first: &mut Program, second: &mut Program) {
    let owner = take(scene, first);
    // ShedLock counts the lease down from when it was asked.
    let nearly = if library.compares { LEASE } else { LEASE / 2 + 1 };
    let grant = scene.is_held(&owner, nearly);
    assert_eq!(grant.is_some(), library.sets_if_absent);
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
    scene.ended(if library.sets_if_absent { &["expired"] } else { WELL });
    let next = take(scene, second);
    assert!(scene.is_held(&next, 1) >= grant);
    if library.compares {
        assert_eq!(first.step("extend"), "lost");
        assert_eq!(first.step("release"), "lost");
        scene.is_held(&next, 1);
        assert_eq!(second.step("release"), "done");
        scene.ended(library.given_back());
    } else {
        // It knows nothing of its loss, and ends what is another's.
        first.step("release");
        scene.is_free();
        scene.ended(library.given_back());
    }
}

/// The owner whom the key names, and the library, if it tells.
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
        sets_if_absent: true,
        compares: true,
    });
}

#[test]
fn python_redis_lock() {
    is_seen(&Library {
        start: |port, name, lease| workshop::python("python_redis_lock.py", port, name, lease),
        key: "lock:job",
        sets_if_absent: true,
        compares: true,
    });
}

/// Its script asks whether the key exists, then sets it without NX.
#[test]
fn node_redlock() {
    is_seen(&Library {
        start: |port, name, lease| workshop::node("redlock.mjs", port, name, lease),
        key: "job",
        sets_if_absent: false,
        compares: true,
    });
}

#[test]
fn redis_semaphore() {
    is_seen(&Library {
        start: |port, name, lease| workshop::node("redis_semaphore.mjs", port, name, lease),
        key: "mutex:job",
        sets_if_absent: true,
        compares: true,
    });
}

#[test]
fn redsync() {
    is_seen(&Library { start: workshop::go, key: "job", sets_if_absent: true, compares: true });
}

/// Spring's provider prolongs by `SET XX` and gives back by `DEL`.
#[test]
fn shed_lock() {
    is_seen(&Library {
        start: workshop::java,
        key: "job-lock:default:job",
        sets_if_absent: true,
        compares: false,
    });
}
