//! The delivery of the stream to replicas, and its effects.

use super::super::test_replicas::{add_client, online};
use super::*;
use lockwheel_store::keyspace::Rng;

/// A master with a stream, and its replicas.
struct Master {
    history: Replication,
    sessions: Sessions,
    slots: Vec<Slot>,
    account: BufferBytes,
}

impl Master {
    fn new(replicas: u64) -> Self {
        let mut history = Replication::new(&mut Rng::new(7));
        history.begin_stream(1 << 20);
        let mut sessions = Sessions::default();
        let slots = (1..=replicas).map(|id| {
            history.join(id, online(0));
            let slot = add_client(&mut sessions, id);
            sessions.get_mut(slot).is_replica = true;
            slot
        });
        let slots = slots.collect();
        Master { history, sessions, slots, account: BufferBytes::default() }
    }

    fn send(&mut self, bytes: usize) -> Vec<ReplicationEffect> {
        self.history.send(&vec![b'x'; bytes], &mut self.sessions, &self.account)
    }

    /// Returns the number of bytes that a replica has not read yet.
    fn pending(&self, replica: usize) -> usize {
        self.sessions.get(self.slots[replica]).delivery.pending()
    }
}

#[test]
fn a_replica_without_unread_output_gets_the_stream_at_once() {
    let mut master = Master::new(2);
    assert_eq!(master.send(100), []);
    assert_eq!((master.history.offset(), master.pending(0), master.pending(1)), (100, 100, 100));
    assert_eq!([(); 3].map(|()| master.sessions.next_woken()), [Some(1), Some(2), None]);
}

#[test]
fn the_output_limit_of_a_replica_with_unread_output_is_checked() {
    let mut master = Master::new(2);
    master.sessions.get_mut(master.slots[1]).delivery.push_bytes(&[b'x'; 5000]);
    let slow = master.slots[1];
    assert_eq!(master.send(100), [ReplicationEffect::CheckOutput(slow)]);
}

#[test]
fn a_replica_behind_gets_the_missing_stream_after_reading_the_rest() {
    let mut master = Master::new(2);
    master.sessions.get_mut(master.slots[0]).delivery.push_bytes(&[b'x'; MAX_UNREAD_BYTES]);
    let slow = master.slots[0];
    assert_eq!(master.send(10), [ReplicationEffect::CheckOutput(slow)]);
    assert_eq!((master.pending(0), master.pending(1)), (MAX_UNREAD_BYTES, 10));
    assert_eq!(master.send(20), [], "what it lacks is counted once a block");
    assert_eq!(master.history.lacked(1).0, 30);
    let Master { history, sessions, account, .. } = &mut master;
    assert!(history.feed_lacked(sessions.get_mut(slow), account));
    assert_eq!((master.pending(0), master.history.lacked(1)), (MAX_UNREAD_BYTES + 30, (0, 0)));
}

#[test]
fn a_closing_replica_gets_no_stream() {
    let mut master = Master::new(2);
    master.sessions.get_mut(master.slots[0]).close(Closing::Now);
    assert_eq!(master.send(100), []);
    assert_eq!((master.pending(0), master.pending(1)), (0, 100));
}

#[test]
fn replicas_are_asked_once_for_their_offset_until_new_writes() {
    let mut master = Master::new(1);
    let ask = |master: &mut Master| {
        let before = master.pending(0);
        assert_eq!(master.history.ask_replicas(&mut master.sessions, &master.account), []);
        master.pending(0) - before
    };
    assert_eq!([(); 2].map(|()| ask(&mut master)), [GETACK.len(), 0]);
    master.send(1);
    assert_eq!(ask(&mut master), GETACK.len());
}
