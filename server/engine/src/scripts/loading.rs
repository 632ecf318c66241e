//! The loading, restoring and removal of libraries. Each change is made as a whole, or not at all.

use super::{Libraries, Library, Scripts, busy_error};
use crate::spec::CommandError;
use lockwheel_scripting::{Error, Host, LibraryText, Runtime};
use std::borrow::Cow;

/// The longest time of loading in total, in microseconds, as in Redis.
const TIMEOUT_US: u64 = 500_000;

/// The fate of the existing libraries when others are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestorePolicy {
    /// Existing libraries stay, and no restored library may have a name in use.
    Append,
    /// Existing libraries are removed.
    Flush,
    /// Existing libraries with the names of restored ones are removed.
    Replace,
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        CommandError::new(error.into_bytes())
    }
}

impl Scripts {
    /// Loads a library, and returns its name. Fails, without a change, with Redis' errors; an existing library of its
    /// name is one, unless `replace`.
    pub(crate) fn load(
        &mut self,
        code: &[u8],
        replace: bool,
        host: &mut dyn Host,
    ) -> Result<Vec<u8>, CommandError> {
        let busy = busy_error(self.control.kind());
        let runtime = self.runtime.as_deref_mut().ok_or(busy)?;
        let until_us = host.clock_us() + TIMEOUT_US;
        let library = make(runtime, &self.libraries, code, replace, until_us, host)?;
        let name = library.name.to_vec();
        if let Some(old) = self.libraries.remove(&name) {
            runtime.forget_functions(old.ids());
        }
        self.libraries.add(library);
        Ok(name)
    }

    /// Loads libraries, all or none, within the time limit of one. Fails with Redis' errors or the first of `codes`.
    pub(crate) fn restore<'c>(
        &mut self,
        codes: impl Iterator<Item = Result<Cow<'c, [u8]>, CommandError>>,
        policy: RestorePolicy,
        host: &mut dyn Host,
    ) -> Result<(), CommandError> {
        let busy = busy_error(self.control.kind());
        let runtime = self.runtime.as_deref_mut().ok_or(busy)?;
        let until_us = host.clock_us() + TIMEOUT_US;
        let mut restored = Libraries::new(0);
        let mut load = |code: Result<Cow<'c, [u8]>, CommandError>| {
            let library = make(runtime, &restored, &code?, false, until_us, host)?;
            restored.add(library);
            Ok(())
        };
        let loaded = codes.into_iter().try_for_each(&mut load);
        let joined = loaded.and_then(|()| self.libraries.check_join(&restored, policy));
        if let Err(error) = joined {
            restored.take_all().for_each(|library| runtime.forget_functions(library.ids()));
            return Err(error);
        }
        if policy == RestorePolicy::Flush {
            self.libraries.take_all().for_each(|old| runtime.forget_functions(old.ids()));
        }
        // All old libraries are removed before any is added, because a function may move from one library to another.
        for old in restored.iter().filter_map(|library| self.libraries.remove(&library.name)) {
            runtime.forget_functions(old.ids());
        }
        restored.take_all().for_each(|library| self.libraries.add(library));
        Ok(())
    }

    /// Drops a library, or fails if there is none of this name.
    pub(crate) fn delete(&mut self, name: &[u8]) -> Result<(), CommandError> {
        let busy = busy_error(self.control.kind());
        let runtime = self.runtime.as_deref_mut().ok_or(busy)?;
        let library = self.libraries.remove(name);
        let library = library.ok_or(CommandError::text("ERR Library not found"))?;
        runtime.forget_functions(library.ids());
        Ok(())
    }

    /// Drops all libraries, and their interpreter's memory. Fails with `BUSY` while a script runs.
    pub(crate) fn flush_libraries(&mut self) -> Result<(), CommandError> {
        self.idle()?.flush_functions();
        self.libraries.take_all().for_each(drop);
        Ok(())
    }
}

/// Makes a library from its text, with Redis' checks in order. `replace`: one of its name is replaced.
fn make(
    runtime: &mut Runtime,
    libraries: &Libraries,
    code: &[u8],
    replace: bool,
    until_us: u64,
    host: &mut dyn Host,
) -> Result<Library, CommandError> {
    let LibraryText { engine, name, body } = LibraryText::parse(code)?;
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(named("ERR Engine '", &engine, "' not found"));
    }
    if !replace && libraries.get(&name).is_some() {
        return Err(named("ERR Library '", &name, "' already exists"));
    }
    let functions = runtime.load_library(body, until_us, host)?;
    let library = Library::new(&name, code, functions);
    let replaced = libraries.serial_of(&name);
    let error = if library.functions.is_empty() {
        CommandError::text("ERR No functions registered")
    } else if let Some(taken) = libraries.find_conflict(&library, |serial| serial == replaced) {
        named("ERR Function ", &taken.name, " already exists")
    } else {
        return Ok(library);
    };
    runtime.forget_functions(library.ids());
    Err(error)
}

fn named(before: &str, name: &[u8], after: &str) -> CommandError {
    CommandError::new([before.as_bytes(), name, after.as_bytes()].concat())
}

impl Libraries {
    /// Checks whether `others` can be added.
    fn check_join(&self, others: &Libraries, policy: RestorePolicy) -> Result<(), CommandError> {
        if policy == RestorePolicy::Flush {
            return Ok(());
        }
        let mut replaced = Vec::new();
        for library in others.iter() {
            let serial = self.serial_of(&library.name);
            if serial != 0 && policy == RestorePolicy::Append {
                return Err(named("ERR Library ", &library.name, " already exists"));
            }
            replaced.push(serial);
        }
        replaced.sort_unstable();
        let is_replaced = |serial: u64| replaced.binary_search(&serial).is_ok();
        match others.iter().find_map(|library| self.find_conflict(library, is_replaced)) {
            Some(taken) => Err(named("ERR Function ", &taken.name, " already exists")),
            None => Ok(()),
        }
    }
}
