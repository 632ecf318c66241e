//! `LOCK.STATS` itself: its row, and its reply.

use super::super::history::{Filter, Ring};
use super::super::history_command::{FLAGS, OFF};
use super::super::history_work::{HistoryHandler, HistoryWork, Reading, read};
use super::super::records::LockRecords;
use super::tally::{Count, Tally};
use crate::spec::{Args, CommandError, CommandGrammar, ParsedArgs, Row, grammar, kept_pattern, symbols};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const STATS: &CommandGrammar = grammar!("[KEY pattern] [RESET]");

symbols!(STATS: KEY, RESET);

pub(in crate::locks) const ROWS: &[Row<HistoryHandler>] =
    &[Row::new("lock.stats", -1, stats as HistoryHandler)
        .flags(&[FLAGS])
        .categories(&["lock", "control"])
        .about("lock", "7.2.0", "O(N log N), N the entries of the history")
        .summary("Returns how often and how long locks were held and waited for, according to the history.")
        .reply(
            "A map: `since`, `truncated`, the numbers `holds`, `waits`, `hand-offs`, `timeouts` \
             and `commands`; `commands-per-hand-off`; percentiles of waits and holds in \
             milliseconds. A figure without data is null.",
        )
        .options(&[&[
            ("KEY pattern", "Only locks whose keys match this glob pattern."),
            ("RESET", "Counts anew after this reply."),
        ]])
        .example(&[
            "CONFIG SET lock-history yes",
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "CLOCK.ADVANCE 2000",
            "LOCK.RELEASE order:42 alice",
            "LOCK.STATS",
        ])
        .help(&[
            "LOCK.STATS [KEY <pattern>] [RESET]",
            "    Return how often and how long locks were held and waited for, in milliseconds. RESET then",
            "    counts anew.",
        ])
        .help_after("lock.verify")
        .grammar(STATS)
        .errors(&[
            "ERR syntax error: *",
            "ERR the pattern is longer than 4096 bytes",
            "ERR the history of locks is off: *",
        ])];

#[derive(Debug)]
struct Counting {
    filter: Filter,
    /// The entries up to this one have been counted.
    seen: u64,
    is_truncated: bool,
    count: Count,
}

impl Reading for Counting {
    fn go_on(&mut self, ring: &Ring, count: usize) -> bool {
        let mut looked = 0;
        for (seq, entry) in ring.after(self.seen).take(count) {
            if self.filter.wants(ring, entry) {
                self.count.take_in(ring, seq, entry);
            }
            (self.seen, looked) = (seq, looked + 1);
        }
        looked < count
    }

    fn write(&mut self, _: &Ring, reply: &mut dyn Reply) {
        write(&mut self.count.tally, (self.filter.since, self.is_truncated), reply);
    }

    fn memory(&self) -> usize {
        self.count.memory()
    }
}

fn stats(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Option<Box<dyn HistoryWork>>, CommandError> {
    let options: ParsedArgs<'_> = STATS.parse(args)?;
    let key = options.value(KEY).map(kept_pattern).transpose()?.map(Box::from);
    let (records, _) = LockRecords::of_mut(tx);
    let since = records.counted_up_to;
    let history = records.history_mut().ok_or(OFF)?;
    let ring = history.ring();
    let next = ring.next();
    let counting = Counting {
        filter: Filter { key, owner: None, since },
        seen: since,
        is_truncated: ring.first() > since + 1,
        count: Count::default(),
    };
    let entries = usize::try_from(next.saturating_sub(since)).unwrap_or(usize::MAX).min(ring.len());
    let work = read(history, entries, counting, reply);
    if options.has(RESET) {
        records.counted_up_to = next - 1;
    }
    Ok(work)
}

fn write(tally: &mut Tally, (since, is_truncated): (u64, bool), reply: &mut dyn Reply) {
    reply.map(12);
    for (name, number) in [
        ("since", since),
        ("truncated", u64::from(is_truncated)),
        ("holds", tally.holds),
        ("waits", tally.waits),
        ("hand-offs", tally.hand_offs),
        ("timeouts", tally.timeouts),
        ("commands", tally.commands),
    ] {
        reply.bulk(name.as_bytes());
        reply.integer(number as i64);
    }
    reply.bulk(b"commands-per-hand-off");
    match tally.commands_per_hand_off() {
        Some(commands) => reply.double((commands * 100.0).round() / 100.0),
        None => reply.null(),
    }
    for (name, ms) in [
        ("wait-p50", tally.wait_ms.percentile(50)),
        ("wait-p99", tally.wait_ms.percentile(99)),
        ("hold-p50", tally.hold_ms.percentile(50)),
        ("hold-p99", tally.hold_ms.percentile(99)),
    ] {
        reply.bulk(name.as_bytes());
        match ms {
            Some(ms) => reply.integer(ms),
            None => reply.null(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::history::{Event, Happening, History};
    use super::*;
    use lockwheel_store::time::Now;

    #[test]
    fn the_memory_of_a_reading_is_counted() {
        const ENTRIES: usize = 4000;
        /// The smallest number of bytes of a wait, and of an owner with its name.
        const OWNER_BYTES: usize = 80;
        let [few, many] = [1, ENTRIES].map(|owners| {
            let mut history = History::new(1 << 16, 7);
            for at in 0..ENTRIES {
                let owner = format!("owner-{:08}", at % owners);
                let happening = Happening::new(Event::Queued, b"lock", owner.as_bytes());
                history.record(
                    Now { wall_us: 0, monotonic_us: 0 },
                    Happening { native: Some(true), client: Some(1), ..happening },
                );
            }
            let (filter, count) = (Filter::default(), Count::default());
            let mut counting = Counting { filter, seen: 0, is_truncated: false, count };
            assert!(!counting.go_on(history.ring(), ENTRIES), "it has not come to the end");
            counting.memory()
        });
        assert!(many > few + ENTRIES * OWNER_BYTES, "{many} {few}");
    }
}
