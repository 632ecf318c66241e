//! What XINFO tells, without what servers are known to tell differently.

use crate::reply::Reply;

/// The answer of XINFO GROUPS without the number of consumers.
pub(super) fn without_consumers(reply: &Reply) -> Reply {
    without(reply, &["consumers"])
}

/// The answer of XINFO CONSUMERS or STREAM without times, and without consumers that have nothing pending.
pub(super) fn without_activity(reply: &Reply) -> Reply {
    let reply = without(reply, &["idle", "inactive", "seen-time", "active-time"]);
    without_idle_consumers(without_delivery_times(reply))
}

/// The answer of XINFO GROUPS or STREAM without how far groups are, and without times.
pub(super) fn without_counts(reply: &Reply) -> Reply {
    without_activity(&without(reply, &["entries-read", "lag"]))
}

fn map(reply: Reply, change: &impl Fn(Reply) -> Reply) -> Reply {
    let all = |items: Vec<Reply>| items.into_iter().map(|item| map(item, change)).collect();
    change(match reply {
        Reply::Array(items) => Reply::Array(all(items)),
        Reply::Map(pairs) => {
            Reply::Map(pairs.into_iter().map(|(key, value)| (key, map(value, change))).collect())
        }
        other => other,
    })
}

/// Maps, also those that RESP2 writes as arrays, without these keys.
fn without(reply: &Reply, keys: &[&str]) -> Reply {
    let is_gone =
        |key: &Reply| key.as_bytes().is_some_and(|key| keys.iter().any(|gone| gone.as_bytes() == key));
    map(reply.clone(), &|reply| match reply {
        Reply::Map(pairs) => Reply::Map(pairs.into_iter().filter(|(key, _)| !is_gone(key)).collect()),
        Reply::Array(items) if is_flat_map(&items) => {
            let pairs = items.chunks(2).filter(|pair| !is_gone(&pair[0]));
            Reply::Array(pairs.flatten().cloned().collect())
        }
        other => other,
    })
}

fn is_flat_map(items: &[Reply]) -> bool {
    let begins = items.first().and_then(Reply::as_bytes);
    items.len().is_multiple_of(2) && matches!(begins, Some(b"name" | b"length"))
}

/// Pending entries without when they were delivered: an id, a consumer, a time, a count; or without the consumer.
fn without_delivery_times(reply: Reply) -> Reply {
    map(reply, &|reply| match reply {
        Reply::Array(mut items) => {
            let is_int = |at: usize| items.get(at).is_some_and(|item| item.as_int().is_some());
            match items.len() {
                4 if !is_int(0) && !is_int(1) && is_int(2) && is_int(3) => drop(items.remove(2)),
                3 if !is_int(0) && is_int(1) && is_int(2) => drop(items.remove(1)),
                _ => {}
            }
            Reply::Array(items)
        }
        other => other,
    })
}

/// Lists of consumers without those that have nothing pending.
fn without_idle_consumers(reply: Reply) -> Reply {
    let is_idle = |reply: &Reply| {
        let text = reply.to_string();
        // Of groups, more is told.
        let is_consumer = !text.contains("last-delivered-id") && text.contains("\"name\"");
        let has_nothing = ["\"pending\", :0", "\"pending\": :0", "\"pel-count\", :0", "\"pel-count\": :0"];
        is_consumer && has_nothing.iter().any(|nothing| text.contains(nothing))
    };
    map(reply, &|reply| match reply {
        Reply::Array(items) => Reply::Array(items.into_iter().filter(|item| !is_idle(item)).collect()),
        other => other,
    })
}
