//! The event loop of the current thread: the way from the interpreter's hook, in a slow script, back to the sockets.

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
