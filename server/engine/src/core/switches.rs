//! The parts of the engine that a test has switched with DEBUG.

/// The parts of the engine that a test may switch off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    /// Whether keys expire at their deadlines. If not, a due key is hidden until a command names it and expires it.
    pub(crate) expires_actively: bool,
    /// Whether some commands are forbidden to scripts.
    pub(crate) restricts_scripts: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { expires_actively: true, restricts_scripts: true }
    }
}
