//! The entries of SLOWLOG: the latest slow calls.

use std::collections::VecDeque;

/// The maximum number of arguments in an entry. The last one then states how many are left out.
const MAX_ARGUMENTS: usize = 32;
/// The maximum length of a client's name in an entry, in bytes. The name itself may have any length.
const MAX_NAME_BYTES: usize = 1024;
/// The maximum length of an argument in an entry, in bytes. The rest is replaced by its length.
const MAX_ARGUMENT_BYTES: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlowLogEntry {
    /// The number of the entry, counted from 0. SLOWLOG RESET does not restart the count.
    pub(crate) id: u64,
    /// The end of the call, in seconds since the epoch.
    pub(crate) unix_time: i64,
    /// The duration of the call, in microseconds.
    pub(crate) took_us: u64,
    /// The command and its arguments, shortened.
    pub(crate) arguments: Vec<Box<[u8]>>,
    pub(crate) addr: String,
    pub(crate) name: Box<[u8]>,
}

/// The latest slow calls.
#[derive(Debug)]
pub(crate) struct SlowLog {
    /// The entries, latest first.
    entries: VecDeque<SlowLogEntry>,
    next_id: u64,
    max_len: usize,
    /// The minimum duration of a logged call, in nanoseconds.
    threshold_ns: u64,
}

impl SlowLog {
    /// Returns an empty log with these limits; see [`SlowLog::configure`].
    pub(crate) fn new(slower_than_us: i64, max_len: usize) -> Self {
        let mut log = SlowLog { entries: VecDeque::new(), next_id: 0, max_len, threshold_ns: 0 };
        log.configure(slower_than_us, max_len);
        log
    }

    /// Logs calls of at least `slower_than_us` microseconds, and keeps the last `max_len` of them. A negative threshold
    /// disables the log. Surplus entries are dropped when the next one is added.
    pub(crate) fn configure(&mut self, slower_than_us: i64, max_len: usize) {
        self.threshold_ns = u64::try_from(slower_than_us).map_or(u64::MAX, |us| us.saturating_mul(1000));
        self.max_len = max_len;
    }

    /// Returns the minimum duration of a logged call, in nanoseconds.
    pub(crate) fn threshold_ns(&self) -> u64 {
        self.threshold_ns
    }

    /// Whether a call of this duration is logged. A threshold of `u64::MAX` is never reached.
    #[inline]
    pub(crate) fn wants(&self, took_ns: u64) -> bool {
        took_ns >= self.threshold_ns
    }

    /// Adds an entry, and drops the oldest if there are too many. O(arguments), of which a bounded part is copied.
    pub(crate) fn add(&mut self, unix_time: i64, took_ns: u64, argv: &[&[u8]], addr: &str, name: &[u8]) {
        let arguments = shortened(argv);
        let (id, took_us) = (self.next_id, took_ns / 1000);
        self.entries.push_front(SlowLogEntry {
            id,
            unix_time,
            took_us,
            arguments,
            addr: addr.to_owned(),
            name: name[..name.len().min(MAX_NAME_BYTES)].into(),
        });
        self.next_id += 1;
        self.entries.truncate(self.max_len);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SlowLogEntry> {
        self.entries.iter()
    }

    /// Drops all entries.
    pub(crate) fn reset(&mut self) {
        self.entries.clear();
    }
}

/// Returns a command and its arguments in the shortened form of an entry.
fn shortened(argv: &[&[u8]]) -> Vec<Box<[u8]>> {
    let shown = if argv.len() > MAX_ARGUMENTS { MAX_ARGUMENTS - 1 } else { argv.len() };
    let mut arguments: Vec<Box<[u8]>> =
        argv[..shown].iter().map(|argument| shortened_argument(argument)).collect();
    if shown < argv.len() {
        arguments.push(format!("... ({} more arguments)", argv.len() - shown).into_bytes().into());
    }
    arguments
}

fn shortened_argument(argument: &[u8]) -> Box<[u8]> {
    match argument.len().checked_sub(MAX_ARGUMENT_BYTES) {
        None | Some(0) => argument.into(),
        Some(more) => {
            [&argument[..MAX_ARGUMENT_BYTES], format!("... ({more} more bytes)").as_bytes()].concat().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(argv: &[&[u8]]) -> Vec<String> {
        shortened(argv).iter().map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
    }

    #[test]
    fn long_requests_are_shortened() {
        assert_eq!(texts(&[&b"x".repeat(128)]), ["x".repeat(128)]);
        assert_eq!(texts(&[&b"x".repeat(200)]), [format!("{}... (72 more bytes)", "x".repeat(128))]);
        assert_eq!(texts(&vec![&b"a"[..]; 32]).len(), 32);
        let many = texts(&vec![&b"a"[..]; 71]);
        assert_eq!((many.len(), many[31].as_str()), (32, "... (40 more arguments)"));
    }

    #[test]
    fn the_latest_entries_are_kept_and_their_numbers_go_on() {
        let mut log = SlowLog::new(10, 2);
        assert!(log.wants(10_000) && !log.wants(9_999));
        for n in 0..4 {
            log.add(n, 12_345, &[b"GET"], "addr", b"");
        }
        assert_eq!(log.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3, 2]);
        log.reset();
        log.add(9, 12_345, &[b"GET"], "addr", b"name");
        assert_eq!((log.len(), log.iter().next().map(|entry| (entry.id, entry.took_us))), (1, Some((4, 12))));
        log.add(9, 12_345, &[b"GET"], "addr", &[b'n'; 5000]);
        assert_eq!(log.iter().next().map(|entry| entry.name.len()), Some(MAX_NAME_BYTES));
        log.configure(-1, 0);
        assert!(!log.wants(u64::MAX - 1));
        log.configure(0, 0);
        assert!(log.wants(0));
        log.add(9, 0, &[b"GET"], "addr", b"");
        assert_eq!(log.len(), 0);
    }
}
