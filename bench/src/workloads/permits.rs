//! Redisson's semaphore and rate limiter, as scripts written for this program with Redisson's commands in their order.

use super::locks::NULL;
use super::script::Call;
use super::{Workload, exact};
use crate::error::Result;

/// The script that acquires permits of a semaphore. KEYS: the semaphore. ARGV: the number of permits.
pub(crate) const ACQUIRE: &str = "\
local left = redis.call('get', KEYS[1])
if left ~= false and tonumber(left) >= tonumber(ARGV[1]) then
    redis.call('decrby', KEYS[1], ARGV[1])
    return 1
end
return 0";

/// The script that releases permits of a semaphore. KEYS: the semaphore, its channel. ARGV: the number of permits, the
/// publishing command.
pub(crate) const RELEASE: &str = "\
local left = redis.call('incrby', KEYS[1], ARGV[1])
redis.call(ARGV[2], KEYS[2], left)";

/// The script of a rate limiter. KEYS: the limiter, its remaining permits and its granted ones for all clients, then
/// both for this client. ARGV: the number of permits, the client's time in ms, a unique text for this request.
const LIMIT: &str = "\
local rate = redis.call('hget', KEYS[1], 'rate')
local interval = redis.call('hget', KEYS[1], 'interval')
local kind = redis.call('hget', KEYS[1], 'type')
assert(rate ~= false and interval ~= false and kind ~= false, 'the limiter is not set up')
local left_name, given_name = KEYS[2], KEYS[3]
if kind == '1' then left_name, given_name = KEYS[4], KEYS[5] end
local wanted, now = tonumber(ARGV[1]), tonumber(ARGV[2])
assert(tonumber(rate) >= wanted, 'more than the limiter ever gives')
local left, result = redis.call('get', left_name), nil
if left == false then
    redis.call('set', left_name, rate)
    redis.call('zadd', given_name, ARGV[2], struct.pack('Bc0I', string.len(ARGV[3]), ARGV[3], ARGV[1]))
    redis.call('decrby', left_name, ARGV[1])
else
    local over, back = redis.call('zrangebyscore', given_name, 0, now - interval), 0
    for _, entry in ipairs(over) do
        local _, permits = struct.unpack('Bc0I', entry)
        back = back + permits
    end
    if back > 0 then
        redis.call('zremrangebyscore', given_name, 0, now - interval)
        if tonumber(left) + back > tonumber(rate) then
            left = tonumber(rate) - redis.call('zcard', given_name)
        else
            left = tonumber(left) + back
        end
        redis.call('set', left_name, left)
    end
    if tonumber(left) < wanted then
        local first = redis.call('zrange', given_name, 0, 0, 'withscores')
        result = 3 + interval - (now - tonumber(first[2]))
    else
        redis.call('zadd', given_name, ARGV[2], struct.pack('Bc0I', string.len(ARGV[3]), ARGV[3], ARGV[1]))
        redis.call('decrby', left_name, ARGV[1])
    end
end
local life = redis.call('pttl', KEYS[1])
if life > 0 then
    redis.call('pexpire', left_name, life)
    redis.call('pexpire', given_name, life)
end
return result";

/// Returns the rows of this file.
pub(super) fn rows() -> Result<Vec<Workload>> {
    let mut rows = Vec::new();
    for call in Call::BOTH {
        rows.push(semaphore(call)?);
    }
    for call in Call::BOTH {
        rows.push(limiter(call)?);
    }
    Ok(rows)
}

fn semaphore(call: Call) -> Result<Workload> {
    let acquire = call.step(ACQUIRE, &["semaphore:{n}"], &["1"], ":1\r\n")?;
    let keys = ["semaphore:{n}", "redisson_sc:{semaphore:{n}}"];
    let release = call.step(RELEASE, &keys, &["1", "PUBLISH"], NULL)?;
    let about = call.about("a semaphore's acquire and release in turn");
    let row = Workload::new(call.name("semaphore"), "permits", about, vec![acquire, release]);
    Ok(row.scripts(&[ACQUIRE, RELEASE]).preload(vec![exact("SET semaphore:{n} 10", "+OK\r\n")?]))
}

/// Returns a workload of the limiter. The client's time is the counter of the connection. The rate is higher than the
/// request rate of any key within the interval, so every request is granted. The permits of the last interval come
/// back.
fn limiter(call: Call) -> Result<Workload> {
    let keys = [
        "limiter:{n}",
        "{limiter:{n}}:value",
        "{limiter:{n}}:permits",
        "{limiter:{n}}:value:8743c9c0-0795-4907-87fd-6c719a6b4586",
        "{limiter:{n}}:permits:8743c9c0-0795-4907-87fd-6c719a6b4586",
    ];
    let take = call.step(LIMIT, &keys, &["1", "{i}", "permit{i}"], NULL)?;
    let set_up = exact("HSET limiter:{n} rate 2000 interval 1000 type 0", ":3\r\n")?;
    let about = call.about("a rate limiter's script, a permit granted");
    let row = Workload::new(call.name("limiter"), "permits", about, vec![take]);
    Ok(row.scripts(&[LIMIT]).preload(vec![set_up]))
}
