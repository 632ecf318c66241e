//! Clients and replicas for the tests of this module.

use super::last_heard::LastHeard;
use super::replica::{Announced, Replica, ReplicaState};
use crate::clients::{Peer, Session, Sessions, Slot};
use lockwheel_store::memory::ClientBytes;
use lockwheel_store::time::Now;

pub(super) fn add_client(sessions: &mut Sessions, id: u64) -> Slot {
    let account = ClientBytes::default();
    let (peer, now) = (Peer::default(), Now::default());
    sessions.add(id, |slot| Session::new(id, slot, peer, Default::default(), now, &account))
}

/// Returns a replica of another process that follows the stream and has acknowledged this offset.
pub(super) fn online(acknowledged: i64) -> Replica {
    Replica {
        announced: Announced::default(),
        ip: "replica".to_owned(),
        state: ReplicaState::Online,
        answers: true,
        acknowledged,
        on_disk: -1,
        heard: LastHeard::At(0),
        unsent: 0,
        checked: 0,
        snapshot: 0,
        came_at: 0,
    }
}
