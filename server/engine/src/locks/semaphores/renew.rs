//! `SEM.RENEW`: moves the end of a lease.

use super::super::{options, sessions};
use super::holds::{Id, Lease};
use super::{account, change_account, count, ids};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, grammar,
    symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const RENEW: &CommandGrammar = grammar!("key id PX milliseconds:1..");

symbols!(RENEW: PX);

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("sem.renew", 5, renew as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N), N the holds")
    .summary("Sets the lease of the permit with this id, or of all leased permits of this owner.")
    .reply("An integer: 1 if a lease was set, else 0.")
    .options(&[&[
        ("id", "The id of a permit, or the name of an owner for all its leased permits."),
        ("PX milliseconds", "The lease, counted from now."),
    ]])
    .example(&[
        "SEM.INIT pool 3",
        "SEM.ACQUIRE pool alice PX 5000",
        "SEM.RENEW pool alice PX 10000",
        "SEM.RENEW pool bob PX 10000",
    ])
    .help(&[
        "SEM.RENEW <key> <id|owner> PX <milliseconds>",
        "    Set the lease of the permit with this id, or of all leased permits of this owner.",
    ])
    .help_after("sem.release")
    .grammar(RENEW)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is not an integer or out of range: *",
        count::NOT_A_COUNT,
        "ERR invalid expire time in 'sem.renew' command: *",
    ])];

fn renew(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (key, name) = (&args[1], &args[2]);
    let options = RENEW.parse(args)?;
    let lease_ms = options::lease_ms(tx, &options, &[(PX, 1)], "sem.renew")?.ok_or(errors::SYNTAX)?;
    let deadline_ms = tx.now().wall_ms().saturating_add(lease_ms);
    let left = count::read(tx, key)?;
    let out = ids::count(tx, key)?;
    let renewed = match is_out(tx, key, name)? {
        Some(id) => {
            ids::renew(tx, key, &id, deadline_ms)?;
            let hold = account(tx, key, |account| account.holds.token_of(&id)).flatten();
            hold.into_iter().for_each(|token| sessions::uphold(tx, token));
            // Waiters for the end of this lease now wait for another one.
            tx.wake_waiters(key);
            true
        }
        None if account(tx, key, |_| ()).is_none() => false,
        None => {
            let end = Lease::new(deadline_ms, tx.next_order());
            let (is_renewed, tokens) = change_account(tx, key, left.unwrap_or(0), out, |account| {
                let tokens: Vec<u64> = account.holds.of(name).map(|(_, hold)| hold.token).collect();
                (account.holds.renew(name, end), tokens)
            });
            tokens.into_iter().for_each(|token| sessions::uphold(tx, token));
            is_renewed
        }
    };
    reply.integer(i64::from(renewed));
    Ok(())
}

/// Returns the id that a name shows, if that permit is out and its lease has not ended.
fn is_out(tx: &mut Tx<'_>, key: &[u8], name: &[u8]) -> Result<Option<Id>, CommandError> {
    let Some(id) = ids::parse(name) else { return Ok(None) };
    let over_ms = tx.over_until_ms();
    Ok(ids::deadline_ms(tx, key, &id)?.filter(|deadline| *deadline > over_ms).map(|_| id))
}
