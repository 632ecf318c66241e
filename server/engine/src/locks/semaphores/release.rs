//! `SEM.RELEASE`: gives permits back.

use super::give_back::GiveBack;
use super::holds::Id;
use super::{HistoryCause, add, change_account, count, ids, note, owner, session};
use crate::keyspace::Tx;
use crate::spec::{
    Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, ValidValues, errors,
};
use lockwheel_resp::Reply;
use std::collections::BTreeSet;

const INVALID_ID: CommandError = CommandError::text("ERR invalid permit id");

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("sem.release", -3, release as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N), N the holds of the owner that it passes, and the ids")
    .summary("Gives permits of a semaphore back: so many, or those with these ids.")
    .help(&[
        "SEM.RELEASE <key> <owner> [PERMITS <count>|ID <id> [<id> ...]] [FORCE]",
        "    Give permits back, one or so many or these. FORCE adds permits that the owner does not hold.",
    ])
    .help_after("sem.acquire")
    .syntax("key owner [PERMITS count | ID id [id ...]] [FORCE]")
    .errors(&[
        "ERR syntax error: *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *",
        "ERR increment or decrement would overflow",
        "ERR invalid owner: *",
        "ERR invalid permit id: *",
        "NOTHELD this owner does not hold so many permits",
    ])];

/// What is given back: so many permits, or those with ids.
enum What {
    Count(i64),
    Ids(Vec<Id>),
}

fn parse(args: Args<'_>) -> Result<(What, bool), CommandError> {
    let (mut what, mut force) = (None, false);
    let mut at = 3;
    while at < args.len() {
        if args.is(at, "force") && !force {
            force = true;
            at += 1;
        } else if args.is(at, "permits") && what.is_none() && at + 1 < args.len() {
            what = Some(What::Count(args.int_in(at + 1, 1, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?));
            at += 2;
        } else if args.is(at, "id") && what.is_none() {
            let words = args.from(at + 1).iter().take_while(|word| !word.eq_ignore_ascii_case(b"force"));
            let wrong = |at| INVALID_ID.of_argument(at, ValidValues::Value("32 hexadecimal digits"));
            let read = words.zip(at + 1..).map(|(word, at)| ids::parse(word).ok_or_else(|| wrong(at)));
            let read = read.collect::<Result<Vec<_>, _>>()?;
            if read.is_empty() {
                return Err(errors::SYNTAX);
            }
            at += 1 + read.len();
            what = Some(What::Ids(read));
        } else {
            return Err(errors::SYNTAX);
        }
    }
    Ok((what.unwrap_or(What::Count(1)), force))
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
        // What nobody held has been added.
        account.observe(after, out);
        ended
    });
    note(tx, key, owner, HistoryCause::Release, given.permits, given.added);
    ended.iter().for_each(|(holder, token)| session::end(tx, key, holder, *token));
    reply.integer(after);
    Ok(())
}
