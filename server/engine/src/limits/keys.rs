//! The eviction of keys while memory exceeds `maxmemory`.

use super::Limits;
use crate::config::Config;
use crate::locks;
use lockwheel_store::keyspace::{EvictionPolicy, EvictionRules, Keyspace};
use lockwheel_store::time::Now;

/// The least number of keys that are evicted at once, as in Redis.
const MIN_KEYS: u64 = 16;
/// The approximate number of keys that are evicted in a microsecond.
const KEYS_PER_US: u64 = 1;

/// Returns the most keys evicted before a request: not by time, as in Redis, so that effects are the same.
fn max_keys_at_once(tenacity: u32) -> u64 {
    let time_us = match tenacity {
        0..=10 => 50 * u64::from(tenacity),
        11..=99 => (500.0 * 1.15_f64.powi(tenacity as i32 - 10)) as u64,
        _ => return u64::MAX,
    };
    MIN_KEYS.max(time_us * KEYS_PER_US)
}

/// Bytes of a keyspace, as the account of the engine has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyspaceMemory {
    /// Keys and values, without the free room in their pages, which the next keys take; Redis' allocator gets it back.
    pub(crate) data: usize,
    /// The tables that find keys, and the waits for keys.
    pub(crate) tables: usize,
    /// Values that are kept for a snapshot or a lagging replica.
    pub(crate) kept: usize,
}

impl KeyspaceMemory {
    /// Returns the bytes of a keyspace. O(databases).
    pub(crate) fn of(keyspace: &Keyspace) -> Self {
        let databases = keyspace.bytes();
        KeyspaceMemory {
            data: databases.data.saturating_sub(keyspace.free_bytes()),
            tables: databases.overhead,
            kept: keyspace.kept_bytes(),
        }
    }

    fn total(self) -> usize {
        self.data + self.tables + self.kept
    }
}

/// Returns the bytes of a keyspace that do not count towards `maxmemory`, because no eviction reduces them.
pub(super) fn bytes_apart(keyspace: &Keyspace) -> usize {
    locks::bytes_apart_from_keys(keyspace) + keyspace.snapshot_bytes()
}

/// The bytes that count towards `maxmemory` during an eviction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBytes {
    limit: u64,
    /// The counted bytes of all but the keyspace. Negative, if bytes of the keyspace are not counted.
    others: i64,
}

impl CountedBytes {
    /// Returns the account of an engine with `counted` counted bytes. O(databases).
    pub(crate) fn new(limit: u64, counted: u64, keyspace: &Keyspace) -> Self {
        CountedBytes { limit, others: counted as i64 - Self::of_keys(keyspace) }
    }

    /// Whether more bytes count than the limit allows. O(databases).
    fn exceeds(self, keyspace: &Keyspace) -> bool {
        self.others + Self::of_keys(keyspace) > self.limit as i64
    }

    fn of_keys(keyspace: &Keyspace) -> i64 {
        KeyspaceMemory::of(keyspace).total() as i64 - bytes_apart(keyspace) as i64
    }
}

impl Limits {
    /// Evicts keys by a policy until memory is within the limit, but no more keys than are allowed at once. Returns
    /// whether there is room now, or will be after further evictions.
    pub(crate) fn evict_keys(
        &self,
        keyspace: &mut Keyspace,
        (counted, policy): (CountedBytes, EvictionPolicy),
        config: &Config,
        now: Now,
    ) -> bool {
        let rules = EvictionRules { policy, samples: config.eviction_effort.samples };
        let mut left = max_keys_at_once(config.eviction_effort.tenacity);
        while counted.exceeds(keyspace) {
            if !keyspace.evict_next(rules, now) {
                return false;
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::max_keys_at_once;

    #[test]
    fn the_tenacity_grows_as_in_redis() {
        assert_eq!([0, 1, 10, 20, 50].map(max_keys_at_once), [16, 50, 500, 2022, 133_931]);
        assert!(max_keys_at_once(99) > 100_000_000);
        assert_eq!(max_keys_at_once(100), u64::MAX);
    }
}
