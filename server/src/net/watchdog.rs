//! Detects slow scripts: a script's own thread cannot, and others may be asleep. The watchdog checks periodically
//! whether a script exceeds `busy-reply-threshold`, and then arms the interpreter's hook, from which the script's
//! thread serves its sockets. The first batch after a pause wakes it; a period without a running batch sends it to
//! sleep.

use super::shared::Shared;
use super::shutdown::ThreadGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(50);

/// Starts the thread, which ends when the server does.
pub(super) fn start(shared: Arc<Shared>, guard: ThreadGuard) -> std::io::Result<()> {
    let watch = move || {
        let _guard = guard;
        shared.batches.thread.get_or_init(thread::current);
        loop {
            // Check before the sleep: a batch may have begun before this thread did.
            watch_scripts(&shared);
            if shared.shutdown.is_requested() {
                return;
            }
            thread::park();
        }
    };
    thread::Builder::new().name("lockwheel-watch".to_owned()).spawn(watch).map(drop)
}

/// Watches scripts until no batch has begun for a period and none is running.
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
            // A batch that began just now saw this thread awake and did not wake it.
            if batches.count.load(Ordering::SeqCst) == count || batches.watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
