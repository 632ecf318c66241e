//! `LOCK.RENEW`: sets the leases of locks that an owner holds, as Redisson's watchdog does.

use super::layouts::{Standing, plain};
use super::options::{self, Tail};
use super::ownership;
use crate::keyspace::{Tx, events};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;

const NUMKEYS: CommandError = CommandError::text("ERR numkeys should be greater than 0");

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.renew", -6, renew as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST, Flags::MOVABLEKEYS])
    .categories(&["lock"])
    .keys(&[KeySpec::counted(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N), N the keys")
    .summary("Sets the leases of locks that an owner holds; with GT only makes them longer.")
    .help(&[
        "LOCK.RENEW <numkeys> <key> [<key> ...] <owner> EX <seconds>|PX <milliseconds> [GT] \
             [TOKEN <token>]",
        "    Set the leases of locks that the owner holds; GT only makes them longer, TOKEN \
             only that grant's.",
    ])
    .help_after("lock.release")
    .syntax("numkeys key [key ...] owner (EX seconds | PX milliseconds) [GT] [TOKEN token]")
    .errors(&[
        "ERR syntax error",
        "ERR numkeys should be greater than 0",
        "ERR value is not an integer or out of range",
        "ERR invalid expire time in 'lock.renew' command",
        "ERR invalid owner",
        "STALE token *",
        "LOCKMODE the key holds a read-write lock",
    ])];

/// Whether the owner holds the lock, and by the grant of this token.
fn may_renew(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], token: Option<i64>) -> Result<bool, CommandError> {
    let held = matches!(plain::standing(tx, key, owner)?, Standing::Mine(_));
    if let Some(token) = token.filter(|_| held) {
        ownership::check_token(tx, key, owner, token)?;
    }
    Ok(held)
}

fn renew(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let keys = args.int_in(1, 1, i64::MAX, NUMKEYS)?;
    let keys = usize::try_from(keys).ok().filter(|&keys| keys <= args.len().saturating_sub(5));
    let Some(keys) = keys else { return Err(errors::SYNTAX) };
    let owner = ownership::check_owner(&args[2 + keys])?;
    let lease_ms = options::lease_ms(tx, args, 3 + keys, "lock.renew")?.ok_or(errors::SYNTAX)?;
    let options = Tail::parse(args, 5 + keys, "gt")?;
    let keys = &args.from(2)[..keys];
    // Every key is checked before any is changed: an error changes nothing.
    let held = keys
        .iter()
        .map(|key| may_renew(tx, key, owner, options.token))
        .collect::<Result<Vec<bool>, CommandError>>()?;
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    reply.array(keys.len());
    for (key, held) in keys.iter().zip(held) {
        let shorter = options.word && tx.deadline(key).is_none_or(|current| current >= deadline);
        let renewed = held && !shorter;
        if renewed {
            tx.set_deadline(key, deadline);
            tx.changed(key, events::EXPIRE);
        }
        reply.integer(i64::from(renewed));
    }
    Ok(())
}
