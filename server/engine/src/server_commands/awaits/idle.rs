//! `AWAIT.IDLE`: waits until no client has sent a command for a while.

use super::options::{LIMIT_TEXTS, NumberGrammar, REACHED};
use super::{NAMED_ERRORS, row};
use crate::core::Handler;
use crate::spec::{Args, CommandError, Row, grammar};
use crate::waits::{StateAttempt, StateOf, StateView, StateWait};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::glob;
use std::cell::Cell;

const IDLE: NumberGrammar = NumberGrammar::of(
    grammar!("quiet-milliseconds:0.. [NAME pattern] [LIMIT milliseconds:0..]"),
    "quiet-milliseconds",
);

pub(super) const ROWS: &[Row<Handler>] = &[row("await.idle", -2, idle)
    .about("control", "7.2.0", "O(1)")
    .summary("Waits until no client has sent a command for a given period of real time.")
    .reply(REACHED)
    .options(&[
        &[
            ("quiet-milliseconds", "The time without a command, in real time, counted from this request on."),
            ("NAME pattern", "Looks only at clients whose name matches this glob pattern."),
        ],
        LIMIT_TEXTS,
    ])
    .example(&["AWAIT.IDLE 20"])
    .help(&[
        "AWAIT.IDLE <quiet-milliseconds> [NAME <pattern>] [LIMIT <milliseconds>]",
        "    Wait until no client (whose name matches) has sent a command for that time.",
    ])
    .grammar(IDLE.grammar)
    .errors(NAMED_ERRORS)];

/// A condition: no matching client has sent a command for a while, in system's monotonic milliseconds.
#[derive(Debug)]
struct Idle {
    quiet_ms: i64,
    pattern: Option<Box<[u8]>>,
    /// The time at which the wait ends unsuccessfully.
    limit_at_ms: i64,
    /// The time of the last matching request found so far, or the beginning of the wait.
    since_ms: Cell<i64>,
}

/// The number of waits for silence that delay a repeated check by a millisecond, which bounds the load of the checks.
const LOOKS_PER_MS: usize = 64;

impl Idle {
    /// Examines the requests sent since the last call. Returns whether there was a long enough silence in between.
    fn look(&self, view: StateView<'_>) -> bool {
        let matches = self.pattern.as_ref().map(|pattern| |name: &[u8]| glob::matches(pattern, name, false));
        let is_wanted = matches.as_ref().map(|matches| -> &dyn Fn(&[u8]) -> bool { matches });
        let last_ms = view.recent_requests().last_of(self.since_ms.get(), self.quiet_ms, is_wanted);
        last_ms.is_none_or(|last_ms| {
            self.since_ms.set(last_ms);
            false
        })
    }

    /// Returns the time at which the silence is long enough, if no more requests arrive.
    fn quiet_at_ms(&self) -> i64 {
        self.since_ms.get().saturating_add(self.quiet_ms)
    }
}

impl StateAttempt for Idle {
    fn watches(&self) -> StateOf {
        StateOf::Silence
    }

    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool {
        let was_reached = self.look(view);
        let is_reached = was_reached || view.clock.system().monotonic_ms() >= self.quiet_at_ms();
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }

    fn awaits_silence_ms(&self) -> Option<i64> {
        Some(self.quiet_ms)
    }

    fn goes_on_for_ms(&self, view: StateView<'_>) -> Option<u64> {
        let now_ms = view.clock.system().monotonic_ms();
        let many = view.waiting_for(StateOf::Silence) / LOOKS_PER_MS;
        let again_ms = now_ms.saturating_add_unsigned(many as u64);
        let next_ms = self.quiet_at_ms().max(again_ms).min(self.limit_at_ms);
        u64::try_from(next_ms - now_ms).ok().filter(|&ms| ms > 0)
    }
}

fn idle(view: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    let options = IDLE.parse(args)?;
    let quiet_ms = options.number;
    let now_ms = view.clock.system().monotonic_ms();
    let state = Idle {
        quiet_ms: i64::try_from(quiet_ms).unwrap_or(i64::MAX),
        pattern: options.name.map(Box::from),
        limit_at_ms: now_ms.saturating_add_unsigned(options.limit_ms),
        since_ms: Cell::new(now_ms),
    };
    Ok(StateWait::new(state, quiet_ms.min(options.limit_ms)))
}
