//! `LOCK.INFO`: what keys tell of a lock, and what subscriptions do, together.

use super::table::Handler;
use super::{Call, Engine};
use crate::locks;
use crate::table::{Args, Flow, KeySpec, Outcome, Row, flags, key_flags};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("lock.info", 2, Handler::Engine(info))
    .flags(flags::READONLY)
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, key_flags::RO | key_flags::ACCESS)])
    .about(
        "lock",
        "7.2.0",
        "O(N), N the holders, the waiters and the patterns that clients are subscribed to",
    )
    .summary("Tells who holds a lock, natively or by Redisson, for how long yet, and who waits.")
    .syntax("key")];

fn info(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let subscribers = engine.pubsub.waiting_for(&args[1]);
    let (db, now) = (engine.session(call.slot).db, engine.now);
    locks::write_info(&mut engine.keyspace.tx(db, now), &args[1], subscribers.iter(), reply);
    Ok(Flow::Done)
}
