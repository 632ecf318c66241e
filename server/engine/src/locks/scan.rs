//! `LOCK.SCAN`: the keys of locks, a page at a time.

use super::redisson;
use crate::keyspace::{Tx, glob};
use crate::spec::{Args, CommandError, DataHandler, Flags, Outcome, Row, errors};
use crate::values::Value;
use lockwheel_resp::{Reply, number};

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.scan", -2, scan as DataHandler)
    .flags(&[Flags::READONLY])
    .categories(&["lock"])
    .about("lock", "7.2.0", "O(1) for every call, O(N) for a complete iteration, N the keys")
    .summary("Goes through the keys that are held as locks, a page at a time.")
    .help(&[
        "LOCK.SCAN <cursor> [MATCH <pattern>] [OWNER <owner>] [STATE HELD|WAITED] [COUNT <count>]",
        "    Go through the keys that are held as locks, as SCAN does: those of an owner, those that somebody waits",
        "    for.",
    ])
    .help_after("lock.info")
    .syntax("cursor [MATCH pattern] [OWNER owner] [STATE (HELD | WAITED)] [COUNT count]")
    .tips(&["nondeterministic_output"])
    .errors(&[
        "ERR invalid cursor",
        "ERR syntax error",
        "ERR value is not an integer or out of range",
    ])];

/// How many keys a call visits by default.
const COUNT_DEFAULT: usize = 10;

/// Which locks are wanted.
struct Wanted<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
    owner: Option<&'a [u8]>,
    waited: bool,
}

impl<'a> Wanted<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut wanted = Wanted { count: COUNT_DEFAULT, pattern: None, owner: None, waited: false };
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            if args.is(at, "match") {
                wanted.pattern = Some(value);
            } else if args.is(at, "owner") {
                wanted.owner = Some(value);
            } else if args.is(at, "count") {
                let count = args.int_in(at + 1, 1, i64::MAX, errors::SYNTAX)?;
                wanted.count = usize::try_from(count).unwrap_or(usize::MAX);
            } else if args.is(at, "state") && (args.is(at + 1, "held") || args.is(at + 1, "waited")) {
                wanted.waited = args.is(at + 1, "waited");
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(wanted)
    }

    fn has(&self, tx: &Tx<'_>, key: &[u8], value: &Value) -> bool {
        (tx.marked(key).is_some() || redisson::is_held_read_write(value))
            && self.pattern.is_none_or(|pattern| glob::matches(pattern, key, false))
            && self.owner.is_none_or(|owner| redisson::is_held_by(value, owner))
            && (!self.waited || tx.waiting(key).any(|waiter| !waiter.label.is_empty()))
    }
}

fn scan(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cursor = number::parse_i64(&args[1]).and_then(|cursor| u64::try_from(cursor).ok());
    let cursor = cursor.ok_or(errors::INVALID_CURSOR)?;
    let wanted = Wanted::parse(args)?;
    let tx = &*tx;
    let mut page = Vec::new();
    let next = tx.scan(cursor, wanted.count, &mut |key, value| {
        if wanted.has(tx, key, value) {
            page.push(key);
        }
    });
    reply.array(2);
    // A cursor has 53 bits at the most.
    reply.bulk(next.to_string().as_bytes());
    reply.array(page.len());
    page.iter().for_each(|key| reply.bulk(key));
    Ok(())
}
