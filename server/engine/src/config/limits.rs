//! Limits of pending replies and of scripts.

use std::fmt;

/// What scripts may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LuaParameters {
    /// The most bytes that they may have (`lua-memory-limit`).
    pub memory_limit: usize,
    /// Whether they have functions that Redis has taken from them (`lua-enable-deprecated-api`).
    pub enable_deprecated_api: bool,
}

impl Default for LuaParameters {
    fn default() -> Self {
        LuaParameters { memory_limit: 2 << 30, enable_deprecated_api: false }
    }
}

/// How many bytes of replies a client may have pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes at which the client is disconnected at once; 0: never.
    pub hard: usize,
    /// Bytes at which it is disconnected after a while; 0: never.
    pub soft: usize,
    /// That while, in seconds.
    pub soft_seconds: i64,
}

impl OutputLimit {
    /// Whether it disconnects nobody.
    pub(crate) fn is_none(&self) -> bool {
        self.hard == 0 && self.soft == 0
    }
}

impl fmt::Display for OutputLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.hard, self.soft, self.soft_seconds)
    }
}

/// The limits of each class of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Of most clients.
    pub normal: OutputLimit,
    /// Of replicas.
    pub replica: OutputLimit,
    /// Of subscribers.
    pub pubsub: OutputLimit,
}

impl Default for OutputLimits {
    /// Those of an unconfigured Redis.
    fn default() -> Self {
        OutputLimits {
            normal: OutputLimit::default(),
            replica: OutputLimit { hard: 256 << 20, soft: 64 << 20, soft_seconds: 60 },
            pubsub: OutputLimit { hard: 32 << 20, soft: 8 << 20, soft_seconds: 60 },
        }
    }
}

impl fmt::Display for OutputLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "normal {} slave {} pubsub {}", self.normal, self.replica, self.pubsub)
    }
}
