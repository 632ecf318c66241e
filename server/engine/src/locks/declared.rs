//! The declarations of clients. `LOCK.MARK` writes a line into the history. `LOCK.ENTER` and `LOCK.LEAVE` declare a
//! critical section. `LOCK.OBSERVE` declares which other keys are locks.

use super::history::{Event, Happening};
use super::history_command::{FLAGS, OFF};
use super::ownership;
use super::records::{self, LockRecords};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, KeyFlags, KeySpec, Outcome, ParsedArgs, Row, grammar,
    kept_pattern, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const TOO_MANY_SECTIONS: CommandError = CommandError::text(
    "ERR too many open sections: the maximum is 65536 sections, or 8388608 bytes of names",
);
const TOO_MANY_PATTERNS: CommandError =
    CommandError::text("ERR too many observed patterns: the maximum is 1024");

const OBSERVE: &CommandGrammar = grammar!("[DEL] pattern");
const ENTER: &CommandGrammar = grammar!("key owner [TOKEN token:1..]");

symbols!(OBSERVE: DEL);
symbols!(ENTER: TOKEN);

const fn row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler).flags(&[FLAGS]).categories(&["lock", "control"])
}

pub(super) const ROWS: &[Row<DataHandler>] = &[
    row("lock.mark", 2, mark)
        .about("lock", "7.2.0", "O(1)")
        .summary("Adds a line of text, chosen by the test, to the history.")
        .reply("OK.")
        .example(&[
            "CONFIG SET lock-history yes",
            "LOCK.MARK \"the second part of the test\"",
            "AWAIT.EVENT mark",
        ])
        .help(&["LOCK.MARK <text>", "    Add a line of your own text to the history."])
        .help_after("lock.history")
        .syntax("text")
        .errors(&["ERR the history of locks is off: *"]),
    row("lock.observe", -2, observe)
        .about("lock", "7.2.0", "O(N), N the patterns")
        .summary("Treats the keys that match a pattern as locks, whatever their form.")
        .reply("OK. With DEL, an integer: 1 if the pattern was observed, else 0.")
        .options(&[&[("DEL", "Ends the observation of this pattern.")]])
        .example(&["LOCK.OBSERVE order:*", "LOCK.OBSERVE DEL order:*", "LOCK.OBSERVE DEL order:*"])
        .help(&[
            "LOCK.OBSERVE [DEL] <pattern>",
            "    Treat keys that match the pattern as locks: each field of a hash is an owner, and so is the",
            "    text of a string. DEL ends this.",
        ])
        .help_after("lock.mark")
        .grammar(OBSERVE)
        .errors(&[
            "ERR syntax error: *",
            "ERR too many observed patterns: the maximum is 1024",
            "ERR the pattern is longer than 4096 bytes",
        ]),
    row("lock.enter", -3, enter)
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("lock", "7.2.0", "O(log N), N the open sections")
        .summary("Declares that an owner has entered a critical section.")
        .reply("The integer 1.")
        .options(&[&[(
            "TOKEN token",
            "The token with which the owner works in the section. The history shows it.",
        )]])
        .example(&["LOCK.ENTER order:42 alice", "LOCK.LEAVE order:42 alice"])
        .help(&[
            "LOCK.ENTER <key> <owner> [TOKEN <token>]",
            "    Declare that an owner is in the critical section of a key. LOCK.VERIFY reports two owners",
            "    that are in it at once.",
        ])
        .help_after("lock.observe")
        .grammar(ENTER)
        .errors(&[
            "ERR syntax error: *",
            "ERR invalid owner: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
            "ERR too many open sections: the maximum is 65536 sections, or 8388608 bytes of names",
        ]),
    row("lock.leave", 3, leave)
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("lock", "7.2.0", "O(log N), N the open sections")
        .summary("Declares that an owner has left a critical section.")
        .reply("An integer: 1, or 0 if the owner was not in the section.")
        .example(&["LOCK.ENTER order:42 alice", "LOCK.LEAVE order:42 alice", "LOCK.LEAVE order:42 alice"])
        .help(&[
            "LOCK.LEAVE <key> <owner>",
            "    Declare that an owner has left the section. Return 0 if the owner was not in it.",
        ])
        .help_after("lock.enter")
        .syntax("key owner")
        .errors(&["ERR invalid owner: *"]),
];

fn mark(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    LockRecords::of(tx).history().ok_or(OFF)?;
    records::record(tx, Happening { text: &args[1], ..Happening::new(Event::Mark, b"", b"") });
    reply.ok();
    Ok(())
}

fn observe(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options: ParsedArgs<'_> = OBSERVE.parse(args)?;
    let pattern = kept_pattern(&args[args.len() - 1])?;
    let (records, _) = LockRecords::of_mut(tx);
    if options.has(DEL) {
        let known = records.ledger.observed.remove(pattern);
        reply.integer(i64::from(known));
    } else if records.ledger.observed.add(pattern) {
        reply.ok();
    } else {
        return Err(TOO_MANY_PATTERNS);
    }
    tx.renew_interests();
    Ok(())
}

fn enter(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, owner) = (&args[1], ownership::check_owner(&args[2])?);
    let options: ParsedArgs<'_> = ENTER.parse(args)?;
    let token = options.number(TOKEN)?.unwrap_or(0);
    let db = tx.db();
    let (records, _) = LockRecords::of_mut(tx);
    if !records.sections.enter(db, key, owner) {
        return Err(TOO_MANY_SECTIONS);
    }
    let entered = Happening::new(Event::Entered, key, owner);
    records::record(tx, Happening { grant: token, ..entered });
    reply.integer(1);
    Ok(())
}

fn leave(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, owner) = (&args[1], ownership::check_owner(&args[2])?);
    let db = tx.db();
    let (records, _) = LockRecords::of_mut(tx);
    let left = records.sections.leave(db, key, owner);
    if left {
        records::record(tx, Happening::new(Event::Left, key, owner));
    }
    reply.integer(i64::from(left));
    Ok(())
}
