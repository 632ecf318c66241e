//! Loops, connections and deferred work at the moments that matter, made certain by hooks.

mod client;
mod gone;
mod panics;
mod slow;

use super::Shared;
use super::hooks::Point;
use crate::{Server, engine::config::Config};
use client::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server with so many threads, for which a script is slow after a millisecond.
fn server(threads: usize) -> Server {
    let mut config = Config::default();
    config.busy_reply_threshold = 1;
    Server::builder()
        .config(config)
        .port(0)
        .seed(7)
        .threads(threads)
        .start()
        .expect("loopback has a free port")
}

fn shared(server: &Server) -> &Arc<Shared> {
    server.shared()
}

/// No mistakes any more.
fn mend(server: &Server) {
    shared(server).hooks.set(|_| ());
}

/// Panics the next `times` that the point is reached.
fn panic_at(server: &Server, point: Point, times: usize) {
    let left = AtomicUsize::new(times);
    shared(server).hooks.set(move |reached| {
        let hit =
            || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if reached == point && hit() {
            panic!("a mistake at {point:?}, as the test wants it");
        }
    });
}
