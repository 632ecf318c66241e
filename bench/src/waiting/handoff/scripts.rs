//! Redisson's use of a lock and of a fair lock, in scripts written for this program. They run the commands in the order
//! of recent versions of Redisson. Those versions keep the result of an unlock for a while, so that the client can ask
//! again.

/// The script that takes a lock or returns the remaining lease. KEYS: the lock. ARGV: the lease in ms, the owner.
pub(crate) const TRY: &str = "\
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
return redis.call('pttl', KEYS[1])";

/// The script that releases a lock and notifies all waiters. KEYS: the lock, its channel, the kept result. ARGV: the
/// message, the lease in ms, the owner, the publishing command, the time in ms to keep the result.
pub(crate) const UNLOCK: &str = "\
local kept = redis.call('get', KEYS[3])
if kept ~= false then return tonumber(kept) end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
local holds = redis.call('hincrby', KEYS[1], ARGV[3], -1)
local result = 0
if holds > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
else
    redis.call('del', KEYS[1])
    redis.call(ARGV[4], KEYS[2], ARGV[1])
    result = 1
end
redis.call('set', KEYS[3], result, 'px', ARGV[5])
return result";

/// The script that takes a fair lock, or queues for it and returns the longest wait. KEYS: the lock, the queue, the
/// deadlines of the queued waiters. ARGV: the lease in ms, the owner, the time in ms for which a head may sleep, the
/// client's time in ms.
pub(crate) const FAIR_TRY: &str = "\
local now, patience = tonumber(ARGV[4]), tonumber(ARGV[3])
while true do
    local head = redis.call('lindex', KEYS[2], 0)
    if head == false then break end
    local deadline = redis.call('zscore', KEYS[3], head)
    if deadline == false or tonumber(deadline) > now then break end
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
end
if redis.call('exists', KEYS[1]) == 0
    and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
    redis.call('lpop', KEYS[2])
    redis.call('zrem', KEYS[3], ARGV[2])
    for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
        redis.call('zincrby', KEYS[3], -patience, waiter)
    end
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return nil
end
local mine = redis.call('zscore', KEYS[3], ARGV[2])
if mine ~= false then return tonumber(mine) - patience - now end
local last, left = redis.call('lindex', KEYS[2], -1), nil
if last ~= false and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last) ~= false then
    left = tonumber(redis.call('zscore', KEYS[3], last)) - now
else
    left = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], left + patience + now, ARGV[2]) == 1 then
    redis.call('rpush', KEYS[2], ARGV[2])
end
return left";

/// The script that releases a fair lock and notifies the head of the queue. KEYS: the lock, the queue, the deadlines,
/// the beginning of the channel names, the kept result. ARGV: the message, the lease in ms, the owner, the client's
/// time in ms, the publishing command, the time in ms to keep the result.
pub(crate) const FAIR_UNLOCK: &str = "\
local kept = redis.call('get', KEYS[5])
if kept ~= false then return tonumber(kept) end
local now = tonumber(ARGV[4])
while true do
    local head = redis.call('lindex', KEYS[2], 0)
    if head == false then break end
    local deadline = redis.call('zscore', KEYS[3], head)
    if deadline == false or tonumber(deadline) > now then break end
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
end
local function tell_head()
    local head = redis.call('lindex', KEYS[2], 0)
    if head ~= false then redis.call(ARGV[5], KEYS[4] .. ':' .. head, ARGV[1]) end
end
if redis.call('exists', KEYS[1]) == 0 then
    redis.call('set', KEYS[5], 1, 'px', ARGV[6])
    tell_head()
    return 1
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[5], 0, 'px', ARGV[6])
    return 0
end
redis.call('del', KEYS[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[6])
tell_head()
return 1";
