//! The steps that follow when bytes arrive from the master.

use super::super::test_replicas::add_client;
use super::*;
use crate::clients::Sessions;
use lockwheel_store::keyspace::Rng;

const NOW: LinkClocks = LinkClocks { real_ms: 5000, shared_ms: 0 };
const PING: &str = "*1\r\n$4\r\nPING\r\n";
const GETACK: &str = "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n";

fn some_id() -> ReplicationId {
    ReplicationId::random(&mut Rng::new(7))
}

/// Returns a link to a master that has asked for the stream. `knows`: the known history, with the first missing offset.
fn asking(knows: Option<(ReplicationId, i64)>) -> ReplicaLink {
    let slot = add_client(&mut Sessions::default(), 1);
    let mut link = ReplicaLink::new(("m".to_owned(), 1), knows.is_some(), slot, LastHeard::At(0));
    link.connect(OutboundId(1), LinkParameters { knows, ..LinkParameters::default() }, NOW);
    link.opened();
    link.received(b"+PONG\r\n+OK\r\n+OK\r\n");
    assert!(link.take_output(0, None).is_some());
    link
}

fn steps(link: &mut ReplicaLink, bytes: &str) -> Vec<LinkStep> {
    link.received(bytes.as_bytes());
    std::iter::from_fn(|| link.next_step()).collect()
}

fn ping() -> LinkStep {
    LinkStep::Run(vec![b"PING".to_vec()])
}

#[test]
fn a_snapshot_is_loaded_before_the_stream_behind_it_is_run() {
    let (mut link, id) = (asking(None), some_id());
    assert_eq!(steps(&mut link, &format!("+FULLRESYNC {id} 5\r\n$4\r\nsn")), [LinkStep::TakenOn]);
    assert_eq!(link.state(), Some(LinkState::Sync));
    let load = LinkStep::Load { file: b"snap".to_vec(), id, offset: 5 };
    assert_eq!(steps(&mut link, &format!("ap{PING}")), [load, ping()]);
    assert!(!link.is_connected(), "the snapshot has not become the data yet");
    link.loaded();
    assert!(link.is_connected());
}

#[test]
fn a_link_continues_at_its_offset_also_with_a_new_replication_id() {
    let (known, renamed) = (some_id(), ReplicationId::random(&mut Rng::new(8)));
    let mut link = asking(Some((known, 6)));
    let answer = format!("+CONTINUE {renamed}\r\n{PING}");
    assert_eq!(steps(&mut link, &answer), [LinkStep::GoOn(Some(renamed)), ping()]);
    assert_eq!(steps(&mut asking(Some((known, 6))), "+CONTINUE\r\n"), [LinkStep::GoOn(None)]);
}

#[test]
fn a_master_that_refuses_ends_the_link() {
    let mut link = asking(None);
    let why = "Unexpected reply to PSYNC from master: -ERR no".to_owned();
    assert_eq!(steps(&mut link, "-ERR no\r\n"), [LinkStep::Down(why)]);
    assert!(link.asked_in_vain());
}

#[test]
fn a_question_of_the_master_is_answered_and_not_run() {
    let mut link = asking(Some((some_id(), 6)));
    steps(&mut link, "+CONTINUE\r\n");
    assert_eq!(steps(&mut link, GETACK), [LinkStep::Run(Vec::new())]);
    let (_, output) = link.take_output(42, None).expect("it has been asked");
    assert!(output.ends_with(b"ACK\r\n$2\r\n42\r\n"), "{}", output.escape_ascii());
    assert_eq!(link.take_output(42, None), None);
}

#[test]
fn only_applied_requests_of_a_live_link_are_passed_on_unchanged() {
    let mut link = asking(Some((some_id(), 6)));
    steps(&mut link, &format!("+CONTINUE\r\n{PING}{GETACK}"));
    assert_eq!(link.take_applied(), Some((format!("{PING}{GETACK}").into_bytes(), false)));
    assert_eq!(link.take_applied(), Some((Vec::new(), false)));
    steps(&mut link, PING);
    assert_eq!(link.end(), Some(OutboundId(1)));
    assert_eq!((link.take_applied(), link.next_step()), (None, None));
}

#[test]
fn a_link_without_input_times_out() {
    let link = asking(None);
    let later = LinkClocks { real_ms: 6001, ..NOW };
    assert_eq!(link.timed_out(later, 1001), None);
    assert_eq!(link.timed_out(later, 1000), Some("Timeout connecting to the MASTER..."));
}
