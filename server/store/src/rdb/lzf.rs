//! LZF, a fast compression: runs of literal bytes, and copies of what came at most 8 KiB before.
//!
//! A run is a byte `len - 1` below 32 and its bytes. A copy of 3 to 264 bytes is a byte with `len - 2` in its upper
//! three bits (7: the next byte has the rest) and the upper five bits of the distance, then its lower eight.

use lockwheel_resp::allocation;

/// Bytes of a literal run at most.
const RUN_MAX: usize = 32;
/// Bytes of a copy at most.
const COPY_MAX: usize = 264;
/// How far back a copy may reach.
const DISTANCE_MAX: usize = 1 << 13;
/// Bytes that a compressed copy takes at most.
const COPY_BYTES: usize = 3;
/// How many hashes there are.
const HASHES: usize = 1 << 16;

/// The most bytes that `compressed` bytes can stand for.
pub(super) fn largest_expansion(compressed: usize) -> usize {
    compressed.saturating_mul(COPY_MAX.div_ceil(COPY_BYTES))
}

/// The bytes that `compressed` stands for, if they are `len` exactly and there is memory for them. O(len), which is at
/// most 88 times what there is.
pub(super) fn decompress(compressed: &[u8], len: usize) -> Option<Vec<u8>> {
    if len > largest_expansion(compressed.len()) {
        return None;
    }
    let mut out = allocation::try_with_capacity(len).ok()?;
    let mut rest = compressed;
    while let Some((&first, after)) = rest.split_first() {
        rest = if usize::from(first) < RUN_MAX {
            let (run, after) = after.split_at_checked(usize::from(first) + 1)?;
            // Not a byte more than announced, and reserved.
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

/// The length and distance of a copy, and what follows it.
fn read_copy(first: u8, after: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (more, after) = if first >> 5 == 7 { after.split_first()? } else { (&0, after) };
    let (low, after) = after.split_first()?;
    let len = usize::from(first >> 5) + usize::from(*more) + 2;
    Some((len, usize::from(first & 0x1f) << 8 | usize::from(*low), after))
}

/// Appends `len` bytes that begin `distance + 1` bytes before the end; what is appended may be copied again.
fn append_copy(out: &mut Vec<u8>, len: usize, distance: usize) -> Option<()> {
    let from = out.len().checked_sub(distance + 1)?;
    let end = out.len() + len;
    while out.len() < end {
        // Each turn doubles what there is to copy.
        let count = (out.len() - from).min(end - out.len());
        out.extend_from_within(from..from + count);
    }
    Some(())
}

/// Compresses, with memory for where byte triples were seen last that is used again for the next text.
#[derive(Debug, Default)]
pub(super) struct Compressor {
    /// Positions plus one, 0 for none; a power of two of them. Tried one after the other from the triple's own on.
    seen: Vec<u32>,
}

impl Compressor {
    /// Appends `text`, compressed, if that takes at most `room` bytes; else leaves `out` as it was. O(text).
    ///
    /// Chooses the same runs and copies as Redis: the last place that had the same hash, remembered for each byte but
    /// for those within a copy, of which the last two are.
    pub(super) fn compress(&mut self, text: &[u8], room: usize, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        // What is never written to takes no memory; moving a large text as it grows would take time.
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
                if run.len() == RUN_MAX {
                    write_run(&text[run], out);
                    run = at..at;
                }
                continue;
            };
            write_run(&text[run], out);
            // Redis keeps a byte of room for the run that may follow.
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
        // As with a copy: room for the header of the run, and three bytes.
        if out.len() + run.len() + COPY_BYTES + 1 > end {
            return false;
        }
        text[run.start..].chunks(RUN_MAX).for_each(|run| write_run(run, out));
        true
    }

    /// Makes the memory empty, and as large as `len` positions need.
    fn forget(&mut self, len: usize) {
        let slots = (len * 2).next_power_of_two().min(HASHES);
        self.seen.clear();
        allocation::reserve(&mut self.seen, slots);
        self.seen.resize(slots, 0);
    }

    /// The slot of the triple at `at`: that of an earlier one with the same hash, or a free one.
    ///
    /// A text has two slots for each of its triples, or one for each hash, so that the search ends.
    fn slot(&self, text: &[u8], at: usize) -> usize {
        let hash = hash(text, at);
        // With a slot for each hash nothing is looked up in the text, which may be far from the cache.
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

    /// Notes the triple at `at`; the position that its slot had before, plus one.
    fn remember(&mut self, text: &[u8], at: usize) -> u32 {
        let slot = self.slot(text, at);
        // The text is shorter than 2^32 bytes.
        std::mem::replace(&mut self.seen[slot], at as u32 + 1)
    }

    /// The length and distance of a copy for what begins at `at`, which is remembered.
    fn find_copy(&mut self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        // As in Redis, nothing is copied from the very first byte.
        let from = (self.remember(text, at) as usize).checked_sub(1).filter(|from| *from > 0)?;
        let distance = at - from - 1;
        if distance >= DISTANCE_MAX || text[from..from + 3] != text[at..at + 3] {
            return None;
        }
        let most = longest_copy(text.len() - at);
        Some((common_prefix(&text[from..from + most], &text[at..at + most]), distance))
    }
}

/// How many bytes two texts of one length have in common at their beginning. O(that), eight at a time.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let (words, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    let start = 8 * words.iter().zip(others).take_while(|(a, b)| a == b).count();
    start + one[start..].iter().zip(&other[start..]).take_while(|(a, b)| a == b).count()
}

/// The longest copy that Redis tries with so many bytes left, of which there are three: it leaves two over, unless its
/// unrolled loop has compared them already.
fn longest_copy(left: usize) -> usize {
    let most = COPY_MAX.min(left - 2);
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

    /// As redis-server 7.0.15 stores these texts.
    #[test]
    fn chooses_what_the_real_server_chooses() {
        assert_eq!(compressed(&[b'a'; 30], 26), Some(b"\x01aa\xe0\x11\x00\x01aa".to_vec()));
        let alphabet = b"abcdefghijklmnopqrstuvwxyz";
        assert_eq!(compressed(alphabet, 22), None);
        let twice = b"\x1aabcdefghijklmnopqrstuvwxyza\xe0\x0e\x19\x01yz".to_vec();
        assert_eq!(compressed(&alphabet.repeat(2), 48), Some(twice));
        let long = b"\x01aa\xe0\xff\x00\xe0\x17\x00\x01aa".to_vec();
        assert_eq!(compressed(&[b'a'; 300], 296), Some(long));
    }

    #[test]
    fn what_is_not_whole_is_refused() {
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
        fn what_was_compressed_comes_back(
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
        fn anything_is_refused_or_as_long_as_announced(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            len in 0_usize..400,
        ) {
            prop_assert!(decompress(&bytes, len).is_none_or(|out| out.len() == len));
        }
    }
}
