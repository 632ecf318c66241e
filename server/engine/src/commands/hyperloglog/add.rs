//! PFADD.

use super::{CORRUPTED, NO_SKETCH, sketch_mut};
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::hyperloglog::{Corrupted, Layout, SketchMut};
use lockwheel_store::values::{Str, Value};

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("pfadd", -2, pfadd as DataHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
    .categories(&["hyperloglog"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])])
    .about("hyperloglog", "2.8.9", "O(1) to add every element.")
    .summary("Adds elements to a HyperLogLog and returns whether it has changed.")
    .syntax("key [element [element ...]]")
    .errors(&[NO_SKETCH, CORRUPTED])];

fn pfadd(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, elements) = (&args[1], args.from(2));
    let has_changed = match tx.write::<Str>(key)? {
        Some(edit) => {
            let mut sketch = sketch_mut(edit.value, edit.encodings)?;
            if sketch.layout() == Layout::Sparse && elements.len() > 1 {
                add_all_or_none(edit.value, elements, edit.encodings.hll_sparse_max_bytes)?
            } else {
                add(&mut sketch, elements)?
            }
        }
        None => {
            let mut bytes = SketchMut::empty();
            if let Some(mut sketch) = SketchMut::of(&mut bytes, tx.encodings().hll_sparse_max_bytes) {
                add(&mut sketch, elements)?;
                sketch.forget();
            }
            tx.set(key, Value::Str(Str::raw_from(bytes)), false);
            true
        }
    };
    if has_changed {
        tx.changed(key, events::PFADD);
    }
    reply.integer(i64::from(has_changed));
    Ok(())
}

/// Adds elements. Returns whether a register has changed.
fn add(sketch: &mut SketchMut<'_>, elements: &[&[u8]]) -> Result<bool, Corrupted> {
    let mut has_changed = false;
    for element in elements {
        has_changed |= sketch.add(element)?;
    }
    if has_changed {
        sketch.forget();
    }
    Ok(has_changed)
}

/// Adds elements as [`add`] does, but restores the value if registers behind the first ones turn out to be corrupted.
fn add_all_or_none(value: &mut Str, elements: &[&[u8]], sparse_max: usize) -> Result<bool, Corrupted> {
    let buffer = value.buffer();
    let before = buffer.clone();
    let added =
        SketchMut::of(buffer, sparse_max).ok_or(Corrupted).and_then(|mut sketch| add(&mut sketch, elements));
    if added.is_err() {
        *buffer = before;
    }
    added
}
