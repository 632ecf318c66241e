//! Numbers in strings: INCR and the like.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_resp::number::{self, DecimalError};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Str, Value};

const FLAGS: Flags = Flags::of(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST]);
const KEY: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])];
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const OVERFLOW: &str = "ERR increment or decrement would overflow";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("incr", 2, incr as DataHandler)
        .flags(&[FLAGS])
        .categories(&["string"])
        .keys(KEY)
        .about("string", "1.0.0", "O(1)")
        .summary("Increments the integer that a key holds; an absent key counts as 0.")
        .syntax("key")
        .errors(&[NOT_AN_INTEGER, OVERFLOW]),
    Row::new("decr", 2, decr as DataHandler)
        .flags(&[FLAGS])
        .categories(&["string"])
        .keys(KEY)
        .about("string", "1.0.0", "O(1)")
        .summary("Decrements the integer that a key holds; an absent key counts as 0.")
        .syntax("key")
        .errors(&[NOT_AN_INTEGER, OVERFLOW]),
    Row::new("incrby", 3, incrby as DataHandler)
        .flags(&[FLAGS])
        .categories(&["string"])
        .keys(KEY)
        .about("string", "1.0.0", "O(1)")
        .summary("Adds to the integer that a key holds; an absent key counts as 0.")
        .syntax("key increment")
        .errors(&[NOT_AN_INTEGER, OVERFLOW]),
    Row::new("decrby", 3, decrby as DataHandler)
        .flags(&[FLAGS])
        .categories(&["string"])
        .keys(KEY)
        .about("string", "1.0.0", "O(1)")
        .summary("Subtracts from the integer that a key holds; an absent key counts as 0.")
        .syntax("key decrement")
        .errors(&[NOT_AN_INTEGER, OVERFLOW, "ERR decrement would overflow"]),
    Row::new("incrbyfloat", 3, incrbyfloat as DataHandler)
        .flags(&[FLAGS])
        .categories(&["string"])
        .keys(KEY)
        .about("string", "2.6.0", "O(1)")
        .summary("Adds to the floating-point number that a key holds; an absent key counts as 0.")
        .syntax("key increment:double")
        .errors(&["ERR value is not a valid float", "ERR increment would produce NaN or Infinity"]),
];

fn incr(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    add(tx, &args[1], 1, reply)
}

fn decr(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    add(tx, &args[1], -1, reply)
}

fn incrby(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    add(tx, &args[1], args.int(2)?, reply)
}

fn decrby(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let decrement = args.int(2)?;
    add(tx, &args[1], decrement.checked_neg().ok_or(errors::DECREMENT_OVERFLOW)?, reply)
}

/// Adds to the integer of a key, in place, so that its deadline stays.
fn add(tx: &mut Tx<'_>, key: &[u8], increment: i64, reply: &mut dyn Reply) -> Outcome {
    let sum = match tx.write::<Str>(key)? {
        Some(edit) => {
            let old = edit.value.to_i64().ok_or(errors::NOT_AN_INTEGER)?;
            let sum = old.checked_add(increment).ok_or(errors::INCREMENT_OVERFLOW)?;
            *edit.value = Str::from_i64(sum);
            sum
        }
        None => {
            tx.set(key, Value::Str(Str::from_i64(increment)), false);
            increment
        }
    };
    tx.changed(key, events::INCRBY);
    reply.integer(sum);
    Ok(())
}

fn incrbyfloat(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, increment) = (&args[1], &args[2]);
    let sum = match tx.write::<Str>(key)? {
        Some(edit) => {
            let sum = add_decimal(&edit.value.text(), increment)?;
            *edit.value = Str::text_only(sum.as_bytes());
            sum
        }
        None => {
            let sum = add_decimal(b"0", increment)?;
            tx.set(key, Value::Str(Str::text_only(sum.as_bytes())), false);
            sum
        }
    };
    tx.changed(key, events::INCRBYFLOAT);
    tx.propagate(&[b"SET", key, sum.as_bytes(), b"KEEPTTL"]);
    reply.bulk(sum.as_bytes());
    Ok(())
}

fn add_decimal(a: &[u8], b: &[u8]) -> Result<String, CommandError> {
    number::add_decimal(a, b).map_err(|error| match error {
        DecimalError::NotAFloat => errors::NOT_A_FLOAT,
        DecimalError::NotFinite => errors::INCREMENT_NAN_OR_INFINITY,
    })
}
