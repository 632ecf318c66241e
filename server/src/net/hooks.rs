//! Points in the loops at which a test forces an interleaving or a panic. The hooks do nothing in production.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Point {
    Begin,
    /// A slow script has served other clients.
    Slow,
    Deferred,
    /// A connection's session is about to be removed.
    Disconnect,
    /// A connection is about to refresh its session's status.
    Refresh,
    /// A new connection has its session, and no other thread can find it yet.
    Connected,
    LoopMessage,
    Read,
    Run,
    Write,
}

#[cfg(not(test))]
#[derive(Default)]
pub(super) struct Hooks(());

#[cfg(not(test))]
impl Hooks {
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

    #[derive(Default)]
    pub(in crate::net) struct Hooks(Mutex<Option<Hook>>);

    impl Hooks {
        /// Calls `hook` at every point from now on, on the thread that reaches it.
        pub(in crate::net) fn set(&self, hook: impl Fn(Point) + Send + Sync + 'static) {
            *self.0.lock() = Some(Arc::new(hook));
        }

        pub(in crate::net) fn reach(&self, point: Point) {
            let hook = self.0.lock().clone();
            hook.iter().for_each(|hook| hook(point));
        }
    }
}
