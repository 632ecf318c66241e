//! Points in the loops at which a test makes an interleaving certain, or a mistake. In a server there is nothing here.

/// A point that a test can hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Point {
    /// A batch begins: what is due fires.
    Begin,
    /// A slow script has let others be served.
    Slow,
    /// A deferred job is about to run.
    Deferred,
    /// A connection's session is about to go.
    Disconnect,
    /// A connection is about to learn what has changed in its session.
    Refresh,
    /// A message of the loop is about to be handled.
    LoopMessage,
    /// A connection is about to be read.
    Read,
    /// A connection is about to run what it has read.
    Run,
    /// A connection is about to be written to.
    Write,
}

#[cfg(not(test))]
#[derive(Default)]
pub(super) struct Hooks(());

#[cfg(not(test))]
impl Hooks {
    /// The point is reached.
    #[inline(always)]
    pub(super) fn reach(&self, _: Point) {}
}

#[cfg(test)]
pub(super) use hooked::Hooks;

#[cfg(test)]
mod hooked {
    use super::Point;
    use parking_lot::Mutex;
    use std::sync::Arc;

    type Hook = Arc<dyn Fn(Point) + Send + Sync>;

    /// What a test does at the points.
    #[derive(Default)]
    pub(in crate::net) struct Hooks(Mutex<Option<Hook>>);

    impl Hooks {
        /// From now on `hook` is called at every point, on whatever thread reaches it.
        pub(in crate::net) fn set(&self, hook: impl Fn(Point) + Send + Sync + 'static) {
            *self.0.lock() = Some(Arc::new(hook));
        }

        pub(in crate::net) fn reach(&self, point: Point) {
            let hook = self.0.lock().clone();
            hook.iter().for_each(|hook| hook(point));
        }
    }
}
