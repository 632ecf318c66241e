//! Redisson's locks, as scripts written for this program with Redisson's commands in their order, and the native
//! commands for the same.

use super::script::Call;
use super::{Workload, exact, request};
use crate::error::Result;
use crate::load::{Expect, Step};
use crate::waiting::handoff::scripts::{FAIR_TRY, FAIR_UNLOCK, UNLOCK as UNLOCK_KEPT};
use crate::{LOCK, UNLOCK, lock_library};

/// The script that renews the lease of a lock that the owner holds, as a watchdog does: two commands. KEYS: the lock.
/// ARGV: the lease in ms, the owner.
const RENEW: &str = "\
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end \
redis.call('pexpire', KEYS[1], ARGV[1]) \
return 1";

/// The owner of a lock as Redisson writes it: the client's id and its thread, here the number of the connection.
pub(super) const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:{c:3}";
/// The name of a lock.
const NAME: &str = "lock:{n}";
/// The channel of a lock.
const CHANNEL: &str = "redisson_lock__channel:{lock:{n}}";
/// The key that keeps the result of an unlock until the client has it. Its 32 digits make it unique.
const KEPT: &str = "redisson_unlock_latch:{lock:{n}}:00000000000000000000{i}";
/// A lease in milliseconds, longer than any run.
pub(super) const LEASE: &str = "3000000";
/// The time for which a result is kept, in milliseconds.
pub(super) const KEEP: &str = "30000";

/// Null in RESP2.
pub(super) const NULL: &str = "$-1\r\n";

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let mut rows = Vec::new();
    for call in Call::BOTH {
        rows.extend(plain(call)?);
    }
    for call in Call::BOTH {
        rows.push(fair(call)?);
    }
    rows.push(functions()?);
    rows.push(native()?);
    Ok(rows)
}

fn plain(call: Call) -> Result<[Workload; 5]> {
    let lock = call.step(LOCK, &[NAME], &[LEASE, OWNER], NULL)?;
    let unlock = call.step(UNLOCK, &[NAME, CHANNEL], &["0", LEASE, OWNER], ":1\r\n")?;
    let args = ["0", LEASE, OWNER, "PUBLISH", KEEP];
    let unlock_kept = call.step(UNLOCK_KEPT, &[NAME, CHANNEL, KEPT], &args, ":1\r\n")?;
    let forget = exact(&format!("DEL {KEPT}"), ":1\r\n")?;
    let renew = call.step(RENEW, &[NAME], &[LEASE, OWNER], ":1\r\n")?;
    let row = |stem: &str, about: &str, turn: Vec<Step>| {
        Workload::new(call.name(stem), "lock", call.about(about), turn).scripts(&[
            LOCK,
            UNLOCK,
            UNLOCK_KEPT,
            RENEW,
        ])
    };
    Ok([
        row("lock", "the lock script on a free lock", vec![lock.clone()])
            .each(vec![exact("DEL lock:{n}", ":1\r\n")?])
            .preload(vec![lock.clone()]),
        row("unlock", "the unlock script on a lock that is held", vec![unlock.clone()])
            .each(vec![lock.clone()]),
        row("pair", "lock and unlock scripts in turn, a script an operation", vec![lock.clone(), unlock]),
        row(
            "kept-pair",
            "lock, unlock that keeps its result, DEL of that, in turn",
            vec![lock.clone(), unlock_kept, forget],
        ),
        row("renew", "a watchdog's script on a lock that is held", vec![renew]).preload(vec![lock]),
    ])
}

fn fair(call: Call) -> Result<Workload> {
    let (queue, deadlines) = ("redisson_lock_queue:{lock:{n}}", "redisson_lock_timeout:{lock:{n}}");
    // The client's clock in milliseconds: 13 digits that grow.
    let now = "17{i:11}";
    let lock = call.step(FAIR_TRY, &[NAME, queue, deadlines], &[LEASE, OWNER, "300000", now], NULL)?;
    let keys = [NAME, queue, deadlines, CHANNEL, KEPT];
    let unlock = call.step(FAIR_UNLOCK, &keys, &["0", LEASE, OWNER, now, "PUBLISH", KEEP], ":1\r\n")?;
    let forget = exact(&format!("DEL {KEPT}"), ":1\r\n")?;
    let about = call.about("a fair lock's lock and unlock, DEL of the kept result, in turn");
    let row = Workload::new(call.name("fair"), "lock", about, vec![lock, unlock, forget]);
    Ok(row.scripts(&[FAIR_TRY, FAIR_UNLOCK]))
}

/// Returns a workload of the scripts of a pair as functions of a library.
fn functions() -> Result<Workload> {
    let lock = exact(&format!("FCALL lock 1 {NAME} {LEASE} {OWNER}"), NULL)?;
    let unlock = exact(&format!("FCALL unlock 2 {NAME} {CHANNEL} 0 {LEASE} {OWNER}"), ":1\r\n")?;
    let about = "lock and unlock in turn, by FCALL";
    let mut row = Workload::new("fcall", "lock", about, vec![lock, unlock]);
    row.needs = Some("FCALL");
    row.library = Some(lock_library());
    Ok(row)
}

/// Returns a workload of native commands. Only the token of a lock is not known beforehand.
fn native() -> Result<Workload> {
    let token = Expect::Begins(b"*10\r\n$5\r\ntoken\r\n:".to_vec());
    let acquire = request(&format!("LOCK.ACQUIRE lock:{{n}} {OWNER} PX {LEASE}"), token)?;
    let release = exact(&format!("LOCK.RELEASE lock:{{n}} {OWNER}"), ":0\r\n")?;
    let about = "LOCK.ACQUIRE and LOCK.RELEASE in turn; beside it the others' lock and unlock scripts";
    let mut row = Workload::new("native", "lock", about, vec![acquire, release]);
    row.needs = Some("LOCK.ACQUIRE");
    row.against = Some("pair:evalsha");
    Ok(row)
}
