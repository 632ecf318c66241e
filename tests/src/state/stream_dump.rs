//! The DUMP of a stream with its times separated: the delivery times of entries and the times of consumers, which two
//! servers read from two clocks.

use std::ops::Range;

/// The form of a stream in Redis 7.0.
const STREAM_2: u8 = 19;
/// The form of a stream in Redis 7.2, in which consumers have a second time.
const STREAM_3: u8 = 21;
/// The sizes of the fields that end a DUMP: the version, then a checksum.
const VERSION_BYTES: usize = 2;
const CHECKSUM_BYTES: usize = 8;

/// The contents of a DUMP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StreamDump {
    /// All bytes except the form, second times, consumers that have nothing, version and checksum; the times are set to
    /// 0.
    bytes: Vec<u8>,
    /// The times in milliseconds since 1970, in their order.
    times_ms: Vec<u64>,
}

impl StreamDump {
    /// Reads a DUMP. Returns `None` if it is not that of a stream in the form of Redis 7.0 or 7.2.
    pub(super) fn read(dump: &[u8]) -> Option<StreamDump> {
        let mut reader = Reader { dump, at: 0, times: Vec::new(), left_out: Vec::new() };
        reader.stream()?;
        let end = reader.at;
        if end + VERSION_BYTES + CHECKSUM_BYTES != dump.len() {
            return None;
        }
        let mut bytes = dump[..end].to_vec();
        let mut times_ms = Vec::new();
        for range in reader.times {
            times_ms.push(u64::from_le_bytes(dump[range.clone()].try_into().ok()?));
            bytes[range].fill(0);
        }
        reader.left_out.into_iter().rev().for_each(|range| drop(bytes.drain(range)));
        bytes.remove(0);
        Some(StreamDump { bytes, times_ms })
    }

    /// Whether two dumps are equal, with times at most this number of milliseconds apart.
    pub(super) fn agrees(&self, other: &StreamDump, apart_ms: u64) -> bool {
        let mut times = self.times_ms.iter().zip(&other.times_ms);
        // Equal bytes imply equally many times.
        self.bytes == other.bytes && times.all(|(one, other)| one.abs_diff(*other) <= apart_ms)
    }
}

struct Reader<'a> {
    dump: &'a [u8],
    at: usize,
    /// The ranges of the times.
    times: Vec<Range<usize>>,
    /// The ranges of the parts that only Redis 7.2 has, in order: second times, and consumers that have nothing, with
    /// the number of consumers.
    left_out: Vec<Range<usize>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.dump.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn stream(&mut self) -> Option<()> {
        let has_second_times = match self.take(1)? {
            [STREAM_2] => false,
            [STREAM_3] => true,
            _ => return None,
        };
        for _ in 0..self.number()? {
            self.string()?;
            self.string()?;
        }
        // The length, three ids of two numbers each, and the number of entries ever added.
        self.numbers(1 + 3 * 2 + 1)?;
        (0..self.number()?).try_for_each(|_| self.group(has_second_times))
    }

    fn group(&mut self, has_second_times: bool) -> Option<()> {
        self.string()?;
        // The last id, and the number of entries read.
        self.numbers(2 + 1)?;
        for _ in 0..self.number()? {
            self.id()?;
            self.time()?;
            self.number()?;
        }
        let start = self.at;
        let consumers = self.number()?;
        self.left_out.push(start..self.at);
        (0..consumers).try_for_each(|_| self.consumer(has_second_times))?;
        Some(())
    }

    fn consumer(&mut self, has_second_times: bool) -> Option<()> {
        let start = self.at;
        self.string()?;
        let times = self.at;
        self.take(if has_second_times { 16 } else { 8 })?;
        let end = self.at;
        let ids = self.number()?;
        (0..ids).try_for_each(|_| self.id())?;
        if ids == 0 {
            self.left_out.push(start..self.at);
        } else {
            self.times.push(times..times + 8);
            self.left_out.push(times + 8..end);
        }
        Some(())
    }

    fn id(&mut self) -> Option<()> {
        self.take(16).map(drop)
    }

    fn time(&mut self) -> Option<()> {
        let start = self.at;
        self.take(8)?;
        self.times.push(start..self.at);
        Some(())
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    /// A number of 6, 14, 32 or 64 bits.
    fn number(&mut self) -> Option<u64> {
        let first = *self.take(1)?.first()?;
        let bytes = match first {
            0..0x40 => return Some(first.into()),
            0x40..0x80 => return Some(u64::from(first & 0x3f) << 8 | u64::from(*self.take(1)?.first()?)),
            0x80 => self.take(4)?,
            0x81 => self.take(8)?,
            _ => return None,
        };
        Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A string: bytes, an integer of 1, 2 or 4 bytes, or compressed.
    fn string(&mut self) -> Option<()> {
        let len = match *self.dump.get(self.at)? {
            form @ 0xc0..=0xc2 => {
                self.take(1)?;
                1 << (form & 3)
            }
            0xc3 => {
                self.take(1)?;
                let len = self.number()?;
                self.number()?;
                len
            }
            _ => self.number()?,
        };
        self.take(len.try_into().ok()?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Client, split};
    use crate::redis_server::{Kind, RealServer};

    fn dump(client: &mut Client, lines: &[&str]) -> StreamDump {
        client.line("FLUSHALL");
        for line in lines {
            assert!(!client.cmd(&split(line)).is_error(), "{line}");
        }
        StreamDump::read(client.line("DUMP x").as_bytes().unwrap()).unwrap()
    }

    /// Two pending entries, delivered 100 seconds ago, and two consumers.
    fn lines(delivered: &str) -> [String; 7] {
        let last = format!("XCLAIM x g d 0 1-1 TIME {delivered} RETRYCOUNT 1");
        let lines = [
            "XADD x 1-1 number 1000 text a.text.that.repeats.a.text.that.repeats.a.text.that.repeats",
            "XADD x 2-1 number 70000 text t",
            "XGROUP CREATE x g 0",
            "XREADGROUP GROUP g c STREAMS x >",
            "XGROUP CREATE x other $ ENTRIESREAD 2",
            "XGROUP CREATECONSUMER x other e",
        ];
        let mut lines = lines.map(String::from).to_vec();
        lines.push(last);
        lines.try_into().unwrap()
    }

    #[test]
    fn times_may_differ_and_nothing_else() {
        let Some(server) = RealServer::start(Kind::Redis, &[]) else { return };
        let mut client = Client::connect(server.addr());
        let mut read =
            |lines: &[String]| dump(&mut client, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let (one, other) = (read(&lines("1000000")), read(&lines("1000007")));
        // Two entries, and the two consumers that have them.
        assert_eq!(one.times_ms.len(), 4);
        assert!(one.agrees(&other, 1_000_000) && !one.agrees(&other, 6));
        let mut more = lines("1000000").to_vec();
        more.push("XADD x 3-1 f v".to_string());
        assert!(!one.agrees(&read(&more), 1_000_000));
        *more.last_mut().unwrap() = "XACK x g 1-1".to_string();
        assert!(!one.agrees(&read(&more), 1_000_000));
    }

    #[test]
    fn other_values_are_not_read() {
        assert_eq!(StreamDump::read(b""), None);
        assert_eq!(StreamDump::read(b"\x00\xc0\x01\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00"), None);
    }
}
