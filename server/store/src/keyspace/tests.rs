//! Tests of the keyspace alone: expiry, effects, waiters, watches, SCAN.

use super::*;
use crate::time::{ExpiryRule, Now};
use crate::values::{Encodings, Hash, Str, Value};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn place(arrival: u64) -> Place {
    Place { rank: 0, arrival }
}
use std::num::NonZeroU64;

fn at(wall_ms: i64) -> Now {
    Now { wall_us: wall_ms * 1000, monotonic_us: 0 }
}

fn keyspace() -> Keyspace {
    let mut keyspace = Keyspace::new(2, 7);
    keyspace.set_published(EventClasses::parse(b"AKE").unwrap());
    keyspace
}

fn put(keyspace: &mut Keyspace, key: &[u8]) {
    keyspace.tx(0, at(0)).set(key, Value::Str(Str::new(b"v")), false);
}

fn effects(keyspace: &mut Keyspace) -> Vec<String> {
    let text = |effect: Effect| match effect {
        Effect::Notify { db, event, key } => format!("{db} {} {}", event.name, String::from_utf8_lossy(&key)),
        Effect::Publish { channel, message } => {
            format!("{} <- {}", String::from_utf8_lossy(&channel), String::from_utf8_lossy(&message))
        }
        _ => "(more)".to_owned(),
    };
    std::iter::from_fn(|| keyspace.next_effect()).map(text).collect()
}

fn ready(keyspace: &mut Keyspace) -> Vec<ReadyKey> {
    std::iter::from_fn(|| keyspace.waiters.next_ready()).collect()
}

#[test]
fn a_key_expires_at_its_millisecond_with_an_event() {
    let mut keyspace = keyspace();
    put(&mut keyspace, b"k");
    keyspace.tx(0, at(0)).set_deadline(b"k", 10);
    assert_eq!(keyspace.next_deadline(), Some(10));
    assert!(!keyspace.expire_next(at(9), ExpiryRule::Reached));
    assert!(keyspace.tx(0, at(9)).exists(b"k"));
    assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
    assert!(!keyspace.tx(0, at(10)).exists(b"k"));
    assert_eq!(effects(&mut keyspace), ["0 expired k"]);
    assert_eq!(keyspace.sizes(0), (0, 0));
}

#[test]
fn a_deadline_set_in_the_past_is_due_when_the_command_ends() {
    let mut keyspace = keyspace();
    put(&mut keyspace, b"k");
    put(&mut keyspace, b"later");
    keyspace.tx(0, at(10)).set_deadline(b"later", 11);
    keyspace.expire_overdue(at(10), ExpiryRule::Reached);
    keyspace.tx(0, at(10)).set_deadline(b"k", 10);
    assert!(keyspace.tx(0, at(10)).exists(b"k"));
    keyspace.expire_overdue(at(10), ExpiryRule::Reached);
    assert!(!keyspace.tx(0, at(10)).exists(b"k"));
    assert!(keyspace.tx(0, at(10)).exists(b"later"));
    assert_eq!(effects(&mut keyspace), ["0 expired k"]);
}

#[test]
fn overwriting_removes_the_deadline_unless_kept() {
    let mut keyspace = keyspace();
    put(&mut keyspace, b"k");
    keyspace.tx(0, at(0)).set_deadline(b"k", 10);
    keyspace.tx(0, at(0)).set(b"k", Value::Str(Str::new(b"w")), true);
    assert_eq!(keyspace.tx(0, at(0)).deadline(b"k"), Some(10));
    put(&mut keyspace, b"k");
    assert_eq!(keyspace.tx(0, at(0)).deadline(b"k"), None);
    assert_eq!((keyspace.timers(), keyspace.sizes(0)), (0, (1, 0)));
}

#[test]
fn flushing_removes_deadlines_and_signals_waiters_it_can_serve() {
    let mut keyspace = keyspace();
    put(&mut keyspace, b"k");
    keyspace.tx(0, at(0)).set_deadline(b"k", 10);
    for (key, class, of_absent) in
        [(b"k", "list", false), (b"l", "list", false), (b"m", "list", false), (b"m", "lock", true)]
    {
        let place = place(keyspace.waiters.next_ticket());
        let waiter = Waiter { id: place.arrival, class, label: Box::default(), of_absent };
        keyspace.add_waiter(0, key, class, place, waiter);
    }
    assert_eq!(keyspace.tx(0, at(0)).flush(), 1);
    assert_eq!(keyspace.timers(), 0);
    let signalled = |key: &[u8]| ReadyKey { db: 0, key: key.into(), what: Signal::Changed };
    assert_eq!(ready(&mut keyspace), [signalled(b"k"), signalled(b"m")]);
}

/// Records its callbacks, and marks every key that is set because it was absent.
#[derive(Debug, Default)]
struct Recorder(Vec<String>);

impl Subscriber for Recorder {
    fn interests(&self) -> Interests {
        Interests::ADDED.with(Interests::VALUES)
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        let key = String::from_utf8_lossy(change.key);
        let what = match *change.what {
            What::Changed { .. } => "changed".to_owned(),
            What::ChangedQuietly => "changed quietly".to_owned(),
            What::FieldAdded { field, .. } => format!("field {} of", String::from_utf8_lossy(field)),
            What::FieldRaised { .. } => "more in".to_owned(),
            What::Redated => "redated".to_owned(),
            What::FieldRemoved { field, .. } => format!("no field {} of", String::from_utf8_lossy(field)),
            What::SetIfAbsent { at, .. } => {
                context.set_mark(at, *b"marked");
                "set".to_owned()
            }
            What::Copied { from, mark, moved, .. } => {
                format!("{} {} {moved} to", String::from_utf8_lossy(from), mark.is_some())
            }
            What::Restored { .. } => "restored".to_owned(),
            What::Replaced { before, .. } => format!("another {}", before.type_name()),
            What::Removed(Removal { mark, cause, .. }) => format!("{cause:?} {} of", mark.is_some()),
            What::Swapped { one, other } => format!("{one} for {other}"),
            What::Leaving { to } => format!("leaving for {to}"),
            What::Arrived { from } => format!("arrived from {from}"),
            What::Flushed(flushed) => {
                format!("flushed {} {}", flushed.marked().count(), flushed.waited_for().count())
            }
        };
        let actor = change.actor;
        self.0.push(format!("{what} {key} by {:?} {:?}", actor.called_by, actor.session));
    }
}

/// The recorded callbacks since the last call.
fn take_callbacks(keyspace: &mut Keyspace) -> Vec<String> {
    let mut tx = keyspace.tx(0, at(0));
    let (recorder, _) = tx.subscriber_mut::<Recorder>().unwrap();
    std::mem::take(&mut recorder.0)
}

fn mark(keyspace: &mut Keyspace, key: &[u8]) {
    let mut tx = keyspace.tx(0, at(0));
    let entry = tx.set(key, Value::Str(Str::new(b"v")), false);
    tx.set_if_absent(entry, key, b"v");
}

#[test]
fn a_subscriber_is_notified_of_marked_and_awaited_keys() {
    let mut keyspace = keyspace();
    keyspace.subscribe(Box::<Recorder>::default());
    put(&mut keyspace, b"plain");
    put(&mut keyspace, b"plain");
    keyspace.tx(0, at(0)).delete(b"plain");
    assert!(take_callbacks(&mut keyspace).is_empty());
    for key in [b"a", b"b", b"c"] {
        mark(&mut keyspace, key);
    }
    assert_eq!(
        take_callbacks(&mut keyspace),
        ["set a by Engine None", "set b by Engine None", "set c by Engine None"]
    );
    put(&mut keyspace, b"a");
    let actor = Actor { session: NonZeroU64::new(7), called_by: CalledBy::Client, ..Actor::ENGINE };
    keyspace.tx_by(&actor, 0, at(0)).rename(b"b", b"a");
    assert_eq!(
        take_callbacks(&mut keyspace),
        [
            "another string a by Engine None",
            "Overwrite true of a by Client Some(7)",
            "b true true to a by Client Some(7)"
        ]
    );
    keyspace.tx(0, at(0)).copy(b"c", 1, b"d");
    keyspace.tx(0, at(0)).delete(b"c");
    assert_eq!(
        take_callbacks(&mut keyspace),
        ["c true false to d by Engine None", "Command true of c by Engine None"]
    );
    let place = place(keyspace.waiters.next_ticket());
    keyspace.add_waiter(
        0,
        b"w",
        "list",
        place,
        Waiter { id: 1, class: "list", label: Box::default(), of_absent: false },
    );
    put(&mut keyspace, b"w");
    keyspace.tx(0, at(0)).delete(b"w");
    put(&mut keyspace, b"w");
    mark(&mut keyspace, b"e");
    keyspace.tx(0, at(0)).flush();
    assert_eq!(
        take_callbacks(&mut keyspace),
        ["Command false of w by Engine None", "set e by Engine None", "flushed 1 1  by Engine None"]
    );
    keyspace.remove_waiter(0, b"w", place);
    put(&mut keyspace, b"w");
    keyspace.tx(0, at(0)).delete(b"w");
    assert!(take_callbacks(&mut keyspace).is_empty());
}

/// Wants changes of keys, as a client's cache would.
#[derive(Debug, Default)]
struct Cache(Vec<String>);

impl Subscriber for Cache {
    fn interests(&self) -> Interests {
        Interests::KEYS
    }

    fn changed(&mut self, change: &Change<'_>, _: &mut Context<'_>) {
        let key = String::from_utf8_lossy(change.key).into_owned();
        self.0.push(match change.what {
            What::Changed { event } => format!("{} {key}", event.map_or("touched", |event| event.name)),
            What::Flushed(_) => format!("flushed {}", change.db),
            what => format!("not asked for: {what:?}"),
        });
    }
}

#[test]
fn a_subscriber_is_notified_of_every_kind_of_change() {
    let mut keyspace = keyspace();
    keyspace.subscribe(Box::<Cache>::default());
    put(&mut keyspace, b"k");
    keyspace.tx(0, at(0)).changed(b"k", events::SET);
    keyspace.tx(0, at(0)).delete(b"k");
    put(&mut keyspace, b"k");
    keyspace.tx(0, at(0)).set_deadline(b"k", 10);
    assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
    keyspace.tx(0, at(10)).touched(b"k");
    keyspace.tx(1, at(10)).flush();
    let told = &keyspace.subscriber::<Cache>().unwrap().0;
    assert_eq!(told[..], ["set k", "del k", "expired k", "touched k", "flushed 1"]);
}

#[test]
fn a_subscriber_is_notified_of_deadlines_in_an_advance_unless_quiet() {
    let mut keyspace = keyspace();
    keyspace.subscribe(Box::<Recorder>::default());
    let mut expire = |quiet: bool, turn: bool| {
        put(&mut keyspace, b"k");
        keyspace.tx(0, at(0)).set_deadline(b"k", 10);
        keyspace.advance_quietly(quiet);
        if turn {
            keyspace.note_advance();
        }
        assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
        keyspace.advance_quietly(false);
        take_callbacks(&mut keyspace)
    };
    assert_eq!(expire(false, true), ["Deadline { turned: true } false of k by Engine None"]);
    assert!(expire(true, true).is_empty());
    assert!(expire(false, false).is_empty());
}

#[test]
fn interests_combine_watches_waiters_and_publishing() {
    let mut keyspace = Keyspace::new(1, 7);
    assert_eq!(keyspace.interests, Interests::NONE);
    keyspace.watch(0, b"k", 1);
    assert_eq!(keyspace.interests, Interests::QUEUED_KEYS);
    keyspace.unwatch(0, b"k", 1);
    keyspace.add_waiter(
        0,
        b"k",
        "list",
        place(1),
        Waiter { id: 1, class: "list", label: Box::default(), of_absent: false },
    );
    assert_eq!(keyspace.interests, Interests::QUEUED_KEYS.with(Interests::VALUES));
    keyspace.remove_waiter(0, b"k", place(1));
    assert_eq!(keyspace.interests, Interests::NONE);
    keyspace.set_published(EventClasses::parse(b"K$").unwrap());
    assert_eq!(keyspace.interests, Interests::of_event(events::SET));
    keyspace.subscribe(Box::<Recorder>::default());
    assert_eq!(keyspace.interests, Interests::of_event(events::SET).with(Interests::ADDED));
}

#[test]
fn values_that_take_long_to_free_are_freed_elsewhere() {
    let mut keyspace = Keyspace::new(1, 7);
    keyspace.subscribe(Box::<Recorder>::default());
    let large = |keyspace: &mut Keyspace| {
        let encodings = Encodings::default();
        let mut tx = keyspace.tx(0, at(0));
        let hash = tx.write_or_new::<Hash>(b"large").unwrap().value;
        for n in 0..5000_u32 {
            hash.set(&n.to_le_bytes(), b"v", &encodings);
        }
    };
    let parts = |keyspace: &mut Keyspace| keyspace.take_garbage().map(|garbage| garbage.parts());
    put(&mut keyspace, b"small");
    keyspace.tx(0, at(0)).delete(b"small");
    assert_eq!(parts(&mut keyspace), None);
    large(&mut keyspace);
    keyspace.tx(0, at(0)).delete(b"large");
    assert_eq!(parts(&mut keyspace), Some(5000));
    large(&mut keyspace);
    put(&mut keyspace, b"large");
    assert_eq!(parts(&mut keyspace), Some(5000));
    keyspace.tx(0, at(0)).delete(b"large");
    large(&mut keyspace);
    keyspace.tx(0, at(0)).set_deadline(b"large", 1);
    assert!(keyspace.expire_next(at(1), ExpiryRule::Reached));
    assert_eq!(parts(&mut keyspace), Some(5000));
    for n in 0..10_000_u32 {
        let key = n.to_le_bytes();
        put(&mut keyspace, &key);
        mark(&mut keyspace, &key);
        keyspace.tx(0, at(0)).set_deadline(&key, 10);
    }
    assert_eq!(keyspace.tx(0, at(0)).flush(), 10_000);
    assert_eq!((keyspace.timers(), keyspace.next_deadline()), (0, None));
    assert!(keyspace.tx(0, at(0)).marked(&7_u32.to_le_bytes()).is_none());
    assert_eq!(parts(&mut keyspace), Some(10_000));
    assert_eq!(parts(&mut keyspace), None);
}

#[test]
fn expired_keys_that_await_deletion_are_invisible() {
    let mut keyspace = keyspace();
    for key in [b"a", b"b", b"c", b"d"] {
        put(&mut keyspace, key);
        keyspace.tx(0, at(0)).set_deadline(key, 10);
    }
    put(&mut keyspace, b"stays");
    keyspace.tx(0, at(0)).set_deadline(b"stays", 11);
    effects(&mut keyspace);
    assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
    keyspace.set_expiry_backlog(Some(10));
    let mut tx = keyspace.tx(0, at(10));
    assert_eq!((tx.len(), tx.exists(b"b"), tx.deadline(b"c")), (1, false, None));
    assert!(tx.peek(b"b").is_none() && tx.exists(b"stays"));
    assert_eq!(tx.iter().map(|(key, _)| key.to_vec()).collect::<Vec<_>>(), [b"stays"]);
    let mut seen = Vec::new();
    assert_eq!(tx.scan(0, 10, &mut |key, _| seen.push(key.to_vec())), 0);
    assert_eq!(seen, [b"stays"]);
    assert!((0..20).all(|_| *tx.random_key().unwrap() == *b"stays"));
    // The look-up for the change expires the key first.
    assert!(!tx.clear_deadline(b"d"));
    assert!(tx.write_or_new::<Str>(b"c").unwrap().value.is_empty());
    assert_eq!(keyspace.sizes(0), (2, 1));
    while keyspace.expire_next(at(10), ExpiryRule::Reached) {}
    keyspace.set_expiry_backlog(None);
    assert_eq!(keyspace.sizes(0), (2, 1));
    assert_eq!(effects(&mut keyspace), ["0 expired a", "0 expired d", "0 expired c", "0 expired b"]);
}

#[derive(Debug, Default)]
struct KeyNames(Vec<u8>);

impl KeyWriter for KeyNames {
    fn database(&mut self, _: usize, _: usize, _: usize) {}

    fn key(&mut self, (_, key): (usize, &[u8]), _: Option<i64>, _: (AccessClock, &Accesses), _: &Value) {
        self.0.extend_from_slice(key);
    }

    fn written(&self) -> usize {
        1 + self.0.len()
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0
    }
}

#[test]
fn a_snapshot_has_the_keys_that_were_not_due_when_it_began() {
    let mut keyspace = keyspace();
    for (key, deadline_ms) in [(b"a", 10), (b"b", 20)] {
        put(&mut keyspace, key);
        keyspace.tx(0, at(0)).set_deadline(key, deadline_ms);
    }
    keyspace.set_expiry_backlog(Some(10));
    keyspace.begin_snapshot(Box::new(KeyNames::default()), FlushedKeys::Written);
    keyspace.set_expiry_backlog(Some(20));
    assert_eq!(keyspace.go_on_with_snapshot(usize::MAX).as_deref(), Some(&b"b"[..]));
}

#[test]
fn expired_keys_break_no_watch_in_their_new_database() {
    let mut keyspace = keyspace();
    for (key, db) in [(b"due" as &[u8], 0), (b"now", 0), (b"both", 0), (b"both", 1)] {
        keyspace.tx(db, at(0)).set(key, Value::Str(Str::new(b"v")), false);
    }
    for db in [0, 1] {
        keyspace.tx(db, at(0)).set_deadline(b"due", 10);
        keyspace.tx(db, at(0)).set_deadline(b"both", 10);
    }
    assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
    keyspace.set_expiry_backlog(Some(10));
    keyspace.watch(1, b"due", 1);
    keyspace.watch(1, b"now", 2);
    keyspace.expire_if_due(1, b"both", at(10));
    keyspace.watch(1, b"both", 3);
    keyspace.tx(0, at(10)).swap(0, 1);
    for key in [b"due" as &[u8], b"now", b"both"] {
        keyspace.expire_if_due(1, key, at(10));
    }
    assert_eq!(keyspace.watches.next_broken(), Some(2));
    assert_eq!(keyspace.watches.next_broken(), None);
}

#[test]
fn deadlines_at_one_instant_fire_in_order_across_databases() {
    let mut keyspace = Keyspace::new(3, 7);
    keyspace.set_published(EventClasses::parse(b"AKE").unwrap());
    for (db, key, deadline) in [(2, "a", 10), (0, "b", 10), (1, "c", 9), (2, "d", 10), (0, "e", 9)] {
        keyspace.tx(db, at(0)).set(key.as_bytes(), Value::Str(Str::new(b"v")), false);
        keyspace.tx(db, at(0)).set_deadline(key.as_bytes(), deadline);
    }
    effects(&mut keyspace);
    while keyspace.expire_next(at(10), ExpiryRule::Reached) {}
    assert_eq!(
        effects(&mut keyspace),
        ["1 expired c", "0 expired e", "2 expired a", "0 expired b", "2 expired d"]
    );
}

#[test]
fn a_change_breaks_only_watches_of_its_key_and_database() {
    let mut keyspace = keyspace();
    keyspace.watch(0, b"k", 1);
    keyspace.watch(1, b"k", 2);
    keyspace.watch(0, b"l", 3);
    keyspace.tx(0, at(0)).changed(b"k", events::SET);
    assert_eq!(keyspace.watches.next_broken(), Some(1));
    assert_eq!(keyspace.watches.next_broken(), None);
}

#[test]
fn a_key_signalled_often_is_checked_once_in_order_of_arrival() {
    let mut keyspace = keyspace();
    for id in 1..=3 {
        let place = place(keyspace.waiters.next_ticket());
        let waiter = Waiter { id, class: "list", label: Box::default(), of_absent: false };
        keyspace.add_waiter(0, b"k", "list", place, waiter);
    }
    keyspace.tx(0, at(0)).changed(b"k", events::RPUSH);
    keyspace.tx(0, at(0)).changed(b"k", events::RPUSH);
    let ready = ready(&mut keyspace);
    assert_eq!(ready.len(), 1);
    let first = keyspace.waiters.next_after(&ready[0], Place::FRONT, |_| true).unwrap();
    assert_eq!((first.0, first.1.id), (place(1), 1));
    assert_eq!(keyspace.waiters.next_after(&ready[0], place(1), |_| true).unwrap().1.id, 2);
    keyspace.remove_waiter(0, b"k", place(2));
    assert_eq!(keyspace.waiters.next_after(&ready[0], place(1), |_| true).unwrap().1.id, 3);
}

#[test]
fn classes_of_events_read_and_write_as_redis_spells_them() {
    for (given, shown) in [
        ("AKE", "AKE"),
        ("Egx", "gxE"),
        ("KEA", "AKE"),
        ("", ""),
        ("Kg$lshzxetd", "AK"),
        ("Kgm", "gKm"),
        ("KAn", "AK"),
        ("En", "nE"),
    ] {
        assert_eq!(EventClasses::parse(given.as_bytes()).unwrap().text(), shown, "{given}");
    }
    assert_eq!(EventClasses::parse(b"Kq"), None);
    assert!(!EventClasses::parse(b"g").unwrap().wants(EventClasses::GENERIC));
}

proptest! {
    /// A full scan returns every key that exists throughout, whichever keys come and go between the calls.
    #[test]
    fn a_scan_returns_every_key_that_exists_throughout(
        stay in 0..3000u32,
        count in 1..50usize,
        churn in prop::collection::vec((0..4000u32, any::<bool>()), 0..400),
    ) {
        let mut keyspace = Keyspace::new(1, 3);
        let name = |kind: &str, n: u32| format!("{kind}:{n}").into_bytes();
        (0..stay).for_each(|n| put(&mut keyspace, &name("stay", n)));
        let mut churn = churn.into_iter();
        let mut seen = BTreeSet::new();
        let mut cursor = 0;
        loop {
            let tx = keyspace.tx(0, at(0));
            cursor = tx.scan(cursor, count, &mut |key, _| { seen.insert(key.to_vec()); });
            if cursor == 0 {
                break;
            }
            for (n, add) in churn.by_ref().take(20) {
                let key = name("churn", n);
                if add { put(&mut keyspace, &key) } else { keyspace.tx(0, at(0)).delete(&key); }
            }
        }
        let missed = (0..stay).map(|n| name("stay", n)).filter(|key| !seen.contains(key)).count();
        prop_assert_eq!(missed, 0);
    }

    /// Sizes and timers stay equal to those of a plain map.
    #[test]
    fn counts_agree_with_a_plain_map(ops in prop::collection::vec((0..5u8, 0..20u8, 1..100i64), 0..300)) {
        let mut keyspace = Keyspace::new(1, 3);
        let mut model = std::collections::BTreeMap::<u8, Option<i64>>::new();
        let mut now = 0;
        for (op, key, ms) in ops {
            let name = [key];
            match op {
                0 => { put(&mut keyspace, &name); model.insert(key, None); }
                1 => { keyspace.tx(0, at(now)).take(&name); model.remove(&key); }
                2 => {
                    keyspace.tx(0, at(now)).set_deadline(&name, now + ms);
                    if let Some(deadline) = model.get_mut(&key) { *deadline = Some(now + ms); }
                }
                3 => {
                    keyspace.tx(0, at(now)).clear_deadline(&name);
                    if let Some(deadline) = model.get_mut(&key) { *deadline = None; }
                }
                _ => {
                    now += ms / 4;
                    while keyspace.expire_next(at(now), ExpiryRule::Reached) {}
                    model.retain(|_, deadline| deadline.is_none_or(|deadline| deadline > now));
                }
            }
            let with_deadline = model.values().flatten().count();
            prop_assert_eq!(keyspace.sizes(0), (model.len(), with_deadline));
            prop_assert_eq!(keyspace.timers(), with_deadline);
            prop_assert_eq!(keyspace.next_deadline(), model.values().flatten().min().copied());
        }
    }
}

#[test]
fn prefetching_finds_the_looked_up_key_and_changes_nothing() {
    let mut keyspace = keyspace();
    for n in 0..30_000 {
        let key = format!("key:{n}");
        let value = Value::Str(Str::new(b"a text that is not kept within the entry"));
        keyspace.tx(0, at(0)).set(key.as_bytes(), value, false);
    }
    assert!(keyspace.is_large(0) && !keyspace.is_large(1));
    let before = keyspace.counters.clone();
    for n in [0, 29_999, 30_000] {
        keyspace.prefetch(0, format!("key:{n}").as_bytes());
    }
    keyspace.prefetch(1, b"key:0");
    keyspace.fetch();
    let after = keyspace.counters.clone();
    assert_eq!((before.keyspace_hits, before.keyspace_misses), (after.keyspace_hits, after.keyspace_misses));
    assert_eq!(keyspace.sizes(0), (30_000, 0));
}

#[test]
fn a_key_has_one_timer_of_each_kind_and_they_fire_in_order() {
    let mut keyspace = Keyspace::new(2, 7);
    for (db, key, timer, at_ms) in [
        (0, &b"a"[..], KeyTimer::Retry, 30),
        (0, b"a", KeyTimer::Lease, 20),
        (1, b"a", KeyTimer::Lease, 10),
        (0, b"a", KeyTimer::Retry, 10),
        (0, b"b", KeyTimer::Retry, 5),
    ] {
        let order = keyspace.next_order();
        keyspace.tx(db, at(0)).set_key_timer(key, timer, Some((at_ms, order)));
    }
    keyspace.tx(0, at(0)).set_key_timer(b"b", KeyTimer::Retry, None);
    assert_eq!(keyspace.key_timers.len(), 3);
    assert!(keyspace.key_timers.memory() > 0);
    assert_eq!(keyspace.pop_key_timer(at(9), ExpiryRule::Reached), None);
    let mut fired = Vec::new();
    while let Some((db, key, timer)) = keyspace.pop_key_timer(at(20), ExpiryRule::Reached) {
        fired.push((db, key, timer));
    }
    let a: Box<[u8]> = (*b"a").into();
    let expected =
        [(1, a.clone(), KeyTimer::Lease), (0, a.clone(), KeyTimer::Retry), (0, a, KeyTimer::Lease)];
    assert_eq!(fired, expected);
    assert_eq!((keyspace.key_timers.len(), keyspace.key_timers.memory()), (0, 0));
}

#[test]
fn deadlines_reached_by_an_advance_stay_over_when_time_runs() {
    let mut keyspace = Keyspace::new(1, 7);
    keyspace.go_on_at(at(10), ExpiryRule::Past);
    assert_eq!(keyspace.tx(0, at(10)).over_until_ms(), 9);
    keyspace.go_on_at(at(15), ExpiryRule::Reached);
    assert_eq!(keyspace.tx(0, at(15)).over_until_ms(), 15);
    keyspace.go_on_at(at(15), ExpiryRule::Past);
    assert_eq!(keyspace.tx(0, at(15)).over_until_ms(), 15);
    keyspace.go_on_at(at(16), ExpiryRule::Past);
    assert_eq!(keyspace.tx(0, at(16)).over_until_ms(), 15);
    keyspace.go_on_at(at(3), ExpiryRule::Past);
    assert_eq!(keyspace.tx(0, at(3)).over_until_ms(), 2);
}
