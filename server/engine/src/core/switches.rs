//! What a test has switched by DEBUG.

/// Parts of the engine that a test may switch off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    /// Whether keys expire at their deadlines. When they do not, a key that is due is gone for every command, but it
    /// expires, with its event, only when one names it.
    pub(crate) expires_actively: bool,
    /// Whether scripts are refused the commands that are not for them.
    pub(crate) restricts_scripts: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { expires_actively: true, restricts_scripts: true }
    }
}
