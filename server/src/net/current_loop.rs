//! The event loop of the current thread, for callbacks from a slow script.
//!
//! The interpreter's hook interrupts a slow script inside the engine. This module leads from there back to the sockets
//! of the thread.

use super::shared::Shared;
use lockwheel_engine::Engine;
use std::cell::RefCell;
use std::rc::Rc;

/// The interface of a thread's event loop to the engine's host.
pub(super) trait CurrentLoop {
    /// Serves the sockets of the loop while a script of its server is slow and lends the engine.
    fn serve_while_slow(&self, shared: &Shared, engine: &mut Engine);
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn CurrentLoop>>> = const { RefCell::new(None) };
}

/// Sets or clears the loop of this thread.
pub(super) fn set(current: Option<Rc<dyn CurrentLoop>>) {
    CURRENT.set(current);
}

/// Serves the sockets of this thread while its script, on this server, is slow and lends the engine.
pub(super) fn serve_while_slow(shared: &Shared, engine: &mut Engine) {
    get().iter().for_each(|current| current.serve_while_slow(shared, engine));
}

/// Returns a copy, so that nothing stays borrowed: the loop may be called again while it serves.
fn get() -> Option<Rc<dyn CurrentLoop>> {
    CURRENT.with_borrow(Clone::clone)
}
