//! `SEM.INIT`, `SEM.ADJUST` and `SEM.DRAIN`: set the permits of a semaphore.

use super::super::{key_changes, options};
use super::ledger::SemaphoreLedger;
use super::{HistoryCause, SUBSCRIBED, account, add, change_account, count, ids, note, publish};
use crate::spec::{
    Args, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row, Symbol, errors,
    grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{IntText, Str, Value};

const INIT: &CommandGrammar = grammar!("key permits:0.. [NX | FORCE] [PX milliseconds:1..]");
const ADJUST: &CommandGrammar = grammar!("key increment");
const PERMITS: Symbol = INIT.symbol("permits");
const INCREMENT: Symbol = ADJUST.symbol("increment");

symbols!(INIT: FORCE, PX);

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("sem.init", -3, init as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(log N), N the semaphores")
        .summary("Creates a semaphore with the given permits if it does not exist; FORCE creates it anew.")
        .reply("An integer: 1 if the semaphore was created, 0 if there is one already.")
        .options(&[&[
            ("NX", "Creates the semaphore only if there is none. This is the default."),
            ("FORCE", "Creates the semaphore anew. Then nobody holds any of its permits."),
            ("PX milliseconds", "The expiry of the key itself."),
        ]])
        .example(&["SEM.INIT pool 3", "SEM.INIT pool 5", "SEM.INIT pool 5 FORCE"])
        .help(&[
            "SEM.INIT <key> <permits> [NX|FORCE] [PX <milliseconds>]",
            "    Create a semaphore if it does not exist; FORCE creates it anew. PX sets the expiry of the",
            "    key itself.",
        ])
        .grammar(INIT)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is out of range, must be positive: *",
            "ERR value is not an integer or out of range: *",
            "ERR invalid expire time in 'sem.init' command: *",
        ]),
    Row::new("sem.adjust", 3, adjust as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(log N), N the semaphores")
        .summary("Adds or removes permits of a semaphore; the number that is left may be below zero.")
        .reply("An integer: the available permits, which may be below zero.")
        .options(&[&[("increment", "The permits to add. A negative number removes permits.")]])
        .example(&["SEM.INIT pool 3", "SEM.ADJUST pool -4", "SEM.ADJUST pool 2"])
        .help(&[
            "SEM.ADJUST <key> <increment>",
            "    Add or remove permits. The number that is left may be below zero.",
        ])
        .help_after("sem.info")
        .grammar(ADJUST)
        .errors(&[
            "ERR value is not an integer or out of range: *",
            count::NOT_A_COUNT,
            "ERR increment or decrement would overflow",
        ]),
    Row::new("sem.drain", 2, drain as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Takes all available permits of a semaphore, for no owner.")
        .reply("An integer: the number of taken permits.")
        .example(&["SEM.INIT pool 3", "SEM.DRAIN pool", "SEM.DRAIN pool"])
        .help(&["SEM.DRAIN <key>", "    Take all available permits, for no owner."])
        .help_after("sem.adjust")
        .syntax("key")
        .errors(&[count::NOT_A_COUNT]),
    Row::help_command("sem.help", 1)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(1)")
        .summary("Explains the semaphore commands."),
];

fn init(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options = INIT.parse(args)?;
    let lease_ms = options::lease_ms(tx, &options, &[(PX, 1)], "sem.init")?;
    let permits = options.integer(PERMITS)?.unwrap_or(0);
    // A lock is not overwritten.
    if tx.read::<Str>(key)?.is_some() && !options.has(FORCE) {
        reply.integer(0);
        return Ok(());
    }
    // Permits of an earlier incarnation are worth nothing in this one.
    ids::forget(tx, key);
    tx.set(key, Value::Str(Str::from_i64(permits)), false);
    tx.changed(key, events::SET);
    tx.propagate_key(key, &[KeyRequest::Set(&IntText::new(permits))]);
    if let Some(lease_ms) = lease_ms {
        let deadline = tx.now().wall_ms().saturating_add(lease_ms);
        key_changes::set_deadline(tx, key, deadline);
    }
    let db = tx.db();
    tx.subscriber_mut::<SemaphoreLedger>().expect(SUBSCRIBED).0.open(db, key, permits);
    tx.renew_interests();
    publish(tx, key, permits);
    note(tx, key, b"", HistoryCause::Init, permits, 0);
    reply.integer(1);
    Ok(())
}

fn adjust(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options: ParsedArgs<'_> = ADJUST.parse(args)?;
    let (key, by) = (&args[1], options.integer(INCREMENT)?.unwrap_or(0));
    let left = count::read(tx, key)?.unwrap_or(0);
    let out = ids::count(tx, key)?;
    let adjusted = account(tx, key, |account| {
        let adjustments = account.adjustments.checked_add(by)?;
        account.initial.checked_add(adjustments)
    });
    if adjusted.is_some_and(|adjustments| adjustments.is_none()) {
        return Err(errors::INCREMENT_OVERFLOW);
    }
    let after = add(tx, key, by)?;
    change_account(tx, key, left, out, |account| {
        account.adjustments = account.adjustments.saturating_add(by);
    });
    note(tx, key, b"", HistoryCause::Adjust, by, by);
    reply.integer(after);
    Ok(())
}

fn drain(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let left = count::read(tx, key)?.unwrap_or(0).max(0);
    if left > 0 {
        count::write(tx, key, 0);
        note(tx, key, b"", HistoryCause::Drain, left, 0);
    }
    reply.integer(left);
    Ok(())
}
