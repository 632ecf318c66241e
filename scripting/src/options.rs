//! The options of an interpreter.

/// How to make a [`Runtime`](crate::Runtime).
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes that the interpreter may have, scripts and their data together; a script that asks for more gets the
    /// error `not enough memory`. A quarter of it is the limit of one script's result.
    pub memory_limit: usize,
    /// The seed of hashes that clients must not guess. `math.random` does not depend on it: it begins as Redis' does.
    pub seed: u64,
    /// `redis.REDIS_VERSION`, three numbers with dots, from which `redis.REDIS_VERSION_NUM` is made.
    pub redis_version: &'static str,
    /// Whether scripts have `getfenv`, `setfenv` and `newproxy`, too.
    pub deprecated_api: bool,
}

impl Default for Options {
    /// 2 GiB, and version 7.2.0 without what is deprecated.
    fn default() -> Options {
        Options { memory_limit: 2 << 30, seed: 0, redis_version: "7.2.0", deprecated_api: false }
    }
}
