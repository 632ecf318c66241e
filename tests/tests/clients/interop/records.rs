//! The server's own record of the sections: as many acquisitions as the referees counted, and no violation.

use crate::interop::contention::sections;
use crate::interop::objects::Object;
use crate::interop::referee::Rule;
use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::reply::Reply;
use lockwheel_tests::verdict::findings;

/// Requires that the history is complete and that LOCK.VERIFY finds nothing broken.
#[track_caller]
#[expect(clippy::print_stderr, reason = "the figures of a run")]
pub(crate) fn are_right(server: &Server, objects: &[&Object]) {
    let mut client = Client::connect_resp3(server.addr());
    for object in objects.iter().filter(|object| is_lock(object)) {
        let of_both = 2 * sections();
        assert!(acquired(&mut client, object.name, of_both), "{}: fewer than {of_both}", object.name);
        assert!(!acquired(&mut client, object.name, of_both + 1), "{}: more than {of_both}", object.name);
    }
    let mut found = findings(&mut client);
    found.dedup();
    eprintln!("LOCK.VERIFY: {found:?}");
    assert!(!found.iter().any(|finding| finding.starts_with("violation")), "{}", client.line("LOCK.VERIFY"));
    let verdict = client.line("LOCK.VERIFY LEVEL VIOLATION");
    assert_eq!(verdict.member("verdict"), Some(&Reply::Bulk(b"ok".to_vec())), "{verdict}");
}

/// Whether the shared object is a lock; permits and latches are not in the history.
fn is_lock(object: &Object) -> bool {
    matches!(object.rule, Rule::Within(1) | Rule::ReadWrite | Rule::Fenced)
}

/// Whether a lock was acquired this number of times.
fn acquired(client: &mut Client, key: &str, times: u64) -> bool {
    let seq = client.line(&format!("AWAIT.EVENT acquired KEY {key} COUNT {times} LIMIT 0"));
    assert!(!seq.is_error(), "{seq}");
    seq.as_int().is_some()
}
