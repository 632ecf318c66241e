//! Limits of pending replies and of scripts.

use std::fmt;

/// The resources of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LuaParameters {
    /// The most bytes that scripts may have (`lua-memory-limit`).
    pub memory_limit: usize,
    /// Whether scripts have the functions that Redis has removed (`lua-enable-deprecated-api`).
    pub enable_deprecated_api: bool,
}

impl Default for LuaParameters {
    fn default() -> Self {
        LuaParameters { memory_limit: 2 << 30, enable_deprecated_api: false }
    }
}

/// The limit of pending bytes of replies of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes at which the client is disconnected at once. 0: never.
    pub hard: usize,
    /// Bytes at which the client is disconnected after `soft_seconds`. 0: never.
    pub soft: usize,
    /// The seconds for which the soft limit may be exceeded.
    pub soft_seconds: i64,
}

impl OutputLimit {
    /// Whether the limit disconnects no client.
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
    /// The limit of most clients.
    pub normal: OutputLimit,
    /// The limit of replicas.
    pub replica: OutputLimit,
    /// The limit of subscribers.
    pub pubsub: OutputLimit,
}

impl Default for OutputLimits {
    /// The limits of an unconfigured Redis.
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
