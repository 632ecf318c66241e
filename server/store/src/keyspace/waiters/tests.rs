//! Unit tests of the queues of keys.

use super::*;
use std::hash::BuildHasher;

fn place(arrival: u64) -> Place {
    Place { rank: 0, arrival }
}

#[test]
fn waiters_of_the_requested_class_are_found_in_order_of_arrival() {
    let mut waiters = Waiters::new(7);
    let classes = ["lock", "lock", "list", "lock", "state", "list"];
    for (at, class) in (1..).zip(classes) {
        assert_eq!(waiters.next_ticket(), at);
        let label = if at % 2 == 0 { &b"even"[..] } else { b"odd" };
        waiters.add(
            0,
            b"key",
            class,
            place(at),
            Waiter { id: 100 + at, class, label: label.into(), of_absent: false },
        );
    }
    let ready = ReadyKey { db: 0, key: (*b"key").into(), what: Signal::Changed };
    let next = |waiters: &Waiters, after, not: &[&str]| {
        waiters.next_after(&ready, place(after), |class| !not.contains(&class)).map(|(_, waiter)| waiter.id)
    };
    assert_eq!(next(&waiters, 0, &[]), Some(101));
    assert_eq!(next(&waiters, 0, &["lock"]), Some(103));
    assert_eq!(next(&waiters, 3, &["lock"]), Some(105));
    assert_eq!(next(&waiters, 5, &["list"]), None);
    assert_eq!(next(&waiters, 0, &["list", "lock", "state"]), None);
    let ids = |waiters: &Waiters| waiters.queue(0, b"key").map(|(_, waiter)| waiter.id).collect::<Vec<_>>();
    assert_eq!(ids(&waiters), [101, 102, 103, 104, 105, 106]);
    waiters.remove(0, b"key", place(3));
    waiters.remove(0, b"key", place(1));
    assert_eq!(ids(&waiters), [102, 104, 105, 106]);
    let labelled = |label: &[u8]| waiters.labelled(0, b"key", label).collect::<Vec<_>>();
    assert_eq!(labelled(b"odd"), [(place(5), 105)]);
    assert_eq!(labelled(b"even"), [(place(2), 102), (place(4), 104), (place(6), 106)]);
    assert_eq!((labelled(b""), waiters.labels(0, b"key").len()), (Vec::new(), 2));
    for arrival in 1..=6 {
        waiters.remove(0, b"key", place(arrival));
    }
    assert_eq!((ids(&waiters), waiters.keys(), waiters.queue_bytes), (Vec::new(), 0, 0));
}

#[test]
fn the_seed_decides_the_hash_of_keys() {
    let hashes = [1, 1, 2].map(|seed| {
        let waiters = Waiters::new(seed);
        let place: DbKey = (0, (*b"key").into());
        (waiters.queues.hasher().hash_one(&place), waiters.ready_keys.hasher().hash_one(&place))
    });
    assert_eq!(hashes[0], hashes[1]);
    assert!(hashes[1].0 != hashes[2].0 && hashes[1].1 != hashes[2].1);
}

#[test]
fn a_higher_rank_comes_first_and_a_line_is_skipped_as_a_whole() {
    let mut waiters = Waiters::new(7);
    let arriving = [(0, "write"), (0, "read"), (-5, "read"), (5, "write"), (0, "other")];
    for (id, (rank, class)) in (1..).zip(arriving) {
        let line = if class == "other" { class } else { "lock" };
        let place = Place { rank, arrival: id };
        waiters.add(0, b"key", line, place, Waiter { id, class, label: Box::default(), of_absent: false });
    }
    let ids: Vec<WaiterId> = waiters.queue(0, b"key").map(|(_, waiter)| waiter.id).collect();
    assert_eq!(ids, [3, 1, 2, 5, 4]);
    let ready = ReadyKey { db: 0, key: (*b"key").into(), what: Signal::Changed };
    let others = waiters.next_after(&ready, Place::FRONT, |line| line != "lock");
    assert_eq!(others.map(|(_, waiter)| waiter.id), Some(5));
    assert_eq!(waiters.first_of(0, b"key", "write"), Some(Place { rank: 0, arrival: 1 }));
    assert_eq!(waiters.first_of(0, b"key", "read"), Some(Place { rank: -5, arrival: 3 }));
    assert_eq!(waiters.first_of(0, b"key", "none"), None);
}

#[test]
fn a_decrease_is_distinguished_from_other_changes() {
    use Signal::{Changed, Less};
    let mut waiters = Waiters::new(7);
    for (id, key) in [(1, b"a"), (2, b"b"), (3, b"c")] {
        let waiter = Waiter { id, class: "lock", label: Box::default(), of_absent: false };
        waiters.add(0, key, "lock", place(id), waiter);
    }
    for (key, what) in
        [(b"a", Less), (b"b", Less), (b"c", Changed), (b"b", Changed), (b"c", Less), (b"a", Less)]
    {
        waiters.signal(0, key, what);
        waiters.signal(0, b"x", what);
    }
    let told: Vec<_> =
        std::iter::from_fn(|| waiters.next_ready()).map(|ready| (ready.key[0], ready.what)).collect();
    assert_eq!(told, [(b'a', Less), (b'b', Changed), (b'c', Changed)]);
    waiters.signal(0, b"a", Less);
    assert_eq!(waiters.next_ready().map(|ready| ready.what), Some(Less));
}
