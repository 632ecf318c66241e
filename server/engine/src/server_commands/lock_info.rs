//! `LOCK.INFO`, where keys and subscriptions meet in a lock.

use crate::core::{Call, Engine, Handler};
use crate::keyspace::glob;
use crate::locks::{self, ChannelWaiter, Channels, LockSnapshot};
use crate::pubsub::PubSub;
use crate::spec::{Args, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use std::collections::BTreeSet;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("lock.info", 2, Handler::Engine(info))
    .flags(&[Flags::READONLY])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
    .about(
        "lock",
        "7.2.0",
        "O(N), N the holders, the waiters and the patterns that clients are subscribed to",
    )
    .summary("Tells who holds a lock, natively or by Redisson, for how long yet, and who waits.")
    .help(&["LOCK.INFO <key>", "    Who holds the lock, for how long yet, and who waits."])
    .syntax("key")];

fn info(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let db = engine.session(call.slot).db;
    engine.lock_snapshot(db, &args[1]).write(reply);
    Ok(())
}

impl Engine {
    /// A lock of database `db` as LOCK.INFO tells of it.
    ///
    /// O(n), n the holders, the waiters and the patterns that clients are subscribed to.
    ///
    /// # Panics
    /// When there is no such database.
    pub fn lock_snapshot(&mut self, db: usize, key: &[u8]) -> LockSnapshot {
        let subscribers = redisson_waiters(&self.pubsub, key);
        locks::snapshot(&mut self.keyspace.tx(db, self.time.now), key, subscribers)
    }
}

/// Clients that wait for a key the way Redisson does: subscribed to the channels that its name stands in, or to
/// patterns that these match.
pub(super) fn redisson_waiters(pubsub: &PubSub, key: &[u8]) -> BTreeSet<ChannelWaiter> {
    let Channels { all, fair } = Channels::of(key);
    let of_waiters: Vec<_> = pubsub.with_prefix(&fair).collect();
    let named = of_waiters.iter().flat_map(|(channel, ids)| {
        let owner = Some(Box::from(&channel[fair.len()..]));
        ids.iter().map(move |&client| ChannelWaiter { client, owner: owner.clone() })
    });
    let listened: Vec<&[u8]> = all.iter().map(Vec::as_slice).chain([&*fair]).collect();
    let by_channel = all.iter().flat_map(|channel| pubsub.listening_to(channel));
    let by_pattern = pubsub.all_patterns().filter(|(pattern, _)| {
        let mut heard = listened.iter().copied().chain(of_waiters.iter().map(|(channel, _)| *channel));
        heard.any(|channel| glob::matches(pattern, channel, false))
    });
    let unnamed = by_channel.chain(by_pattern.flat_map(|(_, ids)| ids.iter().copied()));
    named.chain(unnamed.map(|client| ChannelWaiter { client, owner: None })).collect()
}
