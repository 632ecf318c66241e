//! PFMERGE.

use super::{CORRUPTED, NO_SKETCH, sketch, sketch_mut};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::hyperloglog::{Corrupted, Layout, Registers, SketchMut, no_registers};
use lockwheel_store::values::{Str, Value};

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("pfmerge", -2, pfmerge as DataHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM])
    .categories(&["hyperloglog"])
    .keys(&[
        KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::INSERT]),
        KeySpec::range(2, -1, 1, &[KeyFlags::RO, KeyFlags::ACCESS]),
    ])
    .about("hyperloglog", "2.8.9", "O(N) to merge N HyperLogLogs, but with high constant times.")
    .summary("Merges HyperLogLogs into another one, which is created if its key does not exist.")
    .syntax("destkey [sourcekey [sourcekey ...]]")
    .errors(&[NO_SKETCH, CORRUPTED])];

fn pfmerge(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let (registers, layout) = union(tx, args.from(1))?;
    match tx.write::<Str>(key)? {
        Some(edit) => store(&mut sketch_mut(edit.value, edit.encodings)?, &registers, layout)?,
        None => {
            let mut bytes = SketchMut::empty();
            if let Some(mut sketch) = SketchMut::of(&mut bytes, tx.encodings().hll_sparse_max_bytes) {
                store(&mut sketch, &registers, layout)?;
            }
            tx.set(key, Value::Str(Str::raw_from(bytes)), false);
        }
    }
    tx.changed(key, events::PFADD);
    reply.ok();
    Ok(())
}

/// The largest value of each register among several keys, and the layout of the result: dense if one key is.
fn union(tx: &mut Tx<'_>, keys: &[&[u8]]) -> Result<(Registers, Layout), CommandError> {
    let (mut registers, mut layout) = (no_registers(), Layout::Sparse);
    for key in keys {
        if let Some(value) = tx.read::<Str>(key)? {
            let text = value.text();
            let sketch = sketch(&text)?;
            if sketch.layout() == Layout::Dense {
                layout = Layout::Dense;
            }
            sketch.raise(&mut registers)?;
        }
    }
    Ok((registers, layout))
}

/// Raises a HyperLogLog's registers to these one after the other: a sparse one has the same bytes as in Redis.
fn store(sketch: &mut SketchMut<'_>, registers: &Registers, layout: Layout) -> Result<(), Corrupted> {
    if layout == Layout::Dense {
        sketch.make_dense()?;
    }
    for (register, value) in registers.iter().enumerate().filter(|(_, value)| **value > 0) {
        sketch.raise(register, *value)?;
    }
    sketch.forget();
    Ok(())
}
