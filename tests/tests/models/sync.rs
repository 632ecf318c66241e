//! The synchronisation primitives in the model's version, with the names and calls that the server's files use.

use std::ops::{Deref, DerefMut};

pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// A lock that is never poisoned.
pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

/// The guard of the lock.
pub(super) struct MutexGuard<'a, T>(loom::sync::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(self.0.lock().expect("no model panics with the lock"))
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(MutexGuard)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The word that an interpreter would read.
#[derive(Debug, Default)]
pub(super) struct AtomicU32(loom::sync::atomic::AtomicU32);

impl AtomicU32 {
    /// There is no interpreter.
    pub(super) fn as_ptr(&self) -> *mut u32 {
        std::ptr::null_mut()
    }
}

impl Deref for AtomicU32 {
    type Target = loom::sync::atomic::AtomicU32;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
