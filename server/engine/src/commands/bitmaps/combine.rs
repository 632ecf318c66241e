//! BITOP.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::bits::{self, BitOperation};
use lockwheel_store::values::{Str, Text, Value};

const ONE_SOURCE: &str = "ERR BITOP NOT must be called with a single source key.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("bitop", -4, bitop as DataHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM])
    .categories(&["bitmap"])
    .keys(&[
        KeySpec::one(2, &[KeyFlags::OW, KeyFlags::UPDATE]),
        KeySpec::range(3, -1, 1, &[KeyFlags::RO, KeyFlags::ACCESS]),
    ])
    .about("bitmap", "2.6.0", "O(N)")
    .summary("Combines strings bit by bit, stores the result and returns its length.")
    .syntax("(operation: AND | OR | XOR | NOT) destkey key [key ...]")
    .errors(&["ERR syntax error", ONE_SOURCE])];

/// The operation. `None` for NOT.
fn operation(args: Args<'_>) -> Result<Option<BitOperation>, CommandError> {
    let known = [("and", BitOperation::And), ("or", BitOperation::Or), ("xor", BitOperation::Xor)];
    match known.iter().find(|(word, _)| args.is(1, word)) {
        Some((_, operation)) => Ok(Some(*operation)),
        None if !args.is(1, "not") => Err(errors::SYNTAX),
        None if args.len() != 4 => Err(CommandError::text(ONE_SOURCE)),
        None => Ok(None),
    }
}

fn bitop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let operation = operation(args)?;
    let sources = tx.read_all::<Str>(args.from(3))?;
    let texts: Vec<Text<'_>> =
        sources.iter().map(|source| source.map_or(Text::Bytes(b""), Str::text)).collect();
    allocation::check(texts.iter().map(|text| text.len()).max().unwrap_or(0))?;
    let result = match operation {
        Some(operation) => bits::combine(operation, &texts),
        None => bits::invert(&texts[0]),
    };
    let len = result.len();
    if len == 0 {
        tx.delete(&args[2]);
    } else {
        tx.set(&args[2], Value::Str(Str::raw_from(result)), false);
        tx.changed(&args[2], events::SET);
    }
    reply.integer(len as i64);
    Ok(())
}
