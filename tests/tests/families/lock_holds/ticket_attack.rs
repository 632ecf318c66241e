//! Attacks on tickets. Whoever closes, cancels, times out or resets, no client is stranded or notified twice, and no
//! lock is left with a client that has gone.

use lockwheel::{Config, Server};
use lockwheel_engine::core::Simulation;
use lockwheel_tests::client::Client;
use lockwheel_tests::rng::{Rng, seeds};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

const KEYS: [(&str, &[&str]); 3] = [("l", &[""]), ("rw", &["SHARED", "EXCLUSIVE"]), ("f", &["FAIR"])];

/// The commands that end holds, and waits.
const ENDS: [&str; 5] = ["DEL l", "DEL rw", "RENAME l other", "SET f x PX 10", "FLUSHALL"];

/// The numbers behind a word in replies.
fn numbers(text: &str, word: &str) -> Vec<u64> {
    let behind = text.split(word).skip(1).filter_map(|rest| rest.strip_prefix("\r\n:"));
    behind.map(|rest| rest.split("\r\n").next().expect("there is one").parse().expect("a number")).collect()
}

/// A connection, and its tickets whose end has not been pushed yet.
struct Waiter {
    id: u64,
    owner: String,
    open: BTreeSet<u64>,
}

impl Waiter {
    fn new(server: &mut Simulation) -> Self {
        let id = server.connect();
        server.ask(id, "HELLO 3");
        Waiter { id, owner: format!("o{id}"), open: BTreeSet::new() }
    }

    fn ask(&mut self, server: &mut Simulation, line: &str) {
        let text = server.ask(self.id, line);
        self.open.extend(numbers(&text, "+QUEUED"));
        self.close_tickets(&text);
    }

    fn close_tickets(&mut self, text: &str) {
        for ticket in numbers(text, "ticket") {
            assert!(self.open.remove(&ticket), "{} is told of {ticket} again: {text}", self.owner);
        }
    }
}

fn request(rng: &mut Rng, owner: &str) -> String {
    let (key, modes) = *rng.pick(&KEYS);
    let options = ["", "", " BLOCK 40", " SESSION PX 300", " PX 50", " DELAY 20 PX 30"];
    match rng.below(10) {
        0 => format!("LOCK.MACQUIRE 2 l m {owner} ASYNC{}", rng.pick(&options)),
        1..=5 => format!("LOCK.ACQUIRE {key} {owner} ASYNC {}{}", rng.pick(modes), rng.pick(&options)),
        6 => format!("LOCK.CANCEL {key} {owner}"),
        _ => format!("LOCK.RELEASE {key} {owner}"),
    }
}

#[test]
fn every_ticket_ends_exactly_once_under_random_requests() {
    for seed in seeds(12) {
        let mut rng = Rng::new(seed);
        let mut server = Simulation::new(Config::default(), seed);
        let main = server.connect();
        server.ask(main, "CLOCK.FREEZE");
        let mut waiters: Vec<Waiter> = (0..5).map(|_| Waiter::new(&mut server)).collect();
        for _ in 0..200 {
            let at = rng.below(waiters.len());
            match rng.below(24) {
                0 => {
                    server.close(waiters[at].id);
                    if rng.chance(50) {
                        server.notice();
                    }
                    waiters[at] = Waiter::new(&mut server);
                }
                1 => {
                    let line = *rng.pick(&ENDS);
                    server.ask(main, line);
                }
                2 => {
                    waiters[at].ask(&mut server, "RESET");
                    waiters[at].open.clear();
                    server.ask(waiters[at].id, "HELLO 3");
                }
                3..=5 => drop(server.ask(main, &format!("CLOCK.ADVANCE {}", rng.below(60)))),
                _ => {
                    let line = request(&mut rng, &waiters[at].owner.clone());
                    waiters[at].ask(&mut server, &line);
                }
            }
            for waiter in &mut waiters {
                let text = server.read(waiter.id);
                waiter.close_tickets(&text);
            }
        }
        server.notice();
        // Remaining waiters are served when the others' holds are released, again and again.
        for _ in 0..200 {
            if waiters.iter().all(|waiter| waiter.open.is_empty()) {
                break;
            }
            server.ask(main, "FLUSHALL");
            for waiter in &mut waiters {
                let text = server.read(waiter.id);
                waiter.close_tickets(&text);
            }
        }
        let left: Vec<_> =
            waiters.iter().filter(|waiter| !waiter.open.is_empty()).map(|waiter| &waiter.owner).collect();
        assert!(left.is_empty(), "seed {seed}: {left:?} are stranded");
        for key in ["l", "rw", "f", "m"] {
            assert_eq!(
                server.ask(main, &format!("AWAIT.WAITERS {key} 0 EXACT LIMIT 1")),
                ":1\r\n",
                "seed {seed}"
            );
        }
        server.ask(main, "FLUSHALL");
        waiters.iter().for_each(|waiter| server.close(waiter.id));
        server.notice();
        assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n", "seed {seed}");
        assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"), "seed {seed}");
    }
}

#[test]
fn tickets_exclude_each_other_and_skip_closed_clients_on_any_threads() {
    for threads in [1, 2, 4] {
        let server = Server::builder().port(0).threads(threads).start().expect("loopback has a free port");
        let address = server.addr();
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..6 {
                let inside = &inside;
                scope.spawn(move || {
                    let mut client = Client::connect_resp3(address);
                    for round in 0..40 {
                        let owner = format!("o{n}-{round}");
                        let reply = client.line(&format!("LOCK.ACQUIRE l {owner} ASYNC SESSION"));
                        if reply.to_string().contains("QUEUED") {
                            if (n + round) % 7 == 0 {
                                // The client disconnects while it waits.
                                client = Client::connect_resp3(address);
                                continue;
                            }
                            while !client.read_push().to_string().contains("lock-granted") {}
                        }
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        assert_eq!(client.line(&format!("LOCK.RELEASE l {owner}")).to_string(), ":0");
                    }
                });
            }
        });
        let mut last = Client::connect(address);
        assert_eq!(last.line("AWAIT.WAITERS l 0 EXACT").to_string(), ":1");
        assert_eq!(last.line("AWAIT.KEY l GONE").to_string(), ":1");
    }
}
