//! `LATCH.SET`, `LATCH.COUNTDOWN` and `LATCH.GET`: the count of a latch.

use super::super::{count, key_changes};
use super::redisson;
use crate::spec::{
    Args, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row, Symbol, grammar,
    symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{IntText, Str, Value};

const NOT_POSITIVE: &str = "ERR value is out of range, must be positive: *";

const SET: &CommandGrammar = grammar!("key count:1.. [NX]");
const COUNTDOWN: &CommandGrammar = grammar!("key [count:1..]");
const TO: Symbol = SET.symbol("count");
const BY: Symbol = COUNTDOWN.symbol("count");

symbols!(SET: NX);

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("latch.set", -3, set as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Sets the count of a latch; with NX only if the latch does not exist.")
        .reply("An integer: 1 if the count was set, 0 if NX is given and there is a latch.")
        .options(&[&[("NX", "Sets the count only if there is no latch.")]])
        .example(&["LATCH.SET ready 2", "LATCH.SET ready 3 NX"])
        .help(&[
            "LATCH.SET <key> <count> [NX]",
            "    Set the count of a latch; with NX only if the latch does not exist.",
        ])
        .grammar(SET)
        .errors(&["ERR syntax error: *", NOT_POSITIVE, "ERR value is not an integer or out of range: *"]),
    Row::new("latch.countdown", -2, countdown as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Lowers the count of a latch; at zero the latch is removed and all its waiters continue.")
        .reply("An integer: the count that is left, 0 if there is no latch.")
        .options(&[&[("count", "The number to subtract, 1 by default.")]])
        .example(&["LATCH.SET ready 2", "LATCH.COUNTDOWN ready", "LATCH.COUNTDOWN ready"])
        .help(&[
            "LATCH.COUNTDOWN <key> [<count>]",
            "    Lower the count of a latch. At zero, all waiters continue.",
        ])
        .help_after("latch.set")
        .grammar(COUNTDOWN)
        .errors(&[
            NOT_POSITIVE,
            "ERR value is not an integer or out of range: *",
            count::NOT_A_COUNT,
            "ERR syntax error: *",
        ]),
    Row::new("latch.get", 2, get as DataHandler)
        .flags(&[Flags::READONLY, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Returns the count of a latch, or 0 if there is no latch.")
        .reply("An integer: the count, 0 if there is no latch.")
        .example(&["LATCH.GET ready", "LATCH.SET ready 2", "LATCH.GET ready"])
        .help(&["LATCH.GET <key>", "    Return the count of a latch, or 0 if there is no latch."])
        .help_after("latch.countdown")
        .syntax("key")
        .errors(&[count::NOT_A_COUNT]),
    Row::help_command("latch.help", 1)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(1)")
        .summary("Explains the latch commands."),
];

fn set(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options: ParsedArgs<'_> = SET.parse(args)?;
    let to = options.integer(TO)?.unwrap_or(1);
    // A lock or a semaphore is not overwritten.
    let exists = tx.read::<Str>(key)?.is_some();
    if exists && options.has(NX) {
        reply.integer(0);
        return Ok(());
    }
    tx.set(key, Value::Str(Str::from_i64(to)), false);
    tx.changed(key, events::SET);
    tx.propagate_key(key, &[KeyRequest::Set(&IntText::new(to))]);
    tx.publish(&redisson::latch_channel(key), redisson::NEW_COUNT_MESSAGE);
    reply.integer(1);
    Ok(())
}

fn countdown(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options: ParsedArgs<'_> = COUNTDOWN.parse(args)?;
    let by = options.integer(BY)?.unwrap_or(1);
    let Some(before) = count::read(tx, key)? else {
        reply.integer(0);
        return Ok(());
    };
    let after = before.saturating_sub(by);
    // The count is written before the key is deleted, also when zero: it shows why the key goes.
    count::write(tx, key, after);
    if after <= 0 {
        key_changes::delete(tx, key);
        if before > 0 {
            tx.publish(&redisson::latch_channel(key), redisson::ZERO_COUNT_MESSAGE);
        }
    }
    reply.integer(after.max(0));
    Ok(())
}

fn get(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(count::read(tx, &args[1])?.unwrap_or(0));
    Ok(())
}
