//! Tests of loops, connections and deferred work. Hooks force the interleavings that matter.

mod client;
mod gone;
mod new;
mod panics;
mod slow;

use super::hooks::Point;
use super::os_clock::OsClock;
use super::{AcceptRuntime, Listeners, Shared, Threads};
use client::Client;
use lockwheel_engine::Engine;
use lockwheel_engine::config::Config;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server of loops around an engine, as the embedding API starts them.
struct Server {
    shared: Arc<Shared>,
    port: u16,
}

impl Server {
    fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.end();
        self.shared.shutdown.join(Duration::from_secs(5));
    }
}

/// Starts a server with this number of threads. A script is slow there after a millisecond.
fn server(threads: usize) -> Server {
    let mut config = Config::default();
    config.port = 0;
    config.busy_reply_threshold = 1;
    let mut listeners = Listeners::bind(&config).expect("loopback has a free port");
    listeners.take_file();
    let port = listeners.port();
    let threads = Threads::new(threads, listeners, OsClock::new(), |now| Engine::new(config, 7, now));
    let threads = threads.expect("the system has threads and sockets");
    let shared = threads.shared().clone();
    threads
        .start(AcceptRuntime::new(false).expect("the system has a runtime"), None)
        .expect("the system has threads");
    Server { shared, port }
}

fn shared(server: &Server) -> &Arc<Shared> {
    &server.shared
}

fn clear_hooks(server: &Server) {
    shared(server).hooks.set(|_| ());
}

/// Panics the next `times` times that a thread reaches the point.
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
