//! `LOCK.HISTORY`: what happened to locks, and to those who use them.

use super::history::{Entry, Filter, Ring, format};
use super::ledger::LockLedger;
use crate::keyspace::Tx;
use crate::spec::{Args, CommandError, DataHandler, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

/// What commands answer that need the history while it is off.
pub(crate) const OFF: CommandError =
    CommandError::text("ERR the history of locks is off: CONFIG SET lock-history yes turns it on");

/// The flags of commands that read the history, or add to it.
pub(super) const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI]);

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.history", -1, history as DataHandler)
    .flags(&[FLAGS])
    .categories(&["lock", "control"])
    .about("lock", "7.2.0", "O(N), N the entries of the history")
    .summary("Tells what happened to locks, and to those who use them, in order.")
    .help(&[
        "LOCK.HISTORY [KEY <pattern>] [OWNER <pattern>] [SINCE <seq>] [COUNT <count>] [FORMAT MAP|JSON|EDN]",
        "    What happened to locks, after that number; EDN is the history of a Jepsen test.",
    ])
    .syntax("[KEY pattern] [OWNER pattern] [SINCE seq] [COUNT count] [FORMAT (MAP | JSON | EDN)]")
    .errors(&[
        "ERR syntax error: *",
        "ERR value is not an integer or out of range",
        "ERR value is out of range, must be positive",
        "ERR the history of locks is off: *",
    ])];

/// How the history is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Map,
    Json,
    Edn,
}

impl Format {
    fn parse(word: &[u8]) -> Option<Self> {
        let formats: [(&[u8], Format); 3] =
            [(b"map", Format::Map), (b"json", Format::Json), (b"edn", Format::Edn)];
        formats.into_iter().find_map(|(name, format)| word.eq_ignore_ascii_case(name).then_some(format))
    }
}

/// What a request asks for.
struct Options {
    filter: Filter,
    count: usize,
    format: Format,
}

impl Options {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let (mut filter, mut count, mut format) = (Filter::default(), None, None);
        for at in (1..args.len()).step_by(2) {
            if filter.option(args, at)? {
                continue;
            }
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            let is_new = if args.is(at, "count") {
                let most = args.int_in(at + 1, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
                count.replace(usize::try_from(most).unwrap_or(usize::MAX)).is_none()
            } else if args.is(at, "format") {
                format.replace(Format::parse(value).ok_or(errors::SYNTAX)?).is_none()
            } else {
                false
            };
            if !is_new {
                return Err(errors::SYNTAX);
            }
        }
        let (count, format) = (count.unwrap_or(usize::MAX), format.unwrap_or(Format::Map));
        Ok(Options { filter, count, format })
    }
}

fn history(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = Options::parse(args)?;
    let ring = ring(tx)?;
    let entries: Vec<(u64, &Entry)> = options.filter.of(ring).take(options.count).collect();
    match options.format {
        Format::Map => format::map::write(ring, &entries, reply),
        Format::Json => reply.bulk(format::json::text(ring, &entries).as_bytes()),
        Format::Edn => reply.bulk(format::edn::text(ring, &entries).as_bytes()),
    }
    Ok(())
}

/// The history.
///
/// Errors: it is off.
pub(super) fn ring<'t>(tx: &'t Tx<'_>) -> Result<&'t Ring, CommandError> {
    let ledger = tx.subscriber::<LockLedger>();
    Ok(ledger.and_then(LockLedger::history).ok_or(OFF)?.ring())
}
