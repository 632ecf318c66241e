//! The exchange with the target of MIGRATE: all requests, then all replies.

use super::errors::{OF_TARGET, READING, WRITING};
use super::migration::Migration;
use crate::core::{Broken, Target};
use crate::spec::{CommandError, Outcome, quotable};
use lockwheel_resp::{number, write_request};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::rdb;

/// The size of a batch of requests, in bytes.
const BATCH: usize = 64 * 1024;

/// Sends existing keys, each with its remaining time to live, and deletes each once the target has it. Fails with the
/// first error of the target or the connection. Unconfirmed keys stay here.
pub(super) fn transfer(
    tx: &mut Tx<'_>,
    request: &Migration<'_>,
    keys: &[&[u8]],
    target: &mut dyn Target,
) -> Outcome {
    send(tx, request, keys, target).map_err(|Broken| CommandError::text(WRITING))?;
    receive(tx, request, keys, target)
}

fn send(tx: &Tx<'_>, request: &Migration<'_>, keys: &[&[u8]], target: &mut dyn Target) -> Result<(), Broken> {
    let mut out = Vec::new();
    match (request.user, request.password) {
        (Some(user), Some(password)) => write_request(&[b"AUTH", user, password], &mut out),
        (None, Some(password)) => write_request(&[b"AUTH", password], &mut out),
        _ => {}
    }
    write_request(&[b"SELECT", &integer(request.db)], &mut out);
    for key in keys {
        write_restore(tx, key, request.replace, &mut out);
        if out.len() >= BATCH {
            target.send(&out)?;
            out.clear();
        }
    }
    target.send(&out)
}

fn write_restore(tx: &Tx<'_>, key: &[u8], replace: bool, out: &mut Vec<u8>) {
    let payload = tx.peek(key).map(rdb::dump_for_any).unwrap_or_default();
    // A remaining time of 0 would mean no deadline.
    let left_ms = tx.deadline(key).map_or(0, |deadline| deadline.saturating_sub(tx.now().wall_ms()).max(1));
    let ttl = integer(left_ms);
    let restore: &[u8] = if tx.in_cluster() { b"RESTORE-ASKING" } else { b"RESTORE" };
    let words: [&[u8]; 5] = [restore, key, &ttl, &payload, b"REPLACE"];
    write_request(&words[..if replace { 5 } else { 4 }], out);
}

fn integer(value: i64) -> Vec<u8> {
    let mut text = Vec::new();
    number::write_i64(value, &mut text);
    text
}

fn receive(tx: &mut Tx<'_>, request: &Migration<'_>, keys: &[&[u8]], target: &mut dyn Target) -> Outcome {
    let mut next = || target.receive_line().map_err(|Broken| CommandError::text(READING));
    let mut refused = None;
    // The replies to AUTH, if that was sent, and to SELECT.
    for _ in 0..1 + usize::from(request.password.is_some()) {
        let line = next()?;
        refused = refused.or_else(|| error_in(&line));
    }
    let (mut failure, mut moved): (Outcome, Vec<&[u8]>) = (Ok(()), vec![b"DEL"]);
    for key in keys {
        let line = match next() {
            Ok(line) => line,
            Err(error) => {
                failure = failure.and(Err(error));
                break;
            }
        };
        match refused.clone().or_else(|| error_in(&line)) {
            Some(error) => failure = failure.and(Err(error)),
            None if request.copy => {}
            None => {
                tx.delete(key);
                moved.push(key);
            }
        }
    }
    if moved.len() > 1 {
        tx.propagate(&moved);
    }
    failure
}

/// Returns the reply to an error in a line of the target, if the line is an error.
fn error_in(line: &[u8]) -> Option<CommandError> {
    let text = quotable(line.strip_prefix(b"-")?);
    Some(CommandError::new([OF_TARGET.as_bytes(), text].concat()))
}
