//! The access clock of a key: 24 bits for its last access or its access frequency, computed as in Redis.

const MASK: i64 = 0xff_ffff;
/// The modulus of Redis' clock of seconds, which wraps around one second early.
const LARGEST: i64 = MASK;
/// The count of a new key. A key that has just been made must not look like the least used of all.
const NEW: u8 = 5;
/// The modulus of the clock of minutes: Redis keeps 16 bits.
const LARGEST_MINUTE: u32 = 0xffff;

/// The second of a key's last access or, if accesses are counted, its count and the minute of that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessClock([u8; 3]);

impl AccessClock {
    /// The clock of a key that is accessed in this second since the Unix epoch.
    pub fn in_second(second: i64) -> Self {
        Self::from_bits(second)
    }

    /// The clock of a key whose last access was `idle` seconds before `second`.
    pub fn idle_for(idle: i64, second: i64) -> Self {
        // Redis computes in milliseconds and lets the product wrap around.
        let idle = idle.wrapping_mul(1000) / 1000;
        let last = (second & MASK) - idle;
        Self::from_bits(if last < 0 { last + LARGEST } else { last })
    }

    /// The clock of a key with this count of accesses, in this minute since the Unix epoch.
    pub fn counted(count: u8, minute: i64) -> Self {
        Self::from_bits((minute << 8) | i64::from(count))
    }

    /// The clock of a key that is made in this minute since the Unix epoch.
    pub fn new_in_minute(minute: i64) -> Self {
        Self::counted(NEW, minute)
    }

    fn from_bits(bits: i64) -> Self {
        let [low, middle, high, ..] = bits.to_le_bytes();
        AccessClock([low, middle, high])
    }

    /// The 24 bits.
    pub fn bits(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }

    /// Whole seconds since the last access, as in Redis: a future access counts as before the clock wrapped around.
    pub fn idle_seconds(self, second: i64) -> i64 {
        let (now, last) = (second & MASK, i64::from(self.bits()));
        if now >= last { now - last } else { now + LARGEST - last }
    }

    /// The count of accesses, less one for each `period_minutes` since the last one. 0 minutes: no decay.
    pub fn count(self, minute: i64, period_minutes: u32) -> u8 {
        let [count, ..] = self.0;
        let (now, last) = (minute as u32 & LARGEST_MINUTE, self.bits() >> 8);
        let elapsed = if now >= last { now - last } else { LARGEST_MINUTE - last + now };
        let periods = elapsed.checked_div(period_minutes).unwrap_or(0);
        count.saturating_sub(u8::try_from(periods).unwrap_or(u8::MAX))
    }

    /// The `n` of the chance 1 in `n` that an access adds to a count. It grows with the count and with the factor.
    pub fn one_in(count: u8, log_factor: u32) -> u64 {
        u64::from(count.saturating_sub(NEW)) * u64::from(log_factor) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second whose 24 bits are 203857.
    const SECOND: i64 = (106 << 24) + 203_857;

    #[test]
    fn idle_seconds_go_round_as_in_redis() {
        // RESTORE IDLETIME, the idle time that OBJECT then gave, and DEBUG OBJECT's lru, on redis-server 7.0.15.
        let seen = [
            (0, 0, 203_857),
            (1, 1, 203_856),
            (16_777_214, 16_777_214, 203_858),
            (16_777_215, 0, 203_857),
            (16_777_216, 1, 203_856),
            (33_554_432, 1, 203_856),
            (100_000_000, 16_113_920, 867_152),
            (9_223_372_036_854_775, 14_898_167, 2_082_905),
            (9_223_372_036_854_776, 1_879_048, 15_102_024),
            (i64::MAX, 16_777_214, 203_858),
        ];
        for (idle, shown, bits) in seen {
            let clock = AccessClock::idle_for(idle, SECOND);
            assert_eq!(clock.bits(), bits, "{idle}");
            // Redis took some of these readings a second after it had computed the clock.
            assert_eq!(clock.idle_seconds(SECOND), shown, "{idle}");
        }
    }

    #[test]
    fn the_access_clock_survives_a_wrap_around() {
        let before = AccessClock::in_second((7 << 24) - 10);
        assert_eq!(before.idle_seconds((7 << 24) - 1), 9);
        // One second is lost, in Redis too.
        assert_eq!(before.idle_seconds((7 << 24) + 10), 19);
        assert_eq!(AccessClock::in_second(-1).bits(), 0xff_ffff);
    }

    #[test]
    fn counts_decay_with_the_passed_minutes() {
        let clock = AccessClock::counted(100, 0x1_2345);
        assert_eq!(clock.bits(), 0x23_4564);
        for (minutes, period, expected) in
            [(0, 1, 100), (1, 1, 99), (60, 1, 40), (60, 7, 92), (101, 1, 0), (5000, 1, 0), (5000, 0, 100)]
        {
            assert_eq!(clock.count(0x1_2345 + minutes, period), expected, "{minutes} by {period}");
        }
        // One minute is lost when the bits begin anew, in Redis too.
        assert_eq!(AccessClock::counted(9, 0xfffe).count(0x1_0001, 1), 9 - 2);
        assert_eq!(AccessClock::new_in_minute(3).count(3, 1), 5);
    }

    #[test]
    fn a_higher_count_grows_with_fewer_accesses() {
        assert_eq!([0, 5, 6, 100, 255].map(|count| AccessClock::one_in(count, 10)), [1, 1, 11, 951, 2501]);
        assert_eq!(AccessClock::one_in(200, 0), 1);
        assert_eq!(AccessClock::one_in(255, u32::MAX), 250 * u64::from(u32::MAX) + 1);
    }
}
