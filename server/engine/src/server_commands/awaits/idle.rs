//! `AWAIT.IDLE`: no client has sent anything for a while.

use super::options::{Known, number};
use super::row;
use crate::core::{Call, Engine, EngineAttempt, Handler, Retry};
use crate::keyspace::glob;
use crate::spec::{Args, CommandError, Flow, Null, Row, Wait};
use lockwheel_resp::Reply;
use std::cell::Cell;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[row("await.idle", -2, idle)
    .about("control", "7.2.0", "O(1)")
    .summary("Waits until no client has sent a command for so long, in real time.")
    .help(&[
        "AWAIT.IDLE <quiet-milliseconds> [NAME <pattern>] [LIMIT <milliseconds>]",
        "    Wait until nobody (nobody with a name like that) has sent a command for so long.",
    ])
    .syntax("quiet-milliseconds [NAME pattern] [LIMIT milliseconds]")];

/// No client, or none of these, has sent a command for so long. Milliseconds of the system's monotonic clock.
#[derive(Debug)]
struct Idle {
    quiet_ms: i64,
    pattern: Option<Box<[u8]>>,
    /// When the limit ends.
    limit_at_ms: i64,
    /// The last request that has been looked at, and since when there has been none that counts.
    seen: Cell<u64>,
    since_ms: Cell<i64>,
}

impl Idle {
    /// Looks at what has been sent since the last look: after each request there is one.
    fn look(&self, engine: &Engine) {
        let (requests, caller) = engine.time.last_request();
        if self.seen.replace(requests) == requests {
            return;
        }
        let counts = self.pattern.as_ref().is_none_or(|pattern| {
            let slot = engine.sessions.find(caller);
            slot.is_some_and(|slot| glob::matches(pattern, &engine.sessions.get(slot).name, false))
        });
        if counts {
            self.since_ms.set(engine.time.system.monotonic_ms());
        }
    }

    /// When it has been quiet for long enough, if nothing more is sent.
    fn quiet_at_ms(&self) -> i64 {
        self.since_ms.get().saturating_add(self.quiet_ms)
    }
}

impl EngineAttempt for Idle {
    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        self.look(engine);
        let is_reached = engine.time.system.monotonic_ms() >= self.quiet_at_ms();
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }

    fn goes_on_for_ms(&self, engine: &Engine) -> Option<u64> {
        let now_ms = engine.time.system.monotonic_ms();
        let next_ms = self.quiet_at_ms().min(self.limit_at_ms);
        u64::try_from(next_ms - now_ms).ok().filter(|&ms| ms > 0)
    }
}

fn idle(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let quiet_ms = number(args, 1)?;
    let options = Known { name: true, ..Known::default() }.parse(args, 2)?;
    let now_ms = engine.time.system.monotonic_ms();
    let state = Idle {
        quiet_ms: i64::try_from(quiet_ms).unwrap_or(i64::MAX),
        pattern: options.name.map(Box::from),
        limit_at_ms: now_ms.saturating_add_unsigned(options.limit_ms),
        seen: Cell::new(engine.time.last_request().0),
        since_ms: Cell::new(now_ms),
    };
    if state.attempt(engine, reply) {
        return Ok(Flow::Done);
    }
    let first_ms = quiet_ms.min(options.limit_ms);
    Ok(super::in_real_time(Wait::new(Retry::Always(Box::new(state)), Some(first_ms), Null::Bulk)))
}
