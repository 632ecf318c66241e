//! The eviction of keys while there are more bytes than `maxmemory`.

use super::Limits;
use crate::config::Config;
use crate::keyspace::{EvictionRules, Keyspace};
use crate::locks;
use crate::time::Now;

/// The least number of keys that go at once, as in Redis.
const MIN_KEYS: u64 = 16;
/// The number of keys that go in a microsecond, about.
const KEYS_PER_US: u64 = 1;

/// Returns how many keys go before a request is run. Redis measures the time; here the same requests must have the same
/// effects.
fn max_keys_at_once(tenacity: u32) -> u64 {
    let time_us = match tenacity {
        0..=10 => 50 * u64::from(tenacity),
        11..=99 => (500.0 * 1.15_f64.powi(tenacity as i32 - 10)) as u64,
        _ => return u64::MAX,
    };
    MIN_KEYS.max(time_us * KEYS_PER_US)
}

/// The bytes that count towards `maxmemory`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBytes {
    /// The limit; 0: none.
    limit: u64,
    /// Bytes of all but the keyspace.
    others: usize,
}

/// Returns the bytes of a keyspace as the account of the engine has them. O(databases).
fn memory_of(keyspace: &Keyspace) -> usize {
    let databases = keyspace.bytes();
    databases.data.saturating_sub(keyspace.free_bytes()) + databases.overhead + keyspace.kept_bytes()
}

impl CountedBytes {
    /// Returns the bytes of an engine of `total` bytes, of which `apart` count neither towards the limit nor to the
    /// keyspace. O(databases).
    pub(crate) fn new(limit: u64, (total, apart): (usize, usize), keyspace: &Keyspace) -> Self {
        CountedBytes { limit, others: total.saturating_sub(memory_of(keyspace) + apart) }
    }

    /// Whether there are more bytes than the limit. O(databases).
    pub(crate) fn exceeds(self, keyspace: &Keyspace) -> bool {
        self.limit > 0 && self.of(keyspace) > self.limit
    }

    /// Returns all bytes that count. The tools of tests do not, since no key can displace them: tokens of fences, the
    /// history, open sections, observed patterns. O(databases).
    pub(crate) fn of(self, keyspace: &Keyspace) -> u64 {
        let displaceable = memory_of(keyspace).saturating_sub(locks::bytes_apart_from_keys(keyspace));
        (self.others + displaceable) as u64
    }
}

impl Limits {
    /// Evicts keys until there are no more bytes than the limit, but no more keys than may go at once. Returns whether
    /// there is room, or will be when more have gone.
    pub(crate) fn evict_keys(
        &self,
        keyspace: &mut Keyspace,
        counted: CountedBytes,
        config: &Config,
        now: Now,
    ) -> bool {
        let Some(policy) = config.maxmemory_policy.eviction() else { return false };
        let rules = EvictionRules { policy, samples: config.maxmemory_samples };
        let mut left = max_keys_at_once(config.maxmemory_eviction_tenacity);
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
