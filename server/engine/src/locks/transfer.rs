//! `LOCK.TRANSFER`: gives a hold to another owner, without the lock being free in between.

use super::acquire::counter;
use super::held::OwnerHold;
use super::key_changes;
use super::layouts::read_write;
use super::ledger::{Detail, ReleaseCause};
use super::options;
use super::ownership;
use super::records;
use super::redisson::{MAX_READ_LEASES, WRITE_SUFFIX};
use super::release;
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, grammar,
    symbols,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{Hash, IntText, Str, Value};

const TRANSFER: &CommandGrammar = grammar!("key from to [PX milliseconds:1..] [TOKEN token]");

symbols!(TRANSFER: PX, TOKEN);

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.transfer", -4, transfer as DataHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N), N the holds that are transferred")
    .summary("Transfers the holds of an owner to another owner, and returns the new owner's token.")
    .reply("An integer: the token of the new owner.")
    .options(&[&[
        ("PX milliseconds", "The lease of the transferred holds. Without PX, the lease stays."),
        ("TOKEN token", "Transfers only the hold with this token."),
    ]])
    .example(&[
        "LOCK.ACQUIRE order:42 alice PX 10000",
        "LOCK.TRANSFER order:42 alice bob",
        "LOCK.RELEASE order:42 alice",
    ])
    .help(&[
        "LOCK.TRANSFER <key> <from> <to> [PX <milliseconds>] [TOKEN <token>]",
        "    Transfer the holds of one owner to another, and return the new owner's token. TOKEN: only that",
        "    grant's. The lease stays, unless PX sets it.",
    ])
    .help_after("lock.renew")
    .grammar(TRANSFER)
    .errors(&[
        "ERR syntax error: *",
        "ERR invalid owner: *",
        "ERR value is not an integer or out of range: *",
        counter::NOT_A_COUNTER,
        counter::NEGATIVE_COUNTER,
        "ERR invalid expire time in 'lock.transfer' command: *",
        "ERR hash value is not an integer",
        "ERR increment or decrement would overflow",
        "NOTHELD this owner does not hold the lock",
        "LOCKLOST this owner lost the lock: grant *",
        "STALE token *",
        "LOCKMODE this owner holds the lock in both modes: use LOCK.RELEASE with SHARED or EXCLUSIVE",
    ])];

fn transfer(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let (from, to) = (ownership::check_owner(&args[2])?, ownership::check_owner(&args[3])?);
    let options = TRANSFER.parse(args)?;
    let lease_ms = options::lease_ms(tx, &options, &[(PX, 1)], "lock.transfer")?;
    let token = options.integer(TOKEN)?;
    let writer = [from, WRITE_SUFFIX].concat();
    let held = release::held(tx, key, from, &writer)?;
    if let Some(token) = token {
        ownership::check_token(tx, key, held.field, token)?;
    }
    let is_writer = held.field != from;
    let field = if is_writer { [to, WRITE_SUFFIX].concat() } else { to.to_vec() };
    let already = if from == to || held.is_text { 0 } else { count(tx, key, &field)? };
    let holds = already.checked_add(held.holds).ok_or(errors::INCREMENT_OVERFLOW)?;
    // Counting is the last step that can fail, so that an error changes nothing.
    let fenced = already == 0 && records::is_fenced(tx, key, held.field);
    let counter = if fenced { Some(counter::next(tx, key)?) } else { None };
    if let Some(lease_ms) = lease_ms {
        let deadline = tx.now().wall_ms().saturating_add(lease_ms);
        set_lease(tx, key, from, &held, deadline)?;
    }
    if held.has_mode && !is_writer {
        move_read_leases(tx, key, (from, to), held.holds, already);
    }
    let mut token = match held.is_text {
        true => put_text(tx, key, from, to)?,
        false => put(tx, key, held.field, (&field, holds, already > 0))?,
    };
    if let Some(counter) = counter {
        records::describe(tx, token, Detail { token: Some(counter), ..Detail::default() });
        token = counter;
    }
    reply.integer(token as i64);
    Ok(())
}

/// Sets the lease of the holds that are to be given away. Earlier holds of the other owner keep their lease.
fn set_lease(
    tx: &mut Tx<'_>,
    key: &[u8],
    from: &[u8],
    held: &OwnerHold<'_>,
    deadline: i64,
) -> Result<(), CommandError> {
    if held.has_mode {
        if let Some(hands) = read_write::hands(tx, key, from)? {
            read_write::renew(tx, key, from, hands, (deadline, false))?;
        }
    } else {
        key_changes::set_deadline(tx, key, deadline);
    }
    Ok(())
}

/// Returns the hold count of a field, 0 if it is absent.
fn count(tx: &mut Tx<'_>, key: &[u8], field: &[u8]) -> Result<i64, CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(0) };
    let count =
        hash.get(field).map(|count| number::parse_i64(count).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER));
    Ok(count.transpose()?.unwrap_or(0))
}

/// Moves the holds of one field to another, whose owner may hold the lock already. Returns the token of its grant.
fn put(
    tx: &mut Tx<'_>,
    key: &[u8],
    from: &[u8],
    (to, holds, again): (&[u8], i64, bool),
) -> Result<u64, CommandError> {
    let at = tx.write_or_new::<Hash>(key)?.at;
    records::ending_as(tx, ReleaseCause::Transferred, |tx| tx.field_removed(at, key, from));
    let edit = tx.write_or_new::<Hash>(key)?;
    edit.value.remove(from);
    let count = IntText::new(holds);
    edit.value.set(to, &count, edit.encodings);
    let token = records::acquired(tx, at, key, to, again).token;
    tx.changed(key, events::HDEL);
    tx.changed(key, events::HINCRBY);
    // The field is set first, since a hash without fields would lose its deadline.
    let requests = [KeyRequest::SetField(to, &count), KeyRequest::RemoveField(from)];
    tx.propagate_key(key, if from == to { &requests[..1] } else { &requests });
    Ok(token)
}

/// Puts another owner into a lock that is a string. Returns the number of the new grant.
fn put_text(tx: &mut Tx<'_>, key: &[u8], from: &[u8], to: &[u8]) -> Result<u64, CommandError> {
    let at = tx.write_or_new::<Str>(key)?.at;
    records::ending_as(tx, ReleaseCause::Transferred, |tx| tx.field_removed(at, key, from));
    let at = tx.set(key, Value::Str(Str::new(to)), true);
    let token = records::acquired(tx, at, key, to, false).token;
    tx.changed(key, events::SET);
    tx.propagate_key(key, &[KeyRequest::SetAndKeepDeadline(to)]);
    Ok(token)
}

/// Moves the leases of read holds to keys that name the new owner, numbered after its own. Some may have ended.
fn move_read_leases(tx: &mut Tx<'_>, key: &[u8], (from, to): (&[u8], &[u8]), holds: i64, already: i64) {
    if from == to {
        return;
    }
    for n in holds.saturating_sub(MAX_READ_LEASES).max(0) + 1..=holds {
        read_write::move_lease(tx, key, (from, n), (to, already + n));
    }
}
