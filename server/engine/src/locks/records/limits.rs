//! What LOCK.VERIFY goes by.

/// From where on LOCK.VERIFY tells of what is not wrong by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VerifyLimits {
    /// `lock-wakeup-limit`: how long a lock may be free while somebody waits, in milliseconds.
    pub(crate) wakeup_ms: u64,
    /// `lock-herd-limit`: how many may be woken in vain by one hand-off.
    pub(crate) herd: u64,
}
