//! Kills of the process at random instants, while clients write.

use super::{Directory, Kept, ask};
use lockwheel_tests::client::Client;
use lockwheel_tests::rng::{Rng, seeds};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const WRITERS: usize = 4;

/// The number of the last write of each writer that was acknowledged.
pub(super) type Acknowledged = [AtomicU64; WRITERS];

/// Writes until the server is gone: each write is a transaction of two keys.
pub(super) fn write(mut client: Client, writer: usize, acknowledged: &AtomicU64) {
    for number in acknowledged.load(Ordering::SeqCst) + 1.. {
        let requests = [
            super::request("MULTI"),
            super::request(&format!("SET a{writer} {number}")),
            super::request(&format!("SET b{writer} {number}")),
            super::request("EXEC"),
        ];
        if client.try_send_raw(&requests.concat()).is_err() {
            return;
        }
        for _ in 0..requests.len() {
            match client.try_read_frame() {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
        }
        acknowledged.store(number, Ordering::SeqCst);
    }
}

/// Returns a number that a key has, or 0.
pub(super) fn number(client: &mut Client, key: &str) -> u64 {
    ask(client, &format!("GET {key}")).trim_matches('"').parse().unwrap_or(0)
}

fn survive_kills(policy: &str, rounds: usize, rng: &mut Rng) {
    let directory = Directory::new();
    let acknowledged = Acknowledged::default();
    for round in 0..rounds {
        let kept = Kept::ours(&directory, &["--appendfsync", policy, "--threads", "2"]);
        let mut client = kept.client();
        for (writer, last) in acknowledged.iter().enumerate() {
            let last = last.load(Ordering::SeqCst);
            let [a, b] = ["a", "b"].map(|key| number(&mut client, &format!("{key}{writer}")));
            assert_eq!(a, b, "half of a transaction in round {round}");
            // The process is killed, not the system: what was written is there, whatever the policy.
            assert!(a == last || a == last + 1, "{a} after {last} in round {round}");
            acknowledged[writer].store(a, Ordering::SeqCst);
        }
        let begun: u64 = acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).sum();
        let until = begun + 1 + rng.below(300) as u64;
        thread::scope(|scope| {
            for (writer, last) in acknowledged.iter().enumerate() {
                let client = kept.client();
                scope.spawn(move || write(client, writer, last));
            }
            while acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).sum::<u64>() < until {
                if rng.below(50) == 0 {
                    ask(&mut client, "BGREWRITEAOF");
                }
                thread::yield_now();
            }
            kept.kill();
        });
    }
}

#[test]
fn no_acknowledged_write_is_lost_by_a_kill() {
    for seed in seeds(1) {
        let mut rng = Rng::new(seed);
        for policy in ["always", "everysec", "no"] {
            survive_kills(policy, 4, &mut rng);
        }
    }
}
