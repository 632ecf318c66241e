//! The loading of the data at the start, in slices, between which the loops serve clients.

use super::shared::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::core::{LoadAccess, LoadError};
use std::time::Duration;

/// The engine of a server that runs, for the thread that loads the data.
pub(crate) struct Loader<'s> {
    shared: &'s Shared,
}

impl<'s> Loader<'s> {
    /// Begins the loading. It ends when the value is dropped.
    pub(crate) fn new(shared: &'s Shared) -> Self {
        shared.set_loading(true);
        Loader { shared }
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        self.shared.set_loading(false);
    }
}

impl LoadAccess for Loader<'_> {
    fn with<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> Result<T, LoadError> {
        match self.shared.shutdown.is_requested() {
            true => Err(LoadError::Ended),
            false => Ok(self.shared.with_engine(work)),
        }
    }

    fn pause(&mut self, us: u64) {
        if us > 0 {
            self.shared.shutdown.sleep(Duration::from_micros(us), || false);
        }
    }
}
