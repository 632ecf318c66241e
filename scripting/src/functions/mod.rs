//! Functions of libraries: loaded from a text, then called by name. They have an interpreter of their own, separate
//! from that of scripts.

mod function;
mod library_text;
pub(crate) mod registered;

pub use library_text::LibraryText;
pub use registered::{FunctionId, Registered};

use crate::control::{EntryKind, ScriptControl};
use crate::error::Error;
use crate::host::Host;
use crate::options::Options;
use crate::random::SharedRandom;
use crate::vm::Vm;
use function::Function;
use registered::{Loading, Slots};
use std::sync::Arc;

/// The functions of all libraries, and their interpreter, which is made for the first function.
pub(crate) struct Functions {
    vm: Option<Vm>,
    options: Options,
    control: Arc<ScriptControl>,
    random: SharedRandom,
    /// The names by slot, for errors.
    names: Vec<Option<Box<[u8]>>>,
    /// The slots without a function.
    vacant: Vec<u32>,
}

impl Functions {
    pub(crate) fn new(options: Options, control: Arc<ScriptControl>, random: SharedRandom) -> Functions {
        Functions { vm: None, options, control, random, names: Vec::new(), vacant: Vec::new() }
    }

    /// Runs the text of a library; returns the functions that it has registered, by name. If it fails, none is left.
    pub(crate) fn load(
        &mut self,
        text: &[u8],
        until_us: u64,
        host: &mut dyn Host,
    ) -> Result<Vec<Registered>, Error> {
        let functions = self.run(text, until_us, host)?;
        for function in &functions {
            self.names[function.id.0 as usize] = Some(function.name.clone());
        }
        Ok(functions)
    }

    /// Runs the text of a library; returns the functions that it has registered.
    fn run(&mut self, text: &[u8], until_us: u64, host: &mut dyn Host) -> Result<Vec<Registered>, Error> {
        let Functions { vm, options, control, random, names, vacant } = self;
        let new = || Vm::new(EntryKind::Function, *options, control.clone(), random.clone());
        let vm = vm.get_or_insert_with(new);
        // A table has no room for more slots than these numbers can count.
        let slots = Slots { len: names.len() as u32, vacant: std::mem::take(vacant) };
        let _guard = control.begin_loading();
        let (loading, result) = vm.load(text, Box::new(Loading::new(slots)), until_us, host);
        let (functions, slots) = loading.end();
        names.resize(slots.len as usize, None);
        *vacant = slots.vacant;
        result.map(|()| functions)
    }

    /// Drops functions that are no longer called.
    pub(crate) fn forget(&mut self, ids: impl IntoIterator<Item = FunctionId>) {
        for FunctionId(slot) in ids {
            self.names[slot as usize] = None;
            self.vacant.push(slot);
            if let Some(vm) = &mut self.vm {
                vm.forget(slot);
            }
        }
    }

    /// Drops all functions with their interpreter, and all of its memory.
    pub(crate) fn flush(&mut self) {
        self.vm = None;
        self.names = Vec::new();
        self.vacant = Vec::new();
    }

    /// Bytes of memory of the interpreter.
    pub(crate) fn memory_used(&self) -> usize {
        self.vm.as_ref().map_or(0, Vm::memory_used)
    }

    /// The interpreter, and a function in it.
    pub(crate) fn find(&mut self, id: FunctionId) -> Option<(&mut Vm, Function<'_>)> {
        let name = self.names.get(id.0 as usize)?.as_deref()?;
        Some((self.vm.as_mut()?, Function { name }))
    }
}
