//! The options that lock commands share.

use crate::spec::{CommandError, ParsedArgs, Symbol, ValidValues, errors};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;

/// The error for `PING` without a connection that keeps the lease.
pub(super) const PING_WITHOUT_SESSION: CommandError =
    CommandError::text("ERR syntax error: PING needs SESSION");

/// The lease of a request that names none, in milliseconds: Redisson's `lockWatchdogTimeout`.
pub(super) const DEFAULT_LEASE_MS: i64 = 30_000;

/// Returns the lease that one of these options gives, in milliseconds; each has the milliseconds of its unit. `None`:
/// no option is given. Fails if the lease is no integer, not positive, or overflows the deadline.
pub(super) fn lease_ms(
    tx: &Tx<'_>,
    args: &ParsedArgs<'_>,
    units: &[(Symbol, i64)],
    command: &str,
) -> Result<Option<i64>, CommandError> {
    lease_from_ms(tx, args, units, (command, 1))
}

/// As [`lease_ms`]; the errors say at least `least_ms` milliseconds, which the caller checks.
#[inline]
pub(super) fn lease_from_ms(
    tx: &Tx<'_>,
    args: &ParsedArgs<'_>,
    units: &[(Symbol, i64)],
    (command, least_ms): (&str, i64),
) -> Result<Option<i64>, CommandError> {
    let Some(&unit) = units.iter().find(|(unit, _)| args.has(*unit)) else { return Ok(None) };
    given_lease_ms(tx, args, unit).map(Some).ok_or_else(|| invalid_lease(tx, args, unit, (command, least_ms)))
}

/// Returns the lease that this option gives; `None` if the value is not valid.
#[inline(never)]
fn given_lease_ms(tx: &Tx<'_>, args: &ParsedArgs<'_>, (unit, unit_ms): (Symbol, i64)) -> Option<i64> {
    let ms = args.value(unit).and_then(number::parse_i64)?.checked_mul(unit_ms).filter(|&ms| ms > 0)?;
    ms.checked_add(tx.now().wall_ms()).map(|_| ms)
}

#[cold]
fn invalid_lease(
    tx: &Tx<'_>,
    args: &ParsedArgs<'_>,
    (unit, unit_ms): (Symbol, i64),
    (command, least_ms): (&str, i64),
) -> CommandError {
    let error = match args.value(unit).and_then(number::parse_i64) {
        Some(_) => CommandError::new(format!("ERR invalid expire time in '{command}' command")),
        None => errors::NOT_AN_INTEGER,
    };
    let most = (i64::MAX - tx.now().wall_ms().max(0)) / unit_ms;
    let least = (least_ms - 1) / unit_ms + 1;
    args.wrong(unit, &error, &ValidValues::Integer(least, most))
}

/// Returns the time to wait, `BLOCK milliseconds`, as in XREAD: 0 waits for ever. `None` without that option.
#[inline]
pub(super) fn block_ms(args: &ParsedArgs<'_>, block: Symbol) -> Result<Option<Option<u64>>, CommandError> {
    args.value(block).map(|value| given_block_ms(args, block, value)).transpose()
}

#[inline(never)]
fn given_block_ms(args: &ParsedArgs<'_>, block: Symbol, value: &[u8]) -> Result<Option<u64>, CommandError> {
    let wrong = |error| args.out_of_range(block, &error);
    let ms = number::parse_i64(value).ok_or_else(|| wrong(errors::TIMEOUT_NOT_AN_INTEGER))?;
    let ms = u64::try_from(ms).map_err(|_| wrong(errors::TIMEOUT_NEGATIVE))?;
    Ok((ms > 0).then_some(ms))
}

/// Returns the number of keys between `numkeys` and this argument.
pub(super) fn keys_before(args: &ParsedArgs<'_>, owner: Symbol) -> usize {
    args.index(owner).map_or(0, |owner| owner - 2)
}
