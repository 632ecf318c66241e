//! The options that lock commands share.

use crate::keyspace::Tx;
use crate::spec::{Args, CommandError, ValidValues, errors};

/// The error of `PING` where no connection keeps the lease.
pub(super) const PING_WITHOUT_SESSION: CommandError =
    CommandError::text("ERR syntax error: PING is for a SESSION");

/// The lease of a lock that names none, in milliseconds: Redisson's `lockWatchdogTimeout`.
pub(super) const DEFAULT_LEASE_MS: i64 = 30_000;

/// A lease, `EX seconds` or `PX milliseconds`, at argument `at`; in milliseconds. `None` when neither is given.
///
/// Errors: not an integer, not positive, or so large that the deadline overflows.
pub(super) fn lease_ms(
    tx: &Tx<'_>,
    args: Args<'_>,
    at: usize,
    command: &str,
) -> Result<Option<i64>, CommandError> {
    lease_from_ms(tx, args, at, command, || 1)
}

/// A lease as above. Its errors say that it is at least `least_ms` milliseconds, which the caller checks.
pub(super) fn lease_from_ms(
    tx: &Tx<'_>,
    args: Args<'_>,
    at: usize,
    command: &str,
    least_ms: impl Fn() -> i64,
) -> Result<Option<i64>, CommandError> {
    let unit_ms = if args.is(at, "ex") {
        1000
    } else if args.is(at, "px") {
        1
    } else {
        return Ok(None);
    };
    args.get(at + 1).ok_or(errors::SYNTAX)?;
    let wrong = |error: CommandError| {
        let most = (i64::MAX - tx.now().wall_ms().max(0)) / unit_ms;
        let least = (least_ms() - 1) / unit_ms + 1;
        error.of_argument(at + 1, ValidValues::Integer(least, most))
    };
    let value = args.int(at + 1).map_err(wrong)?;
    let ms = value.checked_mul(unit_ms).filter(|&ms| ms > 0);
    let in_range = |ms: &i64| ms.checked_add(tx.now().wall_ms()).is_some();
    let invalid = || wrong(CommandError::new(format!("ERR invalid expire time in '{command}' command")));
    ms.filter(in_range).map(Some).ok_or_else(invalid)
}

/// Whether the option `word` is given from argument `at` on, where `flags` are the options without a value.
/// O(arguments).
pub(super) fn is_given(args: Args<'_>, mut at: usize, word: &str, flags: &[&str]) -> bool {
    while at < args.len() && !args.is(at, word) {
        at += if flags.iter().any(|flag| args.is(at, flag)) { 1 } else { 2 };
    }
    at < args.len()
}

/// How many keys follow argument `at`, which says so.
///
/// Errors: no number above 0, or more keys than there are arguments.
pub(super) fn numkeys(args: Args<'_>, at: usize) -> Result<usize, CommandError> {
    let keys = args.int_in(at, 1, i64::MAX, errors::NUMKEYS_NOT_POSITIVE)?;
    let room = args.len().saturating_sub(at + 1);
    usize::try_from(keys).ok().filter(|&keys| keys <= room).ok_or(errors::SYNTAX)
}

/// How long to wait, `BLOCK milliseconds`, as in XREAD: 0 waits for ever.
pub(super) fn block_ms(args: Args<'_>, at: usize) -> Result<Option<u64>, CommandError> {
    args.get(at).ok_or(errors::SYNTAX)?;
    let wrong = |error: CommandError| error.of_argument(at, ValidValues::Integer(0, i64::MAX));
    let ms = args.int(at).map_err(|_| wrong(errors::TIMEOUT_NOT_AN_INTEGER))?;
    let ms = u64::try_from(ms).map_err(|_| wrong(errors::TIMEOUT_NEGATIVE))?;
    Ok((ms > 0).then_some(ms))
}

/// The fencing token of the expected hold, `TOKEN token`, at argument `at`.
pub(super) fn token(args: Args<'_>, at: usize) -> Result<i64, CommandError> {
    if !args.is(at, "token") || at + 1 >= args.len() {
        return Err(errors::SYNTAX);
    }
    args.int(at + 1)
}

/// The end of a request: a word, and the token of the expected hold.
#[derive(Default)]
pub(super) struct Tail {
    /// The word is present.
    pub(super) word: bool,
    pub(super) token: Option<i64>,
}

impl Tail {
    /// Reads `word` and `TOKEN token`, each at most once, from argument `at` to the end.
    pub(super) fn parse(args: Args<'_>, mut at: usize, word: &str) -> Result<Self, CommandError> {
        let mut tail = Tail::default();
        while at < args.len() {
            if args.is(at, word) && !tail.word {
                tail.word = true;
                at += 1;
            } else if tail.token.is_none() {
                tail.token = Some(token(args, at)?);
                at += 2;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(tail)
    }
}
