//! The findings of LOCK.VERIFY.

use crate::client::Client;
use crate::reply::Reply;

/// Returns the level and invariant of each finding in the history of a server, in order.
///
/// # Panics
/// Panics if the answer is not a verdict in RESP3.
#[track_caller]
pub fn findings(client: &mut Client) -> Vec<String> {
    let verdict = client.line("LOCK.VERIFY");
    let found = read(&verdict);
    found.unwrap_or_else(|| panic!("LOCK.VERIFY: {verdict}"))
}

fn read(verdict: &Reply) -> Option<Vec<String>> {
    let Reply::Array(findings) = verdict.member("findings")? else { return None };
    let text =
        |finding: &Reply, name| Some(String::from_utf8_lossy(finding.member(name)?.as_bytes()?).into_owned());
    findings.iter().map(|one| Some(format!("{} {}", text(one, "level")?, text(one, "invariant")?))).collect()
}
