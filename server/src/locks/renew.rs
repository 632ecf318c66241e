//! `LOCK.RENEW`: sets the leases of locks that an owner holds, as Redisson's watchdog does.

use super::layout::{self, Standing};
use super::options;
use crate::keyspace::{Tx, events};
use crate::table::{Args, CommandError, DataHandler, Flow, KeySpec, Outcome, Row, errors, flags, key_flags};
use lockwheel_resp::Reply;

const NUMKEYS: CommandError = CommandError::text("ERR numkeys should be greater than 0");

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.renew", -6, renew as DataHandler)
    .flags(flags::WRITE | flags::FAST | flags::MOVABLEKEYS)
    .categories(&["lock"])
    .keys(&[KeySpec::counted(1, key_flags::RW | key_flags::UPDATE)])
    .about("lock", "7.2.0", "O(N), N the keys")
    .summary("Sets the leases of locks that an owner holds; with GT only makes them longer.")
    .syntax("numkeys key [key ...] owner (EX seconds | PX milliseconds) [GT]")
    .errors(&[
        "ERR syntax error",
        "ERR numkeys should be greater than 0",
        "ERR value is not an integer or out of range",
        "ERR invalid expire time in 'lock.renew' command",
        "ERR invalid owner",
        "LOCKMODE the key holds a read-write lock",
    ])];

fn renew(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let keys = args.int_in(1, 1, i64::MAX, NUMKEYS)?;
    let keys = usize::try_from(keys).ok().filter(|&keys| keys <= args.len().saturating_sub(5));
    let Some(keys) = keys else { return Err(errors::SYNTAX) };
    let owner = layout::check_owner(&args[2 + keys])?;
    let lease_ms = options::lease_ms(tx, args, 3 + keys, "lock.renew")?.ok_or(errors::SYNTAX)?;
    let longer_only = match args.from(5 + keys) {
        [] => false,
        [word] if word.eq_ignore_ascii_case(b"gt") => true,
        _ => return Err(errors::SYNTAX),
    };
    let keys = &args.from(2)[..keys];
    // Every key is looked at before any is changed: an error changes nothing.
    let held = keys
        .iter()
        .map(|key| Ok(matches!(layout::standing(tx, key, owner)?, Standing::Mine(_))))
        .collect::<Result<Vec<bool>, CommandError>>()?;
    let deadline = tx.now().wall_ms() + lease_ms;
    reply.array(keys.len());
    for (key, held) in keys.iter().zip(held) {
        let shorter = longer_only && tx.deadline(key).is_none_or(|current| current >= deadline);
        let renewed = held && !shorter;
        if renewed {
            tx.set_deadline(key, deadline);
            tx.changed(key, events::EXPIRE);
        }
        reply.integer(i64::from(renewed));
    }
    Ok(Flow::Done)
}
