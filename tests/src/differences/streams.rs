//! Known differences of streams.

use super::{errors_are, is_error, words};
use crate::pair::{Claim, Difference};
use crate::reply::Reply;

const MADE_WITH_NOTHING: &str = "in Redis 7.2, reading and claiming create a consumer even if they find no \
                                 entry for it; in 7.0 they do not";

pub(super) const CONSUMERS_WITH_NOTHING: Difference = Difference {
    name: "consumers without entries are created",
    reason: MADE_WITH_NOTHING,
    claim: Claim::Redis72,
    example: &[
        "XGROUP CREATE x g $ MKSTREAM",
        "XREADGROUP GROUP g c STREAMS x >",
        "XGROUP CREATECONSUMER x g c",
    ],
    applies: |exchange| {
        words(exchange, 0..2) == ["XGROUP", "CREATECONSUMER"]
            && exchange.real.reply.as_int() == Some(1)
            && exchange.ours.reply.as_int() == Some(0)
    },
};

pub(super) const CONSUMERS_COUNTED: Difference = Difference {
    name: "consumers without entries are counted",
    reason: MADE_WITH_NOTHING,
    claim: Claim::Redis72,
    example: &["XGROUP CREATE x g $ MKSTREAM", "XREADGROUP GROUP g c STREAMS x >", "XINFO GROUPS x"],
    applies: |exchange| {
        words(exchange, 0..2) == ["XINFO", "GROUPS"]
            && without_consumers(&exchange.real.reply) == without_consumers(&exchange.ours.reply)
    },
};

pub(super) const CONSUMERS_ACTIVITY: Difference = Difference {
    name: "attempts and successes of consumers are distinguished",
    reason: "Redis 7.2 shows when a consumer last received an entry (inactive, active-time) and when it last \
             tried (idle, seen-time). It also creates consumers that receive nothing",
    claim: Claim::Redis72,
    example: &["XGROUP CREATE x g $ MKSTREAM", "XGROUP CREATECONSUMER x g c", "XINFO STREAM x FULL"],
    applies: |exchange| {
        matches!(&*words(exchange, 0..2), [xinfo, of] if xinfo == "XINFO" && (of == "CONSUMERS" || of == "STREAM"))
            && without_activity(&exchange.real.reply) == without_activity(&exchange.ours.reply)
    },
};

pub(super) const XREAD_UNBALANCED: Difference = Difference {
    name: "unbalanced lists of streams",
    reason: "the error of Redis 7.2 names the command that was sent, and the special id that this command \
             accepts",
    claim: Claim::Redis72,
    example: &["XREADGROUP GROUP g c STREAMS x y >"],
    applies: |exchange| errors_are(exchange, "ERR Unbalanced XREAD list of streams", "ERR Unbalanced 'xread"),
};

pub(super) const XSETID_BELOW_DELETED: Difference = Difference {
    name: "XSETID below a deleted id",
    reason: "Redis 7.2 refuses to set a stream's last id below its greatest deleted id",
    claim: Claim::Redis72,
    example: &["XADD x 1-1 f v", "XDEL x 1-1", "XSETID x 1-0"],
    applies: |exchange| {
        is_error(
            &exchange.ours.reply,
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
        )
    },
};

pub(super) const LAST_SEQUENCE_NUMBER: Difference = Difference {
    name: "no sequence number is left",
    reason: "if a millisecond has no sequence number left, 7.0 reports that elements are too large",
    claim: Claim::Redis72,
    example: &["XADD x 1-18446744073709551615 f v", "XADD x 1-* f v"],
    applies: |exchange| {
        errors_are(exchange, "ERR Elements are too large", "ERR The ID specified in XADD is equal or smaller")
    },
};

pub(super) const XREAD_IN_SCRIPTS: Difference = Difference {
    name: "scripts may call XREAD with BLOCK",
    reason: "Redis 7.2 lets scripts call blocking commands, which do not block there; 7.0 refuses them",
    claim: Claim::Redis72,
    example: &["EVAL \"return redis.call(unpack(ARGV))\" 0 XREAD BLOCK 0 STREAMS x $"],
    applies: |exchange| {
        let refused = "command is not allowed with BLOCK option from scripts";
        matches!(&exchange.real.reply, Reply::Error(text) if text.contains(refused))
    },
};

pub(super) const TIMEOUT_BEYOND_THE_CLOCK: Difference = Difference {
    name: "timeouts beyond the clock's end",
    reason: "Redis 7.2 refuses a timeout that ends after the last millisecond that it can represent",
    claim: Claim::Redis72,
    example: &["XREAD BLOCK 9223372036854775807 STREAMS x x"],
    applies: |exchange| {
        is_error(&exchange.ours.reply, "ERR timeout is out of range")
            && !is_error(&exchange.real.reply, "ERR timeout is negative")
    },
};

pub(super) const NO_MEMORY_BEFOREHAND: Difference = Difference {
    name: "no memory is reserved for a COUNT",
    reason: "real servers refuse a COUNT of XAUTOCLAIM if they cannot allocate memory for that many ids. \
             Lockwheel allocates nothing in advance",
    claim: Claim::OnPurpose,
    example: &["XGROUP CREATE x g 0 MKSTREAM", "XAUTOCLAIM x g c 0 0 COUNT 576460752303423487"],
    applies: |exchange| {
        is_error(&exchange.real.reply, "ERR Insufficient memory, failed allocating transient memory")
    },
};

pub(super) const XREAD_OF_THE_LAST: Difference = Difference {
    name: "XREAD of the last entry",
    reason: "Valkey 9, as Redis 7.4, reads the last entry of a stream after the id +",
    claim: Claim::Newer,
    example: &["XREAD STREAMS x +"],
    applies: |exchange| {
        matches!(&*words(exchange, 0..1), [name] if name.starts_with("XREAD"))
            && exchange.arguments.iter().any(|word| word == b"+")
            && is_error(&exchange.ours.reply, "ERR Invalid stream ID")
    },
};

pub(super) const GROUPS_AHEAD: Difference = Difference {
    name: "groups that are ahead of their count",
    reason: "Valkey 9 counts what a group has read anew in cases where Redis 7 goes on from a count that XGROUP \
             was told, or that deleted entries have made wrong",
    claim: Claim::Newer,
    example: &[
        "XADD x 1-1 f v",
        "XADD x 2-1 f v",
        "XGROUP CREATE x g 0 ENTRIESREAD 100",
        "XREADGROUP GROUP g c STREAMS x >",
        "XINFO GROUPS x",
    ],
    applies: |exchange| {
        words(exchange, 0..1) == ["XINFO"]
            && without_counts(&exchange.real.reply) == without_counts(&exchange.ours.reply)
    },
};

/// The answer of XINFO GROUPS without the number of consumers.
fn without_consumers(reply: &Reply) -> Reply {
    without(reply, &["consumers"])
}

/// The answer of XINFO CONSUMERS or STREAM without times, and without consumers that have nothing pending.
fn without_activity(reply: &Reply) -> Reply {
    let reply = without(reply, &["idle", "inactive", "seen-time", "active-time"]);
    without_idle_consumers(without_delivery_times(reply))
}

/// The answer of XINFO GROUPS or STREAM without the groups' progress, and without times.
fn without_counts(reply: &Reply) -> Reply {
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

/// Removes these keys from maps, also from those that RESP2 writes as arrays.
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

/// Pending entries without their delivery time: an id, a consumer, a time, a count. The consumer may be missing.
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
        // Groups have more fields.
        let is_consumer = !text.contains("last-delivered-id") && text.contains("\"name\"");
        let has_nothing = ["\"pending\", :0", "\"pending\": :0", "\"pel-count\", :0", "\"pel-count\": :0"];
        is_consumer && has_nothing.iter().any(|nothing| text.contains(nothing))
    };
    map(reply, &|reply| match reply {
        Reply::Array(items) => Reply::Array(items.into_iter().filter(|item| !is_idle(item)).collect()),
        other => other,
    })
}
