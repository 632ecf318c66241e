//! `AWAIT.KEY`: waits until a key exists, is gone, or has a type.

use super::FLAGS;
use super::options::{LIMIT_TEXTS, REACHED, limit_ms};
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

pub(super) const ROWS: &[Row<Handler>] = &[Row::new("await.key", -3, Handler::BlockingData(await_key))
    .flags(&[Flags::READONLY, FLAGS])
    .categories(&["control"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
    .about("control", "7.2.0", "O(1)")
    .summary("Waits until a key exists, does not exist, or has a given type.")
    .reply(REACHED)
    .options(&[
        &[
            ("EXISTS", "Waits until the key exists."),
            ("GONE", "Waits until the key does not exist."),
            (
                "TYPE type",
                "Waits until the key has this type: string, list, set, zset, hash or \
                 stream.",
            ),
        ],
        LIMIT_TEXTS,
    ])
    .example(&["SET k v", "AWAIT.KEY k TYPE string", "AWAIT.KEY k GONE LIMIT 50"])
    .help(&[
        "AWAIT.KEY <key> EXISTS|GONE|TYPE <type> [LIMIT <milliseconds>]",
        "    Wait until the key is in that state.",
    ])
    .grammar(KEY)
    .errors(&[
        "ERR syntax error: *",
        "ERR no such type 'name': *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *",
    ])];

/// Returns the class of waits for a state of a key. Each state has its own line in the queue. While the key is not in
/// that state, all its waiters are skipped at once. These waiters do not count as waiters of a lock.
const fn class(name: &'static str, accepts: fn(Option<&Value>) -> bool) -> WaitClass {
    WaitClass { name, line: name, accepts, asking: Asking::All, out_of_turn: None, counts: false }
}

const EXISTS: WaitClass = class("state-exists", |value| value.is_some());
const GONE_KEY: WaitClass = class("state-gone", |value| value.is_none());

/// The types of keys, as TYPE names them, each with its wait class.
const TYPES: &[(&str, WaitClass); 6] = &[
    ("string", class("state-string", |value| is_of(value, "string"))),
    ("list", class("state-list", |value| is_of(value, "list"))),
    ("set", class("state-set", |value| is_of(value, "set"))),
    ("zset", class("state-zset", |value| is_of(value, "zset"))),
    ("hash", class("state-hash", |value| is_of(value, "hash"))),
    ("stream", class("state-stream", |value| is_of(value, "stream"))),
];

fn is_of(value: Option<&Value>, name: &str) -> bool {
    value.is_some_and(|value| value.type_name() == name)
}

/// The awaited state of a key, as the class of its waits.
#[derive(Clone, Copy, Debug)]
struct State(&'static WaitClass);

impl State {
    fn of(options: &ParsedArgs<'_>) -> Result<Self, CommandError> {
        match options.value(TYPE) {
            Some(name) => {
                let of_type = TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
                of_type.map(|(_, class)| State(class)).ok_or_else(|| no_such_type(name))
            }
            None if options.has(GONE) => Ok(State(&GONE_KEY)),
            None => Ok(State(&EXISTS)),
        }
    }
}

fn no_such_type(name: &[u8]) -> CommandError {
    const KNOWN: &str =
        ": the types are string, list, set, zset, hash and stream; without TYPE, use EXISTS or GONE";
    unknown_word("no such type", name, KNOWN, TYPES.iter().map(|(name, _)| *name))
}

impl Attempt for State {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        _: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let holds = (self.0.accepts)(tx.peek(&args[1]));
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
    let wait = Wait::on_keys([1], state.0, state, Some(limit_ms), Null::Bulk);
    Ok(Wait { real_time: true, ..wait }.into())
}
