//! The memory of databases, compared with a full count of their content.

use super::*;
use crate::time::{ExpiryRule, Now};
use crate::values::{Encodings, Hash, List, Set, Str, Value, ZSet};
use proptest::prelude::*;

fn at(wall_ms: i64) -> Now {
    Now { wall_us: wall_ms * 1000, monotonic_us: 0 }
}

/// Marks every key that is set because it was absent.
#[derive(Debug)]
struct Marker;

impl Subscriber for Marker {
    fn interests(&self) -> Interests {
        Interests::ADDED
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        if let What::SetIfAbsent { at, .. } = *change.what {
            context.set_mark(at, [1; 6]);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set(usize),
    Append(usize),
    Field(u16, usize),
    Unfield(u16),
    Push(usize),
    Pop(usize),
    Member(u16),
    Score(u16, i8),
    Unscore(usize),
    Deadline(i64),
    Mark,
    Take,
    Move(u8),
    Expire(i64),
    Flush,
}

fn step() -> impl Strategy<Value = Step> {
    let size = || prop_oneof![0_usize..30, 30_usize..3000];
    prop_oneof![
        3 => size().prop_map(Step::Set),
        2 => size().prop_map(Step::Append),
        6 => (0_u16..200, size()).prop_map(|(field, len)| Step::Field(field, len)),
        2 => (0_u16..200).prop_map(Step::Unfield),
        4 => size().prop_map(Step::Push),
        2 => (0_usize..20).prop_map(Step::Pop),
        4 => (0_u16..200).prop_map(Step::Member),
        6 => (0_u16..200, any::<i8>()).prop_map(|(member, score)| Step::Score(member, score)),
        2 => (0_usize..100).prop_map(Step::Unscore),
        2 => (0_i64..20).prop_map(Step::Deadline),
        1 => Just(Step::Mark),
        2 => Just(Step::Take),
        1 => (0_u8..40).prop_map(Step::Move),
        1 => (0_i64..5).prop_map(Step::Expire),
        1 => (0_u8..10).prop_map(|n| if n == 0 { Step::Flush } else { Step::Take }),
    ]
}

/// A key: some are too long for an entry.
fn name(key: u8) -> Vec<u8> {
    vec![b'a' + key % 26; usize::from(key) * 3]
}

fn apply(tx: &mut Tx<'_>, key: &[u8], step: Step, enc: &Encodings) {
    match step {
        Step::Set(len) => drop(tx.set(key, Value::Str(Str::new(&vec![b'x'; len])), len % 2 == 0)),
        Step::Append(len) => {
            if let Ok(edit) = tx.write_or_new::<Str>(key) {
                edit.value.append(&vec![b'y'; len]);
            }
        }
        Step::Field(field, len) => {
            if let Ok(edit) = tx.write_or_new::<Hash>(key) {
                edit.value.set(&field.to_le_bytes(), &vec![b'z'; len], enc);
            }
        }
        Step::Unfield(field) => {
            if let Ok(Some(edit)) = tx.write::<Hash>(key) {
                edit.value.remove(&field.to_le_bytes());
            }
        }
        Step::Push(len) => {
            if let Ok(edit) = tx.write_or_new::<List>(key) {
                edit.value.push(crate::values::End::Left, &vec![b'w'; len], enc);
            }
        }
        Step::Pop(count) => {
            if let Ok(Some(edit)) = tx.write::<List>(key) {
                edit.value.drop_end(crate::values::End::Right, count, enc);
            }
        }
        Step::Member(member) => {
            if let Ok(edit) = tx.write_or_new::<Set>(key) {
                edit.value.add(member.to_string().as_bytes(), enc);
            }
        }
        Step::Score(member, score) => {
            if let Ok(edit) = tx.write_or_new::<ZSet>(key) {
                edit.value.insert(&member.to_le_bytes(), f64::from(score), enc);
            }
        }
        Step::Unscore(count) => {
            if let Ok(Some(edit)) = tx.write::<ZSet>(key) {
                edit.value.remove_range(0..count);
            }
        }
        Step::Deadline(ms) => drop(tx.set_deadline(key, tx.now().wall_ms() + ms)),
        Step::Mark => {
            tx.delete(key);
            let entry = tx.set(key, Value::Str(Str::new(b"owner")), false);
            tx.set_if_absent(entry, key, b"owner");
        }
        Step::Take => drop(tx.delete(key)),
        Step::Move(to) => {
            if let Some((value, _)) = tx.take(key) {
                tx.set(&name(to), value, false);
            }
        }
        Step::Expire(_) => {}
        Step::Flush => drop(tx.flush()),
    }
}

/// The memory of databases that have had a key. The memory of their tables stays.
fn bytes_after_keys(keyspace: &mut Keyspace, databases: usize) -> DatabaseBytes {
    for db in 0..databases {
        let mut tx = keyspace.tx(db, at(0));
        tx.set(b"k", Value::Str(Str::new(b"v")), false);
        tx.flush();
    }
    keyspace.bytes()
}

proptest! {
    #[test]
    fn the_counted_bytes_equal_a_recount(steps in prop::collection::vec((0_usize..2, 0_u8..40, step()), 0..400)) {
        let enc = Encodings {
            hash_max_listpack_entries: 4,
            set_max_intset_entries: 4,
            set_max_listpack_entries: 4,
            zset_max_listpack_entries: 4,
            list_max_listpack_size: 4,
            ..Encodings::default()
        };
        let mut keyspace = Keyspace::new(2, 7);
        keyspace.subscribe(Box::new(Marker));
        let start = bytes_after_keys(&mut keyspace, 2);
        let mut now = 0;
        for (db, key, step) in steps {
            if let Step::Expire(ms) = step {
                now += ms;
                while keyspace.expire_next(at(now), ExpiryRule::Reached) {}
            }
            apply(&mut keyspace.tx(db, at(now)), &name(key), step, &enc);
            for database in &keyspace.databases {
                prop_assert_eq!(database.bytes(), database.recounted_bytes());
            }
        }
        for db in 0..2 {
            keyspace.tx(db, at(now)).flush();
        }
        prop_assert_eq!(keyspace.bytes(), start);
    }
}

#[test]
fn the_memory_of_many_keys_is_released_with_the_last() {
    let mut keyspace = Keyspace::new(1, 7);
    let start = bytes_after_keys(&mut keyspace, 1);
    let key = |n: u32| format!("a key that is longer than an entry:{n}").into_bytes();
    for n in 0..20_000 {
        let mut tx = keyspace.tx(0, at(0));
        tx.set(&key(n), Value::Str(Str::new(&[b'x'; 100])), false);
        tx.set_deadline(&key(n), 1_000_000 + i64::from(n));
    }
    let full = keyspace.bytes();
    assert_eq!(full, keyspace.databases[0].recounted_bytes());
    assert!(full.data > 20_000 * (100 + 36 + 48) && full.overhead > 20_000 * 20, "{full:?}");
    for n in 0..20_000 {
        assert!(keyspace.tx(0, at(0)).delete(&key(n)));
        if n % 1000 == 0 {
            assert_eq!(keyspace.bytes(), keyspace.databases[0].recounted_bytes());
        }
    }
    assert_eq!(keyspace.bytes(), start);
}
