//! The current thread's event loop, for callbacks from a slow script.
//!
//! The interpreter's hook interrupts a slow script inside the engine; this is its way back to the thread's sockets.

use lockwheel_engine::Engine;
use std::cell::RefCell;
use std::rc::Rc;

/// What the engine's host needs of a thread's event loop.
pub(super) trait CurrentLoop {
    /// Whether it wakes when the engine's next deadline comes.
    fn keeps_time(&self) -> bool;

    /// Makes it check soon whether the engine is free.
    fn retry_engine_soon(&self);

    /// Serves its sockets while its script is slow and lends the engine.
    fn serve_while_slow(&self, engine: &mut Engine);
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn CurrentLoop>>> = const { RefCell::new(None) };
}

/// Sets this thread's loop, or none.
pub(super) fn set(current: Option<Rc<dyn CurrentLoop>>) {
    CURRENT.set(current);
}

/// Whether this thread runs the loop that wakes for deadlines.
pub(super) fn keeps_time() -> bool {
    get().is_some_and(|current| current.keeps_time())
}

/// Makes this thread's loop, if it runs one, check soon whether the engine is free: its holder may have unlocked it
/// just before it could see a waiter.
pub(super) fn retry_engine_soon() {
    get().iter().for_each(|current| current.retry_engine_soon());
}

/// Serves the sockets of this thread while its script is slow and lends the engine.
pub(super) fn serve_while_slow(engine: &mut Engine) {
    get().iter().for_each(|current| current.serve_while_slow(engine));
}

/// It may be called again while it serves: nothing stays borrowed.
fn get() -> Option<Rc<dyn CurrentLoop>> {
    CURRENT.with_borrow(Clone::clone)
}
