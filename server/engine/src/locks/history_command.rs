//! `LOCK.HISTORY`: the events of locks and of their clients.

use super::history::format::edn::Operations;
use super::history::format::line::Lines;
use super::history::{Filter, Ring, format};
use super::history_work::{BYTES_PER_ENTRY, HistoryHandler, HistoryWork, Reading, read};
use super::records::LockRecords;
use crate::spec::{Args, CommandError, CommandGrammar, Flags, Row, grammar, symbols};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::memory::vec_heap_bytes;

/// The error of commands that need the history while it is off.
pub(crate) const OFF: CommandError =
    CommandError::text("ERR the history of locks is off: CONFIG SET lock-history yes turns it on");

pub(super) const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI]);

const HISTORY: &CommandGrammar = grammar!(
    "[KEY pattern] [OWNER pattern] [SINCE seq:0..] [COUNT count:0..] [FORMAT (MAP | JSON | EDN | TEXT)]"
);

symbols!(HISTORY: KEY, OWNER, SINCE, COUNT, JSON, EDN, TEXT);

pub(super) const ROWS: &[Row<HistoryHandler>] = &[Row::new("lock.history", -1, history as HistoryHandler)
    .flags(&[FLAGS])
    .categories(&["lock", "control"])
    .about("lock", "7.2.0", "O(N), N the entries of the history")
    .summary("Returns the recorded events of locks and of the clients that use them, in order.")
    .reply(
        "A map: `first` and `last`, the numbers of entries; `truncated`, 1 if older entries \
         have gone; `entries`, an array of maps. With FORMAT JSON, EDN or TEXT, a text.",
    )
    .options(&[&[
        ("KEY pattern", "Only entries of keys that match this glob pattern."),
        ("OWNER pattern", "Only entries of owners that match this glob pattern."),
        ("SINCE seq", "Only entries after the one with this number."),
        ("COUNT count", "At most this many entries, the first ones."),
        ("FORMAT", "Followed by the form of the reply."),
        ("MAP", "Maps. This is the default."),
        ("JSON", "One JSON text."),
        ("EDN", "The history format of Jepsen."),
        ("TEXT", "A line for each entry, and one line for many clients that connect or disconnect."),
    ]])
    .example(&["CONFIG SET lock-history yes", "LOCK.ACQUIRE order:42 alice PX 10000", "LOCK.HISTORY COUNT 1"])
    .help(&[
        "LOCK.HISTORY [KEY <pattern>] [OWNER <pattern>] [SINCE <seq>] [COUNT <count>] [FORMAT MAP|JSON|EDN|TEXT]",
        "    Return the events of locks, after the entry SINCE. EDN is the history format of Jepsen, TEXT",
        "    has a line for each entry.",
    ])
    .grammar(HISTORY)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is not an integer or out of range: *",
        "ERR value is out of range, must be positive: *",
        "ERR the pattern is longer than 4096 bytes",
        "ERR the history of locks is off: *",
    ])];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Map,
    Json,
    Edn,
    Text,
}

#[derive(Debug)]
struct Options {
    filter: Filter,
    count: usize,
    format: Format,
}

impl Options {
    fn of(args: Args<'_>) -> Result<Self, CommandError> {
        let options = HISTORY.parse(args)?;
        let filter = Filter::of(&options, [KEY, OWNER, SINCE])?;
        let count = options.number(COUNT)?.and_then(|count| usize::try_from(count).ok());
        let format = options.one_of(&[(JSON, Format::Json), (EDN, Format::Edn), (TEXT, Format::Text)]);
        Ok(Options { filter, count: count.unwrap_or(usize::MAX), format: format.unwrap_or(Format::Map) })
    }
}

/// The history in the course of being written. First the wanted entries are searched, then they are written.
#[derive(Debug)]
struct Listing {
    options: Options,
    protocol: Protocol,
    /// The number of the last examined entry.
    seen: u64,
    /// The wanted entries, and the number of them that have been written.
    wanted: Vec<u64>,
    written: usize,
    /// The wanted entries as operations, for EDN.
    operations: Operations,
    lines: Lines,
    text: Vec<u8>,
}

impl Listing {
    /// Searches the next `count` entries for wanted ones. Returns whether the search is complete.
    fn look(&mut self, ring: &Ring, count: usize) -> bool {
        let (mut looked, mut found) = (0, Vec::new());
        for (seq, entry) in ring.after(self.seen).take(count) {
            if self.wanted.len() + found.len() == self.options.count {
                return self.found(found, true);
            }
            if self.options.filter.wants(ring, entry) {
                found.push(seq);
                if self.options.format == Format::Edn {
                    self.operations.take_in(ring, seq, entry);
                }
            }
            (self.seen, looked) = (seq, looked + 1);
        }
        self.found(found, looked < count)
    }

    fn found(&mut self, mut found: Vec<u64>, is_end: bool) -> bool {
        self.wanted.append(&mut found);
        if is_end {
            self.seen = u64::MAX - 1;
        }
        is_end
    }

    /// Writes up to `count` more entries or operations. Returns whether they were the last.
    fn write_some(&mut self, ring: &Ring, count: usize) -> bool {
        let (format, protocol) = (self.options.format, self.protocol);
        let full = self.text.len().saturating_add(count.saturating_mul(BYTES_PER_ENTRY));
        match format {
            Format::Edn => return self.operations.write_some(ring, (count, full), &mut self.text),
            Format::Map if self.written == 0 => {
                format::map::head(ring, self.wanted.len(), (&mut self.text, protocol));
            }
            Format::Json if self.written == 0 => format::json::head(ring, &mut self.text),
            Format::Map | Format::Json | Format::Text => {}
        }
        let end = self.written.saturating_add(count).min(self.wanted.len());
        while self.written < end && self.text.len() < full {
            let at = self.written;
            self.written += 1;
            let seq = self.wanted[at];
            let Some(entry) = ring.get(seq) else { continue };
            match format {
                Format::Json => format::json::entry(ring, (seq, entry), at == 0, &mut self.text),
                Format::Text => self.lines.entry(ring, (seq, entry), &mut self.text),
                _ => format::map::entry(ring, (seq, entry), (&mut self.text, protocol)),
            }
        }
        let is_end = self.written == self.wanted.len();
        if is_end {
            self.lines.end(ring, &mut self.text);
        }
        is_end
    }
}

impl Reading for Listing {
    fn go_on(&mut self, ring: &Ring, count: usize) -> bool {
        if self.seen != u64::MAX - 1 && !self.look(ring, count) {
            return false;
        }
        self.write_some(ring, count)
    }

    fn write(&mut self, _: &Ring, reply: &mut dyn Reply) {
        let mut text = std::mem::take(&mut self.text);
        match self.options.format {
            Format::Map => reply.append(&text),
            Format::Json => {
                format::json::tail(&mut text);
                reply.bulk(&text);
            }
            Format::Edn | Format::Text => reply.bulk(&text),
        }
    }

    fn memory(&self) -> usize {
        vec_heap_bytes(&self.wanted)
            + vec_heap_bytes(&self.text)
            + self.operations.memory()
            + self.lines.memory()
    }
}

/// Fails if an option of a `LOCK.HISTORY` request or its value is wrong.
pub(crate) fn check_request(args: Args<'_>) -> Result<(), CommandError> {
    Options::of(args).map(drop)
}

fn history(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Option<Box<dyn HistoryWork>>, CommandError> {
    let options = Options::of(args)?;
    let (records, _) = LockRecords::of_mut(tx);
    let history = records.history_mut().ok_or(OFF)?;
    let ring = history.ring();
    let seen = options.filter.since;
    let after = usize::try_from(ring.next().saturating_sub(seen.max(ring.first()))).unwrap_or(usize::MAX);
    let is_filtered = options.filter.key.is_some() || options.filter.owner.is_some();
    let entries = if is_filtered { after } else { after.min(options.count) }.min(ring.len());
    let (protocol, wanted, text) = (reply.protocol(), Vec::new(), Vec::new());
    let (operations, lines) = (Operations::default(), Lines::default());
    let listing = Listing { options, protocol, seen, wanted, written: 0, operations, lines, text };
    Ok(read(history, entries, listing, reply))
}

#[cfg(test)]
mod tests {
    use super::super::history::{Event, Happening, History};
    use super::*;
    use lockwheel_store::time::Now;

    fn history(entries: usize, bytes: usize) -> History {
        let mut history = History::new(1 << 16, 7);
        for at in 0..entries {
            let key = format!("{at:0bytes$}");
            history.record(
                Now { wall_us: 0, monotonic_us: 0 },
                Happening { client: Some(1), ..Happening::new(Event::Refused, key.as_bytes(), b"owner") },
            );
        }
        history
    }

    fn listing(format: Format) -> Listing {
        let options = Options { filter: Filter::default(), count: usize::MAX, format };
        let (wanted, text) = (Vec::new(), Vec::new());
        let (operations, lines) = (Operations::default(), Lines::default());
        Listing { options, protocol: Protocol::Resp3, seen: 0, wanted, written: 0, operations, lines, text }
    }

    #[test]
    fn the_operations_of_a_reading_in_edn_are_counted() {
        let history = history(4000, 8);
        let [json, edn] = [Format::Json, Format::Edn].map(|format| {
            let mut listing = listing(format);
            assert!(!listing.go_on(history.ring(), 4000), "it has not come to the end");
            listing.memory()
        });
        // An invocation and its end for each entry, of a few words each.
        assert!(edn > json + 2 * 4000 * 5 * size_of::<u64>(), "{edn} {json}");
    }

    #[test]
    fn a_piece_writes_few_long_names() {
        let history = history(2000, 1000);
        for format in [Format::Map, Format::Json, Format::Edn] {
            let (mut listing, mut pieces, mut longest) = (listing(format), 1, 0);
            let mut before = 0;
            while !listing.go_on(history.ring(), 1000) {
                pieces += 1;
                longest = longest.max(listing.text.len() - before);
                before = listing.text.len();
            }
            assert!(pieces > 5 && longest < 400_000, "{format:?}: {pieces}, {longest}");
            assert!(listing.text.len() > 2_000_000);
        }
    }
}
