//! Owners that wait for each other as Redisson does, and the end of their deadlock.

use crate::history::fixture::{A, B, Server};
use crate::history::verify::found;

/// Joins the queue of a fair lock.
const JOIN: &str = "redis.call('rpush', 'redisson_lock_queue:{' .. KEYS[1] .. '}', ARGV[1]); return 1";

/// A killed process does not give way by itself, whatever the purpose of its connections and the order in which they
/// end.
#[test]
fn a_deadlock_of_a_killed_process_stays_a_suspect() {
    for is_listener_first in [false, true] {
        let mut server = Server::new();
        let [one, two, pooled, listener] = [(); 4].map(|()| server.client());
        server.take(one, "l", A, 100_000);
        server.take(two, "m", B, 100_000);
        server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{m}}:{A}"));
        server.send(pooled, &format!("EVAL \"{JOIN}\" 1 m {A}"));
        server.send(two, &format!("EVAL \"{JOIN}\" 1 l {B}"));
        assert_eq!(found(&mut server), ["suspect", "suspect deadlock"]);
        let ending = if is_listener_first { [listener, pooled] } else { [pooled, listener] };
        for client in ending {
            server.simulation.close(client);
            server.simulation.notice();
        }
        assert_eq!(found(&mut server), ["suspect", "lint queue-leak", "suspect deadlock"]);
        let left = server.entry_lines(&["cause"]);
        assert!(left.contains(&"left-queue disconnected".to_owned()), "{left:?}");
    }
}

/// A plain lock is judged alike: the subscription to its channel ends with the connection.
#[test]
fn a_deadlock_of_plain_locks_of_a_killed_process_stays_a_suspect() {
    for (ending, expected) in
        [("", &["suspect", "suspect deadlock"][..]), ("UNSUBSCRIBE", &["ok", "lint deadlock"])]
    {
        let mut server = Server::new();
        let [one, two, of_one, of_two] = [(); 4].map(|()| server.client());
        let b = B.replace("8743", "9743");
        server.take(one, "l", A, 100_000);
        server.take(two, "m", &b, 100_000);
        server.take(one, "m", A, 100_000);
        server.send(of_one, "SUBSCRIBE redisson_lock__channel:{m}");
        server.take(one, "m", A, 100_000);
        server.take(two, "l", &b, 100_000);
        server.send(of_two, "SUBSCRIBE redisson_lock__channel:{l}");
        server.take(two, "l", &b, 100_000);
        assert_eq!(found(&mut server), ["suspect", "suspect deadlock"]);
        if ending.is_empty() {
            server.simulation.close(of_one);
            server.simulation.notice();
        } else {
            server.send(of_one, ending);
        }
        assert_eq!(found(&mut server), expected, "{ending}");
    }
}

/// Two instances are refused a lock before either has subscribed. Both wait then: LOCK.GRAPH and LOCK.VERIFY agree.
#[test]
fn a_deadlock_is_found_whichever_of_two_instances_subscribes_first() {
    for order in [[0, 1], [1, 0]] {
        let mut server = Server::new();
        let [holder, one, two, of_holder] = [(); 4].map(|()| server.client());
        let listeners = [(); 2].map(|()| server.client());
        let [other, third] = ["9743", "a743"].map(|instance| B.replace("8743", instance));
        server.take(one, "l", A, 100_000);
        server.take(holder, "m", &third, 100_000);
        server.take(one, "m", A, 100_000);
        server.take(two, "m", &other, 100_000);
        for at in order {
            server.send(listeners[at], "SUBSCRIBE redisson_lock__channel:{m}");
        }
        server.take(one, "m", A, 100_000);
        server.take(two, "m", &other, 100_000);
        server.take(holder, "l", &third, 100_000);
        server.send(of_holder, "SUBSCRIBE redisson_lock__channel:{l}");
        server.take(holder, "l", &third, 100_000);
        assert_eq!(found(&mut server), ["suspect", "suspect deadlock"], "{order:?}");
        let graph = server.ask("LOCK.GRAPH INFERRED");
        assert!(graph.matches(A).count() >= 2, "{order:?}: {graph}");
    }
}

/// A client may subscribe to two channels of a lock. Its instance stops listening only when the client has left both.
#[test]
fn an_instance_that_left_both_channels_of_a_lock_can_subscribe_again() {
    let mut server = Server::new();
    let [holder, one, listener, next] = [(); 4].map(|()| server.client());
    let [other, third] = ["9743", "a743"].map(|instance| B.replace("8743", instance));
    server.take(holder, "m", &third, 100_000);
    server.take(one, "m", &other, 100_000);
    server.take(one, "m", A, 100_000);
    server.send(listener, "SUBSCRIBE redisson_lock__channel:{m} redisson_rwlock:{m}");
    server.send(listener, "UNSUBSCRIBE");
    server.take(one, "m", A, 100_000);
    server.send(next, "SUBSCRIBE redisson_lock__channel:{m}");
    server.take(one, "m", A, 100_000);
    assert_eq!(server.ask("AWAIT.WAITERS m 1 LIMIT 1"), ":1\r\n");
}

/// One thread is one owner, whether it asks for the write lock of a read-write lock or stands in a fair queue.
#[test]
fn a_refused_writer_waits_by_its_own_channel() {
    let mut server = Server::new();
    let [one, two, pooled, listener] = [(); 4].map(|()| server.client());
    server.take(one, "l", A, 100_000);
    server.take(two, "m", B, 100_000);
    server.take(two, "W", B, 100_000);
    server.send(one, &format!("EVAL \"return 5\" 1 W 30000 {A}:write"));
    server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{m}}:{A}"));
    server.send(pooled, &format!("EVAL \"{JOIN}\" 1 m {A}"));
    server.simulation.close(pooled);
    server.simulation.notice();
    server.send(two, &format!("EVAL \"{JOIN}\" 1 l {B}"));
    assert_eq!(found(&mut server), ["suspect", "suspect deadlock"]);
}

/// An owner in a fair queue may begin to listen after its requesting connection has closed: it waits again.
#[test]
fn a_place_in_a_fair_queue_counts_once_its_owner_subscribes() {
    let mut server = Server::new();
    let [one, two, pooled, listener] = [(); 4].map(|()| server.client());
    server.take(one, "l", A, 100_000);
    server.take(two, "m", B, 100_000);
    server.send(pooled, &format!("EVAL \"{JOIN}\" 1 m {A}"));
    server.simulation.close(pooled);
    server.simulation.notice();
    server.take(one, "other", A, 100_000);
    server.send(listener, &format!("SUBSCRIBE redisson_lock__channel:{{m}}:{A}"));
    server.send(two, &format!("EVAL \"{JOIN}\" 1 l {B}"));
    assert_eq!(found(&mut server), ["suspect", "suspect deadlock"]);
}

/// Its place in the line of a lock that others read blocks nobody: it waits for another lock.
#[test]
fn a_waiter_for_several_shared_locks_does_not_wait_for_readers() {
    let mut server = Server::new();
    let [one, two, three] = [(); 3].map(|()| server.client());
    server.send(one, "LOCK.ACQUIRE report alice SHARED PX 1000000");
    server.send(two, "LOCK.ACQUIRE stock bob PX 1000000");
    server.send(three, "LOCK.ACQUIRE cash carol EXCLUSIVE PX 1000000");
    server.send(two, "LOCK.MACQUIRE 2 report cash bob SHARED PX 1000000 BLOCK 0");
    server.send(one, "LOCK.ACQUIRE stock alice PX 1000000 BLOCK 0");
    assert_eq!(found(&mut server), ["ok"]);
}
