//! WAIT and WAITAOF: waits until replicas have acknowledged a client's writes.

use super::NEITHER_0_NOR_1;
use crate::replication::{ReplicaWait, ReplicationView};
use crate::spec::{Args, CommandError, TimeoutRule, parse_integer_timeout_ms};

pub(super) const NO_APPEND_ONLY_FILE: &str =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
pub(super) const WAIT_ON_REPLICA: &str = "ERR WAIT cannot be used with replica instances. Please also note that since \
                                          Redis 4.0 if a replica is configured to be writable (which is not the \
                                          default) writes to replicas are just local and are not propagated.";
pub(super) const WAITAOF_ON_REPLICA: &str = "ERR WAITAOF cannot be used with replica instances. Please also note that \
                                             writes to replicas are just local and are not propagated.";

/// The awaited condition, and the time limit in milliseconds, if there is one.
type Awaited = (ReplicaWait, Option<u64>);

pub(super) fn wait(
    view: ReplicationView<'_>,
    session: u64,
    rule: TimeoutRule,
    args: Args<'_>,
) -> Result<Awaited, CommandError> {
    if view.is_replica() {
        return Err(CommandError::text(WAIT_ON_REPLICA));
    }
    let replicas = args.int(1)?;
    let timeout_ms = parse_integer_timeout_ms(&args[2], rule)?;
    // Redis keeps only the lowest 32 bits of the number.
    let replicas = usize::try_from(replicas as i32).unwrap_or(0);
    let offset = view.history().written_by(session);
    Ok((ReplicaWait { replicas, offset, on_disk: false, local: false, file_bytes: 0 }, timeout_ms))
}

pub(super) fn waitaof(
    view: ReplicationView<'_>,
    session: u64,
    rule: TimeoutRule,
    args: Args<'_>,
) -> Result<Awaited, CommandError> {
    let local = args.int_in(1, 0, 1, CommandError::text(NEITHER_0_NOR_1))?;
    let replicas = args.count(2)?;
    let timeout_ms = parse_integer_timeout_ms(&args[3], rule)?;
    if view.is_replica() {
        return Err(CommandError::text(WAITAOF_ON_REPLICA));
    }
    let file = view.history().file();
    if local > 0 && !file.is_on {
        return Err(CommandError::text(NO_APPEND_ONLY_FILE));
    }
    let offset = view.history().written_by(session);
    let wait = ReplicaWait { replicas, offset, on_disk: true, local: local > 0, file_bytes: file.appended };
    Ok((wait, timeout_ms))
}
