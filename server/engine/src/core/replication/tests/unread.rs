//! The unread part of a replica's stream: its limits, its memory, and the figures that show it.

use super::super::deliver_propagated;
use super::{START_US, ask, engine};
use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::clock::{Timer, TimerKind};
use crate::core::{Engine, Output};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;
use std::io::IoSlice;

/// Returns a master with this replica limit, its client, and a replica that has read the snapshot.
fn master(limit: &str) -> (Engine, Slot, Slot) {
    let now = Now { wall_us: START_US, monotonic_us: 0 };
    let mut master = engine(1, now, Vec::new());
    let [client, replica] = [(); 2].map(|()| master.connect(Peer::default()));
    ask(&mut master, client, &format!("CONFIG SET client-output-buffer-limit \"replica {limit}\""));
    ask(&mut master, replica, "PSYNC ? -1");
    master.sessions().buffers(replica).set_unwritten(0);
    (master, client, replica)
}

/// Writes keys with incompressible values of these lengths.
fn write(master: &mut Engine, client: Slot, values: &[(&str, usize)]) {
    let mut rng = Rng::new(7);
    for (key, len) in values {
        let value: String = (0..*len).map(|_| char::from(b'0' + rng.below(64) as u8)).collect();
        master.execute(client, &[b"SET", key.as_bytes(), value.as_bytes()]);
    }
    // The batch has ended.
    deliver_propagated(master);
    master.take_output(client, &mut Outbox::default());
    master.sessions().buffers(client).set_unwritten(0);
}

fn number(reply: &[u8], name: &str) -> usize {
    let text = String::from_utf8_lossy(reply);
    let found = text.split([' ', '\r', '\n']).find_map(|word| word.strip_prefix(name));
    found.and_then(|number| number.parse().ok()).expect("it is shown")
}

#[test]
fn a_disconnected_replica_gets_no_later_part_of_the_stream() {
    let (mut master, client, replica) = master("512kb 0 0");
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 1_000_000), ("d", 1)]);
    assert_eq!(master.sessions().get(replica).closing(), Some(Closing::Now));
    let id = master.sessions().get(replica).id;
    assert_eq!(master.replication.lacked(id), (0, 0), "nothing is kept for it");
    let mut output = Outbox::default();
    master.take_output(replica, &mut output);
    assert!(output.is_empty(), "the stream has a gap");
}

#[test]
fn sent_parts_of_the_stream_count_in_the_replicas_buffers() {
    let (mut master, client, replica) = master("0 0 0");
    let outside =
        |master: &Engine| master.memory_parts().usage().clients - master.memory_parts().of_replicas();
    let before = outside(&master);
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 2_000_000)]);
    let mut output = Outbox::default();
    for _ in 0..2 {
        assert!(master.memory_parts().of_replicas() > 2_000_000);
        assert!(outside(&master) < before + 100_000, "it would count towards maxmemory");
        master.take_output(replica, &mut output);
    }
    output.take(output.len());
    master.sessions().buffers(replica).set_taken(&output);
    assert!(master.memory_parts().of_replicas() < 100_000);
}

#[test]
fn client_list_shows_the_unsent_stream_of_a_replica() {
    let (mut master, client, replica) = master("0 0 0");
    write(&mut master, client, &[("a", 100_000), ("c", 1), ("b", 250_000)]);
    let id = master.sessions().get(replica).id;
    let line = ask(&mut master, client, &format!("CLIENT LIST ID {id}"));
    assert!(number(&line, "oll=") > 5);
    for name in ["omem=", "tot-mem="] {
        assert!(number(&line, name) > 300_000, "{name}");
    }
    let info = ask(&mut master, client, "INFO clients");
    assert!(number(&info, "client_recent_max_output_buffer:") > 300_000);
    master.take_output(replica, &mut Outbox::default());
    let line = ask(&mut master, client, &format!("CLIENT LIST ID {id}"));
    let (output, total) = (number(&line, "omem="), number(&line, "tot-mem="));
    assert!(300_000 < output && output < total, "it was fed: {output} {total}");
}

#[test]
fn a_large_change_is_not_copied_for_a_replica() {
    let (mut master, client, replica) = master("0 0 0");
    write(&mut master, client, &[("a", 300_000)]);
    let session = master.sessions().get(replica);
    assert!(session.delivery.pending() < 100_000);
    assert!(master.replication.unsent(session) > 300_000);
}

/// Returns the sessions whose connections are woken.
fn woken_sessions(master: &mut Engine) -> Vec<u64> {
    let mut told = Vec::new();
    loop {
        match master.poll_output() {
            Output::Session(id) => told.push(id),
            Output::Idle { .. } => return told,
            _ => {}
        }
    }
}

#[test]
fn the_connection_of_a_replica_over_its_hard_limit_is_woken_to_close() {
    let (mut master, client, replica) = master("1mb 0 0");
    let id = master.sessions().get(replica).id;
    write(&mut master, client, &[("a", 60_000), ("b", 20_000)]);
    // The connection has taken the output, but cannot send it.
    let mut unsent = Outbox::default();
    master.take_output(replica, &mut unsent);
    master.sessions().buffers(replica).set_taken(&unsent);
    while master.replication.unsent(master.sessions().get(replica)) < 1 << 20 {
        write(&mut master, client, &[("c", 1000)]);
        master.sessions_mut().acknowledge_wake(replica);
        woken_sessions(&mut master);
    }
    assert_eq!(master.sessions().get(replica).closing(), None, "its limits are due once a block");
    let order = master.keyspace.next_order();
    master.part_timer_fired(Timer { kind: TimerKind::Replication, client: 0, order });
    assert_eq!(master.sessions().get(replica).closing(), Some(Closing::Now));
    assert_eq!(woken_sessions(&mut master), [id]);
}

#[test]
fn a_returning_replica_gets_the_whole_backlog_despite_its_hard_limit() {
    let (mut master, client, replica) = master("16kb 0 0");
    ask(&mut master, client, "CONFIG SET repl-backlog-size 100kb");
    master.disconnect(replica);
    write(&mut master, client, &[("a", 60_000), ("b", 60_000)]);
    let backlog = master.replication.backlog().expect("there is a stream");
    let (kept, from) = (backlog.len(), backlog.first_offset());
    assert_eq!(kept, 100 << 10);
    let request = format!("PSYNC {} {from}", master.replication.id());
    let mut reader = Reader::connect(&mut master, &request);
    assert_eq!(master.sessions().get(reader.slot).closing(), None);
    write(&mut master, client, &[("c", 1000)]);
    (0..2).for_each(|_| {
        reader.take(&mut master);
        reader.read(&master, usize::MAX);
    });
    let received = reader.received(from as usize - 1).expect("the stream goes on");
    assert_eq!(received.begin + received.stream.len(), master.replication.offset() as usize);
}

#[test]
fn the_hard_limit_of_a_replica_is_at_least_the_backlog_size() {
    let (mut master, client, replica) = master("100kb 0 0");
    ask(&mut master, client, "CONFIG SET repl-backlog-size 1mb");
    write(&mut master, client, &[("a", 300_000), ("b", 300_000), ("c", 300_000)]);
    assert_eq!(master.sessions().get(replica).closing(), None);
    write(&mut master, client, &[("d", 300_000)]);
    assert_eq!(master.sessions().get(replica).closing(), Some(Closing::Now));
}

#[test]
fn the_soft_limit_time_begins_when_a_replica_falls_behind() {
    let (mut master, client, replica) = master("0 66kb 60");
    write(&mut master, client, &[("a", 60_000)]);
    assert_eq!(master.sessions().get(replica).over_soft_since, None);
    write(&mut master, client, &[("b", 10_000)]);
    assert_eq!(master.sessions().get(replica).over_soft_since, Some(0));
}

#[test]
fn a_replica_over_its_soft_limit_is_found_on_an_idle_stream() {
    let (mut master, client, replica) = master("0 90kb 60");
    write(&mut master, client, &[("a", 70_000), ("b", 30_000)]);
    master.change_replication(|control| control.look_at_replicas());
    assert_eq!(master.sessions().get(replica).over_soft_since, Some(0));
}

#[test]
fn an_acknowledgement_does_not_reset_the_soft_limit_time() {
    let (mut master, client, replica) = master("0 200kb 60");
    let mut output = Outbox::default();
    write(&mut master, client, &[("a", 100_000)]);
    master.take_output(replica, &mut output);
    write(&mut master, client, &[("b", 300_000)]);
    // The connection has sent the output that it took, and has not asked for more.
    master.sessions().buffers(replica).set_taken(&Outbox::default());
    master.execute(replica, &[b"REPLCONF", b"ACK", b"0"]);
    assert_eq!(master.sessions().get(replica).over_soft_since, Some(0));
    master.take_output(replica, &mut output);
    master.sessions().buffers(replica).set_taken(&Outbox::default());
    master.execute(replica, &[b"REPLCONF", b"ACK", b"0"]);
    assert_eq!(master.sessions().get(replica).over_soft_since, None);
}

/// A replica whose connection reads as a seed decides.
struct Reader {
    slot: Slot,
    /// Bytes taken by the connection and not sent.
    output: Outbox,
    /// Bytes that the replica has read over its current connection.
    read: Vec<u8>,
}

struct Received<'a> {
    /// The length of the stream before `stream`.
    begin: usize,
    stream: &'a [u8],
}

impl Reader {
    fn connect(master: &mut Engine, request: &str) -> Self {
        let slot = master.connect(Peer::default());
        let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        master.execute(slot, &words);
        Reader { slot, output: Outbox::default(), read: Vec::new() }
    }

    fn take(&mut self, master: &mut Engine) {
        master.take_output(self.slot, &mut self.output);
        master.sessions().buffers(self.slot).set_taken(&self.output);
    }

    fn read(&mut self, master: &Engine, most: usize) {
        let mut left = most;
        while left > 0 && !self.output.is_empty() {
            let mut first = [IoSlice::new(&[])];
            self.output.first(&mut first);
            let part = &first[0][..left.min(first[0].len())];
            self.read.extend_from_slice(part);
            let len = part.len();
            self.output.take(len);
            left -= len;
        }
        master.sessions().buffers(self.slot).set_taken(&self.output);
    }

    /// Returns the received part of the stream: from `from` after a partial synchronization; `None` before the snapshot
    /// is read, or if the replica was refused.
    fn received(&self, from: usize) -> Option<Received<'_>> {
        let mut lines = self.read.split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().filter(|line| line.ends_with(b"\n"))?;
        let words: Vec<&str> = std::str::from_utf8(head).expect("it is a text").split_whitespace().collect();
        if words[0] == "+CONTINUE" {
            return Some(Received { begin: from, stream: &self.read[head.len()..] });
        }
        if words[0] != "+FULLRESYNC" {
            return None;
        }
        let size = lines.next().filter(|line| line.ends_with(b"\n"))?;
        let len: usize = std::str::from_utf8(&size[1..]).ok()?.trim_end().parse().ok()?;
        let stream = self.read.get(head.len() + size.len() + len..)?;
        Some(Received { begin: words[2].parse().expect("it is an offset"), stream })
    }
}

/// Lets replicas read a stream as a seed decides. Each gets all of it in order, or is cut and reconnects.
fn read_as_decided(seed: u64) {
    const REPLICAS: usize = 4;
    let (mut master, client, _) = master("400kb 0 0");
    ask(&mut master, client, "CONFIG SET repl-backlog-size 150kb");
    let mut rng = Rng::new(seed);
    // A replica that reads everything at once provides the whole stream.
    let mut whole = Reader::connect(&mut master, "PSYNC ? -1");
    let mut replicas: Vec<(Reader, usize)> =
        (0..REPLICAS).map(|_| (Reader::connect(&mut master, "PSYNC ? -1"), 0)).collect();
    let (mut cut, mut went_on, mut complete) = (0, 0, 0);
    for step in 0..400 {
        let at = rng.below(REPLICAS as u64) as usize;
        let (reader, from) = &mut replicas[at];
        match rng.below(12) {
            0..4 => {
                let len = [10, 3000, 80_000][rng.below(3) as usize] + rng.below(2000) as usize;
                write(&mut master, client, &[(&format!("k{}", rng.below(5)), len)]);
            }
            4 | 5 => reader.take(&mut master),
            6..9 => reader.read(&master, rng.below(150_000) as usize),
            9 => {
                master.execute(reader.slot, &[b"REPLCONF", b"ACK", b"0"]);
                reader.take(&mut master);
            }
            10 if rng.below(4) > 0 && master.sessions().get(reader.slot).closing().is_none() => {}
            _ => {
                cut += usize::from(master.sessions().get(reader.slot).closing().is_some());
                let (begin, stream) = stream_of(&whole);
                let has = reader.received(*from).map(|received| received.begin + received.stream.len());
                check(reader, *from, (begin, stream), seed);
                master.disconnect(reader.slot);
                let id = master.replication.id();
                let request = has.map_or("PSYNC ? -1".to_owned(), |has| format!("PSYNC {id} {}", has + 1));
                (*reader, *from) = (Reader::connect(&mut master, &request), has.unwrap_or(0));
            }
        }
        if step % 2 == 0 {
            whole.take(&mut master);
            whole.read(&master, usize::MAX);
        }
    }
    whole.take(&mut master);
    whole.read(&master, usize::MAX);
    for (mut reader, from) in replicas {
        let is_cut = master.sessions().get(reader.slot).closing().is_some();
        for _ in 0..3 {
            reader.take(&mut master);
            reader.read(&master, usize::MAX);
        }
        check(&reader, from, stream_of(&whole), seed);
        went_on += usize::from(reader.read.starts_with(b"+CONTINUE"));
        if let Some(received) = reader.received(from).filter(|_| !is_cut) {
            let end = received.begin + received.stream.len();
            assert_eq!(end, master.replication.offset() as usize, "seed {seed}");
            complete += 1;
        }
    }
    assert!(cut > 0 && complete > 0, "seed {seed}: {cut} {complete} {went_on}");
}

fn stream_of(whole: &Reader) -> (usize, &[u8]) {
    let received = whole.received(0).expect("it has read its snapshot");
    (received.begin, received.stream)
}

/// Checks that a replica has read a contiguous part of the stream.
#[track_caller]
fn check(reader: &Reader, from: usize, (begin, stream): (usize, &[u8]), seed: u64) {
    let Some(received) = reader.received(from) else { return };
    let at = received.begin - begin;
    let known = &stream[at..];
    let len = received.stream.len().min(known.len());
    assert!(received.stream[..len] == known[..len], "seed {seed}: the stream has a gap");
}

#[test]
fn each_replica_reads_the_whole_stream_in_any_pieces() {
    (0..10).for_each(read_as_decided);
}
