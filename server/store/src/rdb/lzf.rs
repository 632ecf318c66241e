//! LZF, a fast compression: runs of literal bytes, and copies of earlier bytes, at most 8 KiB before.
//!
//! A run is a byte `len - 1` below 32 and its bytes. A copy has 3 to 264 bytes. Its first byte has `len - 2` in the
//! upper three bits and the upper five bits of the distance. If the three bits are 7, the next byte has the rest of the
//! length. The lower eight bits of the distance follow.

use lockwheel_resp::allocation;

/// The most bytes of a literal run.
const MAX_RUN_BYTES: usize = 32;
/// The most bytes of a copy.
const MAX_COPY_BYTES: usize = 264;
/// The number of bytes that a copy may reach back.
const MAX_DISTANCE: usize = 1 << 13;
/// The most bytes of a compressed copy.
const COPY_BYTES: usize = 3;
const HASHES: usize = 1 << 16;

/// The most bytes that `compressed` bytes can expand to.
pub(super) fn largest_expansion(compressed: usize) -> usize {
    compressed.saturating_mul(MAX_COPY_BYTES.div_ceil(COPY_BYTES))
}

/// Decompresses `compressed`. Returns `None` unless the result has exactly `len` bytes and memory suffices. O(len),
/// which is at most 88 times the compressed length.
pub(super) fn decompress(compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    if len > largest_expansion(compressed.len()) {
        return None;
    }
    let mut out = allocation::try_with_capacity(len).ok()?;
    let mut rest = compressed;
    while let Some((&first, after)) = rest.split_first() {
        rest = if usize::from(first) < MAX_RUN_BYTES {
            let (run, after) = after.split_at_checked(usize::from(first) + 1)?;
            // The result must not exceed the announced length, which is reserved.
            if run.len() > len - out.len() {
                return None;
            }
            out.extend_from_slice(run);
            after
        } else {
            let (copy, distance, after) = read_copy(first, after)?;
            if copy > len - out.len() {
                return None;
            }
            append_copy(&mut out, copy, distance)?;
            after
        };
    }
    (out.len() == len).then_some(out)
}

/// The length and the distance of a copy, and the bytes behind it.
fn read_copy(first: u8, after: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (more, after) = if first >> 5 == 7 { after.split_first()? } else { (&0, after) };
    let (low, after) = after.split_first()?;
    let len = usize::from(first >> 5) + usize::from(*more) + 2;
    Some((len, usize::from(first & 0x1f) << 8 | usize::from(*low), after))
}

/// Appends `len` bytes from `distance + 1` bytes before the end. Appended bytes may be copied again.
fn append_copy(out: &mut Vec<u8>, len: usize, distance: usize) -> Option<()> {
    let from = out.len().checked_sub(distance + 1)?;
    let end = out.len() + len;
    while out.len() < end {
        // Each iteration doubles the bytes that can be copied.
        let count = (out.len() - from).min(end - out.len());
        out.extend_from_within(from..from + count);
    }
    Some(())
}

/// Compresses strings. The table of the last positions of byte triples is used again for the next string.
#[derive(Debug, Default)]
pub(super) struct Compressor {
    /// Positions plus one; 0: none. A power of two of slots, probed in turn from the triple's own on.
    seen: Vec<u32>,
}

impl Compressor {
    /// Appends `text`, compressed, if that takes at most `room` bytes; otherwise leaves `out` as it was. O(text).
    ///
    /// Chooses the same runs and copies as Redis: a copy is from the last position with the same hash. Positions are
    /// remembered for each byte, except within a copy, where only the last two are.
    pub(super) fn compress(&mut self, text: &[u8], room: usize, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        // Reserved memory that is never written costs nothing, but moving a large result as it grows takes time.
        allocation::reserve(out, room);
        let fits = u32::try_from(text.len()).is_ok_and(|len| len < u32::MAX);
        if fits && self.compress_into(text, start + room, out) {
            return true;
        }
        out.truncate(start);
        false
    }

    fn compress_into(&mut self, text: &[u8], end: usize, out: &mut Vec<u8>) -> bool {
        self.forget(text.len());
        let (mut at, mut run) = (0, 0..0);
        while at + 2 < text.len() {
            let Some((len, distance)) = self.find_copy(text, at) else {
                at += 1;
                run.end = at;
                if out.len() + run.len() >= end {
                    return false;
                }
                if run.len() == MAX_RUN_BYTES {
                    write_run(&text[run], out);
                    run = at..at;
                }
                continue;
            };
            write_run(&text[run], out);
            // Redis keeps a byte free for the run that may follow.
            if out.len() + COPY_BYTES + 1 >= end {
                return false;
            }
            write_copy(len, distance, out);
            at += len;
            run = at..at;
            if at + 2 >= text.len() {
                break;
            }
            self.remember(text, at - 2);
            self.remember(text, at - 1);
        }
        // Room for the header of the run and three bytes, as for a copy.
        if out.len() + run.len() + COPY_BYTES + 1 > end {
            return false;
        }
        text[run.start..].chunks(MAX_RUN_BYTES).for_each(|run| write_run(run, out));
        true
    }

    /// Clears the table, and sizes it for `len` positions.
    fn forget(&mut self, len: usize) {
        let slots = (len * 2).next_power_of_two().min(HASHES);
        self.seen.clear();
        allocation::reserve(&mut self.seen, slots);
        self.seen.resize(slots, 0);
    }

    /// The slot of the triple at `at`: that of an earlier one with its hash, or a free one. The table has two slots for
    /// each triple of the text, or one for each hash, so that the search ends.
    fn slot(&self, text: &[u8], at: usize) -> usize {
        let hash = hash(text, at);
        // With a slot for each hash, the text, which may be far from the cache, need not be read.
        if self.seen.len() == HASHES {
            return usize::from(hash);
        }
        let mask = self.seen.len() - 1;
        let mut slot = usize::from(hash) & mask;
        loop {
            match self.seen[slot] {
                0 => return slot,
                position if self::hash(text, position as usize - 1) == hash => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Records the triple at `at`; returns the previous position of its slot, plus one.
    fn remember(&mut self, text: &[u8], at: usize) -> u32 {
        let slot = self.slot(text, at);
        // The text is shorter than 2^32 bytes.
        std::mem::replace(&mut self.seen[slot], at as u32 + 1)
    }

    /// The length and the distance of a copy for the bytes at `at`. Records the position.
    fn find_copy(&mut self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        // Nothing is copied from the very first byte, as in Redis.
        let from = (self.remember(text, at) as usize).checked_sub(1).filter(|from| *from > 0)?;
        let distance = at - from - 1;
        if distance >= MAX_DISTANCE || text[from..from + 3] != text[at..at + 3] {
            return None;
        }
        let most = longest_copy(text.len() - at);
        Some((common_prefix(&text[from..from + most], &text[at..at + most]), distance))
    }
}

/// The length of the common prefix of two texts of equal length. O(prefix), eight bytes at a time.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let (words, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    let start = 8 * words.iter().zip(others).take_while(|(a, b)| a == b).count();
    start + one[start..].iter().zip(&other[start..]).take_while(|(a, b)| a == b).count()
}

/// The longest copy that Redis tries with `left` bytes left, at least three. It leaves two bytes over, unless its
/// unrolled loop has compared them already.
fn longest_copy(left: usize) -> usize {
    let most = MAX_COPY_BYTES.min(left - 2);
    most.max(if most > 16 { 19 } else { 3 })
}

/// Redis' hash of the three bytes at `at`.
fn hash(text: &[u8], at: usize) -> u16 {
    let (first, second) =
        (u16::from_be_bytes([text[at], text[at + 1]]), u16::from_be_bytes([text[at + 1], text[at + 2]]));
    first.wrapping_sub(second.wrapping_mul(5))
}

fn write_run(run: &[u8], out: &mut Vec<u8>) {
    if !run.is_empty() {
        // A run has at most 32 bytes.
        out.push((run.len() - 1) as u8);
        out.extend_from_slice(run);
    }
}

fn write_copy(len: usize, distance: usize, out: &mut Vec<u8>) {
    let (len, high) = (len - 2, (distance >> 8) as u8);
    if len < 7 {
        out.push((len as u8) << 5 | high);
    } else {
        out.extend([7 << 5 | high, (len - 7) as u8]);
    }
    out.push(distance as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compressed(text: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Compressor::default().compress(text, room, &mut out).then_some(out)
    }

    /// Compares the bytes with those that redis-server 7.0.15 stores for these texts.
    #[test]
    fn the_decision_to_compress_equals_that_of_the_real_server() {
        assert_eq!(compressed(&[b'a'; 30], 26), Some(b"\x01aa\xe0\x11\x00\x01aa".to_vec()));
        let alphabet = b"abcdefghijklmnopqrstuvwxyz";
        assert_eq!(compressed(alphabet, 22), None);
        let twice = b"\x1aabcdefghijklmnopqrstuvwxyza\xe0\x0e\x19\x01yz".to_vec();
        assert_eq!(compressed(&alphabet.repeat(2), 48), Some(twice));
        let long = b"\x01aa\xe0\xff\x00\xe0\x17\x00\x01aa".to_vec();
        assert_eq!(compressed(&[b'a'; 300], 296), Some(long));
    }

    #[test]
    fn incomplete_compressed_data_are_refused() {
        let whole = compressed(&[b'a'; 300], 100).unwrap();
        assert_eq!(decompress(&whole, 300), Some(vec![b'a'; 300]));
        for (bytes, len) in [
            (&whole[..], 299),
            (&whole[..], 301),
            (&whole[..], usize::MAX),
            (&whole[..whole.len() - 1], 300),
            (b"\x20\x00", 3),
            (b"\x05abc", 6),
            (b"\xe0", 9),
            (b"\xe0\x01", 10),
        ] {
            assert_eq!(decompress(bytes, len), None, "{bytes:?} {len}");
        }
        assert_eq!(decompress(b"", 0), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn compressed_data_are_decompressed(
            words in prop::collection::vec((0_u8..4, 0_usize..400), 0..40),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut text: Vec<u8> = words.into_iter().flat_map(|(byte, len)| vec![byte; len]).collect();
            text.extend(noise);
            if let Some(out) = compressed(&text, text.len()) {
                prop_assert!(out.len() <= text.len());
                prop_assert_eq!(decompress(&out, text.len()), Some(text));
            }
        }

        #[test]
        fn any_input_is_refused_or_has_the_announced_length(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            len in 0_usize..400,
        ) {
            prop_assert!(decompress(&bytes, len).is_none_or(|out| out.len() == len));
        }
    }
}
