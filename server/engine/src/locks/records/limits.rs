//! The limits of LOCK.VERIFY.

/// The thresholds of LOCK.VERIFY for behaviour that is harmful only in excess.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VerifyLimits {
    /// `lock-wakeup-limit`: the time for which a lock may be free while a client waits for it, in milliseconds.
    pub(crate) wakeup_ms: u64,
    /// `lock-herd-limit`: the number of waiters that one hand-off may wake without serving them.
    pub(crate) herd: u64,
}
