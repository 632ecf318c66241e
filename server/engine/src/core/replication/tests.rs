//! A master and a replica in one process, whose connection is split and cut as a seed decides.

mod unread;

use crate::clients::{Outbox, Peer, Slot};
use crate::config::{Config, Permission};
use crate::core::{Engine, Output};
use crate::outbound::{OutboundEvent, OutboundId, Outgoing};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, split_words};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;
use std::collections::VecDeque;

/// The initial time of the wall clocks.
const START_US: i64 = 1_000_000_000_000;
const MAX_TTL_MS: u64 = 50;

struct Wire {
    id: OutboundId,
    slot: Slot,
    /// Bytes from the replica that the master has not read.
    requests: Vec<u8>,
    parser: RequestParser,
    /// Bytes from the master that the replica has not read.
    stream: VecDeque<u8>,
}

struct World {
    master: Engine,
    replica: Engine,
    clients: [Slot; 2],
    wire: Option<Wire>,
    now: Now,
    /// Digests of all past states of the master, and the index of the replica's last one.
    states: Vec<Vec<u8>>,
    seen: usize,
}

fn engine(seed: u64, now: Now, master: Vec<String>) -> Engine {
    let mut config = Config::default();
    config.enable_debug_command = Permission::Yes;
    config.replication.master = master;
    config.replication.backlog_size = 16 << 10;
    // Half of the engines write snapshots key by key, one per millisecond.
    config.saves.key_delay_us = i64::from(seed.is_multiple_of(2));
    let mut engine = Engine::new(config, seed, now);
    engine.begin(now);
    engine
}

fn ask(engine: &mut Engine, slot: Slot, line: &str) -> Vec<u8> {
    let words = split_words(line.as_bytes()).expect("each quote is closed");
    engine.execute(slot, &words.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut answer = Outbox::default();
    engine.take_output(slot, &mut answer);
    answer.bytes().to_vec()
}

impl World {
    fn new(seed: u64) -> Self {
        let now = Now { wall_us: START_US, monotonic_us: 0 };
        let mut master = engine(seed, now, Vec::new());
        let mut replica = engine(seed + 1, now, vec!["m".to_owned(), "1".to_owned()]);
        let clients = [master.connect(Peer::default()), replica.connect(Peer::default())];
        let mut world = World { master, replica, clients, wire: None, now, states: Vec::new(), seen: 0 };
        world.note_state();
        world
    }

    fn note_state(&mut self) {
        let digest = ask(&mut self.master, self.clients[0], "DEBUG DIGEST");
        self.states.push(digest);
    }

    /// Advances time; each expiry of a key on the master is a state of its own. On the replica's wall clock no key
    /// expires, or it would hide keys that the master still has.
    fn pass(&mut self, ms: u64) {
        for _ in 0..ms.min(MAX_TTL_MS + 2) {
            self.now.monotonic_us += 1000;
            self.now.wall_us = START_US + self.now.monotonic_us as i64;
            self.master.begin(self.now);
            self.note_state();
        }
        self.now.monotonic_us += ms.saturating_sub(MAX_TTL_MS + 2) * 1000;
        self.now.wall_us = START_US + self.now.monotonic_us as i64;
        self.master.begin(self.now);
        self.replica.begin(Now { wall_us: START_US, ..self.now });
    }

    /// Handles the requests of both engines; the replica gets nothing.
    fn drain(&mut self) {
        while let Output::Outbound(_) | Output::Session(_) | Output::Garbage(_) = self.master.poll_output() {}
        loop {
            match self.replica.poll_output() {
                Output::Outbound(id) => self.look_at(id),
                Output::Idle { .. } => break,
                _ => {}
            }
        }
        self.serve();
    }

    fn look_at(&mut self, id: OutboundId) {
        while let Some(outgoing) = self.replica.outbound_mut().take(id) {
            match outgoing {
                Outgoing::Connect(_) => {
                    self.cut_master();
                    let slot = self.master.connect(Peer::default());
                    let (requests, parser) = (Vec::new(), RequestParser::new());
                    self.wire = Some(Wire { id, slot, requests, parser, stream: VecDeque::new() });
                    self.replica.outbound_event(id, OutboundEvent::Opened);
                }
                Outgoing::Send(bytes) => {
                    if let Some(wire) = self.wire.as_mut().filter(|wire| wire.id == id) {
                        wire.requests.extend(bytes);
                    }
                }
                Outgoing::Close => {
                    if self.wire.as_ref().is_some_and(|wire| wire.id == id) {
                        self.cut_master();
                    }
                    return;
                }
            }
        }
    }

    fn serve(&mut self) {
        let Some(wire) = &mut self.wire else { return };
        let mut batch = Batch::new();
        wire.parser.parse(&wire.requests, &RequestLimits::default(), &mut batch).expect("it is right");
        for at in 0..batch.len() {
            let argv: Vec<&[u8]> = batch.arguments(at, &wire.requests).collect();
            self.master.execute(wire.slot, &argv);
        }
        wire.requests.drain(..batch.consumed());
        let mut output = Outbox::default();
        self.master.take_output(wire.slot, &mut output);
        wire.stream.extend(output.bytes());
    }

    fn cut_master(&mut self) {
        if let Some(wire) = self.wire.take() {
            self.master.disconnect(wire.slot);
        }
    }

    fn cut(&mut self) {
        if let Some(wire) = &self.wire {
            let id = wire.id;
            self.replica.outbound_event(id, OutboundEvent::Closed { reason: "cut" });
            self.cut_master();
        }
    }

    /// Delivers bytes to the replica. Its state must then be one of the master's, no earlier than before.
    fn deliver(&mut self, most: usize) {
        let Some(wire) = &mut self.wire else { return };
        let bytes: Vec<u8> = wire.stream.drain(..most.min(wire.stream.len())).collect();
        self.replica.outbound_event(wire.id, OutboundEvent::Received(&bytes));
        let digest = ask(&mut self.replica, self.clients[1], "DEBUG DIGEST");
        let found = self.states[self.seen..].iter().position(|state| *state == digest);
        self.seen += found.expect("the replica is where the master was");
    }
}

fn random_line(rng: &mut Rng) -> String {
    let (key, n) = (rng.below(6), rng.below(1000));
    match rng.below(14) {
        0 => format!("SET s{key} {n}"),
        1 => format!("DEL s{key} l{key}"),
        2 => format!("RPUSH l{key} {n}"),
        3 => format!("LPOP l{key}"),
        4 => format!("HSET h{key} f{n} v"),
        5 => format!("ZADD z{key} {n} m{}", n % 7),
        6 => format!("SET timed v PX {}", n % MAX_TTL_MS + 1),
        7 => format!("SELECT {}", key % 2),
        8 => format!("EVAL \"redis.call('incr', 'n') redis.call('rpush', 'l{key}', ARGV[1])\" 0 {n}"),
        9 => format!("XADD x{key} * f {n}"),
        10 => format!("RENAME s{key} s{}", (key + 1) % 6),
        11 if n < 100 => "FLUSHDB".to_owned(),
        12 if n < 100 => "SWAPDB 0 1".to_owned(),
        13 => format!("SADD set{key} {n}"),
        _ => format!("SET big{key} {}", "y".repeat((n * 3) as usize)),
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed);
    for _ in 0..300 {
        match rng.below(10) {
            0 => world.pass(rng.below(1500)),
            1 if rng.below(4) == 0 => world.cut(),
            2 => {
                for line in ["MULTI", &random_line(&mut rng), &random_line(&mut rng), "EXEC"] {
                    ask(&mut world.master, world.clients[0], line);
                }
                world.note_state();
            }
            3..6 => {
                ask(&mut world.master, world.clients[0], &random_line(&mut rng));
                world.note_state();
            }
            _ => {
                let most = 1 + rng.below(2000) as usize;
                world.drain();
                world.deliver(most);
            }
        }
        world.drain();
    }
    for _ in 0..5 {
        world.pass(1001);
        world.drain();
        world.deliver(usize::MAX);
        world.drain();
        world.deliver(usize::MAX);
        world.drain();
        world.deliver(usize::MAX);
    }
    assert_eq!(world.states.last(), world.states.get(world.seen), "seed {seed}");
    assert_eq!(ask(&mut world.master, world.clients[0], "WAIT 1 1"), b":1\r\n", "seed {seed}");
}

#[test]
fn a_replica_always_has_a_former_state_of_its_master() {
    (0..60).for_each(run);
}
