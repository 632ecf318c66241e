//! The one task that sleeps until the engine's next deadline.

use super::shared::{NEVER, Shared};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Fires what is due, when it is due, and sleeps in between without waking. Never ends by itself.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        let at = shared.timer_at.load(Ordering::Relaxed);
        let moved = shared.timer_moved.notified();
        if at == NEVER {
            moved.await;
            continue;
        }
        let instant = tokio::time::Instant::from_std(shared.clock.instant(at));
        tokio::select! {
            () = moved => continue,
            () = tokio::time::sleep_until(instant) => {}
        }
        shared.timer_wakes.fetch_add(1, Ordering::Relaxed);
        shared.timer_at.store(NEVER, Ordering::Relaxed);
        shared.fire_due().await;
    }
}
