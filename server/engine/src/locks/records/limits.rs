//! The limits of LOCK.VERIFY.

/// The limits beyond which LOCK.VERIFY reports what is not wrong by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VerifyLimits {
    /// `lock-wakeup-limit`: the time for which a lock may be free while a client waits for it, in milliseconds.
    pub(crate) wakeup_ms: u64,
    /// `lock-herd-limit`: the number of waiters that one hand-off may wake in vain.
    pub(crate) herd: u64,
}
