//! A text that was set by NX without a lease, on a key that is not named after a lock.

#[derive(Clone, Copy, Debug)]
pub(super) struct Unleased {
    /// The number of the request that has set the text.
    pub(super) request: u64,
    /// Whether the history has an entry that the text may be a lock.
    pub(super) is_recorded: bool,
}

impl Unleased {
    pub(super) fn new(request: u64) -> Self {
        Unleased { request, is_recorded: false }
    }
}
