//! SORT and SORT_RO, which sort the elements of a list, a set or a sorted set.

mod elements;
mod options;
mod order;
mod pattern;

use crate::spec::{
    Args, Begin, CommandError, Find, Flags, Key, KeyFlags, KeySpec, Outcome, ReadingAnyKeyHandler, Row,
    errors,
};
use elements::{Elements, Source};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{CalledBy, Tx, events};
use lockwheel_store::values::{End, List, Value, ZSet};
use options::{OtherKeys, SortOptions};
use order::SortOrder;
use std::ops::Range;

const NOT_A_DOUBLE: &str = "ERR One or more scores can't be converted into double";
const COMPLEXITY: &str = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number \
                          of returned elements. When the elements are not sorted, complexity is O(N).";
const SORTED: KeySpec = KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS]);
/// The keys that patterns make of elements.
const BY_PATTERN: KeySpec = KeySpec {
    flags: KeyFlags::of(&[KeyFlags::RO, KeyFlags::ACCESS]),
    notes: "For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of \
            the key we sort",
    begin: Begin::Unknown,
    find: Find::Unknown,
};
const STORED: KeySpec = KeySpec {
    flags: KeyFlags::of(&[KeyFlags::OW, KeyFlags::UPDATE]),
    notes: "For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the \
            argument array",
    begin: Begin::Unknown,
    find: Find::Unknown,
};
const ERRORS: &[&str] = &["ERR syntax error", "ERR value is not an integer or out of range", NOT_A_DOUBLE];

pub(super) const ROWS: &[Row<ReadingAnyKeyHandler>] = &[
    Row::new("sort", -2, sort as ReadingAnyKeyHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLEKEYS])
        .categories(&["set", "sortedset", "list", "dangerous"])
        .keys(&[SORTED, BY_PATTERN, STORED])
        .key_finder(find_keys)
        .about("generic", "1.0.0", COMPLEXITY)
        .summary("Sorts the elements of a list, set or sorted set, or the values of keys that they name.")
        .syntax(
            "key [BY pattern#1] [LIMIT offset count] [GET pattern#1 [GET pattern ...]] [order: ASC | DESC] \
             [ALPHA=sorting] [STORE destination#2]",
        )
        .errors(ERRORS),
    Row::new("sort_ro", -2, sort_ro as ReadingAnyKeyHandler)
        .flags(&[Flags::READONLY, Flags::MOVABLEKEYS])
        .categories(&["set", "sortedset", "list", "dangerous"])
        .keys(&[SORTED, BY_PATTERN])
        .key_finder(find_sorted)
        .about("generic", "7.0.0", COMPLEXITY)
        .summary("The same as SORT, without STORE.")
        .syntax(
            "key [BY pattern#1] [LIMIT offset count] [GET pattern#1 [GET pattern ...]] [order: ASC | DESC] \
             [ALPHA=sorting]",
        )
        .errors(ERRORS),
];

fn find_sorted(args: Args<'_>) -> Vec<Key> {
    args.get(1).map(|_| (1, SORTED.flags)).into_iter().collect()
}

fn find_keys(args: Args<'_>) -> Vec<Key> {
    let (mut keys, mut stored, mut at) = (find_sorted(args), None, 2);
    while at < args.len() {
        if args.is(at, "store") && at + 1 < args.len() {
            stored = Some((at + 1, STORED.flags));
        }
        let arguments = [("limit", 2), ("get", 1), ("by", 1)];
        at += 1 + arguments.iter().find(|(word, _)| args.is(at, word)).map_or(0, |(_, count)| *count);
    }
    keys.extend(stored);
    keys
}

/// The most bytes that sorting takes for each element, in addition to the element itself.
const ELEMENT_BYTES: usize = 128;

fn sort(tx: &mut Tx<'_>, reads_all: bool, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, &SortOptions::parse(args, true, other_keys(tx, reads_all))?, reply)
}

fn sort_ro(tx: &mut Tx<'_>, reads_all: bool, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, &SortOptions::parse(args, false, other_keys(tx, reads_all))?, reply)
}

fn other_keys(tx: &Tx<'_>, reads_all: bool) -> OtherKeys {
    match reads_all {
        _ if tx.in_cluster() => OtherKeys::InCluster,
        true => OtherKeys::Readable,
        false => OtherKeys::Denied,
    }
}

fn run(tx: &mut Tx<'_>, args: Args<'_>, options: &SortOptions<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some((elements, shown)) = sorted(tx, &args[1], options)? else { return Err(errors::WRONG_TYPE) };
    match options.store {
        Some(destination) => {
            let stored = store(tx, destination, (&elements, shown), options)?;
            reply.integer(stored as i64);
        }
        None => answer(tx, (&elements, shown), options, reply),
    }
    Ok(())
}

/// The elements of a key, in order, and the range of wanted ones. `None` if the key is of another type.
fn sorted(
    tx: &mut Tx<'_>,
    key: &[u8],
    options: &SortOptions<'_>,
) -> Result<Option<(Elements, Range<usize>)>, CommandError> {
    let Some(source) = tx.get(key).map_or(Some(Source::None), Source::of) else { return Ok(None) };
    let (kind, len) = (source.kind(), source.len());
    let shown = options.shown(len);
    allocation::check(len.saturating_mul(ELEMENT_BYTES))?;
    // A set's members have no order of their own, but a script or a stored list needs the same result each time.
    let must_be_same = options.store.is_some() || is_script(tx);
    let order = match options.order() {
        None if kind == elements::Kind::Set && must_be_same => Some(SortOrder::TEXT),
        order => order,
    };
    let source = tx.peek(key).and_then(Source::of).unwrap_or(Source::None);
    let Some(order) = order else {
        let (elements, shown) = source.in_own_order(shown, options.descending);
        enlarge(tx, key, kind);
        return Ok(Some((elements, shown)));
    };
    let order = order.reversed(options.descending);
    let order = if options.store.is_some() { order.stored(kind == elements::Kind::Set) } else { order };
    let elements = source.all();
    enlarge(tx, key, kind);
    let elements = order.sort(tx, elements, shown.clone())?;
    Ok(Some((elements, shown)))
}

fn is_script(tx: &Tx<'_>) -> bool {
    matches!(tx.called_by(), CalledBy::Script(_))
}

/// Converts a sorted set that is sorted to the large encoding, as Redis does.
fn enlarge(tx: &mut Tx<'_>, key: &[u8], kind: elements::Kind) {
    if kind == elements::Kind::ZSet
        && let Ok(Some(edit)) = tx.write::<ZSet>(key)
    {
        edit.value.expect(0, usize::MAX, edit.encodings);
    }
}

fn answer(
    tx: &mut Tx<'_>,
    (elements, shown): (&Elements, Range<usize>),
    options: &SortOptions<'_>,
    reply: &mut dyn Reply,
) {
    reply.array(shown.len() * options.get.len().max(1));
    for element in shown.map(|index| elements.get(index)) {
        if options.get.is_empty() {
            reply.bulk(element);
        }
        for pattern in &options.get {
            pattern.with_value(tx, element, |value| match value {
                Some(value) => reply.bulk(value),
                None => reply.null(),
            });
        }
    }
}

/// Stores the result as a list. Returns its length.
fn store(
    tx: &mut Tx<'_>,
    destination: &[u8],
    (elements, shown): (&Elements, Range<usize>),
    options: &SortOptions<'_>,
) -> Result<usize, CommandError> {
    let mut found = Elements::default();
    for element in shown.map(|index| elements.get(index)) {
        if options.get.is_empty() {
            found.push(element);
        }
        for pattern in &options.get {
            pattern.with_value(tx, element, |value| found.push(value.unwrap_or_default()));
        }
    }
    if found.len() == 0 {
        tx.delete(destination);
        return Ok(0);
    }
    allocation::check_copies(found.bytes())?;
    let mut list = List::new();
    list.push_all(End::Right, (0..found.len()).map(|index| found.get(index)), tx.encodings());
    tx.set(destination, Value::List(list), false);
    tx.changed(destination, events::SORTSTORE);
    Ok(found.len())
}
