//! `AWAIT.KEY`: a key is there, is gone, or is of a type.

use super::FLAGS;
use super::options::limit_ms;
use crate::core::Handler;
use crate::spec::{
    Args, Asking, Attempt, BlockingOutcome, CommandError, CommandGrammar, Flags, Flow, KeyFlags, KeySpec,
    Null, ParsedArgs, Row, Wait, WaitClass, grammar, symbols, unknown_word,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

const KEY: &CommandGrammar = grammar!("key (EXISTS | GONE | TYPE type) [LIMIT milliseconds:0..]");

symbols!(KEY: GONE, TYPE, LIMIT);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("await.key", -3, Handler::BlockingData(await_key))
    .flags(&[Flags::READONLY, FLAGS])
    .categories(&["control"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
    .about("control", "7.2.0", "O(1)")
    .summary("Waits until a key is there, is gone, or is of a type.")
    .help(&[
        "AWAIT.KEY <key> EXISTS|GONE|TYPE <type> [LIMIT <milliseconds>]",
        "    Wait until the key is in that state.",
    ])
    .grammar(KEY)
    .errors(&[
        "ERR syntax error: *",
        "ERR no such type 'name': *",
        "ERR value is out of range, must be positive: *",
    ])];

/// The types of keys, as TYPE names them.
const TYPES: [&str; 6] = ["string", "list", "set", "zset", "hash", "stream"];

/// Tests that wait for a key's state: each for its own, without counting as waiters of a lock.
const STATE: WaitClass = WaitClass {
    name: "state",
    line: "state",
    accepts: |_| true,
    asking: Asking::All,
    out_of_turn: None,
    counts: false,
};

/// A key's state.
#[derive(Debug)]
enum State {
    Exists,
    Gone,
    Type(Box<[u8]>),
}

impl State {
    fn of(options: &ParsedArgs<'_>) -> Result<Self, CommandError> {
        match options.value(TYPE) {
            Some(name) if TYPES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name)) => {
                Ok(State::Type(name.into()))
            }
            Some(name) => Err(no_such_type(name)),
            None if options.has(GONE) => Ok(State::Gone),
            None => Ok(State::Exists),
        }
    }

    fn holds(&self, value: Option<&Value>) -> bool {
        match self {
            State::Exists => value.is_some(),
            State::Gone => value.is_none(),
            State::Type(name) => {
                value.is_some_and(|value| value.type_name().as_bytes().eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The error for a word that is no type.
fn no_such_type(name: &[u8]) -> CommandError {
    const KNOWN: &str =
        ": it is string, list, set, zset, hash or stream; without TYPE a key EXISTS or is GONE";
    unknown_word("no such type", name, KNOWN, TYPES)
}

impl Attempt for State {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        _: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let holds = self.holds(tx.peek(&args[1]));
        if holds {
            reply.integer(1);
        }
        Ok(holds)
    }
}

fn await_key(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let options = KEY.parse(args)?;
    let (state, limit_ms) = (State::of(&options)?, limit_ms(&options, LIMIT)?);
    if state.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let wait = Wait::on_keys([1], &STATE, state, Some(limit_ms), Null::Bulk);
    Ok(Wait { real_time: true, ..wait }.into())
}
