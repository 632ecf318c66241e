//! `LATCH.AWAIT`: waits until the count of a latch is zero.

use super::super::{count, options};
use super::ends::{LatchEnd, LatchEnds};
use crate::spec::{
    Args, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, CommandGrammar, Flags, Flow,
    KeyFlags, KeySpec, Null, Row, Wait, WaitClass, grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const AWAIT: &CommandGrammar = grammar!("key [BLOCK milliseconds:0..] [ARMED]");

symbols!(AWAIT: BLOCK, ARMED);

pub(super) const ROWS: &[Row<BlockingHandler>] =
    &[Row::new("latch.await", -2, await_zero as BlockingHandler)
        .flags(&[Flags::READONLY, Flags::FAST, Flags::BLOCKING])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about("lock", "7.2.0", "O(log N), N the waiters")
        .summary("Returns how a latch was opened, or null if it is closed; with BLOCK waits until it opens.")
        .reply(
            "A map: `state`, how the latch was opened (zero, absent, deleted or expired), and \
             `waited` in milliseconds. Null if the latch is closed, or if BLOCK has passed.",
        )
        .options(&[&[
            ("BLOCK milliseconds", "Waits until the latch opens. 0 waits for ever."),
            ("ARMED", "Does not count an absent latch as open: a latch must be set first."),
        ]])
        .example(&[
            "LATCH.SET ready 1",
            "LATCH.AWAIT ready",
            "LATCH.COUNTDOWN ready",
            "LATCH.AWAIT ready",
            "LATCH.AWAIT ready ARMED",
        ])
        .help(&[
            "LATCH.AWAIT <key> [BLOCK <milliseconds>] [ARMED]",
            "    Wait until the count is zero; BLOCK 0 waits for ever. ARMED first waits for LATCH.SET.",
        ])
        .help_after("latch.get")
        .grammar(AWAIT)
        .errors(&[
            "ERR syntax error: *",
            "ERR timeout is not an integer or out of range: *",
            "ERR timeout is negative: *",
            "ERR value is not an integer or out of range: *",
            count::NOT_A_COUNT,
        ])];

/// The name of the wait class of `LATCH.AWAIT`.
pub(in crate::locks) const CLASS: &str = "latch";

/// The class of waiters for a latch. All of them are released at once.
const LATCH: WaitClass = WaitClass {
    name: CLASS,
    line: CLASS,
    accepts: |_| true,
    asking: Asking::All,
    out_of_turn: None,
    counts: true,
};

const SUBSCRIBED: &str = "an engine has subscribed what it knows of latches";

fn await_zero(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let options = AWAIT.parse(args)?;
    let block = options::block_ms(&options, BLOCK)?;
    let wait = AwaitZero { armed: options.has(ARMED) };
    if wait.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    let db = tx.db();
    let (ends, _) = tx.subscriber_mut::<LatchEnds>().expect(SUBSCRIBED);
    if ends.forget(db, &args[1]) {
        tx.renew_interests();
    }
    Ok(Wait::on_keys([1], &LATCH, wait, timeout_ms, Null::Bulk).into())
}

#[derive(Debug)]
struct AwaitZero {
    /// Whether an absent latch counts as not open: it must be set first.
    armed: bool,
}

impl AwaitZero {
    /// Returns how the latch came to be open, or `None` if it is not open. A latch that has reached zero since the
    /// request began to wait is open to it, even if the latch has been set again.
    fn state(&self, tx: &mut Tx<'_>, key: &[u8], waits: bool) -> Result<Option<&'static str>, CommandError> {
        let ends = tx.subscriber::<LatchEnds>().expect(SUBSCRIBED);
        if waits && let Some(end) = ends.get(tx.db(), key) {
            return Ok(Some(end.name()));
        }
        Ok(match count::read(tx, key)? {
            Some(count) => (count <= 0).then_some(LatchEnd::Zero.name()),
            None if self.armed => None,
            // The latch was there when the wait began: its database has been exchanged with another.
            None if waits => Some(LatchEnd::Deleted.name()),
            None => Some("absent"),
        })
    }
}

impl Attempt for AwaitZero {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let Some(state) = self.state(tx, &args[1], waited_ms.is_some())? else { return Ok(false) };
        reply.map(2);
        reply.bulk(b"state");
        reply.bulk(state.as_bytes());
        reply.bulk(b"waited");
        reply.integer(waited_ms.unwrap_or(0) as i64);
        Ok(true)
    }
}
