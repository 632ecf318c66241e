//! The options of an interpreter.

/// The options of a [`Runtime`](crate::Runtime).
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The bytes that the interpreter may use, for scripts and their data together. A script that needs more gets the
    /// error `not enough memory`. A quarter of the limit is the limit of one script's result.
    pub memory_limit: usize,
    /// The seed of hashes that clients must not guess. `math.random` does not depend on it: its sequence begins as in
    /// Redis.
    pub seed: u64,
    /// `redis.REDIS_VERSION`: three numbers with dots, from which `redis.REDIS_VERSION_NUM` is derived.
    pub redis_version: &'static str,
    /// Whether scripts also have `getfenv`, `setfenv` and `newproxy`.
    pub deprecated_api: bool,
}

impl Default for Options {
    /// A limit of 2 GiB, and version 7.2.0 without the deprecated functions.
    fn default() -> Options {
        Options { memory_limit: 2 << 30, seed: 0, redis_version: "7.2.0", deprecated_api: false }
    }
}
