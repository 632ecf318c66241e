//! The engine, as the code that loads the data reaches it.

use super::super::engine::Engine;
use crate::persistence::append_only::LoadFailure;
use crate::spec::CommandError;

/// The reply to a request that must wait until the data are loaded.
pub(crate) const LOADING: CommandError = CommandError::text("LOADING Redis is loading the dataset in memory");

/// The engine, as the code that loads the data reaches it: in slices.
pub trait LoadAccess {
    /// Runs a slice.
    ///
    /// # Errors
    /// Returns [`LoadError::Ended`] if the server ends.
    fn with<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> Result<T, LoadError>;

    /// Pauses between two slices, for so many microseconds.
    fn pause(&mut self, us: u64);
}

/// The reason why the data are not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// A file cannot be read or written. The reason is in lines as Redis logs them.
    Failed(String),
    /// The server ends.
    Ended,
}

impl From<LoadFailure> for LoadError {
    fn from(why: LoadFailure) -> Self {
        LoadError::Failed(why)
    }
}

/// An engine that is not shared: a slice follows the one before at once.
pub(super) struct Unshared<'e>(pub(super) &'e mut Engine);

impl LoadAccess for Unshared<'_> {
    fn with<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> Result<T, LoadError> {
        Ok(work(self.0))
    }

    fn pause(&mut self, _: u64) {}
}
