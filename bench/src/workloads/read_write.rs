//! Redisson's read-write lock, as scripts written for this program with Redisson's commands in their order.
//!
//! A read hold has a separate key beside the lock. The deadline of that key is the deadline of the hold.

use super::locks::{KEEP, LEASE, NULL, OWNER};
use super::script::Call;
use super::{Workload, exact};
use crate::error::Result;

/// The script that takes a read lock. KEYS: the lock, the beginning of the keys of this owner's holds. ARGV: the lease
/// in ms, the owner as a reader, the owner as a writer.
pub(crate) const READ_LOCK: &str = "\
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
    redis.call('hset', KEYS[1], 'mode', 'read')
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('set', KEYS[2] .. ':1', 1)
    redis.call('pexpire', KEYS[2] .. ':1', ARGV[1])
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
if mode == 'read' or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
    local hold = KEYS[2] .. ':' .. redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('set', hold, 1)
    redis.call('pexpire', hold, ARGV[1])
    redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))
    return nil
end
return redis.call('pttl', KEYS[1])";

/// The script that releases a read lock. KEYS: the lock, its channel, the beginning of the keys of this owner's holds,
/// the beginning of the keys of all holds, the kept result. ARGV: the message, the owner, the publishing command, the
/// time in ms to keep the result.
pub(crate) const READ_UNLOCK: &str = "\
local kept = redis.call('get', KEYS[5])
if kept ~= false then return tonumber(kept) end
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
    redis.call(ARGV[3], KEYS[2], ARGV[1])
    redis.call('set', KEYS[5], 1, 'px', ARGV[4])
    return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
local holds = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if holds == 0 then redis.call('hdel', KEYS[1], ARGV[2]) end
redis.call('del', KEYS[3] .. ':' .. (holds + 1))
if redis.call('hlen', KEYS[1]) > 1 then
    local longest = -3
    for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
        local count = tonumber(redis.call('hget', KEYS[1], owner))
        if type(count) == 'number' then
            for hold = count, 1, -1 do
                local left = redis.call('pttl', KEYS[4] .. ':' .. owner .. ':rwlock_timeout:' .. hold)
                longest = math.max(left, longest)
            end
        end
    end
    if longest > 0 then
        redis.call('pexpire', KEYS[1], longest)
        redis.call('set', KEYS[5], 0, 'px', ARGV[4])
        return 0
    end
    if mode == 'write' then
        redis.call('set', KEYS[5], 0, 'px', ARGV[4])
        return 0
    end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[4])
return 1";

/// The script that takes a write lock. KEYS: the lock. ARGV: the lease in ms, the owner as a writer.
pub(crate) const WRITE_LOCK: &str = "\
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
    redis.call('hset', KEYS[1], 'mode', 'write')
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])
    return nil
end
return redis.call('pttl', KEYS[1])";

/// The script that releases a write lock. KEYS: the lock, its channel, the kept result. ARGV: the message, the lease in
/// ms, the owner as a writer, the publishing command, the time in ms to keep the result.
pub(crate) const WRITE_UNLOCK: &str = "\
local kept = redis.call('get', KEYS[3])
if kept ~= false then return tonumber(kept) end
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
    redis.call(ARGV[4], KEYS[2], ARGV[1])
    redis.call('set', KEYS[3], 1, 'px', ARGV[5])
    return nil
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[3], 0, 'px', ARGV[5])
    return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) == 1 then
    redis.call('del', KEYS[1])
    redis.call(ARGV[4], KEYS[2], ARGV[1])
else
    redis.call('hset', KEYS[1], 'mode', 'read')
end
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1";

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let mut rows = Vec::new();
    for call in Call::BOTH {
        rows.extend(both(call)?);
    }
    Ok(rows)
}

fn both(call: Call) -> Result<[Workload; 2]> {
    let (name, channel) = ("rw:{n}", "redisson_rwlock:{rw:{n}}");
    let kept = "redisson_unlock_latch:{rw:{n}}:00000000000000000000{i}";
    let (writer, holds) = (format!("{OWNER}:write"), format!("{{rw:{{n}}}}:{OWNER}:rwlock_timeout"));
    let read_lock = call.step(READ_LOCK, &[name, &holds], &[LEASE, OWNER, &writer], NULL)?;
    let keys = [name, channel, &holds, "{rw:{n}}", kept];
    let read_unlock = call.step(READ_UNLOCK, &keys, &["0", OWNER, "PUBLISH", KEEP], ":1\r\n")?;
    let write_lock = call.step(WRITE_LOCK, &[name], &[LEASE, &writer], NULL)?;
    let args = ["0", LEASE, &writer, "PUBLISH", KEEP];
    let write_unlock = call.step(WRITE_UNLOCK, &[name, channel, kept], &args, ":1\r\n")?;
    let forget = exact(&format!("DEL {kept}"), ":1\r\n")?;
    let row = |stem: &str, about: &str, turn| {
        let row = Workload::new(call.name(stem), "read-write", call.about(about), turn);
        row.scripts(&[READ_LOCK, READ_UNLOCK, WRITE_LOCK, WRITE_UNLOCK])
    };
    Ok([
        row(
            "read-pair",
            "a read lock's lock and unlock, DEL of the kept result, in turn",
            vec![read_lock, read_unlock, forget.clone()],
        ),
        row(
            "write-pair",
            "a write lock's lock and unlock, DEL of the kept result, in turn",
            vec![write_lock, write_unlock, forget],
        ),
    ])
}
