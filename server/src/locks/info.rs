//! `LOCK.INFO` and `LOCK.HELP`: who holds a lock, who waits for it.

use super::layout::{self, MODE};
use crate::keyspace::Tx;
use crate::table::{Args, DataHandler, Flow, KeySpec, Outcome, Row, flags, key_flags};
use crate::values::Value;
use lockwheel_resp::{Reply, number};

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("lock.info", 2, info as DataHandler)
        .flags(flags::READONLY)
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, key_flags::RO | key_flags::ACCESS)])
        .about("lock", "7.2.0", "O(N), N the holders and waiters")
        .summary("Tells who holds a lock, natively or by Redisson, for how long yet, and who waits.")
        .syntax("key"),
    Row::new("lock.help", 1, help as DataHandler)
        .flags(flags::LOADING | flags::STALE)
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(1)")
        .summary("Explains the lock commands."),
];

/// One who holds a lock.
struct Holder {
    owner: Box<[u8]>,
    holds: i64,
}

fn info(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let (mode, layout) = tx.peek(key).map_or(("free", "none"), layout::kind);
    let holders = tx.peek(key).map_or_else(Vec::new, holders);
    let left = tx.deadline(key).map(|deadline| deadline - tx.now().wall_ms());
    let db = tx.db();
    let grant = tx.holds().get(db, key).cloned();
    reply.map(5);
    field(reply, "mode", mode.as_bytes());
    field(reply, "layout", layout.as_bytes());
    reply.bulk(b"ttl");
    reply.integer(left.unwrap_or(if holders.is_empty() { -2 } else { -1 }));
    reply.bulk(b"holders");
    reply.array(holders.len());
    for holder in &holders {
        let grant = grant.as_ref().filter(|grant| grant.owner == holder.owner);
        reply.map(4);
        field(reply, "owner", &holder.owner);
        reply.bulk(b"holds");
        reply.integer(holder.holds);
        field(reply, "kind", if grant.is_some() { b"native" } else { b"foreign" });
        reply.bulk(b"token");
        match grant {
            Some(grant) => reply.integer(grant.token as i64),
            None => reply.null(),
        }
    }
    reply.bulk(b"waiters");
    let waiters: Vec<&[u8]> = tx.waiting(key).collect();
    reply.array(waiters.len());
    waiters.into_iter().for_each(|owner| reply.bulk(owner));
    Ok(Flow::Done)
}

fn field(reply: &mut dyn Reply, name: &str, value: &[u8]) {
    reply.bulk(name.as_bytes());
    reply.bulk(value);
}

/// The holders that a value names: the fields of Redisson's hash but for its mark, or a string's text.
fn holders(value: &Value) -> Vec<Holder> {
    match value {
        Value::Hash(hash) => hash
            .iter()
            .filter(|(owner, _)| *owner != MODE)
            .map(|(owner, holds)| Holder {
                owner: owner.into(),
                holds: number::parse_i64(holds).unwrap_or(0),
            })
            .collect(),
        Value::Str(text) => vec![Holder { owner: (*text.text()).into(), holds: 1 }],
        _ => Vec::new(),
    }
}

fn help(_: &mut Tx<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(HELP.len());
    HELP.iter().for_each(|line| reply.status(line.as_bytes()));
    Ok(Flow::Done)
}

const HELP: &[&str] = &[
    "LOCK.<verb> [<arg> [value] [opt] ...]. Commands are:",
    "LOCK.ACQUIRE <key> <owner> [EX <seconds>|PX <milliseconds>] [BLOCK <milliseconds>]",
    "    Take a lock. Without a lease it is held for 30 seconds; BLOCK waits for it, 0 for ever.",
    "LOCK.RELEASE <key> <owner> [ALL]",
    "    Give back one hold, or all.",
    "LOCK.RENEW <numkeys> <key> [<key> ...] <owner> EX <seconds>|PX <milliseconds> [GT]",
    "    Set the leases of locks that the owner holds; GT only makes them longer.",
    "LOCK.INFO <key>",
    "    Who holds the lock, for how long yet, and who waits.",
    "LOCK.HELP",
    "    Print this help.",
];
