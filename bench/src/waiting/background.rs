//! Plain work for a server during another measurement: pipelined GETs and SETs, as many as the server takes.

use super::client::Client;
use super::wire;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The number of connections. With several, the server has the next batch while the replies to the last are being read.
const CONNECTIONS: usize = 4;

/// The number of requests in a batch.
const PIPELINE: usize = 16;

/// The number of keys that are read and written.
const KEYS: u64 = 100_000;

/// The niceness of this thread, which thus yields to the measuring thread if both share a core.
const NICENESS: i32 = 10;

/// Work in progress, which ends when this is dropped.
#[derive(Debug)]
pub struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

impl Background {
    /// Starts the work.
    ///
    /// # Errors
    /// Returns an error if the server accepts no connection.
    pub fn start(address: SocketAddr) -> io::Result<Background> {
        let clients: Vec<Client> =
            (0..CONNECTIONS).map(|_| Client::connect(address)).collect::<io::Result<_>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("background".to_string()).spawn({
            let stop = stop.clone();
            move || work(clients, &stop)
        })?;
        Ok(Background { stop, thread: Some(thread) })
    }

    /// Ends the work. Returns the number of answered requests.
    ///
    /// # Errors
    /// Returns an error if the server failed or replied with an error.
    pub fn stop(mut self) -> io::Result<u64> {
        self.end().unwrap_or(Ok(0))
    }

    fn end(&mut self) -> Option<io::Result<u64>> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take()?.join();
        Some(ended.unwrap_or_else(|_| Err(io::Error::other("the thread of the background load panicked"))))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // A caller that needs the result calls `stop`.
        let _ = self.end();
    }
}

/// Lets the calling thread yield to the measuring one.
pub(super) fn yield_to_the_measurement() {
    // If this is not allowed, the figures are noisier.
    let _ = rustix::process::nice(NICENESS);
}

fn work(mut clients: Vec<Client>, stop: &AtomicBool) -> io::Result<u64> {
    yield_to_the_measurement();
    let (mut answered, mut random) = (0, 1);
    for client in &mut clients {
        send_batch(client, &mut random)?;
    }
    while !stop.load(Ordering::Relaxed) {
        for client in &mut clients {
            answered += take_batch(client)?;
            send_batch(client, &mut random)?;
        }
    }
    for client in &mut clients {
        answered += take_batch(client)?;
    }
    Ok(answered)
}

fn send_batch(client: &mut Client, random: &mut u64) -> io::Result<()> {
    for number in 0..PIPELINE {
        let key = format!("load:{}", next(random) % KEYS);
        if number % 2 == 0 {
            client.push(&[b"SET", key.as_bytes(), b"0123456789"]);
        } else {
            client.push(&[b"GET", key.as_bytes()]);
        }
    }
    client.flush()
}

fn take_batch(client: &mut Client) -> io::Result<u64> {
    for _ in 0..PIPELINE {
        match client.receive()? {
            Some(wire::Reply::Error(text)) => {
                return Err(io::Error::other(format!("the load was answered `{}`", text.escape_ascii())));
            }
            Some(_) => {}
            None => return Err(io::Error::new(io::ErrorKind::TimedOut, "no reply under load")),
        }
    }
    Ok(PIPELINE as u64)
}

/// Returns the next number of a pseudo-random sequence that is always the same.
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
