//! Parts of strings: APPEND, STRLEN, GETRANGE, SETRANGE.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Str, Value};
use std::ops::Range;

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const TOO_LONG: &str = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
const SUBSTRING_COST: &str = "O(N) where N is the length of the returned string. The complexity is \
    ultimately determined by the returned length, but because creating a substring from an existing string \
    is very cheap, it can be considered O(1) for small strings.";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("append", 3, append as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])])
        .about(
            "string",
            "2.0.0",
            "O(1). The amortized time complexity is O(1) assuming the appended value is small and the \
             already present value is of any size, since the dynamic string library used by Redis will \
             double the free space available on every reallocation.",
        )
        .summary("Appends to a string, which is created if the key does not exist, and returns its length.")
        .syntax("key value")
        .errors(&[TOO_LONG]),
    Row::new("strlen", 2, strlen as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("string", "2.2.0", "O(1)")
        .summary("The length of a string, in bytes.")
        .syntax("key"),
    Row::new("getrange", 4, getrange as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("string", "2.4.0", SUBSTRING_COST)
        .summary("A part of a string, both ends included; negative positions count from the end.")
        .syntax("key start end")
        .errors(&[NOT_AN_INTEGER]),
    Row::new("substr", 4, getrange as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("string", "1.0.0", SUBSTRING_COST)
        .summary("The old name of GETRANGE.")
        .deprecated("2.0.0", "`GETRANGE`")
        .syntax("key start end")
        .errors(&[NOT_AN_INTEGER]),
    Row::new("setrange", 4, setrange as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about(
            "string",
            "2.2.0",
            "O(1), not counting the time taken to copy the new string in place. Usually, this string is \
             very small so the amortized complexity is O(1). Otherwise, complexity is O(M) with M being the \
             length of the value argument.",
        )
        .summary("Overwrites a part of a string, padded with zero bytes, and returns its length.")
        .syntax("key offset value")
        .errors(&[NOT_AN_INTEGER, "ERR offset is out of range", TOO_LONG]),
];

/// Checks that a string may end at `start + len`.
fn check_length(start: usize, len: usize, max: usize) -> Result<(), CommandError> {
    let fits = start.checked_add(len).is_some_and(|end| end <= max);
    if fits { Ok(()) } else { Err(errors::STRING_TOO_LONG) }
}

/// Checks that there is memory for a string, which may not exist yet, to become `len` bytes long.
pub(super) fn check_room(old: Option<&Str>, len: usize) -> Result<(), CommandError> {
    Ok(old.unwrap_or(&Str::from_i64(0)).check_room(len)?)
}

fn append(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, tail) = (&args[1], &args[2]);
    let max = tx.max_string();
    let len = match tx.write::<Str>(key)? {
        Some(edit) => {
            check_length(edit.value.len(), tail.len(), max)?;
            edit.value.check_room(edit.value.len() + tail.len())?;
            edit.value.append(tail);
            edit.value.len()
        }
        None => {
            tx.set(key, Value::Str(Str::new(tail)), false);
            tail.len()
        }
    };
    tx.changed(key, events::APPEND);
    reply.integer(len as i64);
    Ok(())
}

fn strlen(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let len = tx.read::<Str>(&args[1])?.map_or(0, Str::len);
    reply.integer(len as i64);
    Ok(())
}

fn getrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (start, end) = (args.int(2)?, args.int(3)?);
    match tx.read::<Str>(&args[1])? {
        Some(value) => {
            let text = value.text();
            reply.bulk(&text[byte_range(start, end, text.len())]);
        }
        None => reply.bulk(b""),
    }
    Ok(())
}

/// The bytes from `start` to `end`, both included, of `len`. Negative positions count from the end; positions beyond an
/// end become it. As in Redis, two before the first byte mean that byte, unless they cross.
fn byte_range(start: i64, end: i64, len: usize) -> Range<usize> {
    if len == 0 || (start < 0 && end < 0 && start > end) {
        return 0..0;
    }
    let place = |at: i64| match usize::try_from(at) {
        Ok(at) => at,
        Err(_) => len.saturating_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let (start, end) = (place(start), place(end).min(len - 1));
    if start > end { 0..0 } else { start..end + 1 }
}

fn setrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, bytes) = (&args[1], &args[3]);
    let offset = usize::try_from(args.int(2)?).map_err(|_| errors::OFFSET_OUT_OF_RANGE)?;
    let max = tx.max_string();
    let old = tx.write::<Str>(key)?.map(|edit| edit.value);
    if bytes.is_empty() {
        reply.integer(old.map_or(0, |old| old.len()) as i64);
        return Ok(());
    }
    check_length(offset, bytes.len(), max)?;
    check_room(old.as_deref(), offset + bytes.len())?;
    let edit = tx.write_or_new::<Str>(key)?;
    edit.value.set_range(offset, bytes);
    let len = edit.value.len();
    tx.changed(key, events::SETRANGE);
    reply.integer(len as i64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_equal_those_of_the_real_server() {
        for (start, end, expected) in [
            (0, -1, 0..11),
            (-3, -1, 8..11),
            (-100, -90, 0..1),
            (-90, -100, 0..0),
            (-1, -5, 0..0),
            (5, 2, 0..0),
            (100, 200, 0..0),
            (i64::MIN, i64::MAX, 0..11),
        ] {
            assert_eq!(byte_range(start, end, 11), expected, "{start} {end}");
        }
        assert_eq!(byte_range(0, 0, 0), 0..0);
    }

    proptest! {
        #[test]
        fn a_range_lies_within_the_string(start: i64, end: i64, len in 0_usize..50) {
            let range = byte_range(start, end, len);
            prop_assert!(range.start <= range.end && range.end <= len);
        }

        /// The steps of Redis, in wide numbers: convert negative positions, clamp, compare.
        #[test]
        fn a_range_equals_a_clamped_range(start in -60_i64..60, end in -60_i64..60, len in 1_usize..50) {
            let turned = |at: i64| if at < 0 { (at + len as i64).max(0) } else { at };
            let (from, to) = (turned(start), turned(end).min(len as i64 - 1));
            let crossed = start < 0 && end < 0 && start > end;
            let expected = if crossed || from > to { 0..0 } else { from as usize..to as usize + 1 };
            prop_assert_eq!(byte_range(start, end, len), expected);
        }
    }
}
