//! The messages about evicted keys that are on their way to clients.

/// The messages that clients have not taken. They do not count towards `maxmemory`. Otherwise a key whose eviction
/// takes more memory than it frees would cause the eviction of all others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EvictionMessages(Option<Sent>);

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Bytes of clients before the messages.
    before: usize,
    bytes: usize,
    until_us: u64,
}

/// The longest time that messages count as on their way, in real microseconds.
const MAX_US: u64 = 100_000;

impl EvictionMessages {
    /// Records messages: clients took `before` bytes, and take `after` now.
    pub(super) fn sent(&mut self, before: usize, after: usize, now_us: u64) {
        let bytes = after.saturating_sub(before);
        match &mut self.0 {
            Some(sent) if now_us < sent.until_us => sent.bytes += bytes,
            _ if bytes == 0 => self.0 = None,
            sent => *sent = Some(Sent { before, bytes, until_us: now_us.saturating_add(MAX_US) }),
        }
    }

    /// Returns the part of the clients' `taken` bytes that may belong to messages on their way.
    pub(super) fn on_the_way(&self, taken: usize, now_us: u64) -> usize {
        let sent = self.0.filter(|sent| now_us < sent.until_us);
        sent.map_or(0, |sent| taken.saturating_sub(sent.before).min(sent.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_count_until_they_are_taken_or_old() {
        let mut messages = EvictionMessages::default();
        messages.sent(1000, 1000, 0);
        assert_eq!(messages.on_the_way(5000, 0), 0);
        messages.sent(1000, 1300, 5);
        assert_eq!([1300, 1100, 900, 9000].map(|taken| messages.on_the_way(taken, 6)), [300, 100, 0, 300]);
        messages.sent(1300, 1400, 50);
        assert_eq!(messages.on_the_way(1400, 60), 400);
        assert_eq!(messages.on_the_way(1400, 5 + MAX_US), 0);
        messages.sent(1400, 1500, 6 + MAX_US);
        assert_eq!(messages.on_the_way(1500, 7 + MAX_US), 100);
    }
}
