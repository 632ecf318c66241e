//! `SEM.RELEASE`: gives permits back.

use super::give_back::GiveBack;
use super::holds::Id;
use super::{HistoryCause, add, change_account, count, ids, note, owner, session};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    ValidValues, errors, grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use std::collections::BTreeSet;

const INVALID_ID: CommandError = CommandError::text("ERR invalid permit id");

const RELEASE: &CommandGrammar = grammar!("key owner [PERMITS count:1.. | ID id [id ...]] [FORCE]");

symbols!(RELEASE: PERMITS, ID, FORCE);

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("sem.release", -3, release as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N), N the holds of the owner that it passes, and the ids")
    .summary("Releases permits of a semaphore: a given number, or those with the given ids.")
    .reply("An integer: the available permits.")
    .options(&[&[
        ("PERMITS count", "The number of permits, 1 by default, the owner's oldest first."),
        ("ID id", "Releases the permits with these ids."),
        ("FORCE", "Adds permits that the owner does not hold, as Redisson does."),
    ]])
    .example(&[
        "SEM.INIT pool 3",
        "SEM.ACQUIRE pool alice PERMITS 2",
        "SEM.RELEASE pool alice",
        "SEM.RELEASE pool bob",
    ])
    .help(&[
        "SEM.RELEASE <key> <owner> [PERMITS <count>|ID <id> [<id> ...]] [FORCE]",
        "    Release one permit, a given number, or those with the given ids. FORCE adds permits that the",
        "    owner does not hold.",
    ])
    .help_after("sem.acquire")
    .grammar(RELEASE)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *",
        count::NOT_A_COUNT,
        "ERR increment or decrement would overflow",
        "ERR invalid owner: *",
        "ERR invalid permit id: *",
        "NOTHELD this owner does not hold that many permits",
    ])];

/// The permits to give back: a number of permits, or those with ids.
enum What {
    Count(i64),
    Ids(Vec<Id>),
}

fn parse(args: Args<'_>) -> Result<(What, bool), CommandError> {
    let options: ParsedArgs<'_> = RELEASE.parse(args)?;
    let what = match options.has(ID) {
        true => {
            let words = options.values(ID).iter();
            let id = |word: &&[u8]| ids::parse(word).ok_or_else(|| invalid_id(&options, word));
            What::Ids(words.map(id).collect::<Result<Vec<_>, _>>()?)
        }
        false => What::Count(options.integer(PERMITS)?.unwrap_or(1)),
    };
    Ok((what, options.has(FORCE)))
}
#[cold]
fn invalid_id(options: &ParsedArgs<'_>, id: &[u8]) -> CommandError {
    options.wrong_value((ID, id), &INVALID_ID, &ValidValues::Value("32 hexadecimal digits"))
}

fn release(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, owner) = (&args[1], owner(args, 2)?);
    let (what, force) = parse(args)?;
    let left = count::read(tx, key)?.unwrap_or(0);
    let out = ids::count(tx, key)?;
    let given = match what {
        What::Count(permits) => GiveBack::count(tx, key, owner, permits, force)?,
        What::Ids(wanted) => GiveBack::ids(tx, key, owner, &wanted, force)?,
    };
    left.checked_add(given.permits).ok_or(errors::INCREMENT_OVERFLOW)?;
    ids::take_back(tx, key, &given.ids)?;
    let after = add(tx, key, given.permits)?;
    let out = out - given.ids.len() as i64;
    let ended: BTreeSet<(Box<[u8]>, u64)> = change_account(tx, key, left, out, |account| {
        let mut remove = |place| account.holds.remove(place);
        let ended =
            given.whole.iter().filter_map(|place| Some((place.0.clone(), remove(place)?.token))).collect();
        if let Some((place, by)) = &given.part {
            account.holds.lower(place, *by);
        }
        // Permits that had no holder have been added.
        account.observe(after, out);
        ended
    });
    note(tx, key, owner, HistoryCause::Release, given.permits, given.added);
    ended.iter().for_each(|(holder, token)| session::end(tx, key, holder, *token));
    reply.integer(after);
    Ok(())
}
