//! The libraries of functions, by name, and their functions, by name in any case.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lockwheel_scripting::{Flags, FunctionId, Registered};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The libraries that can be called.
pub(crate) struct Libraries {
    by_name: BTreeMap<Box<[u8]>, Library>,
    /// The functions by their names in lower case. If names of one library differ only in case, the first one counts.
    functions: HashMap<Box<[u8]>, Callable, FixedState>,
    /// The number of libraries added so far, from which serial numbers are made.
    serial: u64,
    function_count: usize,
    bytes: usize,
}

pub(crate) struct Library {
    pub(crate) name: Box<[u8]>,
    pub(crate) code: Box<[u8]>,
    /// The functions that the library has registered, by name.
    pub(crate) functions: Vec<Registered>,
    /// The serial number, which distinguishes the library from earlier ones of the same name.
    serial: u64,
}

/// A function, as FCALL finds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callable {
    pub(crate) id: FunctionId,
    /// The flags: the permissions of the function.
    pub(crate) flags: Flags,
    /// The serial number of the function's library.
    library: u64,
}

impl Library {
    /// Returns a library that has not been added yet.
    pub(crate) fn new(name: &[u8], code: &[u8], functions: Vec<Registered>) -> Self {
        Library { name: name.into(), code: code.into(), functions, serial: 0 }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = FunctionId> {
        self.functions.iter().map(|function| function.id)
    }

    /// Returns the approximate memory in bytes. O(functions).
    fn bytes(&self) -> usize {
        let of_function = |function: &Registered| {
            let description = function.description.as_ref().map_or(0, |text| text.len());
            size_of::<Registered>() + 2 * function.name.len() + description + size_of::<Callable>()
        };
        let functions: usize = self.functions.iter().map(of_function).sum();
        size_of::<Library>() + 2 * self.name.len() + self.code.len() + functions
    }
}

impl Libraries {
    /// Returns an empty set of libraries. The seed decides the hashes of names, because clients choose the names.
    pub(crate) fn new(seed: u64) -> Self {
        Libraries {
            by_name: BTreeMap::new(),
            functions: HashMap::with_hasher(FixedState::with_seed(seed)),
            serial: 0,
            function_count: 0,
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn function_count(&self) -> usize {
        self.function_count
    }

    /// Returns the approximate memory of all libraries in bytes, without the memory of their interpreter.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Library> {
        self.by_name.values()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Library> {
        self.by_name.get(name)
    }

    /// Returns the function of this name, in any case. O(name).
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> Option<Callable> {
        let folded: SmallVec<[u8; 64]> = name.iter().map(u8::to_ascii_lowercase).collect();
        self.functions.get(&*folded).copied()
    }

    /// Returns the registration of the function of this name. O(functions).
    pub(super) fn registered(&self, name: &[u8]) -> Option<&Registered> {
        let callable = self.find(name)?;
        let mut functions = self.iter().flat_map(|library| &library.functions);
        functions.find(|function| function.id == callable.id)
    }

    /// Returns a function of the library whose name another library uses, except those that `is_replaced` names.
    pub(super) fn find_conflict<'l>(
        &self,
        library: &'l Library,
        is_replaced: impl Fn(u64) -> bool,
    ) -> Option<&'l Registered> {
        let taken = |name: &[u8]| self.find(name).is_some_and(|function| !is_replaced(function.library));
        library.functions.iter().find(|function| taken(&function.name))
    }

    /// Returns the serial number of the library of this name. 0 if there is none.
    pub(super) fn serial_of(&self, name: &[u8]) -> u64 {
        self.get(name).map_or(0, |library| library.serial)
    }

    /// Adds a library. No other library may have functions of the same names.
    pub(super) fn add(&mut self, mut library: Library) {
        self.serial += 1;
        library.serial = self.serial;
        self.function_count += library.functions.len();
        self.bytes += library.bytes();
        for function in &library.functions {
            let callable = Callable { id: function.id, flags: function.flags, library: library.serial };
            self.functions.entry(function.name.to_ascii_lowercase().into()).or_insert(callable);
        }
        self.by_name.insert(library.name.clone(), library);
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<Library> {
        let library = self.by_name.remove(name)?;
        self.function_count -= library.functions.len();
        self.bytes -= library.bytes();
        for function in &library.functions {
            self.functions.remove(&*function.name.to_ascii_lowercase());
        }
        Some(library)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Library> + use<> {
        self.functions.clear();
        (self.function_count, self.bytes) = (0, 0);
        std::mem::take(&mut self.by_name).into_values()
    }
}
