//! `AWAIT.EVENT`: waits for entries in the history of locks.

use super::FLAGS;
use super::options::{LIMIT_TEXTS, limit_ms};
use crate::core::{Handler, PartHandler};
use crate::locks::{HISTORY_IS_OFF, HistoryEvent, HistoryFilter, HistoryReader};
use crate::spec::{Args, CommandError, CommandGrammar, Row, grammar, symbols, unknown_word};
use crate::waits::{StateAttempt, StateOf, StateView, StateWait};
use lockwheel_resp::Reply;
use std::cell::Cell;

const EVENT: &CommandGrammar = grammar!(
    "event [KEY pattern] [OWNER pattern] [SINCE seq:0..] [COUNT count:1..] [LIMIT milliseconds:0..]"
);

symbols!(EVENT: KEY, OWNER, SINCE, COUNT, LIMIT);

pub(super) const ROWS: &[Row<Handler>] =
    &[Row::new("await.event", -2, Handler::Part(PartHandler::State(event)))
        .flags(&[FLAGS])
        .categories(&["control"])
        .about("control", "7.2.0", "O(N), N the entries of the history")
        .summary("Waits until the history of locks has an event, and returns the number of its entry.")
        .reply(
            "An integer: the number of the last of these entries. Null if the LIMIT has passed \
             first.",
        )
        .options(&[
            &[
                ("event", "The event of the entry, such as `acquired` or `refused`."),
                ("KEY pattern", "Only entries of keys that match this glob pattern."),
                ("OWNER pattern", "Only entries of owners that match this glob pattern."),
                ("SINCE seq", "Only entries after the one with this number."),
                ("COUNT count", "Waits for so many entries, 1 by default."),
            ],
            LIMIT_TEXTS,
        ])
        .example(&[
            "CONFIG SET lock-history yes",
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "AWAIT.EVENT acquired KEY order:*",
            "AWAIT.EVENT released KEY order:* LIMIT 50",
        ])
        .help(&[
            "AWAIT.EVENT <event> [KEY <pattern>] [OWNER <pattern>] [SINCE <seq>] [COUNT <count>] \
             [LIMIT <milliseconds>]",
            "    Wait until LOCK.HISTORY has a matching event, or COUNT of them. Return its number.",
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

/// A wait for a number of matching entries, with the progress so far.
#[derive(Debug)]
struct Wanted {
    event: HistoryEvent,
    filter: HistoryFilter,
    count: u64,
    seen: Cell<u64>,
    /// The number of the history to which `seen` and `found` belong.
    history: Cell<u64>,
    found: Cell<u64>,
}

impl Wanted {
    /// Examines the entries added since the last call. Returns the number of the last matching entry once there are
    /// enough; a later call finds it again. O(n), where n is the number of new entries.
    fn look(&self, view: StateView<'_>) -> Option<u64> {
        let history = HistoryReader::of(view.keyspace)?;
        if self.history.replace(history.number()) != history.number() {
            self.seen.set(0);
        }
        let (mut found, seen) = (self.found.get(), self.seen.get());
        for seq in history.events(self.event, &self.filter, seen) {
            found += 1;
            if found == self.count {
                return Some(seq);
            }
        }
        self.found.set(found);
        self.seen.set(history.last());
        None
    }
}

impl StateAttempt for Wanted {
    fn watches(&self) -> StateOf {
        StateOf::History
    }

    fn may_be_reached(&self, view: StateView<'_>) -> bool {
        self.look(view).is_some()
    }

    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool {
        let last = self.look(view);
        last.inspect(|last| reply.integer(*last as i64)).is_some()
    }
}

fn no_such_event(name: &[u8]) -> CommandError {
    let known: Vec<&str> = HistoryEvent::ALL.iter().map(|event| event.name()).collect();
    unknown_word("no such event", name, &format!(": the events are {}", known.join(", ")), known)
}

fn event(view: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let known = HistoryEvent::ALL.iter().find(|event| args[1].eq_ignore_ascii_case(event.name().as_bytes()));
    let event = *known.ok_or_else(|| no_such_event(&args[1]))?;
    let options = EVENT.parse(args)?;
    let filter = HistoryFilter::of(&options, [KEY, OWNER, SINCE])?;
    let count = options.number(COUNT)?.unwrap_or(1);
    let limit_ms = limit_ms(&options, LIMIT)?;
    let history = HistoryReader::of(view.keyspace).ok_or(HISTORY_IS_OFF)?;
    let (seen, history, found) = (Cell::new(filter.since), Cell::new(history.number()), Cell::new(0));
    Ok(StateWait::new(Wanted { event, filter, count, seen, history, found }, limit_ms))
}
