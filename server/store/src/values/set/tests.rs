//! Tests of sets against a naive model, and of their changes of form.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn set_of(members: impl IntoIterator<Item = String>, enc: &Encodings) -> Set {
    let mut set = Set::new();
    for member in members {
        set.add(member.as_bytes(), enc);
    }
    set
}

#[test]
fn a_set_converts_where_redis_does() {
    let enc = Encodings::default();
    let mut set = set_of((0..512).map(|n| n.to_string()), &enc);
    assert_eq!(set.encoding(), Encoding::Intset);
    set.add(b"512", &enc);
    assert_eq!(set.encoding(), Encoding::Hashtable);
    let mut set = set_of((0..127).map(|n| n.to_string()), &enc);
    set.add(b"a", &enc);
    assert_eq!(set.encoding(), Encoding::Listpack);
    set.add(b"b", &enc);
    assert_eq!((set.encoding(), set.len()), (Encoding::Hashtable, 129));
    let mut set = set_of((0..128).map(|n| n.to_string()), &enc);
    set.add(b"a", &enc);
    assert_eq!(set.encoding(), Encoding::Hashtable);
    let mut set = set_of(["a".repeat(64)], &enc);
    assert_eq!(set.encoding(), Encoding::Listpack);
    set.add(&[b'b'; 65], &enc);
    assert_eq!(set.encoding(), Encoding::Hashtable);
}

#[test]
fn the_members_of_one_command_decide_the_encoding() {
    let enc = Encodings::default();
    assert_eq!(Set::for_members(b"1", 512, &enc).encoding(), Encoding::Intset);
    assert_eq!(Set::for_members(b"1", 513, &enc).encoding(), Encoding::Hashtable);
    assert_eq!(Set::for_members(b"a", 128, &enc).encoding(), Encoding::Listpack);
    assert_eq!(Set::for_members(b"a", 129, &enc).encoding(), Encoding::Hashtable);
    let mut set = set_of(["a".to_owned()], &enc);
    set.expect(128, &enc);
    assert_eq!(set.encoding(), Encoding::Listpack);
    set.expect(129, &enc);
    assert_eq!(set.encoding(), Encoding::Hashtable);
}

fn members() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0_i64..20).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        2 => "[a-c]{0,2}",
        1 => "[a-c]{9}",
    ]
}

proptest! {
    #[test]
    fn a_set_is_a_set_of_byte_strings(
        steps in prop::collection::vec((0_u8..5, members(), any::<prop::sample::Index>()), 0..60),
    ) {
        let enc = Encodings {
            set_max_intset_entries: 6,
            set_max_listpack_entries: 8,
            set_max_listpack_value: 8,
            ..Encodings::default()
        };
        let (mut set, mut model) = (Set::new(), BTreeSet::new());
        for (op, member, index) in steps {
            let member = member.into_bytes();
            match op {
                0 => prop_assert_eq!(set.remove(&member), model.remove(&member)),
                1 if !model.is_empty() => {
                    let index = index.index(model.len());
                    let member = set.nth(index).map(|member| member.to_vec());
                    prop_assert!(set.remove_nth(index) && !set.remove_nth(model.len()));
                    prop_assert!(member.is_some_and(|member| model.remove(&member)));
                }
                _ => prop_assert_eq!(set.add(&member, &enc), model.insert(member.clone())),
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert_eq!(set.contains(&member), model.contains(&member));
            let all: BTreeSet<Vec<u8>> = set.iter().map(|member| member.to_vec()).collect();
            prop_assert_eq!(&all, &model);
            for (index, member) in set.iter().enumerate() {
                prop_assert_eq!(set.nth(index), Some(member));
                prop_assert!(set.contains(&member));
            }
            let (mut scanned, mut cursor) = (BTreeSet::new(), 0);
            loop {
                cursor = set.scan(cursor, 2, |member| { scanned.insert(member.to_vec()); });
                if cursor == 0 { break; }
            }
            prop_assert_eq!(&scanned, &model);
        }
    }
}
