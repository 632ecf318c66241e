//! `AWAIT.EVENT`: the history of locks has something.

use super::options::limit_ms;
use super::{FLAGS, in_real_time};
use crate::core::{Call, Engine, EngineAttempt, Handler, Retry, StateOf};
use crate::locks::{HISTORY_IS_OFF, HistoryEvent, HistoryFilter, HistoryReader};
use crate::spec::{
    Args, CommandError, CommandGrammar, Flow, Null, Row, Wait, grammar, symbols, unknown_word,
};
use lockwheel_resp::Reply;
use std::cell::Cell;

const EVENT: &CommandGrammar = grammar!(
    "event [KEY pattern] [OWNER pattern] [SINCE seq:0..] [COUNT count:1..] [LIMIT milliseconds:0..]"
);

symbols!(EVENT: KEY, OWNER, SINCE, COUNT, LIMIT);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("await.event", -2, Handler::BlockingEngine(event))
    .flags(&[FLAGS])
    .categories(&["control"])
    .about("control", "7.2.0", "O(N), N the entries of the history")
    .summary("Waits until the history of locks has an event, and answers its number.")
    .help(&[
        "AWAIT.EVENT <event> [KEY <pattern>] [OWNER <pattern>] [SINCE <seq>] [COUNT <count>] \
             [LIMIT <milliseconds>]",
        "    Wait until LOCK.HISTORY has such an event, or so many; the number of the last of these.",
    ])
    .grammar(EVENT)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *",
        "ERR no such event 'name': *",
        "ERR the pattern is longer than 4096 bytes",
        "ERR the history of locks is off: *",
    ])];

/// So many entries are wanted; which have been looked at, and how many of them were.
#[derive(Debug)]
struct Wanted {
    event: HistoryEvent,
    filter: HistoryFilter,
    count: u64,
    seen: Cell<u64>,
    /// The number of the history that these are of.
    history: Cell<u64>,
    found: Cell<u64>,
}

impl EngineAttempt for Wanted {
    fn watches(&self) -> StateOf {
        StateOf::History
    }

    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        let Some(history) = HistoryReader::of(&engine.keyspace) else { return false };
        if self.history.replace(history.number()) != history.number() {
            self.seen.set(0);
        }
        let (mut found, mut last) = (self.found.get(), self.seen.get());
        for seq in history.events(self.event, &self.filter, last) {
            (found, last) = (found + 1, seq);
            if found == self.count {
                reply.integer(last as i64);
                return true;
            }
        }
        self.found.set(found);
        self.seen.set(history.last());
        false
    }
}

/// The error for a word that is no event of the history.
fn no_such_event(name: &[u8]) -> CommandError {
    let known: Vec<&str> = HistoryEvent::ALL.iter().map(|event| event.name()).collect();
    unknown_word("no such event", name, &format!(": there are {}", known.join(", ")), known)
}

fn event(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let known = HistoryEvent::ALL.iter().find(|event| args[1].eq_ignore_ascii_case(event.name().as_bytes()));
    let event = *known.ok_or_else(|| no_such_event(&args[1]))?;
    let options = EVENT.parse(args)?;
    let filter = HistoryFilter::of(&options, [KEY, OWNER, SINCE])?;
    let count = options.number(COUNT)?.unwrap_or(1);
    let limit_ms = limit_ms(&options, LIMIT)?;
    let history = HistoryReader::of(&engine.keyspace).ok_or(HISTORY_IS_OFF)?;
    let (seen, history, found) = (Cell::new(filter.since), Cell::new(history.number()), Cell::new(0));
    let wanted = Wanted { event, filter, count, seen, history, found };
    if wanted.attempt(engine, reply) {
        return Ok(Flow::Done);
    }
    Ok(in_real_time(Wait::new(Retry::Always(Box::new(wanted)), Some(limit_ms), Null::Bulk)))
}
