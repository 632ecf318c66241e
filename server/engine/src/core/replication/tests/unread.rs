//! The part of the stream that a replica has not read: its limits, its memory, and the figures that show it.

use super::{START_US, ask, engine};
use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::core::Engine;
use crate::keyspace::Rng;
use crate::time::Now;

/// A master with this limit of replicas, a client of it, and a replica that has read the snapshot.
fn master(limit: &str) -> (Engine, Slot, Slot) {
    let now = Now { wall_us: START_US, monotonic_us: 0 };
    let mut master = engine(1, now, Vec::new());
    let [client, replica] = [(); 2].map(|()| master.connect(Peer::default()));
    ask(&mut master, client, &format!("CONFIG SET client-output-buffer-limit \"replica {limit}\""));
    ask(&mut master, replica, "PSYNC ? -1");
    master.buffers(replica).set_unwritten(0);
    (master, client, replica)
}

/// Writes keys with values of these lengths, which cannot be compressed.
fn write(master: &mut Engine, client: Slot, values: &[(&str, usize)]) {
    let mut rng = Rng::new(7);
    for (key, len) in values {
        let value: String = (0..*len).map(|_| char::from(b'0' + rng.below(64) as u8)).collect();
        master.execute(client, &[b"SET", key.as_bytes(), value.as_bytes()]);
    }
    master.take_output(client, &mut Outbox::default());
    master.buffers(client).set_unwritten(0);
}

/// The number behind this name in a reply.
fn number(reply: &[u8], name: &str) -> usize {
    let text = String::from_utf8_lossy(reply);
    let found = text.split([' ', '\r', '\n']).find_map(|word| word.strip_prefix(name));
    found.and_then(|number| number.parse().ok()).expect("it is shown")
}

#[test]
fn a_replica_that_is_cut_is_sent_nothing_of_the_stream_behind_what_it_lacks() {
    let (mut master, client, replica) = master("512kb 0 0");
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 1_000_000), ("d", 1)]);
    assert_eq!(master.session(replica).closing(), Some(Closing::Now));
    assert!(master.replication.behind.is_empty(), "nothing is kept for it");
    let mut output = Outbox::default();
    master.take_output(replica, &mut output);
    assert!(output.is_empty(), "the stream has a gap");
}

#[test]
fn a_replica_that_was_fed_has_what_it_was_fed_in_its_buffers() {
    let (mut master, client, replica) = master("0 0 0");
    let outside = |master: &Engine| master.memory_usage().clients - master.replica_buffers();
    let before = outside(&master);
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 2_000_000)]);
    let mut output = Outbox::default();
    for _ in 0..2 {
        assert!(master.replica_buffers() > 2_000_000);
        assert!(outside(&master) < before + 100_000, "it would count towards maxmemory");
        master.take_output(replica, &mut output);
    }
    output.take(output.len());
    master.buffers(replica).set_taken(&output);
    assert!(master.replica_buffers() < 100_000);
}

#[test]
fn clients_are_shown_what_a_replica_lacks() {
    let (mut master, client, replica) = master("0 0 0");
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 250_000)]);
    let id = master.session(replica).id;
    let line = ask(&mut master, client, &format!("CLIENT LIST ID {id}"));
    assert!(number(&line, "oll=") > 13);
    for name in ["omem=", "tot-mem="] {
        assert!(number(&line, name) > 300_000, "{name}");
    }
    let info = ask(&mut master, client, "INFO clients");
    assert!(number(&info, "client_recent_max_output_buffer:") > 300_000);
}

#[test]
fn an_acknowledgement_does_not_end_the_time_that_a_replica_is_over_its_soft_limit() {
    let (mut master, client, replica) = master("0 200kb 60");
    let mut output = Outbox::default();
    write(&mut master, client, &[("a", 100_000)]);
    master.take_output(replica, &mut output);
    write(&mut master, client, &[("b", 300_000)]);
    // Its connection has sent what it took, and has not asked for more.
    master.buffers(replica).set_taken(&Outbox::default());
    master.execute(replica, &[b"REPLCONF", b"ACK", b"0"]);
    assert_eq!(master.session(replica).over_soft_since, Some(0));
    master.take_output(replica, &mut output);
    master.buffers(replica).set_taken(&Outbox::default());
    master.execute(replica, &[b"REPLCONF", b"ACK", b"0"]);
    assert_eq!(master.session(replica).over_soft_since, None);
}
