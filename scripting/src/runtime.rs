//! The interpreters of a server with the scripts and functions in them, and one that runs.

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

/// What can be run.
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
    /// Interpreters without scripts and functions.
    pub fn new(options: Options, control: Arc<ScriptControl>) -> Runtime {
        let random = SharedRandom::new();
        Runtime {
            cache: Cache::new(options.seed),
            vm: Vm::new(EntryKind::Script, options, control.clone(), random.clone()),
            functions: Functions::new(options, control.clone(), random),
            control,
        }
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
        let (flags, text) = shebang::parse(body)?;
        self.vm.compile(&script::CHUNK, text, self.cache.next_slot())?;
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

    /// The flags that a script with this text would have; none if its first line is wrong. O(its first line).
    pub fn flags_of(&self, body: &[u8]) -> Option<Flags> {
        shebang::parse(body).ok().map(|(flags, _)| flags)
    }

    /// The script's name; none if it is gone. O(length).
    pub fn sha(&self, id: ScriptId) -> Option<Sha> {
        self.cache.sha(id)
    }

    /// The script's text; none if it is gone. O(1).
    pub fn text(&self, id: ScriptId) -> Option<&[u8]> {
        self.cache.text(id)
    }

    /// Drops one script, also one that SCRIPT LOAD has brought. O(length).
    pub fn forget(&mut self, id: ScriptId) {
        if let Some(slot) = self.cache.forget(id) {
            self.vm.forget(slot);
        }
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

    /// Bytes of memory that the texts of cached scripts take. O(scripts).
    pub fn cached_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Bytes of memory that the interpreter of scripts has.
    pub fn memory_used(&self) -> usize {
        self.vm.memory_used()
    }

    /// Bytes of memory that the interpreter of functions has; 0 before there are any.
    pub fn functions_memory_used(&self) -> usize {
        self.functions.memory_used()
    }

    /// FUNCTION LOAD: runs the text of a library, which begins behind its name. The functions that it has registered,
    /// by name. It may only log by the host, and has to end by `until_us` of the host's clock.
    ///
    /// # Errors
    /// Redis' own: what cannot be compiled, or how it ended. Then none of its functions is left.
    ///
    /// # Panics
    ///
    /// With the host's panic, if it panics.
    pub fn load_library(
        &mut self,
        text: &[u8],
        until_us: u64,
        host: &mut dyn Host,
    ) -> Result<Vec<Registered>, Error> {
        self.functions.load(text, until_us, host)
    }

    /// FUNCTION DELETE: drops functions.
    pub fn forget_functions(&mut self, ids: impl IntoIterator<Item = FunctionId>) {
        self.functions.forget(ids);
    }

    /// FUNCTION FLUSH: drops all functions, and frees their memory.
    pub fn flush_functions(&mut self) {
        self.functions.flush();
    }

    /// A script or function begins, at `since_ms` of the caller's clock. From now on other threads see it, and can
    /// stop it, through the [`ScriptControl`]; until it has run, or the result is dropped.
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

/// A script or function that has begun, and is still to be run.
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
    /// Runs it and writes its result, or its error, to `reply`: exactly one reply, in whatever way it ends.
    ///
    /// # Panics
    ///
    /// With the host's panic, if it panics; the reply is written then too, and the runtime stays usable.
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
