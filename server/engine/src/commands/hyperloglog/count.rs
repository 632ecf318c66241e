//! PFCOUNT.

use super::{CORRUPTED, NO_SKETCH, sketch, sketch_mut};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::hyperloglog::{Histogram, no_registers};
use lockwheel_store::values::{Encoding, Str};

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("pfcount", -2, pfcount as DataHandler)
    .flags(&[Flags::READONLY, Flags::MAY_REPLICATE])
    .categories(&["hyperloglog"])
    .keys(&[KeySpec::range(1, -1, 1, &[KeyFlags::RW, KeyFlags::ACCESS]).notes(
        "RW because it may change the internal representation of the key, and propagate to replicas",
    )])
    .about(
        "hyperloglog",
        "2.8.9",
        "O(1) with a very small average constant time when called with a single key. O(N) with N being the number of \
         keys, and much bigger constant times, when called with multiple keys.",
    )
    .summary("Estimates the number of distinct elements of HyperLogLogs.")
    .syntax("key [key ...]")
    .errors(&[NO_SKETCH, CORRUPTED])];

fn pfcount(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cardinality = match args.from(1) {
        [key] => count_one(tx, key)?,
        keys => count_union(tx, keys)?,
    };
    reply.integer(cardinality as i64);
    Ok(())
}

fn count_union(tx: &mut Tx<'_>, keys: &[&[u8]]) -> Result<u64, CommandError> {
    let mut registers = no_registers();
    for key in keys {
        if let Some(value) = tx.read::<Str>(key)? {
            sketch(&value.text())?.raise(&mut registers)?;
        }
    }
    Ok(Histogram::of(&registers).cardinality())
}

/// The cardinality of one HyperLogLog, which is cached in its value.
fn count_one(tx: &mut Tx<'_>, key: &[u8]) -> Result<u64, CommandError> {
    let Some(value) = tx.read::<Str>(key)? else { return Ok(0) };
    let text = value.text();
    let sketch = sketch(&text)?;
    let cached = sketch.cached();
    let cardinality = match cached {
        Some(_) if value.encoding() == Encoding::Raw => return Ok(cached.unwrap_or_default()),
        Some(cached) => cached,
        None => sketch.histogram()?.cardinality(),
    };
    if let Some(edit) = tx.write::<Str>(key)? {
        let mut sketch = sketch_mut(edit.value, edit.encodings)?;
        if cached.is_none() {
            sketch.remember(cardinality);
            tx.touched(key);
        }
    }
    Ok(cardinality)
}
