//! What the rows of EVAL, EVALSHA, FCALL and their read-only variants share.

use crate::core::Handler;
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_store::keyspace::ScriptInputs;

/// The flags of those that may write.
pub(super) const RUNS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);

const MAY_WRITE: KeySpec = KeySpec::counted(2, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE]);
const ONLY_READ: KeySpec = KeySpec::counted(2, &[KeyFlags::RO, KeyFlags::ACCESS]);

/// The keys of those that may write, without a note.
pub(super) const KEYS: &[KeySpec] = &[MAY_WRITE];
/// The keys of those that only read, without a note.
pub(super) const KEYS_READ: &[KeySpec] = &[ONLY_READ];
const NOTED_KEYS: &[KeySpec] =
    &[MAY_WRITE.notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")];
const NOTED_KEYS_READ: &[KeySpec] =
    &[ONLY_READ.notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS")];

/// The error of more keys than words.
pub(super) const TOO_MANY_KEYS: &str = "ERR Number of keys can't be greater than number of args";
/// The error of a negative number of keys.
pub(super) const NEGATIVE_KEYS: &str = "ERR Number of keys can't be negative";
/// The error of a read-only call of what may write.
pub(super) const WRITES: &str = "ERR Can not execute a script with write flag using *_ro command.";

const NO_CLUSTER: &str = "ERR Can not run script on cluster, 'no-cluster' flag is set.";

/// The row of one that may write, without its texts.
pub(super) const fn writing(name: &'static str, handler: Handler) -> Row<Handler> {
    row(name, handler).flags(&[RUNS]).keys(NOTED_KEYS)
}

/// The row of one that only reads, without its texts.
pub(super) const fn reading(name: &'static str, handler: Handler) -> Row<Handler> {
    row(name, handler).flags(&[RUNS, Flags::READONLY]).keys(NOTED_KEYS_READ)
}

const fn row(name: &'static str, handler: Handler) -> Row<Handler> {
    Row::new(name, -3, handler).categories(&["scripting"])
}

/// The keys and arguments behind their number.
///
/// # Errors
/// The number is negative, or there are fewer words.
pub(super) fn inputs(args: Args<'_>, keys: i64) -> Result<ScriptInputs<'_>, CommandError> {
    if keys > args.len() as i64 - 3 {
        return Err(CommandError::text(TOO_MANY_KEYS));
    }
    let keys = usize::try_from(keys).map_err(|_| CommandError::text(NEGATIVE_KEYS))?;
    let (keys, arguments) = args.from(3).split_at(keys);
    Ok(ScriptInputs::new(keys, arguments))
}

/// Whether a server runs what has these flags: a node of a cluster may not.
///
/// # Errors
/// Returns an error if it does not.
pub(super) fn check_cluster(is_node: bool, flags: lockwheel_scripting::Flags) -> Outcome {
    if flags.no_cluster && is_node { Err(CommandError::text(NO_CLUSTER)) } else { Ok(()) }
}
