//! The parts of the engine that a test has switched with DEBUG.

/// The parts of the engine that a test may switch off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    /// Whether keys expire at their deadlines. Otherwise, a due key is hidden from every command. It expires, with its
    /// event, only when a command names it.
    pub(crate) expires_actively: bool,
    /// Whether scripts may not run commands forbidden to scripts.
    pub(crate) restricts_scripts: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { expires_actively: true, restricts_scripts: true }
    }
}
