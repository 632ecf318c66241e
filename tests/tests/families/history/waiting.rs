//! One meaning of "waiting as Redisson does" in every wait, view and verdict: AWAIT.WAITERS, LOCK.INFO, LOCK.SCAN,
//! LOCK.GRAPH and LOCK.VERIFY.

use crate::history::fixture::{A, Server};
use crate::history::verify::found;

/// A thread of another instance.
const OTHER: &str = "11111111-0795-4907-87fd-6c719a6b4586:7";

/// An instance of Redisson: the connection that sends requests, and the one that listens.
struct Instance {
    asks: u64,
    listens: u64,
}

impl Instance {
    fn new(server: &mut Server) -> Self {
        Instance { asks: server.client(), listens: server.client() }
    }

    fn ask(&self, server: &mut Server, key: &str, owner: &str) {
        server.take(self.asks, key, owner, 60_000);
    }

    fn listen(&self, server: &mut Server, key: &str) {
        server.send(self.listens, &format!("SUBSCRIBE redisson_lock__channel:{{{key}}}"));
    }
}

/// The number of waiters for a lock, in each view.
fn waiters(server: &mut Server, key: &str) -> [usize; 4] {
    let info = server.ask(&format!("LOCK.INFO {key}"));
    let info = info.split_once("waiters\r\n").map_or(0, |(_, waiters)| waiters.matches("kind\r\n").count());
    let scan =
        server.ask(&format!("LOCK.SCAN 0 MATCH {key} STATE WAITED")).ends_with(&format!("\r\n{key}\r\n"));
    let graph = server.ask("LOCK.GRAPH INFERRED").matches("waiter\r\n").count();
    let count = (0..9).find(|n| {
        let client = server.client();
        server.send(client, &format!("AWAIT.WAITERS {key} {n} EXACT")) == ":1\r\n"
    });
    [count.unwrap_or(9), info, usize::from(scan), graph]
}

#[test]
fn a_thread_counts_as_a_waiter_after_its_second_request() {
    let mut server = Server::new();
    let [one, other] = [Instance::new(&mut server), Instance::new(&mut server)];
    other.ask(&mut server, "b", OTHER);
    one.ask(&mut server, "b", A);
    assert_eq!(waiters(&mut server, "b"), [0; 4]);
    let watcher = server.client();
    server.send(watcher, "AWAIT.WAITERS b 1");
    one.listen(&mut server, "b");
    assert_eq!(waiters(&mut server, "b"), [0; 4]);
    assert_eq!(server.simulation.read(watcher), "");
    one.ask(&mut server, "b", A);
    assert_eq!(server.simulation.read(watcher), ":1\r\n", "without any other request");
    assert_eq!(waiters(&mut server, "b"), [1; 4]);
    // An owner that takes another lock no longer waits, and neither does one that stops listening.
    one.ask(&mut server, "c", A);
    assert_eq!(waiters(&mut server, "b"), [0; 4]);
    one.ask(&mut server, "b", A);
    one.ask(&mut server, "b", A);
    assert_eq!(waiters(&mut server, "b"), [1; 4]);
    server.send(one.listens, "UNSUBSCRIBE");
    assert_eq!(waiters(&mut server, "b"), [0; 4]);
}

/// A server whose history has this capacity, and has had this number of entries.
fn after_entries(kept: usize, entries: usize) -> Server {
    let mut server = Server::new();
    server.ask(&format!("CONFIG SET lock-history-max {kept}"));
    (0..entries).for_each(|_| drop(server.ask("LOCK.MARK m")));
    server
}

/// LOCK.VERIFY and LOCK.GRAPH know each waiter that AWAIT.WAITERS has counted, however long the history is.
#[test]
fn a_deadlock_is_found_as_soon_as_both_wait() {
    for (kept, entries) in [(65_536, 0), (65_536, 5000), (4000, 5000), (1500, 5000)] {
        is_found_as_soon_as_both_wait(&mut after_entries(kept, entries));
    }
}

fn is_found_as_soon_as_both_wait(server: &mut Server) {
    let [one, other] = [Instance::new(server), Instance::new(server)];
    one.ask(server, "a", A);
    other.ask(server, "b", OTHER);
    let [first, second] = [server.client(), server.client()];
    server.send(first, "AWAIT.WAITERS b 1");
    server.send(second, "AWAIT.WAITERS a 1");
    let (mut is_found, mut answered) = (false, 0);
    for step in 0..6 {
        assert!(!is_found && answered < 2, "{step}");
        match step {
            0 | 4 => one.ask(server, "b", A),
            1 | 5 => other.ask(server, "a", OTHER),
            2 => one.listen(server, "b"),
            _ => other.listen(server, "a"),
        }
        answered +=
            [first, second].iter().filter(|&&client| server.simulation.read(client) == ":1\r\n").count();
        let verdict = server.ask_long("LOCK.VERIFY");
        is_found = verdict.contains("\r\nsuspect\r\n$9\r\ninvariant\r\n$8\r\ndeadlock\r\n");
        let cycle = format!("{A} -> b -> {OTHER} -> a -> {A}");
        let is_drawn = server.ask("LOCK.GRAPH INFERRED").contains(&cycle)
            || server.ask("LOCK.GRAPH INFERRED").contains(&format!("{OTHER} -> a -> {A} -> b -> {OTHER}"));
        assert_eq!((is_found, is_drawn), (answered == 2, answered == 2), "{step}");
    }
    assert!(is_found);
}

/// A subscription whose refusal has left the history stands for one waiter, in each view at once.
#[test]
fn all_views_agree_when_the_history_drops_the_entry_of_a_wait() {
    let mut server = after_entries(1600, 1600);
    let one = Instance::new(&mut server);
    server.ask("LOCK.ACQUIRE b me");
    one.ask(&mut server, "b", A);
    one.listen(&mut server, "b");
    let watcher = server.client();
    server.send(watcher, "AWAIT.WAITERS b 1");
    let mut is_known = true;
    while is_known {
        (0..50).for_each(|_| drop(server.ask("LOCK.MARK m")));
        let [count, info, scan, _] = waiters(&mut server, "b");
        assert_eq!((info, scan), (count, count));
        is_known = server.simulation.read(watcher) != ":1\r\n";
        assert_eq!(count, usize::from(!is_known));
    }
}

/// Two instances ask for one lock at once: the owner of each subscription is unknown.
#[test]
fn each_instance_counts_as_a_waiter_after_its_own_second_request() {
    for first in [0, 1] {
        let mut server = Server::new();
        let holder = server.client();
        server.send(holder, "LOCK.ACQUIRE l me");
        let instances = [Instance::new(&mut server), Instance::new(&mut server)];
        let owners = [A, OTHER];
        (0..2).for_each(|n| instances[n].ask(&mut server, "l", owners[n]));
        (0..2).for_each(|n| instances[n].listen(&mut server, "l"));
        assert_eq!(waiters(&mut server, "l")[0], 0);
        instances[first].ask(&mut server, "l", owners[first]);
        assert_eq!(waiters(&mut server, "l")[..2], [1, 1], "{first}");
        instances[1 - first].ask(&mut server, "l", owners[1 - first]);
        assert_eq!(waiters(&mut server, "l")[..2], [2, 2], "{first}");
    }
}

/// A thread that asks once does not want to wait, though its instance listens for another one.
#[test]
fn a_thread_does_not_wait_by_the_subscription_of_another_thread() {
    let mut server = Server::new();
    let one = Instance::new(&mut server);
    server.ask("LOCK.ACQUIRE l me");
    server.ask("LOCK.ACQUIRE m me");
    one.ask(&mut server, "l", A);
    one.listen(&mut server, "l");
    one.ask(&mut server, "l", A);
    one.ask(&mut server, "l", &A.replace(":1", ":9"));
    let graph = server.ask("LOCK.GRAPH INFERRED");
    assert!(graph.contains(A) && !graph.contains(":9"), "{graph}");
}

/// Refusals are unknown then.
#[test]
fn without_a_history_every_subscriber_counts_as_a_waiter() {
    let mut server = Server::new();
    server.ask("CONFIG SET lock-history no");
    let one = Instance::new(&mut server);
    server.ask("LOCK.ACQUIRE b me");
    one.ask(&mut server, "b", A);
    one.listen(&mut server, "b");
    assert_eq!(waiters(&mut server, "b")[0], 1);
}

/// A pool may close the connection of the last refusal: the thread waits by the connection that listens.
#[test]
fn a_thread_still_waits_after_its_requesting_connection_closes() {
    let mut server = Server::new();
    let [one, other] = [Instance::new(&mut server), Instance::new(&mut server)];
    one.ask(&mut server, "a", A);
    other.ask(&mut server, "b", OTHER);
    one.ask(&mut server, "b", A);
    one.listen(&mut server, "b");
    one.ask(&mut server, "b", A);
    server.simulation.close(one.asks);
    server.simulation.notice();
    assert_eq!(waiters(&mut server, "b"), [1; 4]);
    // Another thread closes a cycle with it.
    other.ask(&mut server, "a", OTHER);
    other.listen(&mut server, "a");
    other.ask(&mut server, "a", OTHER);
    assert!(found(&mut server).contains(&"suspect deadlock".to_owned()));
    server.simulation.close(one.listens);
    server.simulation.notice();
    assert_eq!(waiters(&mut server, "b")[..3], [0; 3]);
}

/// The history truncates long names; searches truncate them too.
#[test]
fn a_thread_waits_for_a_lock_of_a_long_name() {
    let (mut server, key) = (Server::new(), "l".repeat(1025));
    let [one, other] = [Instance::new(&mut server), Instance::new(&mut server)];
    other.ask(&mut server, &key, OTHER);
    one.ask(&mut server, &key, A);
    one.listen(&mut server, &key);
    assert_eq!(waiters(&mut server, &key)[..3], [0; 3]);
    one.ask(&mut server, &key, A);
    assert_eq!(waiters(&mut server, &key)[..3], [1; 3]);
}
