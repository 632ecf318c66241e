//! The interpreters of a server with their scripts and functions, and the running of one of these.

use crate::cache::{Cache, ScriptId};
use crate::control::{EntryKind, RunGuard, ScriptControl};
use crate::entry::Arguments;
use crate::error::Error;
use crate::functions::{FunctionId, Functions, Registered};
use crate::host::Host;
use crate::options::Options;
use crate::random::SharedRandom;
use crate::script::{self, Script};
use crate::sha::Sha;
use crate::shebang::{self, Flags};
use crate::vm::Vm;
use lockwheel_resp::Reply;
use std::sync::Arc;

/// The id of an entry that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryId {
    /// A script.
    Script(ScriptId),
    /// A function of a library.
    Function(FunctionId),
}

impl From<ScriptId> for EntryId {
    fn from(id: ScriptId) -> EntryId {
        EntryId::Script(id)
    }
}

impl From<FunctionId> for EntryId {
    fn from(id: FunctionId) -> EntryId {
        EntryId::Function(id)
    }
}

/// The interpreters of a server: that of scripts, and that of functions.
pub struct Runtime {
    pub(crate) vm: Vm,
    cache: Cache,
    functions: Functions,
    control: Arc<ScriptControl>,
}

impl Runtime {
    /// Makes interpreters without scripts and functions.
    pub fn new(options: Options, control: Arc<ScriptControl>) -> Runtime {
        let random = SharedRandom::new();
        Runtime {
            cache: Cache::new(options.seed),
            vm: Vm::new(EntryKind::Script, options, control.clone(), random.clone()),
            functions: Functions::new(options, control.clone(), random),
            control,
        }
    }

    /// Compiles a script for SCRIPT LOAD, unless it is cached, and keeps it until [`flush`](Runtime::flush). Returns
    /// Redis' error (`ERR Error compiling script (new function): user_script:1: …`). O(length).
    pub fn load(&mut self, body: &[u8]) -> Result<Sha, Error> {
        let id = self.intern(body)?;
        self.cache.mark_loaded(id);
        Ok(Sha::of(body))
    }

    /// Returns the script with this text for EVAL, compiled if it is not cached. Computes no SHA-1. Very many scripts
    /// that came this way are evicted, those not used for the longest time first. O(length).
    pub fn intern(&mut self, body: &[u8]) -> Result<ScriptId, Error> {
        if let Some(id) = self.cache.by_text(body) {
            return Ok(id);
        }
        let (flags, text) = shebang::parse(body)?;
        self.vm.compile(&script::CHUNK, text, self.cache.next_slot())?;
        let id = self.cache.insert(body, flags);
        while let Some(slot) = self.cache.forget_one() {
            self.vm.forget(slot);
        }
        Ok(id)
    }

    /// Returns the script with this SHA-1 for EVALSHA, in hexadecimal digits of either case. O(1), except for the
    /// digests of scripts that came by their text since the last call.
    pub fn find(&self, sha: &[u8]) -> Option<ScriptId> {
        self.cache.by_sha(sha)
    }

    /// Whether a script exists, for SCRIPT EXISTS. See [`find`](Runtime::find).
    pub fn exists(&self, sha: &[u8]) -> bool {
        self.find(sha).is_some()
    }

    /// The flags in the script's first line. Empty for a script that is gone.
    pub fn flags(&self, id: ScriptId) -> Flags {
        self.cache.flags(id)
    }

    /// The flags of a script with this text. Returns `None` if its first line is invalid. O(length of the first line).
    pub fn flags_of(&self, body: &[u8]) -> Option<Flags> {
        shebang::parse(body).ok().map(|(flags, _)| flags)
    }

    /// The script's SHA-1. Returns `None` if the script is gone. O(length).
    pub fn sha(&self, id: ScriptId) -> Option<Sha> {
        self.cache.sha(id)
    }

    /// The script's text. Returns `None` if the script is gone. O(1).
    pub fn text(&self, id: ScriptId) -> Option<&[u8]> {
        self.cache.text(id)
    }

    /// Drops one script, even if it came by SCRIPT LOAD. O(length).
    pub fn forget(&mut self, id: ScriptId) {
        if let Some(slot) = self.cache.forget(id) {
            self.vm.forget(slot);
        }
    }

    /// Drops all scripts for SCRIPT FLUSH, and frees their memory.
    pub fn flush(&mut self) {
        self.cache.clear();
        self.vm.clear();
    }

    /// The number of cached scripts.
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether no script is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory of the texts of cached scripts. O(scripts).
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Bytes of memory of the interpreter of scripts.
    pub fn memory_used(&self) -> usize {
        self.vm.memory_used()
    }

    /// Bytes of memory of the interpreter of functions; 0 before the first function.
    pub fn functions_memory_used(&self) -> usize {
        self.functions.memory_used()
    }

    /// Runs the text of a library for FUNCTION LOAD; the text begins behind the library's name. Returns the functions
    /// that it has registered, by name. The library may use the host only for logging, and must end by `until_us` of
    /// the host's clock.
    ///
    /// # Errors
    /// Returns Redis' own error if the text cannot be compiled or the run fails. None of its functions is left then.
    ///
    /// # Panics
    ///
    /// Resumes the host's panic, if the host panics.
    pub fn load_library(
        &mut self,
        text: &[u8],
        until_us: u64,
        host: &mut dyn Host,
    ) -> Result<Vec<Registered>, Error> {
        self.functions.load(text, until_us, host)
    }

    /// Drops functions for FUNCTION DELETE.
    pub fn forget_functions(&mut self, ids: impl IntoIterator<Item = FunctionId>) {
        self.functions.forget(ids);
    }

    /// Drops all functions for FUNCTION FLUSH, and frees their memory.
    pub fn flush_functions(&mut self) {
        self.functions.flush();
    }

    /// Begins a script or function, at `since_ms` of the caller's clock. From now on other threads see it, and can stop
    /// it, through the [`ScriptControl`]. That ends when it has run, or the result is dropped.
    pub fn begin(&mut self, id: impl Into<EntryId>, since_ms: u64) -> Invocation<'_> {
        let Runtime { vm, cache, functions, control } = self;
        match id.into() {
            EntryId::Script(id) => Invocation {
                entry: Begun::Script { vm, cache, id },
                _guard: control.begin(EntryKind::Script, since_ms),
            },
            EntryId::Function(id) => Invocation {
                entry: Begun::Function { functions, id },
                _guard: control.begin(EntryKind::Function, since_ms),
            },
        }
    }
}

/// A script or function that has begun, and has not run yet.
#[must_use]
pub struct Invocation<'r> {
    entry: Begun<'r>,
    _guard: RunGuard<'r>,
}

enum Begun<'r> {
    Script { vm: &'r mut Vm, cache: &'r Cache, id: ScriptId },
    Function { functions: &'r mut Functions, id: FunctionId },
}

impl Invocation<'_> {
    /// Runs the entry and writes its result or its error to `reply`: always exactly one reply.
    ///
    /// # Panics
    ///
    /// Resumes the host's panic, if the host panics. The reply is written then too, and the runtime stays usable.
    pub fn run(self, keys: &[&[u8]], args: &[&[u8]], host: &mut dyn Host, reply: &mut dyn Reply) {
        let arguments = Arguments { keys, args };
        match self.entry {
            Begun::Script { vm, cache, id } => {
                if !cache.contains(id) {
                    return reply.error(b"NOSCRIPT No matching script. Please use EVAL.");
                }
                vm.run(&Script { cache, id }, id.slot, arguments, host, reply);
            }
            Begun::Function { functions, id } => match functions.find(id) {
                Some((vm, function)) => vm.run(&function, id.0, arguments, host, reply),
                None => reply.error(b"ERR Function not found"),
            },
        }
    }
}
