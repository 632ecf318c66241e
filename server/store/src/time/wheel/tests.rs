//! Tests of the wheel against a sorted map, and of its edge cases.

use std::collections::BTreeMap;
use std::ops::Range;

use proptest::prelude::*;

use super::links::ROOT;
use super::ring::{Content, MAX_LIST_LENGTH, Position, digit};
use super::*;

/// Walks the whole wheel and checks the invariants of every operation.
fn check<T: Copy + Default>(wheel: &Wheel<T>) {
    if wheel.rings.is_empty() {
        return assert_eq!(wheel.len(), 0);
    }
    let mut timers = 0;
    let mut slots = vec![ROOT];
    while let Some(place) = slots.pop() {
        let ring = wheel.rings.get(place.ring);
        match ring.content(place.digit) {
            Content::Empty => assert_eq!(place, ROOT, "an empty slot is marked as in use"),
            Content::Ring(finer) => {
                let finer_ring = wheel.rings.get(finer);
                assert_eq!(finer_ring.home, place);
                assert!(finer_ring.level < ring.level);
                assert!(place == ROOT || digit(finer_ring.key, ring.level) == place.digit);
                let only = finer_ring.first().filter(|_| finer_ring.occupied() == 1);
                let only = only.map(|digit| finer_ring.content(digit));
                assert!(
                    finer_ring.occupied() > 0 && !matches!(only, Some(Content::Ring(_))),
                    "a ring of no use"
                );
                let used = (0..64).filter(|&digit| finer_ring.content(digit) != Content::Empty);
                slots.extend(used.map(|digit| Position { ring: finer, digit }));
            }
            Content::List(tail) => {
                let list: Vec<_> = wheel.list(tail).collect();
                timers += list.len();
                if ring.level > 0 {
                    assert_eq!(list.len(), usize::from(ring.length(place.digit)));
                    assert!(list.len() <= MAX_LIST_LENGTH as usize);
                }
                for &(key, id) in &list {
                    assert!(place == ROOT || (ring.covers(key) && ring.digit(key) == place.digit));
                    let next = wheel.node(id).next;
                    assert_eq!(wheel.node(next).prev, if id == tail { HEAD } else { id });
                    assert!(ring.level > 0 || key == list[0].0);
                }
            }
        }
    }
    assert_eq!(timers, wheel.len());
}

/// The naive wheel: a sorted map by deadline and order of creation.
#[derive(Default)]
struct Model {
    due: BTreeMap<(i64, u64), u32>,
    live: Vec<(TimerId, i64, u64, u32)>,
    sequence: u64,
}

impl Model {
    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn pop(&mut self, now: i64) -> Option<(i64, TimerId, u32)> {
        let (&(deadline, sequence), &payload) = self.due.first_key_value()?;
        if deadline > now {
            return None;
        }
        self.due.pop_first();
        let at = self.live.iter().position(|timer| timer.2 == sequence).unwrap();
        let (id, ..) = self.live.swap_remove(at);
        Some((deadline, id, payload))
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(When),
    /// Adds several timers with one deadline.
    Tie(When, u8),
    Move(usize, When),
    Cancel(usize),
    /// Cancels all but this many timers.
    Drain(u8),
    /// Moves the time and pops the due timers.
    Advance(i64),
    /// Pops at most one timer, then goes on: timers are made while others are due.
    PopOne(i64),
    Next,
}

/// A deadline: at a distance from now, or at any instant.
#[derive(Clone, Debug)]
enum When {
    In(i64),
    At(i64),
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        6 => (-3i64..70).prop_map(When::In),
        3 => (0i64..40_000).prop_map(When::In),
        1 => (-100_000i64..0).prop_map(When::In),
        2 => (0u32..11, -1i64..2).prop_map(|(level, by)| When::In((1i64 << (6 * level)).wrapping_add(by))),
        1 => (0u32..11, -1i64..2).prop_map(|(level, by)| When::At((1i64 << (6 * level)).wrapping_add(by))),
        1 => any::<i64>().prop_map(When::At),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1)].prop_map(When::At),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => when().prop_map(Op::Insert),
        1 => (when(), 1u8..80).prop_map(|(when, n)| Op::Tie(when, n)),
        5 => (any::<usize>(), when()).prop_map(|(at, when)| Op::Move(at, when)),
        5 => any::<usize>().prop_map(Op::Cancel),
        1 => any::<u8>().prop_map(Op::Drain),
        1 => prop_oneof![0i64..70, 0i64..100_000, Just(1 << 40), Just(-5_000)].prop_map(Op::Advance),
        2 => (0i64..5).prop_map(Op::PopOne),
        4 => Just(Op::Next),
    ]
}

/// A wheel and its model, which always agree.
struct Pair {
    wheel: Wheel<u32>,
    model: Model,
    now: i64,
}

impl Pair {
    fn at(&self, when: &When) -> i64 {
        match *when {
            When::In(ms) => self.now.saturating_add(ms),
            When::At(ms) => ms,
        }
    }

    fn insert(&mut self, deadline: i64) {
        let sequence = self.model.next();
        let payload = sequence as u32;
        let id = self.wheel.insert(deadline, payload);
        self.model.due.insert((deadline, sequence), payload);
        self.model.live.push((id, deadline, sequence, payload));
    }

    fn cancel(&mut self, at: usize) {
        let (id, deadline, sequence, payload) = self.model.live.swap_remove(at);
        self.model.due.remove(&(deadline, sequence));
        assert_eq!(self.wheel.cancel(id), payload);
    }

    fn reschedule(&mut self, at: usize, deadline: i64) {
        let sequence = self.model.next();
        let timer = &mut self.model.live[at];
        assert_eq!((self.wheel.deadline(timer.0), self.wheel.payload(timer.0)), (timer.1, timer.3));
        self.model.due.remove(&(timer.1, timer.2));
        self.model.due.insert((deadline, sequence), timer.3);
        (timer.1, timer.2) = (deadline, sequence);
        self.wheel.move_to(timer.0, deadline);
    }

    fn pop(&mut self) -> bool {
        let fired = self.wheel.pop_due(self.now).map(|fired| (fired.deadline_ms, fired.id, fired.payload));
        assert_eq!(fired, self.model.pop(self.now));
        fired.is_some()
    }

    fn run(&mut self, op: &Op) {
        let live = self.model.live.len();
        match op {
            Op::Insert(when) => self.insert(self.at(when)),
            Op::Tie(when, n) => (0..*n).for_each(|_| self.insert(self.at(when))),
            Op::Move(at, when) if live > 0 => self.reschedule(at % live, self.at(when)),
            Op::Cancel(at) if live > 0 => self.cancel(at % live),
            Op::Drain(keep) => (usize::from(*keep)..live).for_each(|_| self.cancel(usize::from(*keep))),
            Op::Advance(ms) => {
                self.now = self.now.saturating_add(*ms);
                while self.pop() {}
            }
            Op::PopOne(ms) => {
                self.now = self.now.saturating_add(*ms);
                self.pop();
            }
            Op::Next => {
                let next = self.model.due.first_key_value().map(|(&(deadline, _), _)| deadline);
                assert_eq!(self.wheel.next_deadline(), next);
            }
            Op::Move(..) | Op::Cancel(..) => {}
        }
        assert_eq!(self.wheel.len(), self.model.live.len());
        let sum: i128 = self.model.live.iter().map(|timer| i128::from(timer.1)).sum();
        let mean =
            (!self.model.live.is_empty()).then(|| sum.div_euclid(self.model.live.len() as i128) as i64);
        assert_eq!(self.wheel.mean_deadline(), mean);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_wheel_behaves_as_a_sorted_map(
        start in prop_oneof![Just(0i64), Just(1_700_000_000_000), (0u32..62).prop_map(|bit| (1i64 << bit) - 2)],
        ops in proptest::collection::vec(op(), 1..400),
    ) {
        let mut pair = Pair { wheel: Wheel::new(), model: Model::default(), now: start };
        for op in &ops {
            pair.run(op);
            check(&pair.wheel);
        }
        pair.now = i64::MAX;
        while pair.pop() {}
        assert!(pair.wheel.is_empty());
        check(&pair.wheel);
    }
}

/// Pops all due timers, as (deadline, payload).
fn pop_all(wheel: &mut Wheel<u32>, now: i64) -> Vec<(i64, u32)> {
    std::iter::from_fn(|| wheel.pop_due(now)).map(|fired| (fired.deadline_ms, fired.payload)).collect()
}

fn insert_all(wheel: &mut Wheel<u32>, deadline: i64, payloads: Range<u32>) {
    for payload in payloads {
        wheel.insert(deadline, payload);
    }
}

#[test]
fn a_timer_is_due_at_its_deadline_and_not_before() {
    let mut wheel = Wheel::new();
    wheel.insert(100, 1);
    assert_eq!(wheel.pop_due(99), None);
    assert_eq!(wheel.next_deadline(), Some(100));
    assert_eq!(pop_all(&mut wheel, 100), [(100, 1)]);
    assert_eq!((wheel.next_deadline(), wheel.pop_due(i64::MAX)), (None, None));
}

#[test]
fn the_earliest_is_exact_across_every_edge_of_a_level() {
    for level in 0..10 {
        let edge = 1i64 << (6 * level);
        let mut wheel = Wheel::new();
        for by in [1, 0, -1] {
            // Enough timers for slots to open.
            insert_all(&mut wheel, edge + by, 0..50);
        }
        check(&wheel);
        for by in [-1, 0, 1] {
            assert_eq!(wheel.next_deadline(), Some(edge + by));
            assert_eq!(wheel.pop_due(edge + by - 1), None);
            assert_eq!(pop_all(&mut wheel, edge + by), (0..50).map(|n| (edge + by, n)).collect::<Vec<_>>());
        }
        assert!(wheel.is_empty());
    }
}

#[test]
fn ties_keep_the_order_of_creation_while_slots_open_and_fold() {
    let mut wheel = Wheel::new();
    insert_all(&mut wheel, 5_000, 0..20);
    let others: Vec<_> = (0..200).map(|n| wheel.insert(5_001 + i64::from(n), 0)).collect();
    insert_all(&mut wheel, 5_000, 20..40);
    check(&wheel);
    for id in others {
        wheel.cancel(id);
    }
    insert_all(&mut wheel, 5_000, 40..60);
    check(&wheel);
    assert_eq!(pop_all(&mut wheel, 5_000), (0..60).map(|n| (5_000, n)).collect::<Vec<_>>());
}

#[test]
fn a_ring_takes_the_place_of_one_with_a_single_slot() {
    let mut wheel = Wheel::new();
    insert_all(&mut wheel, 64 * 64, 0..30);
    let far = [wheel.insert(0, 0), wheel.insert(0, 0), wheel.insert(0, 0)];
    // The slot opens at level 2, where one slot is left: its list is too long to fold, and opens when full.
    far.into_iter().for_each(|id| assert_eq!(wheel.cancel(id), 0));
    check(&wheel);
    insert_all(&mut wheel, 64 * 64, 30..40);
    check(&wheel);
    assert_eq!(pop_all(&mut wheel, 64 * 64), (0..40).map(|n| (64 * 64, n)).collect::<Vec<_>>());
}

#[test]
fn a_moved_timer_counts_as_new_among_equals() {
    let mut wheel = Wheel::new();
    let ids: Vec<_> = (0..3).map(|n| wheel.insert(7, n)).collect();
    wheel.move_to(ids[0], 7);
    wheel.move_to(ids[1], 6);
    assert_eq!(wheel.deadline(ids[1]), 6);
    assert_eq!(pop_all(&mut wheel, 7), [(6, 1), (7, 2), (7, 0)]);
}

#[test]
fn past_deadlines_are_due_at_once_in_their_order() {
    let mut wheel = Wheel::new();
    wheel.insert(1_000_000, 0);
    assert_eq!(pop_all(&mut wheel, 1_000_000), [(1_000_000, 0)]);
    wheel.insert(999_990, 1);
    wheel.insert(5, 2);
    wheel.insert(i64::MIN, 3);
    wheel.insert(5, 4);
    assert_eq!(pop_all(&mut wheel, 1_000_000), [(i64::MIN, 3), (5, 2), (5, 4), (999_990, 1)]);
}

#[test]
fn a_backward_step_needs_nothing() {
    let mut wheel = Wheel::new();
    wheel.insert(2_000_000, 1);
    assert_eq!(wheel.pop_due(1_999_999), None);
    wheel.insert(1_000_500, 2);
    assert_eq!(wheel.pop_due(1_000_000), None);
    assert_eq!(wheel.next_deadline(), Some(1_000_500));
    assert_eq!(pop_all(&mut wheel, 2_000_000), [(1_000_500, 2), (2_000_000, 1)]);
}

#[test]
fn both_ends_of_time_fit() {
    let mut wheel = Wheel::new();
    for n in 0..100 {
        wheel.insert(i64::MAX, n);
        wheel.insert(i64::MIN, n);
    }
    check(&wheel);
    assert_eq!(wheel.next_deadline(), Some(i64::MIN));
    assert_eq!(pop_all(&mut wheel, i64::MAX - 1).len(), 100);
    assert_eq!(wheel.next_deadline(), Some(i64::MAX));
    assert_eq!(pop_all(&mut wheel, i64::MAX).len(), 100);
}

#[test]
fn a_timer_is_a_payload_and_sixteen_bytes() {
    assert_eq!(size_of::<Node<[u64; 2]>>(), 32);
    assert_eq!(size_of::<Option<TimerId>>(), 4);
    let mut wheel = Wheel::<[u64; 2]>::new();
    let count = 300_000;
    for n in 0..count {
        // Deadlines within an hour, in a scattered order.
        wheel.insert((n * 2_654_435_761) % 3_600_000, [0; 2]);
    }
    let bytes = wheel.heap_bytes() as i64 / count;
    assert!(bytes <= 40, "{bytes} bytes a timer");
}

#[test]
fn cancelled_timers_leave_nothing_behind() {
    let mut wheel = Wheel::new();
    for round in 0..20 {
        let ids: Vec<_> = (0..5_000i64).map(|n| wheel.insert(round * 100_000 + n * 37, n)).collect();
        let full = wheel.heap_bytes();
        // Timers are not cancelled in the order of insertion.
        for &id in ids.iter().step_by(2).chain(ids.iter().skip(1).step_by(2)) {
            wheel.cancel(id);
        }
        check(&wheel);
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
        assert!(wheel.heap_bytes() < full / 2, "{} of {full}", wheel.heap_bytes());
    }
}

#[test]
fn releasing_the_first_of_many_passes_few_timers() {
    // First in, first out, like locks. The earliest timer is searched again after each cancel, in a list of at most 32.
    let mut wheel = Wheel::new();
    let ids: Vec<_> = (0..10_000i64).map(|n| wheel.insert(30_000 + n / 3, n)).collect();
    for (n, id) in (0i64..).zip(ids) {
        assert_eq!(wheel.next_deadline(), Some(30_000 + n / 3));
        assert_eq!(wheel.cancel(id), n);
    }
}

#[test]
#[should_panic = "after its timer went"]
fn a_stale_id_is_a_bug_of_the_caller() {
    let mut wheel = Wheel::new();
    wheel.insert(1, 1);
    let id = wheel.insert(1, 2);
    wheel.cancel(id);
    wheel.cancel(id);
}
