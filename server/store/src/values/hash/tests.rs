//! Tests of hashes against a naive model, and of their changes of form.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn small() -> Encodings {
    Encodings { hash_max_listpack_entries: 8, hash_max_listpack_value: 20, ..Encodings::default() }
}

#[test]
fn a_hash_converts_where_redis_does() {
    let enc = Encodings::default();
    let mut hash = Hash::new();
    for n in 0..512 {
        hash.set(format!("f{n}").as_bytes(), &[b'v'; 64], &enc);
    }
    assert_eq!(hash.encoding(), Encoding::Listpack);
    assert_eq!(hash.iter().next(), Some((&b"f0"[..], &[b'v'; 64][..])));
    hash.set(b"f512", b"v", &enc);
    assert_eq!(hash.encoding(), Encoding::Hashtable);
    let mut hash = Hash::new();
    hash.set(b"f", &[b'v'; 65], &enc);
    assert_eq!(hash.encoding(), Encoding::Hashtable);
    let mut hash = Hash::new();
    hash.expect(512, &enc);
    assert_eq!(hash.encoding(), Encoding::Listpack);
    hash.expect(513, &enc);
    assert_eq!(hash.encoding(), Encoding::Hashtable);
}

proptest! {
    #[test]
    fn a_hash_is_a_map(steps in prop::collection::vec((0_u8..4, 0_u8..16, 0_usize..24), 0..80)) {
        let enc = small();
        let (mut hash, mut model) = (Hash::new(), BTreeMap::new());
        for (op, field, len) in steps {
            let (field, value) = (format!("field{field}").into_bytes(), vec![op; len]);
            match op {
                0 => {
                    let new = hash.set(&field, &value, &enc);
                    prop_assert_eq!(new, model.insert(field, value).is_none());
                }
                1 => {
                    let before = hash.get(&field).map(<[u8]>::to_vec);
                    let refused = hash.update(&field, &enc, |_| Err::<Vec<u8>, _>(()));
                    prop_assert_eq!(refused, Err(()));
                    let new = hash.update(&field, &enc, |old| {
                        assert_eq!(old.map(<[u8]>::to_vec), before);
                        Ok::<_, ()>(value.clone())
                    });
                    prop_assert_eq!(new, Ok(model.insert(field, value).is_none()));
                }
                2 => {
                    let new = hash.set_new(&field, &value, &enc);
                    prop_assert_eq!(new, !model.contains_key(&field));
                    model.entry(field).or_insert(value);
                }
                _ => prop_assert_eq!(hash.remove(&field), model.remove(&field).is_some()),
            }
            prop_assert_eq!(hash.len(), model.len());
            let all: BTreeMap<_, _> = hash.iter().map(|(f, v)| (f.to_vec(), v.to_vec())).collect();
            prop_assert_eq!(&all, &model);
            for (index, pair) in hash.iter().enumerate() {
                prop_assert_eq!(hash.nth(index), Some(pair));
                prop_assert_eq!(hash.get(pair.0), Some(pair.1));
            }
            prop_assert_eq!(hash.nth(hash.len()), None);
            if let Form::Table(large) = &hash.0 {
                prop_assert_eq!(large.table.held(), large.table.held_anew());
            }
            prop_assert_eq!(hash.heap_bytes() == 0, hash.is_empty() && hash.encoding() == Encoding::Listpack);
            let mut scanned = BTreeMap::new();
            let mut cursor = 0;
            loop {
                cursor = hash.scan(cursor, 3, |f, v| { scanned.insert(f.to_vec(), v.to_vec()); });
                if cursor == 0 { break; }
            }
            prop_assert_eq!(&scanned, &model);
        }
    }
}

proptest! {
    #[test]
    fn deadlines_stay_with_their_fields(steps in prop::collection::vec((0_u8..6, 0_u8..12, 0_i64..40), 0..120)) {
        let enc = small();
        let (mut hash, mut model) = (Hash::new(), BTreeMap::<Vec<u8>, Option<(i64, u32)>>::new());
        for (made, (op, field, at_ms)) in (0_u32..).zip(steps) {
            let field = format!("f{field}").into_bytes();
            match op {
                0 => { hash.set(&field, b"v", &enc); model.insert(field, None); }
                1 => { hash.set_keeping(&field, b"w", &enc); model.entry(field).or_insert(None); }
                2 => {
                    let is_there = hash.set_deadline(&field, at_ms, made, &enc);
                    prop_assert_eq!(is_there, model.contains_key(&field));
                    model.entry(field).and_modify(|due| *due = Some((at_ms, made)));
                }
                3 => {
                    let had = model.get_mut(&field).and_then(Option::take).is_some();
                    prop_assert_eq!(hash.clear_deadline(&field), had);
                }
                4 => prop_assert_eq!(hash.remove(&field), model.remove(&field).is_some()),
                _ => {
                    let due = |due: &&(i64, u32)| due.0 <= at_ms;
                    let first = model.iter().filter_map(|(field, d)| Some((d.as_ref().filter(due)?, field))).min();
                    let first = first.map(|(_, field)| field.clone());
                    prop_assert_eq!(hash.first_over(at_ms).map(<[u8]>::to_vec), first.clone());
                    prop_assert_eq!(hash.remove_first_over(at_ms), first.is_some());
                    first.map(|field| model.remove(&field));
                }
            }
            let all: BTreeMap<_, _> = hash.iter_timed().map(|(f, _, at)| (f.to_vec(), at)).collect();
            let expected: BTreeMap<_, _> = model.iter().map(|(f, d)| (f.clone(), d.map(|(at, _)| at))).collect();
            prop_assert_eq!(all, expected);
            prop_assert_eq!(hash.first_deadline(), model.values().flatten().min().copied());
            prop_assert_eq!(hash.is_timed(), model.values().any(Option::is_some));
            let is_over = hash.is_timed() && model.values().all(|due| due.is_some_and(|(at, _)| at <= at_ms));
            prop_assert_eq!(hash.is_over(at_ms), is_over);
        }
    }
}
