//! Measurements of Lockwheel: `compare` drives servers over sockets, and benchmarks run in process.
//!
//! This file contains an in-process engine, and scripts that use a lock as Redisson does, in their own words.

pub mod cli;
pub mod compare;
pub mod crowds;
pub mod error;
pub mod incoming;
pub mod load;
mod memory_host;
pub mod report;
pub mod results;
pub mod servers;
pub mod stream;
pub mod summary;
pub mod waiting;
pub mod workloads;

use lockwheel::Config;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Peer, Slot};
use lockwheel_engine::core::Progress;
use lockwheel_store::time::Now;

/// The script that takes a lock as Redisson does: three or four commands. KEYS: the lock. ARGV: the lease in ms, the
/// owner.
pub const LOCK: &str = "\
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then \
    redis.call('hincrby', KEYS[1], ARGV[2], 1) \
    redis.call('pexpire', KEYS[1], ARGV[1]) \
    return nil \
end \
return redis.call('pttl', KEYS[1])";

/// The script that releases the lock: four commands. KEYS: the lock, its channel. ARGV: the message, the lease in ms,
/// the owner.
pub const UNLOCK: &str = "\
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end \
local holds = redis.call('hincrby', KEYS[1], ARGV[3], -1) \
if holds > 0 then \
    redis.call('pexpire', KEYS[1], ARGV[2]) \
    return 0 \
end \
redis.call('del', KEYS[1]) \
redis.call('publish', KEYS[2], ARGV[1]) \
return 1";

/// Returns a library `locks`, whose functions `lock` and `unlock` do the same as the scripts.
pub fn lock_library() -> String {
    let function = |name: &str, script: &str| {
        format!("redis.register_function('{name}', function(KEYS, ARGV) {script} end)\n")
    };
    ["#!lua name=locks\n".into(), function("lock", LOCK), function("unlock", UNLOCK)].concat()
}

/// An engine without sockets, and one session on it.
pub struct InProcess {
    engine: Engine,
    slot: Slot,
    output: Outbox,
}

impl InProcess {
    /// Creates an empty engine whose time stands still.
    pub fn new() -> Self {
        let mut engine =
            Engine::new(Config::default(), 7, Now { wall_us: 1_000_000_000_000, monotonic_us: 0 });
        let slot = engine.connect(Peer::default());
        InProcess { engine, slot, output: Outbox::default() }
    }

    /// Runs one request. Returns its reply as on the wire, valid until the next call.
    ///
    /// # Panics
    /// Panics if the request would block or end the connection, which no measurement does.
    pub fn run(&mut self, argv: &[&[u8]]) -> &[u8] {
        self.output.clear();
        let progress = self.engine.execute(self.slot, argv);
        assert_eq!(progress, Progress::Continue);
        self.engine.take_output(self.slot, &mut self.output);
        self.output.bytes()
    }

    /// Loads a script and returns its digest.
    ///
    /// # Panics
    /// Panics if the script does not compile.
    pub fn load(&mut self, script: &str) -> Vec<u8> {
        let reply = self.run(&[b"SCRIPT", b"LOAD", script.as_bytes()]);
        assert!(reply.starts_with(b"$40\r\n"), "{}", String::from_utf8_lossy(reply));
        reply[5..45].to_vec()
    }
}

impl Default for InProcess {
    fn default() -> Self {
        Self::new()
    }
}
