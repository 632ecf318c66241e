//! HTTP requests that web pages may have been tricked into sending.

/// The minimum time between two warnings in milliseconds, as in Redis.
const QUIET_MS: i64 = 60_000;

/// Whether the first word of a request is one of HTTP.
pub(super) fn is_cross_protocol(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
}

/// The log of warnings about such requests: at most one a minute.
#[derive(Debug, Default)]
pub(super) struct CrossProtocolLog {
    /// The real time of the last warning, in milliseconds.
    warned_at_ms: Option<i64>,
}

impl CrossProtocolLog {
    /// Logs a warning, unless the last one is less than a minute old.
    #[cold]
    pub(super) fn log(&mut self, now_ms: i64) {
        if self.is_due(now_ms) {
            tracing::warn!(
                "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to \
                 Redis. This is likely due to an attacker attempting to use Cross Protocol Scripting to compromise \
                 your Redis instance. Connection aborted."
            );
        }
    }

    /// Whether a warning is due; records it as given.
    fn is_due(&mut self, now_ms: i64) -> bool {
        let is_due = self.warned_at_ms.is_none_or(|at| now_ms - at > QUIET_MS);
        if is_due {
            self.warned_at_ms = Some(now_ms);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_not_repeated_within_a_minute() {
        let mut log = CrossProtocolLog::default();
        let due = [0, 1, 60_000, 60_001, 60_002, 120_001, 120_002].map(|now_ms| log.is_due(now_ms));
        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
