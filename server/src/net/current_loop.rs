//! The event loop that the present thread runs, for who is called from within the engine and does not know it.
//!
//! A slow script is left by a hook of the interpreter: from there the way back to the thread's sockets leads through
//! here.

use lockwheel_engine::Engine;
use std::cell::RefCell;
use std::rc::Rc;

/// What a thread's event loop does for callers that do not know it.
pub(super) trait CurrentLoop {
    /// Whether it wakes when the engine's next deadline comes.
    fn keeps_time(&self) -> bool;

    /// Has it look soon whether the engine is free.
    fn retry_engine_soon(&self);

    /// Serves its sockets while its script is slow and lends the engine.
    fn serve_while_slow(&self, engine: &mut Engine);
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<dyn CurrentLoop>>> = const { RefCell::new(None) };
}

/// This thread runs that loop from now on, or none any more.
pub(super) fn set(current: Option<Rc<dyn CurrentLoop>>) {
    CURRENT.set(current);
}

/// Whether this thread runs the loop that wakes for deadlines.
pub(super) fn keeps_time() -> bool {
    get().is_some_and(|current| current.keeps_time())
}

/// Has this thread's loop, if it runs one, look soon whether the engine is free: whoever holds it may have unlocked it
/// just before it could see that somebody waits.
pub(super) fn retry_engine_soon() {
    get().iter().for_each(|current| current.retry_engine_soon());
}

/// Serves the sockets of this thread while its script is slow and lends the engine.
pub(super) fn serve_while_slow(engine: &mut Engine) {
    get().iter().for_each(|current| current.serve_while_slow(engine));
}

/// It may be asked for again while it serves: nothing stays borrowed.
fn get() -> Option<Rc<dyn CurrentLoop>> {
    CURRENT.with_borrow(Clone::clone)
}
