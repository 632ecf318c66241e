//! The shutdown of the server: the request, the tasks that wait for it, and the threads that it waits for.

use super::first::first;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Whether the server must end, and the number of its threads that still run.
#[derive(Debug)]
pub(crate) struct Shutdown {
    requested: AtomicBool,
    /// The request as a watch, for tasks.
    announced: watch::Sender<bool>,
    threads: Mutex<usize>,
    /// Notified when the end is requested, or when a thread has ended.
    changed: Condvar,
}

/// The end of a server, as another server of its process sees it.
pub(super) struct MemberEnd {
    pub(super) shutdown: Arc<Shutdown>,
    pub(super) end: Box<dyn Fn() + Send + Sync>,
}

/// A guard that counts as a thread of the server until dropped.
pub(crate) struct ThreadGuard(Arc<Shutdown>);

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        *self.0.threads.lock() -= 1;
        self.0.changed.notify_all();
    }
}

impl Shutdown {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Shutdown {
            requested: AtomicBool::new(false),
            announced: watch::Sender::new(false),
            threads: Mutex::new(0),
            changed: Condvar::new(),
        })
    }

    pub(super) fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.announced.send_replace(true);
        let _threads = self.threads.lock();
        self.changed.notify_all();
    }

    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    pub(super) async fn requested(&self) {
        let mut announced = self.announced.subscribe();
        // The sender lives as long as self, so waiting cannot fail.
        let _ = announced.wait_for(|&announced| announced).await;
    }

    /// Waits for a future. If the end is requested first, drops the future and returns `None`.
    pub(super) async fn unless_requested<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let end = async {
            self.requested().await;
            None
        };
        first(end, async { Some(future.await) }).await
    }

    /// Blocks this thread until the end is requested.
    pub(crate) fn wait(&self) {
        let mut threads = self.threads.lock();
        while !self.is_requested() {
            self.changed.wait(&mut threads);
        }
    }

    /// Sleeps on this thread. Wakes at a shutdown, or when `is_woken` returns true.
    pub(super) fn sleep(&self, time: Duration, is_woken: impl Fn() -> bool) {
        const STEP: Duration = Duration::from_millis(20);
        let end = Instant::now().checked_add(time);
        while !self.is_requested() && !is_woken() {
            let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(STEP));
        }
    }

    pub(super) fn thread(self: &Arc<Self>) -> ThreadGuard {
        *self.threads.lock() += 1;
        ThreadGuard(self.clone())
    }

    /// Waits until all threads have ended, but no longer than `most`.
    pub(crate) fn join(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut threads = self.threads.lock();
        while *threads > 0 && !self.changed.wait_until(&mut threads, until).timed_out() {}
    }
}
