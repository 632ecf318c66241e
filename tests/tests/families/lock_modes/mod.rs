//! Shared and exclusive locks, conversions, fenced locks and locks that are strings, line by line.

mod against_model;
mod convert;
mod costs;
mod counting;
mod delays;
mod fair;
mod fair_against_model;
mod fair_leaving;
mod fair_model;
mod fair_turns;
mod interop;
mod model;
mod others;
mod several;
mod shared;

use lockwheel::Server;
use lockwheel_tests::check::Scenario;
use lockwheel_tests::ours;

/// A server on a manual clock, at a known instant.
fn scenario() -> Scenario<Server> {
    let mut s = ours::manual_scenario();
    s.check("CLOCK.SET 5000000", ":5000000");
    s
}

/// Requires that a reply of LOCK.ACQUIRE or LOCK.CONVERT has these fields.
#[track_caller]
fn granted(s: &mut Scenario<Server>, line: &str, token: i64, holds: i64, ttl: i64) {
    s.check_that(line, |reply| is_grant(&reply.to_string(), token, holds, ttl));
}

/// Requires this reply to a waiter.
#[track_caller]
fn served(s: &mut Scenario<Server>, session: &str, token: i64, holds: i64) {
    for client in s.on(session).clients() {
        let text = client.read_reply().to_string().replace("\": ", "\", ");
        assert!(text.contains(&format!(r#""token", :{token}, "holds", :{holds}, "#)), "{session}: {text}");
    }
}

fn is_grant(reply: &str, token: i64, holds: i64, ttl: i64) -> bool {
    let text = reply.replace("\": ", "\", ");
    text.contains(&format!(r#""token", :{token}, "holds", :{holds}, "ttl", :{ttl}, "#))
}

/// Sends this line of a client, which then waits.
fn wait(s: &mut Scenario<Server>, session: &str, line: &str, waiting: usize) {
    s.on(session).send(line);
    let key = line.split(' ').nth(1).expect("the line names a key");
    s.check(&format!("AWAIT.WAITERS {key} {waiting}"), ":1");
}
