//! Changes of replication, and their effects in order.

use super::super::link::LinkState;
use super::super::request::{Acknowledgement, FailoverRequest};
use super::super::test_replicas::{add_client, online};
use super::*;
use crate::clients::Slot;
use crate::clock::TimerKind;
use lockwheel_store::time::Now;

/// The parts of the engine that a change accesses.
struct Parts {
    history: Replication,
    link: Option<ReplicaLink>,
    timer: ReplicationTimer,
    sessions: Sessions,
    keyspace: Keyspace,
    clock: EngineClock,
    config: Config,
    outbound: Outbound,
    stream_bytes: BufferBytes,
}

impl Parts {
    fn new() -> Self {
        let (now, config) = (Now { wall_us: 1_000_000_000, monotonic_us: 0 }, Config::default());
        let mut keyspace = Keyspace::new(16, 7);
        Parts {
            history: Replication::new(keyspace.rng()),
            link: None,
            timer: ReplicationTimer::default(),
            sessions: Sessions::default(),
            keyspace,
            clock: EngineClock::new(config.clock(now), now),
            config,
            outbound: Outbound::default(),
            stream_bytes: BufferBytes::default(),
        }
    }

    /// Returns a master with a stream and a replica, whose session has the id 1.
    fn master() -> (Self, Slot) {
        let mut parts = Parts::new();
        parts.history.begin_stream(1 << 20);
        parts.history.join(1, online(0));
        let slot = add_client(&mut parts.sessions, 1);
        (parts, slot)
    }

    /// Returns a replica of `m:1` whose link has not connected yet.
    fn replica() -> (Self, Slot) {
        let mut parts = Parts::new();
        let slot = add_client(&mut parts.sessions, 1);
        let effects = parts.change(|control| {
            assert_eq!(control.begin_to_follow(), None);
            control.set_master(("m".to_owned(), 1), false, slot, false);
            control.begin_as_replica();
        });
        assert_eq!(effects, [AUDIENCE, ReplicationEffect::RulesChanged { may_forbid: true }]);
        (parts, slot)
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut ReplicationControl<'_>) -> T) -> Vec<ReplicationEffect> {
        let mut control = ReplicationControl {
            is_appending: false,
            synced: 0,
            history: &mut self.history,
            link: &mut self.link,
            timer: &mut self.timer,
            sessions: &mut self.sessions,
            keyspace: &mut self.keyspace,
            clock: &mut self.clock,
            config: &mut self.config,
            outbound: &mut self.outbound,
            stream_bytes: &self.stream_bytes,
            is_loading: false,
            is_joined: false,
            effects: Vec::new(),
        };
        change(&mut control);
        control.effects
    }

    /// Advances real time to this instant.
    fn pass_until(&mut self, ms: u64) {
        self.clock.go_on_at(Now { wall_us: 1_000_000_000, monotonic_us: ms * 1000 }, 0);
    }
}

const AUDIENCE: ReplicationEffect = ReplicationEffect::AudienceChanged;

fn failover() -> FailoverRequest {
    FailoverRequest { to: None, timeout_ms: None, is_forced: false }
}

#[test]
fn a_replica_connects_to_its_master_and_schedules_checks() {
    let (parts, _) = Parts::replica();
    assert_eq!(parts.config.replication.master, ["m", "1"]);
    assert_eq!(parts.link.and_then(|link| link.state()), Some(LinkState::Connecting));
    assert_eq!(parts.clock.timers().count(TimerKind::Replication), 1);
}

#[test]
fn a_promoted_replica_reports_its_offset_and_starts_a_new_replication_id() {
    let (mut parts, slot) = Parts::replica();
    parts.history.join(2, online(0));
    let other = add_client(&mut parts.sessions, 2);
    let before = parts.history.id();
    let effects = parts.change(|control| assert_eq!(control.leave_master(), Some(slot)));
    let promoted = ReplicationEffect::Promoted { host: "m".to_owned(), port: 1, id: before, offset: 0 };
    assert_eq!(effects, [promoted]);
    let effects = parts.change(|control| control.begin_as_master());
    let rules = ReplicationEffect::RulesChanged { may_forbid: false };
    assert_eq!(effects, [ReplicationEffect::Cut(other), AUDIENCE, rules]);
    assert_eq!(parts.history.id2(), before);
    assert!(parts.config.replication.master.is_empty());
    let effects = parts.change(|control| assert_eq!(control.leave_master(), None));
    assert_eq!(effects, [], "a master has no link that could end");
}

#[test]
fn a_lost_link_is_reconnected_at_the_next_check() {
    let (mut parts, _) = Parts::replica();
    assert_eq!(parts.change(|control| control.link_down("it was cut")), []);
    let state = |parts: &Parts| parts.link.as_ref().and_then(ReplicaLink::state);
    assert_eq!(state(&parts), None);
    assert_eq!(parts.change(|control| control.begin_look()), []);
    assert_eq!(state(&parts), Some(LinkState::Connecting));
    let effects = parts.change(|control| assert!(!control.retry_master(), "there is a link"));
    assert_eq!(effects, []);
}

#[test]
fn writes_are_paused_during_a_failover_and_resume_when_it_is_aborted() {
    let (mut parts, _) = Parts::master();
    let effects = parts.change(|control| control.begin_failover(failover()));
    assert_eq!(effects, [ReplicationEffect::PauseWrites(true)]);
    let effects = parts.change(|control| control.abort_failover("it was aborted"));
    assert_eq!(effects, [ReplicationEffect::PauseWrites(false)]);
    assert_eq!(parts.change(|control| control.end_failover()), []);
}

#[test]
fn a_master_replicates_its_successor_and_resumes_if_the_successor_refuses() {
    let (mut parts, _) = Parts::master();
    parts.history.append(b"abc");
    parts.change(|control| control.begin_failover(failover()));
    assert_eq!(parts.change(|control| control.check_successor_or_ask()), []);
    let offset = parts.history.offset();
    assert!(offset > 3, "the replica is asked how far it is");
    let acknowledge = |parts: &mut Parts, offset| {
        let has = Acknowledgement { offset, on_disk: None };
        parts.change(|control| control.acknowledge(1, has))
    };
    assert_eq!(acknowledge(&mut parts, 3), [ReplicationEffect::ShutdownMayEnd]);
    let follow = ReplicationEffect::Follow { host: "replica".to_owned(), port: 0 };
    assert_eq!(acknowledge(&mut parts, offset), [follow, ReplicationEffect::ShutdownMayEnd]);
    let slot = add_client(&mut parts.sessions, 2);
    parts.change(|control| {
        control.set_master(("replica".to_owned(), 0), true, slot, false);
        control.begin_as_replica();
    });
    let link = parts.link.as_mut().expect("it follows");
    link.opened();
    link.received(b"+PONG\r\n+OK\r\n+OK\r\n-ERR no\r\n");
    let effects = parts.change(|control| control.link_down("it has refused"));
    assert_eq!(effects, [ReplicationEffect::Unfollow, ReplicationEffect::PauseWrites(false)]);
}

#[test]
fn a_silent_replica_is_disconnected() {
    let (mut parts, slot) = Parts::master();
    parts.pass_until(60_000);
    assert_eq!(parts.change(|control| control.look_at_replicas()), []);
    parts.pass_until(60_001);
    assert_eq!(parts.change(|control| control.look_at_replicas()), [ReplicationEffect::Cut(slot)]);
}

#[test]
fn the_stream_ends_after_a_long_time_without_replicas() {
    let (mut parts, slot) = Parts::master();
    let effects = parts.change(|control| control.leave(slot));
    assert_eq!(effects, [ReplicationEffect::ShutdownMayEnd]);
    parts.pass_until(3_600_001);
    assert_eq!(parts.change(|control| control.look_at_replicas()), [AUDIENCE]);
    assert!(!parts.history.has_stream());
}
