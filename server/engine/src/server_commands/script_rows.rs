//! The shared parts of the rows of EVAL, EVALSHA, FCALL and their read-only variants.

use crate::core::Handler;
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_store::keyspace::ScriptInputs;

pub(super) const RUNS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);

const MAY_WRITE: KeySpec = KeySpec::counted(2, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE]);
const ONLY_READ: KeySpec = KeySpec::counted(2, &[KeyFlags::RO, KeyFlags::ACCESS]);

/// The keys of the commands that may write, without a note.
pub(super) const KEYS: &[KeySpec] = &[MAY_WRITE];
/// The keys of the read-only commands, without a note.
pub(super) const KEYS_READ: &[KeySpec] = &[ONLY_READ];
const NOTED_KEYS: &[KeySpec] =
    &[MAY_WRITE.notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")];
const NOTED_KEYS_READ: &[KeySpec] =
    &[ONLY_READ.notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS")];

/// The error for a number of keys that exceeds the number of words.
pub(super) const TOO_MANY_KEYS: &str = "ERR Number of keys can't be greater than number of args";
pub(super) const NEGATIVE_KEYS: &str = "ERR Number of keys can't be negative";
/// The error for a read-only call of a script that may write.
pub(super) const WRITES: &str = "ERR Can not execute a script with write flag using *_ro command.";

const NO_CLUSTER: &str = "ERR Can not run script on cluster, 'no-cluster' flag is set.";

pub(super) const fn writing(name: &'static str, handler: Handler) -> Row<Handler> {
    row(name, handler).flags(&[RUNS]).keys(NOTED_KEYS)
}

/// Returns the row of a read-only command, without its texts.
pub(super) const fn reading(name: &'static str, handler: Handler) -> Row<Handler> {
    row(name, handler).flags(&[RUNS, Flags::READONLY]).keys(NOTED_KEYS_READ)
}

const fn row(name: &'static str, handler: Handler) -> Row<Handler> {
    Row::new(name, -3, handler).categories(&["scripting"])
}

/// Returns the keys and arguments after the number of keys, or fails for a wrong number.
pub(super) fn inputs(args: Args<'_>, keys: i64) -> Result<ScriptInputs<'_>, CommandError> {
    if keys > args.len() as i64 - 3 {
        return Err(CommandError::text(TOO_MANY_KEYS));
    }
    let keys = usize::try_from(keys).map_err(|_| CommandError::text(NEGATIVE_KEYS))?;
    let (keys, arguments) = args.from(3).split_at(keys);
    Ok(ScriptInputs::new(keys, arguments))
}

/// Checks that a cluster node may run a script with these flags, or fails for `no-cluster`.
pub(super) fn check_cluster(is_node: bool, flags: lockwheel_scripting::Flags) -> Outcome {
    if flags.no_cluster && is_node { Err(CommandError::text(NO_CLUSTER)) } else { Ok(()) }
}
