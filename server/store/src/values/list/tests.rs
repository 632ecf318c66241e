//! Tests of lists against a vector, through all encodings.

use super::*;
use proptest::prelude::*;

fn list_of(elements: &[&[u8]], enc: &Encodings) -> List {
    let mut list = List::new();
    list.push_all(End::Right, elements.iter().copied(), enc);
    list
}

#[test]
fn a_list_converts_where_redis_does() {
    let enc = Encodings::default();
    // A listpack has 7 bytes, and 81 elements of 101 bytes each: 8,188 of 8,192.
    let mut list = List::new();
    for _ in 0..81 {
        list.push(End::Left, &[b'x'; 98], &enc);
    }
    assert_eq!(list.encoding(), Encoding::Listpack);
    list.push(End::Left, b"1234", &enc);
    assert_eq!(list.encoding(), Encoding::Listpack);
    list.push(End::Left, b"1", &enc);
    assert_eq!(list.encoding(), Encoding::Listpack);
    list.push(End::Left, b"", &enc);
    assert_eq!(list.encoding(), Encoding::Quicklist);
    list.drop_end(End::Left, 42, &enc);
    assert_eq!(list.encoding(), Encoding::Quicklist);
    list.drop_end(End::Left, 2, &enc);
    assert_eq!((list.encoding(), list.len()), (Encoding::Listpack, 40));
    let counted = Encodings { list_max_listpack_size: 4, ..Encodings::default() };
    let mut list = list_of(&[b"1", b"2", b"3", b"4"], &counted);
    assert_eq!(list.encoding(), Encoding::Listpack);
    list.push(End::Right, b"5", &counted);
    assert_eq!(list.encoding(), Encoding::Quicklist);
}

#[test]
fn the_elements_of_one_command_decide_the_encoding() {
    let enc = Encodings::default();
    let big = [b'x'; 4096];
    assert_eq!(list_of(&[&big, &big], &enc).encoding(), Encoding::Quicklist);
    // The overhead is not counted beforehand.
    assert_eq!(list_of(&[&big, &big[..4089]], &enc).encoding(), Encoding::Listpack);
}

#[test]
fn memory_of_a_large_list_stays_close_to_its_contents() {
    let enc = Encodings::default();
    let mut list = List::new();
    for n in 0..100_000 {
        list.push(End::Right, format!("{n:016}").as_bytes(), &enc);
    }
    assert_eq!(list.get(54_321), Some(&b"0000000000054321"[..]));
    list.drop_end(End::Left, 99_990, &enc);
    assert_eq!(list.encoding(), Encoding::Listpack);
    assert_eq!(list.peek(End::Left), Some(&b"0000000000099990"[..]));
}

#[derive(Clone, Debug)]
enum Op {
    Push(End, Vec<usize>),
    Pop(End),
    Set(prop::sample::Index, usize),
    Insert(prop::sample::Index, usize),
    RemoveRange(prop::sample::Index, usize),
    Trim(prop::sample::Index, usize),
    RemoveEqual(usize, usize, End),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let end = || prop_oneof![Just(End::Left), Just(End::Right)];
    let len = || prop_oneof![3 => 0_usize..4, 2 => 0_usize..200, 1 => 1000_usize..3000];
    let index = any::<prop::sample::Index>;
    let op = prop_oneof![
        4 => (end(), prop::collection::vec(len(), 0..8)).prop_map(|(end, lens)| Op::Push(end, lens)),
        1 => end().prop_map(Op::Pop),
        2 => (index(), len()).prop_map(|(index, len)| Op::Set(index, len)),
        2 => (index(), len()).prop_map(|(index, len)| Op::Insert(index, len)),
        1 => (index(), 0_usize..30).prop_map(|(index, count)| Op::RemoveRange(index, count)),
        1 => (index(), 20_usize..100).prop_map(|(index, count)| Op::Trim(index, count)),
        1 => (0_usize..4, 0_usize..4, end()).prop_map(|(len, max, end)| Op::RemoveEqual(len, max, end)),
    ];
    prop::collection::vec(op, 0..60)
}

fn element(len: usize) -> Vec<u8> {
    if len.is_multiple_of(5) { len.to_string().into_bytes() } else { vec![b'x'; len] }
}

fn apply(op: Op, list: &mut List, model: &mut Vec<Vec<u8>>, enc: &Encodings) -> Result<(), TestCaseError> {
    match op {
        Op::Push(end, lens) => {
            let new: Vec<Vec<u8>> = lens.into_iter().map(element).collect();
            list.push_all(end, new.iter().map(Vec::as_slice), enc);
            for element in new {
                let at = if end == End::Left { 0 } else { model.len() };
                model.insert(at, element);
            }
        }
        Op::Pop(end) => {
            let expected = match end {
                _ if model.is_empty() => None,
                End::Left => Some(model.remove(0)),
                End::Right => model.pop(),
            };
            prop_assert_eq!(list.pop(end, enc).map(Vec::from), expected);
        }
        Op::Set(index, len) => {
            let at = index.index(model.len() + 1);
            prop_assert_eq!(list.set(at, &element(len), enc), at < model.len());
            if let Some(old) = model.get_mut(at) {
                *old = element(len);
            }
        }
        Op::Insert(index, len) => {
            let at = index.index(model.len() + 1);
            list.insert(at, &element(len), enc);
            model.insert(at, element(len));
        }
        Op::RemoveRange(index, count) => {
            let at = index.index(model.len() + 1);
            list.remove_range(at..at + count, enc);
            model.drain(at..(at + count).min(model.len()));
        }
        Op::Trim(index, count) => {
            let at = index.index(model.len() / 4 + 1);
            list.trim(at..at + count, enc);
            model.truncate(at + count);
            model.drain(..at);
        }
        Op::RemoveEqual(len, max, end) => {
            let mut found: Vec<usize> = (0..model.len()).filter(|n| model[*n] == element(len)).collect();
            if end == End::Right {
                found.reverse();
            }
            found.truncate(max);
            found.sort_unstable();
            prop_assert_eq!(list.remove_equal(&element(len), max, end, enc), found.len());
            found.into_iter().rev().for_each(|n| drop(model.remove(n)));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_list_is_a_vector(
        ops in ops(),
        size in prop_oneof![Just(-2_i64), Just(-1), 0_i64..20],
        cut in any::<prop::sample::Index>(),
    ) {
        let enc = Encodings { list_max_listpack_size: size, ..Encodings::default() };
        let (mut list, mut model) = (List::new(), Vec::new());
        for op in ops {
            apply(op, &mut list, &mut model, &enc)?;
            prop_assert_eq!(list.len(), model.len());
            for list in [&list, &list.clone()] {
                let right = if let Form::Many(chunks) = &list.0 { chunks.is_counted_right() } else { true };
                prop_assert!(right);
            }
            prop_assert!(list.iter().eq(model.iter().map(Vec::as_slice)));
            prop_assert!(list.iter().rev().eq(model.iter().rev().map(Vec::as_slice)));
            let at = cut.index(model.len() + 1);
            prop_assert!(list.range(at..usize::MAX).eq(model[at..].iter().map(Vec::as_slice)));
            prop_assert!(list.range(0..at).rev().eq(model[..at].iter().rev().map(Vec::as_slice)));
            prop_assert_eq!(list.get(at), model.get(at).map(Vec::as_slice));
            prop_assert_eq!(list.peek(End::Right), model.last().map(Vec::as_slice));
        }
    }

    #[test]
    fn both_ends_of_an_iterator_meet(count in 0_usize..200, turns in prop::collection::vec(any::<bool>(), 0..250)) {
        let enc = Encodings { list_max_listpack_size: 7, ..Encodings::default() };
        let elements: Vec<Vec<u8>> = (0..count).map(|n| n.to_string().into_bytes()).collect();
        let mut list = List::new();
        list.push_all(End::Right, elements.iter().map(Vec::as_slice), &enc);
        let (mut ours, mut model) = (list.iter(), elements.iter().map(Vec::as_slice));
        for front in turns {
            let (ours, model) = if front { (ours.next(), model.next()) } else { (ours.next_back(), model.next_back()) };
            prop_assert_eq!(ours, model);
        }
        prop_assert_eq!(ours.len(), model.len());
    }
}
