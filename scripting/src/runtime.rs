//! One interpreter with its cache of scripts, and a script that runs in it.

use crate::cache::{Cache, ScriptId};
use crate::control::{RunGuard, ScriptControl};
use crate::entry::Arguments;
use crate::error::Error;
use crate::host::Host;
use crate::options::Options;
use crate::script::Script;
use crate::sha::Sha;
use crate::shebang::Flags;
use crate::vm::Vm;
use lockwheel_resp::Reply;
use std::sync::Arc;

/// One interpreter and its scripts.
pub struct Runtime {
    pub(crate) vm: Vm,
    cache: Cache,
    control: Arc<ScriptControl>,
}

impl Runtime {
    /// An interpreter without scripts.
    pub fn new(options: Options, control: Arc<ScriptControl>) -> Runtime {
        Runtime { cache: Cache::new(options.seed), vm: Vm::new(options, control.clone()), control }
    }

    /// SCRIPT LOAD: compiles a script, unless it is cached, and keeps it until [`flush`](Runtime::flush). The error is
    /// Redis' (`ERR Error compiling script (new function): user_script:1: …`). O(length).
    pub fn load(&mut self, body: &[u8]) -> Result<Sha, Error> {
        let id = self.intern(body)?;
        self.cache.mark_loaded(id);
        Ok(Sha::of(body))
    }

    /// EVAL: the script with this text, compiled if it is not cached. No SHA-1 is computed. Scripts that came this way
    /// are evicted when they are very many, those not used for longest first. O(length).
    pub fn intern(&mut self, body: &[u8]) -> Result<ScriptId, Error> {
        if let Some(id) = self.cache.by_text(body) {
            return Ok(id);
        }
        let flags = self.vm.compile::<Script<'_>>(body, self.cache.next_slot())?;
        let id = self.cache.insert(body, flags);
        while let Some(slot) = self.cache.forget_one() {
            self.vm.forget(slot);
        }
        Ok(id)
    }

    /// EVALSHA: the script with this SHA-1, in hexadecimal digits of either case. O(1), except for computing the
    /// digests of scripts that came by their text since the last call.
    pub fn find(&self, sha: &[u8]) -> Option<ScriptId> {
        self.cache.by_sha(sha)
    }

    /// SCRIPT EXISTS, for one. As [`find`](Runtime::find).
    pub fn exists(&self, sha: &[u8]) -> bool {
        self.find(sha).is_some()
    }

    /// The flags in the script's first line; none for a script that is gone.
    pub fn flags(&self, id: ScriptId) -> Flags {
        self.cache.flags(id)
    }

    /// The script's name; none if it is gone. O(length).
    pub fn sha(&self, id: ScriptId) -> Option<Sha> {
        self.cache.sha(id)
    }

    /// SCRIPT FLUSH: drops all scripts, and frees their memory.
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

    /// A script begins, at `since_ms` of the caller's clock. From now on other threads see it, and can stop it, through
    /// the [`ScriptControl`]; until it has run, or the result is dropped.
    pub fn begin(&mut self, id: ScriptId, since_ms: u64) -> Invocation<'_> {
        let Runtime { vm, cache, control } = self;
        Invocation { vm, cache, id, _guard: control.begin(since_ms) }
    }
}

/// A script that has begun, and is still to be run.
#[must_use]
pub struct Invocation<'r> {
    vm: &'r mut Vm,
    cache: &'r Cache,
    id: ScriptId,
    _guard: RunGuard<'r>,
}

impl Invocation<'_> {
    /// Runs the script and writes its result, or its error, to `reply`: exactly one reply, in whatever way it ends.
    ///
    /// # Panics
    ///
    /// With the host's panic, if it panics; the reply is written then too, and the runtime stays usable.
    pub fn run(self, keys: &[&[u8]], args: &[&[u8]], host: &mut dyn Host, reply: &mut dyn Reply) {
        if !self.cache.contains(self.id) {
            return reply.error(b"NOSCRIPT No matching script. Please use EVAL.");
        }
        let script = Script { cache: self.cache, id: self.id };
        self.vm.run(&script, self.id.slot, Arguments { keys, args }, host, reply);
    }
}
