//! Where keys and subscriptions meet in a lock: `LOCK.INFO`, and the waking of those who wait by Redisson's means for a
//! lease that a turn of the clock has ended.

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

impl Engine {
    /// Tells those who wait by Redisson's means for a lock that it is free.
    pub(super) fn wake_redisson(&mut self, db: usize, key: &[u8], mode: Option<&[u8]>) {
        let messages: Vec<_> = locks::wake_messages(&self.keyspace.tx(db, self.now), key, mode).collect();
        for (channel, message) in messages {
            self.send_to_subscribers(&channel, message);
        }
    }
}
