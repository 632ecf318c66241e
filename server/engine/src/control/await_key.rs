//! `AWAIT.KEY`: a test waits for a key's state.

use super::limit::Limit;
use crate::keyspace::Tx;
use crate::spec::{
    Args, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec, Row, errors,
};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("await.key", -3, await_key as BlockingHandler)
    .flags(&[Flags::CONTROL, Flags::READONLY, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::BLOCKING])
    .categories(&["control"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
    .about("control", "7.2.0", "O(1)")
    .summary("Waits until a key is there, is gone, or is of a type.")
    .help(&[
        "AWAIT.KEY <key> EXISTS|GONE|TYPE <type> [LIMIT <milliseconds>]",
        "    Wait until the key is in that state.",
    ])
    .help_after("await.subscribers")
    .syntax("key (EXISTS | GONE | TYPE type) [LIMIT milliseconds]")
    .errors(&["ERR syntax error", "ERR value is out of range, must be positive"])];

/// The state that is waited for.
enum State<'a> {
    Exists,
    Gone,
    Type(&'a [u8]),
}

impl<'a> State<'a> {
    /// The state, and the argument behind it.
    fn parse(args: Args<'a>) -> Result<(Self, usize), CommandError> {
        if args.is(2, "exists") {
            Ok((State::Exists, 3))
        } else if args.is(2, "gone") {
            Ok((State::Gone, 3))
        } else if args.is(2, "type") {
            Ok((State::Type(args.get(3).ok_or(errors::SYNTAX)?), 4))
        } else {
            Err(errors::SYNTAX)
        }
    }
}

fn await_key(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let (state, rest) = State::parse(args)?;
    let limit = Limit::parse(args, rest)?;
    let value = tx.peek(&args[1]);
    let holds = match state {
        State::Exists => value.is_some(),
        State::Gone => value.is_none(),
        State::Type(name) => {
            value.is_some_and(|value| value.type_name().as_bytes().eq_ignore_ascii_case(name))
        }
    };
    if !holds {
        return Ok(Flow::NotYet(limit.wait([1])));
    }
    reply.integer(1);
    Ok(Flow::Done)
}
