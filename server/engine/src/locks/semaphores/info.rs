//! `SEM.INFO`: the permits that are left, the holders and the waiters of a semaphore.

use super::super::graph::waiting_listeners;
use super::super::listening::ListeningHandler;
use super::super::redisson::NEVER_MS;
use super::{account, count, ids};
use crate::pubsub::PubSub;
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use std::collections::BTreeMap;

pub(super) const ROWS: &[Row<ListeningHandler>] = &[Row::new("sem.info", 2, info as ListeningHandler)
    .flags(&[Flags::READONLY])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
    .about("lock", "7.2.0", "O(N), N the holds, the waiters and the patterns that clients are subscribed to")
    .summary("Returns a semaphore's available permits, the holders of the others, and the waiters.")
    .reply(
        "A map: `layout`, one of plain, ids and none; `left`, `held`, `initial` and \
         `adjustments`, numbers of permits; `ttl` of the key in the form of PTTL; `holders` \
         and `waiters`, arrays of maps.",
    )
    .example(&["SEM.INIT pool 3", "SEM.ACQUIRE pool alice PX 5000", "SEM.INFO pool"])
    .help(&[
        "SEM.INFO <key>",
        "    Return how many permits are available, the holders of the others, and the waiters.",
    ])
    .help_after("sem.renew")
    .syntax("key")
    .errors(&[count::NOT_A_COUNT])];

struct Holder {
    /// The name of the owner, if a native command took the permits.
    owner: Option<Vec<u8>>,
    permits: i64,
    token: Option<u64>,
    deadline_ms: Option<i64>,
    id: Option<Vec<u8>>,
}

fn info(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let left = count::read(tx, key)?;
    let out = ids::count(tx, key)?;
    let holders = holders(tx, key)?;
    let (initial, adjustments) = totals(tx, key, left, out);
    let layout = match (left, out) {
        (_, 1..) => "ids",
        (Some(_), _) => "plain",
        (None, _) => "none",
    };
    let ttl_ms = tx.deadline(key).map(|deadline| deadline - tx.now().wall_ms());
    reply.map(8);
    reply.bulk(b"layout");
    reply.bulk(layout.as_bytes());
    let shown = left.unwrap_or(0);
    for (name, value) in [
        ("left", shown),
        ("held", initial.saturating_add(adjustments).saturating_sub(shown)),
        ("initial", initial),
        ("adjustments", adjustments),
        ("ttl", ttl_ms.unwrap_or(if left.is_some() { -1 } else { -2 })),
    ] {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
    let now_ms = tx.now().wall_ms();
    reply.bulk(b"holders");
    reply.array(holders.len());
    holders.iter().for_each(|holder| holder.write(now_ms, reply));
    write_waiters(tx, pubsub, key, reply);
    Ok(())
}

/// Returns the permits that a semaphore began with, and those added since.
fn totals(tx: &Tx<'_>, key: &[u8], left: Option<i64>, out: i64) -> (i64, i64) {
    let seen = left.unwrap_or(0).saturating_add(out);
    account(tx, key, |account| {
        let more = seen.saturating_add(account.holds.plain()).saturating_sub(account.total()).max(0);
        (account.initial, account.adjustments.saturating_add(more))
    })
    .unwrap_or((seen, 0))
}

/// Returns the holders of permits: native holds without an id, the oldest first, then those with ids by their ends.
fn holders(tx: &mut Tx<'_>, key: &[u8]) -> Result<Vec<Holder>, CommandError> {
    let known = account(tx, key, |account| {
        let all = account.holds.oldest_first().into_iter();
        all.map(|(place, hold)| (place.0.to_vec(), hold.clone())).collect::<Vec<_>>()
    });
    let (mut holders, mut by_id) = (Vec::new(), BTreeMap::new());
    for (owner, hold) in known.unwrap_or_default() {
        match hold.id {
            Some(id) => drop(by_id.insert(id.to_vec(), (owner, hold.token))),
            None => holders.push(Holder {
                owner: Some(owner),
                permits: hold.permits,
                token: Some(hold.token),
                deadline_ms: hold.lease.map(|lease| lease.deadline_ms),
                id: None,
            }),
        }
    }
    for (id, deadline) in ids::all(tx, key)? {
        let (owner, token) = by_id.remove(&id).unzip();
        let deadline_ms = (deadline != NEVER_MS).then_some(deadline);
        holders.push(Holder { owner, permits: 1, token, deadline_ms, id: Some(id) });
    }
    Ok(holders)
}

fn write_waiters(tx: &Tx<'_>, pubsub: &PubSub, key: &[u8], reply: &mut dyn Reply) {
    let native = tx.waiting(key).filter(|waiter| !waiter.label.is_empty());
    let native = native.map(|waiter| (Some(waiter.label.to_vec()), "native", waiter.id));
    let listening = waiting_listeners(tx, pubsub, key).into_iter();
    let listening = listening.map(|waiter| (waiter.owner.map(<[u8]>::into_vec), "foreign", waiter.client));
    let waiters: Vec<_> = native.chain(listening).collect();
    reply.bulk(b"waiters");
    reply.array(waiters.len());
    for (owner, kind, client) in waiters {
        reply.map(3);
        text_or_null(reply, "owner", owner.as_deref());
        reply.bulk(b"kind");
        reply.bulk(kind.as_bytes());
        reply.bulk(b"client");
        reply.integer(client as i64);
    }
}

impl Holder {
    fn write(&self, now_ms: i64, reply: &mut dyn Reply) {
        reply.map(6);
        text_or_null(reply, "owner", self.owner.as_deref());
        reply.bulk(b"permits");
        reply.integer(self.permits);
        reply.bulk(b"kind");
        reply.bulk(if self.owner.is_some() { b"native" } else { b"foreign" });
        reply.bulk(b"token");
        match self.token {
            Some(token) => reply.integer(token as i64),
            None => reply.null(),
        }
        reply.bulk(b"ttl");
        // A permit whose lease has ended stays until a client wants it.
        reply.integer(self.deadline_ms.map_or(-1, |deadline| deadline.saturating_sub(now_ms).max(0)));
        text_or_null(reply, "id", self.id.as_ref().map(|id| ids::text(id)).as_deref().map(str::as_bytes));
    }
}

fn text_or_null(reply: &mut dyn Reply, name: &str, text: Option<&[u8]>) {
    reply.bulk(name.as_bytes());
    match text {
        Some(text) => reply.bulk(text),
        None => reply.null(),
    }
}
