//! A snapshot received from a master: `$` with its length, or with a mark that ends it.

use lockwheel_resp::allocation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The snapshot has this many bytes.
    Length(usize),
    /// The snapshot ends with these bytes.
    Mark([u8; 40]),
}

/// The snapshot that is being received.
#[derive(Debug, Default)]
pub(super) struct Transfer {
    end: Option<End>,
    bytes: Vec<u8>,
    /// The number of bytes in which the mark was searched for.
    searched: usize,
}

/// The result of receiving bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// The snapshot is not complete.
    Part,
    /// The complete snapshot, and the bytes after it.
    All(Vec<u8>, Vec<u8>),
    /// The master has no snapshot, or its announcement is invalid.
    Failed(String),
}

/// The maximum length of the line that announces a snapshot, in bytes.
const MAX_LINE: usize = 256;
const EOF: &[u8] = b"EOF:";

impl Transfer {
    /// Receives bytes. Memory grows with the received bytes, not with the announced size.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Arrived {
        allocation::append(&mut self.bytes, bytes);
        if self.end.is_none() {
            match self.read_line() {
                Ok(false) => return Arrived::Part,
                Ok(true) => {}
                Err(why) => return Arrived::Failed(why),
            }
        }
        let (len, behind) = match self.end {
            Some(End::Length(length)) if self.bytes.len() >= length => (length, length),
            Some(End::Mark(mark)) => match self.find(&mark) {
                Some(at) => (at, at + mark.len()),
                None => return Arrived::Part,
            },
            _ => return Arrived::Part,
        };
        let rest = self.bytes.split_off(behind);
        self.bytes.truncate(len);
        Arrived::All(std::mem::take(&mut self.bytes), rest)
    }

    /// Returns the number of received bytes, and the total size if known.
    pub(super) fn progress(&self) -> (usize, Option<usize>) {
        let total = match self.end {
            Some(End::Length(length)) => Some(length),
            _ => None,
        };
        (if self.end.is_some() { self.bytes.len() } else { 0 }, total)
    }

    /// Reads the line that announces the snapshot, if complete. Empty lines before it only keep the connection alive.
    fn read_line(&mut self) -> Result<bool, String> {
        let start = self.bytes.iter().position(|byte| *byte != b'\n').unwrap_or(self.bytes.len());
        self.bytes.drain(..start);
        let Some(end) = self.bytes.iter().take(MAX_LINE).position(|byte| *byte == b'\n') else {
            let is_long = self.bytes.len() >= MAX_LINE;
            return if is_long { Err("the line before the snapshot is too long".into()) } else { Ok(false) };
        };
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        let line = line.trim_ascii_end();
        let shown = || String::from_utf8_lossy(line).into_owned();
        let Some(announced) = line.strip_prefix(b"$") else {
            return Err(match line.strip_prefix(b"-") {
                Some(_) => format!("MASTER aborted replication with an error: {}", shown()),
                None => {
                    format!("Bad protocol from MASTER, the first byte is not '$' (we received '{}')", shown())
                }
            });
        };
        let mark = announced.strip_prefix(EOF).and_then(|mark| mark.try_into().ok()).map(End::Mark);
        let length = || std::str::from_utf8(announced).ok()?.parse().ok().map(End::Length);
        self.end =
            Some(mark.or_else(length).ok_or_else(|| format!("Bad protocol from MASTER: '{}'", shown()))?);
        const RECEIVING: &str = "MASTER <-> REPLICA sync: receiving";
        match self.end {
            Some(End::Length(length)) => tracing::info!("{RECEIVING} {length} bytes from master to disk"),
            _ => tracing::info!("{RECEIVING} streamed RDB from master with EOF to disk"),
        }
        Ok(true)
    }

    fn find(&mut self, mark: &[u8; 40]) -> Option<usize> {
        let from = self.searched.saturating_sub(mark.len() - 1);
        self.searched = self.bytes.len();
        self.bytes[from..].windows(mark.len()).position(|window| window == mark).map(|at| from + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCD";

    fn arrive(input: &[u8], piece: usize) -> Arrived {
        let mut transfer = Transfer::default();
        let mut rest = Vec::new();
        let mut pieces = input.chunks(piece);
        for bytes in pieces.by_ref() {
            match transfer.receive(bytes) {
                Arrived::Part => {}
                Arrived::All(snapshot, behind) => {
                    rest.extend(behind);
                    pieces.for_each(|bytes| rest.extend(bytes));
                    return Arrived::All(snapshot, rest);
                }
                failed => return failed,
            }
        }
        Arrived::Part
    }

    #[test]
    fn a_snapshot_arrives_in_pieces_of_any_size() {
        let marked = [b"\n\n$EOF:", MARK, b"\r\nsnap 0123456789", MARK, b"*1"].concat();
        for piece in 1..marked.len() + 1 {
            let all = Arrived::All(b"snap 0123456789".to_vec(), b"*1".to_vec());
            assert_eq!(arrive(&marked, piece), all, "{piece}");
            assert_eq!(arrive(&marked[..marked.len() - 3], piece), Arrived::Part);
            let sized = b"\n$4\r\nsnap*1";
            assert_eq!(arrive(sized, piece), Arrived::All(b"snap".to_vec(), b"*1".to_vec()), "{piece}");
        }
    }

    #[test]
    fn input_that_is_no_snapshot_is_refused() {
        for (input, why) in [
            (&b"-ERR no\r\n"[..], "MASTER aborted replication with an error: -ERR no"),
            (b"+OK\r\n", "Bad protocol from MASTER, the first byte is not '$' (we received '+OK')"),
            (b"$x\r\n", "Bad protocol from MASTER: '$x'"),
            (b"$-1\r\n", "Bad protocol from MASTER: '$-1'"),
            (b"$EOF:short\r\n", "Bad protocol from MASTER: '$EOF:short'"),
        ] {
            assert_eq!(arrive(input, 100), Arrived::Failed(why.to_owned()));
        }
        assert!(matches!(arrive(&[b'x'; 300], 7), Arrived::Failed(_)));
    }
}
