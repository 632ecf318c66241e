//! Strings compared by their digests, as in Redis 8.4: DIGEST, DELEX. Taken from the public documentation.

use super::set_options::{Comparison, DIGEST_LENGTH};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Str, Value, digest};

const NOT_A_STRING: &str = "ERR Key should be of string type if conditions are specified";
const INVALID_CONDITION: &str = "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE";

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("digest", 2, digest_of_key as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("string", "8.4.0", "O(N) where N is the length of the string value.")
        .summary("Answers the digest of the string that a key holds.")
        .syntax("key"),
    Row::new("delex", -2, delex as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["string"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
        .about(
            "string",
            "8.4.0",
            "O(1) for IFEQ/IFNE, O(N) for IFDEQ/IFDNE where N is the length of the string value.",
        )
        .summary("Deletes a key if its string or the digest of it compares as asked.")
        .syntax(
            "key [condition: IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]",
        )
        .errors(&[NOT_A_STRING, INVALID_CONDITION, DIGEST_LENGTH]),
];

fn digest_of_key(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match tx.read::<Str>(&args[1])? {
        Some(text) => reply.bulk(&digest(&text.text())),
        None => reply.null(),
    }
    Ok(())
}

fn delex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let wanted = match args.len() {
        2 => true,
        4 => is_wanted(tx, args)?,
        _ => return Err(CommandError::arity("delex")),
    };
    reply.integer(i64::from(wanted && tx.delete(key)));
    Ok(())
}

/// Whether the condition of a request holds. An absent key satisfies no condition, and its condition is not read.
fn is_wanted(tx: &mut Tx<'_>, args: Args<'_>) -> Result<bool, CommandError> {
    let Some(value) = tx.get(&args[1]) else { return Ok(false) };
    let Value::Str(text) = value else { return Err(CommandError::text(NOT_A_STRING)) };
    let comparison = Comparison::read(args, 2).ok_or_else(|| CommandError::text(INVALID_CONDITION))?;
    comparison.holds(args, Some(&text.text()))
}
