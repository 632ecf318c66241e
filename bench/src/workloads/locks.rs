//! Redisson's plain lock: its commands in its order, in words of our own.

use super::script::Call;
use super::{Workload, exact};
use crate::error::Result;
use crate::load::Step;
use crate::{LOCK, UNLOCK};

/// The owner of a lock as Redisson writes it: the client's id and its thread, here the connection's number.
pub const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:{c:3}";

/// A lock's name.
pub(super) const NAME: &str = "lock:{n}";
/// Its channel.
const CHANNEL: &str = "redisson_lock__channel:{lock:{n}}";
/// Its lease in milliseconds: longer than any run.
pub(super) const LEASE: &str = "3000000";

/// Null, as RESP2 has it.
pub(super) const NULL: &str = "$-1\r\n";

/// The rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let mut rows = Vec::new();
    for call in Call::BOTH {
        let row = |stem: &str, about: &str, turn: Vec<Step>| {
            Workload::new(call.name(stem), "lock", call.about(about), turn).scripts(&[LOCK, UNLOCK])
        };
        let (lock, unlock) = (lock(call)?, unlock(call)?);
        rows.push(
            row("lock", "the lock script on a free lock", vec![lock.clone()])
                .each(vec![exact("DEL lock:{n}", ":1\r\n")?])
                .preload(vec![lock.clone()]),
        );
        rows.push(
            row("unlock", "the unlock script on a lock that is held", vec![unlock.clone()])
                .each(vec![lock.clone()]),
        );
        rows.push(row("pair", "lock and unlock scripts in turn, a script an operation", vec![lock, unlock]));
    }
    Ok(rows)
}

/// Takes a free lock.
pub(super) fn lock(call: Call) -> Result<Step> {
    call.step(LOCK, &[NAME], &[LEASE, OWNER], NULL)
}

/// Gives back its only hold.
fn unlock(call: Call) -> Result<Step> {
    call.step(UNLOCK, &[NAME, CHANNEL], &["0", LEASE, OWNER], ":1\r\n")
}
