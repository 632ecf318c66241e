//! The permits of a limiter in the interval that ends now.

use super::limiter::Limiter;
use crate::locks::{count, key_changes};
use crate::spec::CommandError;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{IntText, Str, Value, ZSet};
use std::ops::Bound;

/// Returns a member of the sorted set: a random part, so that no two acquisitions are the same member, and the number
/// of permits. The format is `Bc0I` of Lua's `struct`.
pub(super) fn member(random: [u8; 16], permits: u32) -> Vec<u8> {
    [&[16], &random[..], &permits.to_le_bytes()].concat()
}

/// Returns the permits of a member; 0 if the member has another format.
fn permits(member: &[u8]) -> i64 {
    let permits = member.split_first().and_then(|(len, rest)| rest.get(usize::from(*len)..));
    let permits = permits.and_then(|permits| permits.first_chunk::<4>());
    permits.map_or(0, |permits| u32::from_le_bytes(*permits).into())
}

/// The permits that are left at an instant, and the acquisitions whose permits have come back since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) left: i64,
    /// The number of acquisitions whose interval is over, from the first on.
    over: usize,
    /// Whether the key of the permits that are left is not written yet, since nothing was acquired before.
    is_new: bool,
}

impl Window {
    /// Reads the window of a limiter now. Fails if a key of the limiter holds another type, or no number.
    pub(super) fn read(tx: &mut Tx<'_>, limiter: &Limiter) -> Result<Self, CommandError> {
        let last_over = tx.over_until_ms().saturating_sub(limiter.interval_ms) as f64;
        let value = count::read(tx, &limiter.value_key)?;
        let taken = tx.read::<ZSet>(&limiter.permits_key)?;
        let Some(value) = value else { return Ok(Window { left: limiter.rate, over: 0, is_new: true }) };
        let Some(taken) = taken else { return Ok(Window { left: value, over: 0, is_new: false }) };
        let sum =
            |from: usize, to: usize| taken.range(from..to).map(|(member, _)| permits(member)).sum::<i64>();
        let over = taken.ranks_by_score(Bound::Included(0.0), Bound::Included(last_over)).end;
        let released = sum(0, over);
        let left = if released == 0 {
            value
        } else if value.saturating_add(released) > limiter.rate {
            limiter.rate - sum(over, taken.len())
        } else {
            value + released
        };
        Ok(Window { left, over: if released > 0 { over } else { 0 }, is_new: false })
    }

    /// Returns when the wanted permits will be left if none is taken, in wall ms. `None`: only a change provides them.
    pub(super) fn ready_at_ms(&self, tx: &mut Tx<'_>, limiter: &Limiter, wanted: i64) -> Option<i64> {
        let taken = tx.read::<ZSet>(&limiter.permits_key).ok()??;
        let mut left = self.left;
        for (member, taken_at) in taken.range(self.over..taken.len()) {
            left = left.saturating_add(permits(member));
            if left >= wanted {
                return Some((taken_at as i64).saturating_add(limiter.interval_ms));
            }
        }
        None
    }

    /// Writes the permits that are left now, as Redisson does whenever it looks.
    pub(super) fn write(&self, tx: &mut Tx<'_>, limiter: &Limiter) -> Result<(), CommandError> {
        if self.over > 0 {
            if let Some(edit) = tx.write::<ZSet>(&limiter.permits_key)? {
                edit.value.remove_range(0..self.over);
            }
            tx.changed(&limiter.permits_key, events::ZREMRANGEBYSCORE);
            tx.delete_if_empty(&limiter.permits_key);
            tx.propagate_key(&limiter.permits_key, &[KeyRequest::RemoveRanks(0, self.over - 1)]);
        }
        if self.over > 0 || self.is_new {
            tx.set(&limiter.value_key, Value::Str(Str::from_i64(self.left)), false);
            tx.changed(&limiter.value_key, events::SET);
            tx.propagate_key(&limiter.value_key, &[KeyRequest::Set(&IntText::new(self.left))]);
        }
        Ok(())
    }

    /// Takes permits that are left. Returns the number that is left then.
    pub(super) fn take(self, tx: &mut Tx<'_>, limiter: &Limiter, wanted: u32) -> Result<i64, CommandError> {
        self.write(tx, limiter)?;
        let mut random = [0; 16];
        for half in random.chunks_mut(8) {
            half.copy_from_slice(&tx.rng().next_u64().to_be_bytes());
        }
        let now_ms = tx.now().wall_ms() as f64;
        let edit = tx.write_or_new::<ZSet>(&limiter.permits_key)?;
        let member = member(random, wanted);
        edit.value.insert(&member, now_ms, edit.encodings);
        tx.changed(&limiter.permits_key, events::ZADD);
        tx.propagate_key(&limiter.permits_key, &[KeyRequest::SetScores(&[(&member, now_ms)])]);
        let left = self.left - i64::from(wanted);
        count::write(tx, &limiter.value_key, left);
        Ok(left)
    }
}

/// Makes the further keys of a limiter end with it. If it is kept alive, each look at it puts off the end.
pub(super) fn keep_alive(tx: &mut Tx<'_>, key: &[u8], limiter: &Limiter) {
    let now_ms = tx.now().wall_ms();
    let deadline = match limiter.keep_alive_ms {
        1.. => Some(now_ms.saturating_add(limiter.keep_alive_ms)),
        _ => tx.deadline(key),
    };
    let Some(deadline) = deadline else { return };
    let own = (limiter.keep_alive_ms > 0).then_some(key);
    for key in own.into_iter().chain([&*limiter.value_key, &*limiter.permits_key]) {
        key_changes::set_deadline(tx, key, deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_contains_its_number_of_permits() {
        assert_eq!(permits(&member([7; 16], u32::MAX)), i64::from(u32::MAX));
        assert_eq!(permits(&[1, 9, 2, 1, 0, 0]), 258);
        for other in [&b""[..], b"x", &[1, 9, 2, 1, 0], &[200, 1, 2, 3]] {
            assert_eq!(permits(other), 0);
        }
    }
}
