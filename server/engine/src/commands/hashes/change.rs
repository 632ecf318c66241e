//! The commands that change hashes.

use super::expiry::propagate_deadline;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_resp::number::{self, Extended};
use lockwheel_store::keyspace::{ChangedField, Tx, events};
use lockwheel_store::values::{Hash, IntText};

const SETS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];
const INCREMENTS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])];
const WRITES: Flags = Flags::of(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST]);

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("hset", -4, hset as DataHandler)
        .flags(&[WRITES])
        .categories(&["hash"])
        .keys(SETS)
        .about(
            "hash",
            "2.0.0",
            "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is \
             called with multiple field/value pairs.",
        )
        .summary("Sets fields of a hash and returns how many are new.")
        .history(&[("4.0.0", "Accepts multiple `field` and `value` arguments.")])
        .syntax("key field value [field value ...]"),
    Row::new("hmset", -4, hmset as DataHandler)
        .flags(&[WRITES])
        .categories(&["hash"])
        .keys(SETS)
        .about("hash", "2.0.0", "O(N) where N is the number of fields being set.")
        .summary("Sets fields of a hash, like HSET, and returns OK.")
        .deprecated("4.0.0", "`HSET` with multiple field-value pairs")
        .syntax("key field value [field value ...]"),
    Row::new("hsetnx", 4, hsetnx as DataHandler)
        .flags(&[WRITES])
        .categories(&["hash"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])])
        .about("hash", "2.0.0", "O(1)")
        .summary("Sets a field of a hash unless it exists.")
        .syntax("key field value"),
    Row::new("hdel", -3, hdel as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["hash"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
        .about("hash", "2.0.0", "O(N) where N is the number of fields to be removed.")
        .summary("Removes fields of a hash and returns how many existed.")
        .history(&[("2.4.0", "Accepts multiple `field` arguments.")])
        .syntax("key field [field ...]"),
    Row::new("hincrby", 4, hincrby as DataHandler)
        .flags(&[WRITES])
        .categories(&["hash"])
        .keys(INCREMENTS)
        .about("hash", "2.0.0", "O(1)")
        .summary("Adds to the integer that a field holds; an absent field counts as 0.")
        .syntax("key field increment")
        .errors(&[
            "ERR value is not an integer or out of range",
            "ERR hash value is not an integer",
            "ERR increment or decrement would overflow",
        ]),
    Row::new("hincrbyfloat", 4, hincrbyfloat as DataHandler)
        .flags(&[WRITES])
        .categories(&["hash"])
        .keys(INCREMENTS)
        .about("hash", "2.6.0", "O(1)")
        .summary("Adds to the decimal number that a field holds; an absent field counts as 0.")
        .syntax("key field increment:double")
        .errors(&[
            "ERR value is not a valid float",
            "ERR value is NaN or Infinity",
            "ERR hash value is not a float",
            "ERR increment would produce NaN or Infinity",
        ]),
];

fn hset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let new = set_pairs(tx, args, "hset")?;
    reply.integer(new as i64);
    Ok(())
}

fn hmset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    set_pairs(tx, args, "hmset")?;
    reply.ok();
    Ok(())
}

fn set_pairs(tx: &mut Tx<'_>, args: Args<'_>, name: &str) -> Result<usize, CommandError> {
    let (pairs, []) = args.from(2).as_chunks::<2>() else { return Err(CommandError::arity(name)) };
    let edit = tx.write_or_new::<Hash>(&args[1])?;
    edit.value.expect(pairs.len(), edit.encodings);
    let set = |[field, value]: &&[&[u8]; 2]| edit.value.set(field, value, edit.encodings);
    let new = pairs.iter().filter(set).count();
    if new > 0 {
        let at = edit.at;
        pairs.iter().for_each(|[field, _]| tx.field_added(at, &args[1], field));
    }
    tx.changed(&args[1], events::HSET);
    Ok(new)
}

fn hsetnx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let edit = tx.write_or_new::<Hash>(&args[1])?;
    // A hash that was just created always gets the field, so that it does not stay empty.
    let new = edit.value.set_new(&args[2], &args[3], edit.encodings);
    if new {
        let at = edit.at;
        tx.field_added(at, &args[1], &args[2]);
        tx.changed(&args[1], events::HSET);
    }
    reply.integer(i64::from(new));
    Ok(())
}

fn hdel(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let removed = match tx.write::<Hash>(key)? {
        None => 0,
        Some(edit) if edit.is_marked => remove_marked(tx, args)?,
        Some(edit) => args.from(2).iter().filter(|field| edit.value.remove(field)).count(),
    };
    if removed > 0 {
        tx.changed(key, events::HDEL);
        tx.delete_if_empty(key);
    }
    reply.integer(removed as i64);
    Ok(())
}

#[cold]
fn remove_marked(tx: &mut Tx<'_>, args: Args<'_>) -> Result<usize, CommandError> {
    let mut removed = 0;
    for field in args.from(2) {
        if let Some(at) =
            tx.write::<Hash>(&args[1])?.filter(|edit| edit.value.contains(field)).map(|edit| edit.at)
        {
            tx.field_removed(at, &args[1], field);
        }
        let edit = tx.write::<Hash>(&args[1])?;
        removed += usize::from(edit.is_some_and(|edit| edit.value.remove(field)));
    }
    Ok(removed)
}

fn hincrby(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, field) = (&args[1], &args[2]);
    let increment = args.int(3)?;
    let mut sum = increment;
    // Without an existing field nothing can fail, so that a hash that was just created does not stay empty.
    let changed = tx.change_field(key, field, |hash, encodings| {
        hash.update(field, encodings, |old| {
            if let Some(old) = old {
                let old = number::parse_i64(old).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER)?;
                sum = old.checked_add(increment).ok_or(errors::INCREMENT_OVERFLOW)?;
            }
            Ok::<_, CommandError>(IntText::new(sum))
        })
    })?;
    if increment > 0 && changed == ChangedField::OfMarked {
        tx.field_raised(key, field);
    }
    tx.changed(key, events::HINCRBY);
    reply.integer(sum);
    Ok(())
}

/// Propagates the value of a field that has kept its deadline.
fn propagate_kept(tx: &mut Tx<'_>, key: &[u8], field: &[u8], value: &[u8]) -> Outcome {
    if tx.is_propagated() {
        let deadline_ms = tx.write::<Hash>(key)?.and_then(|edit| edit.value.deadline(field));
        tx.propagate(&[b"HSET", key, field, value]);
        deadline_ms.into_iter().for_each(|at_ms| propagate_deadline(tx, key, &[field], at_ms));
    }
    Ok(())
}

fn hincrbyfloat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, field) = (&args[1], &args[2]);
    let increment = Extended::parse(&args[3]).ok_or(errors::NOT_A_FLOAT)?;
    if !increment.is_finite() {
        return Err(errors::INFINITE_INCREMENT);
    }
    let sum_with = |old: &[u8]| {
        let old = Extended::parse(old).ok_or(errors::HASH_VALUE_NOT_A_FLOAT)?;
        old.add(increment).ok_or(errors::INCREMENT_NAN_OR_INFINITY)
    };
    let sum = match tx.write::<Hash>(key)?.as_ref().and_then(|edit| edit.value.get(field)) {
        None => increment,
        Some(old) => sum_with(old)?,
    };
    let text = sum.text().ok_or(errors::INCREMENT_NAN_OR_INFINITY)?;
    let edit = tx.write_or_new::<Hash>(key)?;
    let (new, at) = (edit.value.set_keeping(field, text.as_bytes(), edit.encodings), edit.at);
    if new {
        tx.field_added(at, key, field);
    }
    tx.changed(key, events::HINCRBYFLOAT);
    propagate_kept(tx, key, field, text.as_bytes())?;
    reply.bulk(text.as_bytes());
    Ok(())
}
