//! The `LOCK.VERIFY` command: its row and its reply.

use super::super::history::Ring;
use super::super::history_command::FLAGS;
use super::super::history_work::{HistoryHandler, HistoryWork, Reading, read};
use super::super::records::LockRecords;
use super::finding::{Finding, Severity, evidence};
use super::findings::Wanted;
use super::verdict::{HISTORY_IS_OFF, Verdict, Verification, reason};
use crate::spec::{Args, CommandError, CommandGrammar, ParsedArgs, Row, grammar, kept_pattern, symbols};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::time::Now;

const VERIFY: &CommandGrammar = grammar!("[KEY pattern] [LEVEL (VIOLATION | SUSPECT | LINT)]");

symbols!(VERIFY: KEY, VIOLATION, SUSPECT);

pub(in crate::locks) const ROWS: &[Row<HistoryHandler>] =
    &[Row::new("lock.verify", -1, verify as HistoryHandler)
        .flags(&[FLAGS])
        .categories(&["lock", "control"])
        .about("lock", "7.2.0", "O(N log N), N the entries of the history")
        .summary("Checks the history for violations of the invariants of locks.")
        .reply(
            "A map: `verdict`, one of ok, suspect, violated and inconclusive; `events`; \
             `truncated`; `reason` why the history is not whole, or null; `left-out`; `findings`, \
             an array of maps.",
        )
        .options(&[&[
            ("KEY pattern", "Only findings about keys that match this glob pattern."),
            ("LEVEL", "Followed by the least severe level of findings."),
            ("VIOLATION", "Only violations."),
            ("SUSPECT", "Violations and suspicions."),
            ("LINT", "All findings. This is the default."),
        ]])
        .example(&[
            "CONFIG SET lock-history yes",
            "LOCK.ENTER order:42 alice",
            "LOCK.ENTER order:42 bob",
            "LOCK.VERIFY",
        ])
        .help(&[
            "LOCK.VERIFY [KEY <pattern>] [LEVEL VIOLATION|SUSPECT|LINT]",
            "    Check the history against the invariants of locks. The verdict is ok, suspect, violated, or",
            "    inconclusive if part of the history is missing. LEVEL leaves out less severe findings.",
        ])
        .help_after("lock.history")
        .grammar(VERIFY)
        .errors(&["ERR syntax error: *", "ERR the pattern is longer than 4096 bytes"])];

impl Wanted {
    fn of(args: Args<'_>) -> Result<Self, CommandError> {
        let options: ParsedArgs<'_> = VERIFY.parse(args)?;
        let key = options.value(KEY).map(kept_pattern).transpose()?.map(Box::from);
        let level = options.one_of(&[(VIOLATION, Severity::Violation), (SUSPECT, Severity::Suspect)]);
        Ok(Wanted { key, level: level.unwrap_or(Severity::Lint) })
    }
}

#[derive(Debug)]
struct Verifying {
    verification: Verification,
    now: Now,
}

impl Reading for Verifying {
    fn go_on(&mut self, ring: &Ring, count: usize) -> bool {
        self.verification.go_on(ring, self.now, count)
    }

    fn write(&mut self, ring: &Ring, reply: &mut dyn Reply) {
        let mut findings = self.verification.take_findings();
        let (events, is_truncated) = (ring.next() - ring.first(), ring.is_truncated());
        let verdict = Verdict::of(findings.worst(), is_truncated);
        head(verdict, reason(ring).as_deref(), (events, is_truncated), findings.left_out(), reply);
        let findings = findings.take();
        reply.array(findings.len());
        findings.iter().for_each(|finding| write(ring, finding, reply));
    }

    fn memory(&self) -> usize {
        self.verification.memory()
    }
}

/// Fails if an option of a `LOCK.VERIFY` request or its value is wrong.
pub(crate) fn check_request(args: Args<'_>) -> Result<(), CommandError> {
    Wanted::of(args).map(drop)
}

fn verify(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Option<Box<dyn HistoryWork>>, CommandError> {
    let wanted = Wanted::of(args)?;
    let now = tx.now();
    let (records, _) = LockRecords::of_mut(tx);
    let limits = records.limits;
    let Some(history) = records.history_mut() else {
        head(Verdict::Inconclusive, Some(HISTORY_IS_OFF), (0, true), 0, reply);
        reply.array(0);
        return Ok(None);
    };
    let verification = Verification::new(wanted, limits);
    let entries = history.ring().len();
    Ok(read(history, entries, Verifying { verification, now }, reply))
}

/// Writes the reply up to the name of its last field, `findings`. `reason` says why the history is incomplete.
fn head(
    verdict: Verdict,
    reason: Option<&str>,
    (events, is_truncated): (u64, bool),
    left_out: u64,
    reply: &mut dyn Reply,
) {
    reply.map(6);
    reply.bulk(b"verdict");
    reply.bulk(verdict.name().as_bytes());
    reply.bulk(b"events");
    reply.integer(events as i64);
    reply.bulk(b"truncated");
    reply.integer(i64::from(is_truncated));
    reply.bulk(b"reason");
    match reason {
        Some(reason) => reply.bulk(reason.as_bytes()),
        None => reply.null(),
    }
    reply.bulk(b"left-out");
    reply.integer(i64::try_from(left_out).unwrap_or(i64::MAX));
    reply.bulk(b"findings");
}

fn write(ring: &Ring, finding: &Finding, reply: &mut dyn Reply) {
    reply.map(7);
    for (name, text) in [("level", finding.level.name()), ("invariant", finding.invariant)] {
        reply.bulk(name.as_bytes());
        reply.bulk(text.as_bytes());
    }
    reply.bulk(b"key");
    reply.bulk(ring.text(finding.key));
    reply.bulk(b"seqs");
    reply.array(finding.seqs.len());
    finding.seqs.iter().for_each(|&seq| reply.integer(seq as i64));
    reply.bulk(b"owners");
    reply.array(finding.owners.len());
    finding.owners.iter().for_each(|&owner| reply.bulk(ring.text(owner)));
    reply.bulk(b"evidence");
    let shown: Vec<String> = finding
        .seqs
        .iter()
        .filter_map(|&seq| ring.get(seq).map(|entry| evidence(ring, seq, entry)))
        .collect();
    reply.array(shown.len());
    shown.iter().for_each(|text| reply.bulk(text.as_bytes()));
    reply.bulk(b"text");
    reply.bulk(finding.text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::super::history::{Event, Happening, History, Mode};
    use super::super::super::records::VerifyLimits;
    use super::*;

    const ENTRIES: usize = 4000;

    /// Returns the memory, in bytes, of a verification that has read `ENTRIES` entries for each of `events`. Each entry
    /// has a lock and an owner of its own, and `change` completes it.
    fn memory(events: &[(Event, Option<bool>)], change: impl Fn(&mut Happening<'_>)) -> usize {
        let mut history = History::new(1 << 16, 7);
        for (event, native) in events {
            for at in 0..ENTRIES {
                let (key, owner) = (format!("lock-{at:08}"), format!("instance-{at:08}:{at}"));
                let mut happening = Happening {
                    native: *native,
                    grant: at as u64 + 1,
                    holds: i64::from(*event != Event::Released),
                    client: Some(at as u64 + 1),
                    ..Happening::new(*event, key.as_bytes(), owner.as_bytes())
                };
                change(&mut happening);
                history.record(Now { wall_us: 0, monotonic_us: 0 }, happening);
            }
        }
        let wanted = Wanted { key: None, level: Severity::Lint };
        let mut verifying = Verifying {
            verification: Verification::new(wanted, VerifyLimits::default()),
            now: Now { wall_us: 0, monotonic_us: 0 },
        };
        assert!(!verifying.go_on(history.ring(), events.len() * ENTRIES), "it has not come to the end");
        verifying.memory()
    }

    #[test]
    fn the_memory_of_a_reading_is_counted() {
        let empty = memory(&[(Event::Mark, None)], |_| ());
        let name = size_of::<u64>();
        for (event, native, words) in [
            (Event::Acquired, Some(true), 40),
            (Event::Queued, Some(true), 30),
            (Event::Queued, Some(false), 30),
            (Event::Refused, None, 10),
            (Event::Entered, None, 10),
            (Event::Permits, Some(true), 10),
            (Event::Fenced, Some(true), 3),
        ] {
            let known = memory(&[(event, native)], |_| ());
            assert!(known > empty + ENTRIES * words * name, "{event:?} {native:?}: {known} {empty}");
        }
    }

    #[test]
    fn forgotten_state_of_a_reading_is_no_longer_counted() {
        for (begin, end, native, mode) in [
            (Event::Acquired, Event::Released, Some(true), Mode::Exclusive),
            (Event::Queued, Event::LeftQueue, Some(true), Mode::Exclusive),
            (Event::Queued, Event::LeftQueue, Some(true), Mode::Fair),
            (Event::Queued, Event::LeftQueue, Some(false), Mode::Exclusive),
            (Event::Entered, Event::Left, None, Mode::Exclusive),
        ] {
            let of = |events: &[(Event, Option<bool>)]| memory(events, |happening| happening.mode = mode);
            let (begun, ended) = (of(&[(begin, native)]), of(&[(begin, native), (end, native)]));
            assert!(ended < begun, "{begin:?} {native:?} {mode:?}: {ended} {begun}");
        }
    }
}
