//! Lua 5.1 as Redis offers it to scripts: a sandbox, `redis.*`, `struct`, a cache of compiled scripts, and a kill that
//! stops every loop. It knows commands only through [`Host`].
//!
//! A [`Runtime`] is one interpreter. It belongs to one thread at a time and runs one script at a time; other threads
//! see and stop a script through its [`Control`].

mod alloc;
mod cache;
mod call;
mod context;
mod control;
mod convert;
mod error;
mod errors;
mod ffi;
mod handler;
mod library;
mod number;
mod random;
mod sandbox;
mod sha;
mod shebang;
mod sink;
mod sync;
mod vm;

pub use cache::ScriptId;
pub use control::{Control, KillError};
pub use error::Error;
pub use sha::Sha;
pub use shebang::Flags;

use cache::Cache;
use lockwheel_resp::Reply;
use std::sync::Arc;
use vm::Vm;

/// The commands, as a script may call them, and what else it may ask of the server.
///
/// A panic of the host ends the script and goes on from [`Runtime::run`].
pub trait Host {
    /// Runs one command; `argv[0]` is its name, and there is at least that. The reply, errors included, goes into the
    /// sink: exactly one. All checks are the host's (unknown command, arity, flags, permissions), and so are their
    /// texts.
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply);

    /// `redis.log(level, message)`, with a level of 0 (debug) to 3 (warning).
    fn log(&mut self, level: u8, message: &[u8]);

    /// Called from time to time, about once in a millisecond of [`clock_us`](Host::clock_us), once the script has been
    /// declared slow by [`Control::arm`]: lets the host serve what must be served meanwhile.
    fn on_slow(&mut self) {}

    /// Microseconds of a clock that never turns back. Asked only of a slow script.
    fn clock_us(&self) -> u64;

    /// The script is answered with an error, alone or within its result, `times` over: `text` is its beginning up to
    /// the first space at least, or all of it. `is_new` unless the error is one that a command has given already.
    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64);

    /// Whether the user may run this command; none if there is no such command.
    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool>;
}

/// How to make a [`Runtime`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes that the interpreter may have, scripts and their data together; a script that asks for more gets the
    /// error `not enough memory`. A quarter of it is the limit of one script's result.
    pub memory_limit: usize,
    /// Seeds what is not to be guessed from outside. `math.random` does not depend on it: it begins as Redis' does.
    pub seed: u64,
    /// `redis.REDIS_VERSION`, three numbers with dots, from which `redis.REDIS_VERSION_NUM` is made.
    pub redis_version: &'static str,
}

impl Default for Options {
    /// 2 GiB, and version 7.2.0.
    fn default() -> Options {
        Options { memory_limit: 2 << 30, seed: 0, redis_version: "7.2.0" }
    }
}

/// One interpreter and its scripts.
pub struct Runtime {
    vm: Vm,
    cache: Cache,
}

impl Runtime {
    /// An interpreter without scripts.
    pub fn new(options: Options, control: Arc<Control>) -> Runtime {
        Runtime { cache: Cache::new(options.seed), vm: Vm::new(options, control) }
    }

    /// SCRIPT LOAD: compiles a script, unless it is cached, and keeps it until [`flush`](Runtime::flush). The error is
    /// Redis' (`ERR Error compiling script (new function): user_script:1: …`). O(length).
    pub fn load(&mut self, body: &[u8]) -> Result<Sha, Error> {
        let id = self.intern(body)?;
        self.cache.mark_loaded(id);
        Ok(Sha::of(body))
    }

    /// EVAL: the script with this text, compiled if it is not cached. No SHA-1 is made. Among scripts that came this
    /// way those not used for longest are forgotten when they are very many. O(length).
    pub fn intern(&mut self, body: &[u8]) -> Result<ScriptId, Error> {
        if let Some(id) = self.cache.by_text(body) {
            return Ok(id);
        }
        let (flags, text) = shebang::parse(body)?;
        if let Err(reason) = self.vm.compile(text, self.cache.next_slot()) {
            return Err(Error::with("ERR Error compiling script (new function): ", &reason));
        }
        let id = self.cache.insert(body, flags);
        while let Some(slot) = self.cache.forget_one() {
            self.vm.forget(slot);
        }
        Ok(id)
    }

    /// EVALSHA: the script with this SHA-1, in hexadecimal digits of either case. O(1), but for digests of scripts that
    /// came by their text since the last call.
    pub fn find(&self, sha: &[u8]) -> Option<ScriptId> {
        self.cache.by_sha(sha)
    }

    /// SCRIPT EXISTS, for one. As [`find`](Runtime::find).
    pub fn exists(&self, sha: &[u8]) -> bool {
        self.find(sha).is_some()
    }

    /// What the script's first line says; nothing for a script that is gone.
    pub fn flags(&self, id: ScriptId) -> Flags {
        self.cache.flags(id)
    }

    /// The script's name; none if it is gone. O(length).
    pub fn sha(&self, id: ScriptId) -> Option<Sha> {
        self.cache.sha(id)
    }

    /// SCRIPT FLUSH: forgets all scripts, and frees what they hold.
    pub fn flush(&mut self) {
        self.cache.clear();
        self.vm.clear();
    }

    /// Cached scripts.
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether no script is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the interpreter has.
    pub fn memory_used(&self) -> usize {
        self.vm.memory_used()
    }

    /// Runs a script and writes its result, or its error, to `reply`: exactly one reply, in whatever way it ends.
    ///
    /// The caller says in the [`Control`] when it begins and ends; without that it cannot be killed.
    ///
    /// # Panics
    ///
    /// With the host's panic, if it panics; the reply is written then too, and the runtime stays usable.
    pub fn run(
        &mut self,
        id: ScriptId,
        keys: &[&[u8]],
        args: &[&[u8]],
        host: &mut dyn Host,
        reply: &mut dyn Reply,
    ) {
        let Runtime { vm, cache } = self;
        if !cache.contains(id) {
            return reply.error(b"NOSCRIPT No matching script. Please use EVAL.");
        }
        // The script is cached, so its name is there.
        let sha = || cache.sha(id).unwrap_or_else(|| Sha::of(b""));
        vm.run(id.slot, keys, args, host, sha, reply);
    }
}
