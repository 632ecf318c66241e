//! Detects slow scripts when no other thread does.
//!
//! The thread that runs the script cannot, and the others may be asleep. This thread checks periodically whether a
//! script has run for longer than `busy-reply-threshold`; then it arms the interpreter's hook, from which the script's
//! thread serves its sockets. It sleeps while nothing runs: the first batch after a pause wakes it, and a period
//! without a batch sends it back to sleep. A batch may take longer than that before its script begins.

use super::shared::Shared;
use super::shutdown::ThreadGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// How often it checks.
const PERIOD: Duration = Duration::from_millis(50);

/// Starts the thread; it ends when the server does.
pub(super) fn start(shared: Arc<Shared>, guard: ThreadGuard) -> std::io::Result<()> {
    let watch = move || {
        let _guard = guard;
        shared.batches.thread.get_or_init(thread::current);
        loop {
            // It checks before it sleeps: a batch may have begun before the thread did.
            watch_scripts(&shared);
            if shared.shutdown.is_requested() {
                return;
            }
            thread::park();
        }
    };
    thread::Builder::new().name("lockwheel-watch".to_owned()).spawn(watch).map(drop)
}

/// Watches until no batch has begun for a period, and none is under way.
fn watch_scripts(shared: &Shared) {
    let batches = &shared.batches;
    let mut last = batches.count.load(Ordering::SeqCst);
    while !shared.shutdown.is_requested() {
        thread::park_timeout(PERIOD);
        let running = shared.script.running().is_some();
        if running && shared.until_slow().is_zero() {
            shared.script.arm();
        }
        let count = batches.count.load(Ordering::SeqCst);
        let same = std::mem::replace(&mut last, count) == count;
        if same && !running && !batches.under_way.load(Ordering::Acquire) {
            batches.watched.store(false, Ordering::SeqCst);
            // A batch that began just now saw the thread awake and did not wake it.
            if batches.count.load(Ordering::SeqCst) == count || batches.watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
