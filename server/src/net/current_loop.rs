//! The current thread's event loop, for callbacks from a slow script.
//!
//! The interpreter's hook interrupts a slow script inside the engine; this is its way back to the thread's sockets.

use super::shared::Shared;
use lockwheel_engine::Engine;
use std::cell::RefCell;
use std::rc::Rc;

/// What the engine's host needs of a thread's event loop.
pub(super) trait CurrentLoop {
    /// Serves its sockets while a script of its server is slow and lends the engine.
    fn serve_while_slow(&self, shared: &Shared, engine: &mut Engine);
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn CurrentLoop>>> = const { RefCell::new(None) };
}

/// Sets this thread's loop, or none.
pub(super) fn set(current: Option<Rc<dyn CurrentLoop>>) {
    CURRENT.set(current);
}

/// Serves the sockets of this thread while its script, on this server, is slow and lends the engine.
pub(super) fn serve_while_slow(shared: &Shared, engine: &mut Engine) {
    get().iter().for_each(|current| current.serve_while_slow(shared, engine));
}

/// It may be called again while it serves: nothing stays borrowed.
fn get() -> Option<Rc<dyn CurrentLoop>> {
    CURRENT.with_borrow(Clone::clone)
}
