//! MONITOR: the clients that are shown every call, and how a call is shown.

use lockwheel_resp::allocation;
use std::fmt::Write;

/// The clients that are shown every call, in the order in which they asked for it.
#[derive(Debug, Default)]
pub(crate) struct Monitors {
    clients: Vec<u64>,
}

impl Monitors {
    /// A client is shown calls from now on.
    pub(crate) fn add(&mut self, client: u64) {
        self.clients.push(client);
    }

    /// A client is shown no more calls. O(monitors).
    pub(crate) fn remove(&mut self, client: u64) {
        self.clients.retain(|&one| one != client);
    }

    /// Whether no client is shown calls. O(1).
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub(crate) fn clients(&self) -> &[u64] {
        &self.clients
    }
}

/// A call as a line: when it was made, in microseconds since the epoch, on which database, by whom, and its arguments.
pub(crate) fn line(wall_us: i64, db: usize, by: &str, argv: &[&[u8]]) -> String {
    let (seconds, us) = (wall_us.div_euclid(1_000_000), wall_us.rem_euclid(1_000_000));
    let mut line = format!("{seconds}.{us:06} [{db} {by}]");
    let bytes = argv.iter().map(|argument| argument.len() + 3).sum::<usize>();
    // Each byte may become an escape of four.
    allocation::check(bytes.saturating_mul(4)).unwrap_or_else(|error| error.unwind());
    line.reserve(bytes);
    for argument in argv {
        line.push_str(" \"");
        argument.iter().for_each(|&byte| push_quoted(&mut line, byte));
        line.push('"');
    }
    line
}

/// Appends a byte as it stands between quotes: what cannot be printed is written as an escape.
fn push_quoted(line: &mut String, byte: u8) {
    match byte {
        b'\\' | b'"' => line.extend(['\\', char::from(byte)]),
        b'\n' => line.push_str("\\n"),
        b'\r' => line.push_str("\\r"),
        b'\t' => line.push_str("\\t"),
        0x07 => line.push_str("\\a"),
        0x08 => line.push_str("\\b"),
        b' '..=b'~' => line.push(char::from(byte)),
        _ => {
            // Writing to a string does not fail.
            let _ = write!(line, "\\x{byte:02x}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_line_with_quoted_arguments() {
        assert_eq!(
            line(1_700_000_000_000_042, 3, "127.0.0.1:5000", &[b"get", b"k"]),
            "1700000000.000042 [3 127.0.0.1:5000] \"get\" \"k\""
        );
        let all: Vec<u8> = (0..=255).collect();
        let shown = line(-1, 0, "lua", &[&all, b""]);
        assert!(shown.starts_with("-1.999999 [0 lua] \"\\x00\\x01\\x02"), "{shown}");
        assert!(shown.contains("\\x06\\a\\b\\t\\n\\x0b\\x0c\\r\\x0e"), "{shown}");
        assert!(shown.contains("\\x1f !\\\"#") && shown.contains("[\\\\]") && shown.contains("~\\x7f\\x80"));
        assert!(shown.ends_with("\\xff\" \"\""), "{shown}");
    }

    #[test]
    fn a_removed_monitor_is_no_longer_listed() {
        let mut monitors = Monitors::default();
        [3, 1, 2].into_iter().for_each(|client| monitors.add(client));
        monitors.remove(1);
        monitors.remove(7);
        assert_eq!((monitors.clients(), monitors.is_empty()), (&[3, 2][..], false));
    }
}
