//! The periods of a sentinel, which SENTINEL DEBUG shows and changes.

/// A period, by its place in [`Periods`]. The periods of scripts are only shown, because there are no scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Info,
    Ping,
    Ask,
    Publish,
    DefaultDownAfter,
    DefaultFailoverTimeout,
    TiltTrigger,
    Tilt,
    SlaveReconfTimeout,
    MinLinkReconnect,
    Election,
}

/// The names and default values of the periods, in the order of SENTINEL DEBUG.
const NAMES: [(&str, i64); 13] = [
    ("INFO-PERIOD", 10_000),
    ("PING-PERIOD", 1000),
    ("ASK-PERIOD", 1000),
    ("PUBLISH-PERIOD", 2000),
    ("DEFAULT-DOWN-AFTER", 30_000),
    ("DEFAULT-FAILOVER-TIMEOUT", 180_000),
    ("TILT-TRIGGER", 2000),
    ("TILT-PERIOD", 30_000),
    ("SLAVE-RECONF-TIMEOUT", 10_000),
    ("MIN-LINK-RECONNECT-PERIOD", 15_000),
    ("ELECTION-TIMEOUT", 10_000),
    ("SCRIPT-MAX-RUNTIME", 60_000),
    ("SCRIPT-RETRY-DELAY", 30_000),
];

/// The longest period in force, in milliseconds: thousands of millennia.
const MAX_PERIOD_MS: i64 = i64::MAX >> 8;

/// The values of all periods, in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Periods([i64; NAMES.len()]);

impl Default for Periods {
    fn default() -> Self {
        Periods(NAMES.map(|(_, ms)| ms))
    }
}

impl Periods {
    /// A period in milliseconds. It is limited, so that sums with instants and multiples of it do not overflow.
    pub(super) fn get(&self, period: Period) -> i64 {
        self.0[period as usize].min(MAX_PERIOD_MS)
    }

    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, i64)> {
        NAMES.iter().zip(self.0).map(|((name, _), ms)| (*name, ms))
    }

    pub(crate) fn named(&mut self, name: &[u8]) -> Option<&mut i64> {
        let at = NAMES.iter().position(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()))?;
        Some(&mut self.0[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_period_does_not_overflow_and_is_shown_as_given() {
        let mut periods = Periods::default();
        *periods.named(b"ping-period").expect("it is one") = i64::MAX;
        assert!(periods.get(Period::Ping).checked_mul(5).is_some());
        assert!(periods.all().any(|period| period == ("PING-PERIOD", i64::MAX)));
    }
}
