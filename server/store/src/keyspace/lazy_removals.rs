//! The kinds of removals that are lazy.

/// The kinds of removals whose values are freed later, so that they are propagated as UNLINK instead of DEL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LazyRemovals {
    /// Evicted keys: `lazyfree-lazy-eviction`.
    pub eviction: bool,
    /// Keys whose deadlines have passed: `lazyfree-lazy-expire`.
    pub expire: bool,
    /// Keys that commands remove as a side effect: `lazyfree-lazy-server-del`.
    pub server_del: bool,
    /// Keys that commands remove as asked: `lazyfree-lazy-user-del`.
    pub user_del: bool,
}

impl LazyRemovals {
    pub(super) fn command(is_lazy: bool) -> &'static [u8] {
        if is_lazy { b"UNLINK" } else { b"DEL" }
    }
}
