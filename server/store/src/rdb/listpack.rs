//! The listpack: strings and integers in one block of memory, the form of small values in Redis 7.0 and later.
//!
//! Four bytes are the length of the whole, two the number of entries (65,535 for that many and more). A byte 0xff
//! follows the entries. An entry is its data, which begins with its kind and length, followed by the length of the
//! data. That length has seven bits a byte, and is read from the end.

use super::reader::{Corrupt, Reader};
use crate::values::{Text, parse_integer};
use lockwheel_resp::allocation;

/// The bytes before the first entry.
const HEADER: usize = 6;
/// The last byte.
const END: u8 = 0xff;
/// The number of entries that stands for at least that many.
const MANY: u16 = u16::MAX;

/// A listpack whose entries have all been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listpack<'a> {
    entries: &'a [u8],
    len: usize,
}

impl<'a> Listpack<'a> {
    /// Checks all of a listpack. O(bytes).
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let mut reader = Reader::new(bytes);
        let (size, count) = (u32::from_le_bytes(reader.array()?), u16::from_le_bytes(reader.array()?));
        let (end, entries) = bytes[HEADER..].split_last().ok_or(Corrupt)?;
        if size as usize != bytes.len() || *end != END {
            return Err(Corrupt);
        }
        let (mut rest, mut len) = (Reader::new(entries), 0);
        while !rest.is_at_end() {
            read_entry(&mut rest)?;
            len += 1;
        }
        let is_counted = count == MANY || usize::from(count) == len;
        if is_counted { Ok(Self { entries, len }) } else { Err(Corrupt) }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Text<'a>> + Clone {
        let mut rest = Reader::new(self.entries);
        std::iter::from_fn(move || read_entry(&mut rest).ok())
    }
}

/// One entry, which ends with its own length.
fn read_entry<'a>(reader: &mut Reader<'a>) -> Result<Text<'a>, Corrupt> {
    let before = reader.left();
    let text = read_data(reader)?;
    let mut length = [0; 5];
    let length = reversed_length(before - reader.left(), &mut length);
    if reader.bytes(length.len())? == length { Ok(text) } else { Err(Corrupt) }
}

fn read_data<'a>(reader: &mut Reader<'a>) -> Result<Text<'a>, Corrupt> {
    let first = reader.byte()?;
    let low = |bits: u8| usize::from(first & ((1 << bits) - 1));
    let length = match first {
        0..0x80 => return Ok(Text::int(i64::from(first))),
        0x80..0xc0 => low(6),
        0xc0..0xe0 => {
            let value = (low(5) << 8 | usize::from(reader.byte()?)) as i64;
            return Ok(Text::int(if value < 1 << 12 { value } else { value - (1 << 13) }));
        }
        0xe0..0xf0 => low(4) << 8 | usize::from(reader.byte()?),
        0xf0 => u32::from_le_bytes(reader.array()?) as usize,
        0xf1 => return Ok(Text::int(i64::from(i16::from_le_bytes(reader.array()?)))),
        0xf2 => return Ok(Text::int(i64::from(read_i24(reader)?))),
        0xf3 => return Ok(Text::int(i64::from(i32::from_le_bytes(reader.array()?)))),
        0xf4 => return Ok(Text::int(i64::from_le_bytes(reader.array()?))),
        _ => return Err(Corrupt),
    };
    reader.bytes(length).map(Text::Bytes)
}

/// An integer of three bytes, little endian.
pub(super) fn read_i24(reader: &mut Reader<'_>) -> Result<i32, Corrupt> {
    let [low, middle, high] = reader.array()?;
    Ok(i32::from_le_bytes([0, low, middle, high]) >> 8)
}

/// The length of an entry's data, written behind it: seven bits a byte, highest first, all but the first marked.
fn reversed_length(mut length: usize, bytes: &mut [u8; 5]) -> &[u8] {
    let mut start = bytes.len() - 1;
    // Seven bits fit a byte.
    bytes[start] = (length & 0x7f) as u8;
    length >>= 7;
    while length > 0 && start > 0 {
        bytes[start] |= 0x80;
        start -= 1;
        bytes[start] = (length & 0x7f) as u8;
        length >>= 7;
    }
    &bytes[start..]
}

/// A listpack of these elements, with integers for elements that are the text of one, as in Redis. O(bytes).
pub(super) fn listpack<T: AsRef<[u8]>>(elements: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut builder = ListpackBuilder::new();
    elements.into_iter().for_each(|element| builder.text(element.as_ref()));
    builder.finish()
}

/// The bytes of an integer, or of the header of a string, with the length behind the data and the listpack's end.
const FRAME: usize = 9 + 5 + 1;

/// Builds a listpack, one element after another. Unwinds if memory is short.
#[derive(Debug)]
pub(super) struct ListpackBuilder {
    out: Vec<u8>,
    count: usize,
}

impl ListpackBuilder {
    pub(super) fn new() -> Self {
        Self { out: vec![0; HEADER], count: 0 }
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        match parse_integer(text) {
            Some(value) => self.integer(value),
            None => self.element(text.len(), |out| write_string(text, out)),
        }
    }

    pub(super) fn integer(&mut self, value: i64) {
        self.element(0, |out| write_integer(value, out));
    }

    fn element(&mut self, len: usize, write: impl FnOnce(&mut Vec<u8>)) {
        allocation::reserve(&mut self.out, len + FRAME);
        let start = self.out.len();
        write(&mut self.out);
        let mut length = [0; 5];
        let length = reversed_length(self.out.len() - start, &mut length);
        self.out.extend_from_slice(length);
        self.count += 1;
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let Self { mut out, count } = self;
        out.push(END);
        // Callers keep a listpack below a gigabyte.
        let size = (out.len() as u32).to_le_bytes();
        out[..4].copy_from_slice(&size);
        out[4..HEADER].copy_from_slice(&u16::try_from(count).unwrap_or(MANY).to_le_bytes());
        out
    }
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    let bytes = value.to_le_bytes();
    // The ranges bound the values, so the casts lose nothing.
    match value {
        0..0x80 => out.push(value as u8),
        -0x1000..0x1000 => out.extend([0xc0 | (value >> 8 & 0x1f) as u8, value as u8]),
        -0x8000..0x8000 => out.extend([&[0xf1], &bytes[..2]].concat()),
        -0x80_0000..0x80_0000 => out.extend([&[0xf2], &bytes[..3]].concat()),
        -0x8000_0000..0x8000_0000 => out.extend([&[0xf3], &bytes[..4]].concat()),
        _ => out.extend([&[0xf4], &bytes[..]].concat()),
    }
}

fn write_string(text: &[u8], out: &mut Vec<u8>) {
    let length = text.len();
    // The ranges bound the length, so the casts lose nothing. Elements of a gigabyte are stored separately.
    match length {
        0..0x40 => out.push(0x80 | length as u8),
        0x40..0x1000 => out.extend([0xe0 | (length >> 8) as u8, length as u8]),
        _ => {
            out.push(0xf0);
            out.extend((length as u32).to_le_bytes());
        }
    }
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Elements of all kinds and lengths.
    fn element() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| (value >> bits).to_string().into_bytes()),
            prop_oneof![0_usize..70, 4000_usize..4200, Just(20_000)].prop_map(|len| vec![b'x'; len]),
            prop::collection::vec(any::<u8>(), 0..30),
        ]
    }

    fn elements(listpack: Listpack<'_>) -> Vec<Vec<u8>> {
        listpack.iter().map(|text| text.to_vec()).collect()
    }

    #[test]
    fn very_large_counts_are_not_stored() {
        let bytes = listpack((0..70_000).map(|n| n.to_string()));
        assert_eq!(bytes[4..6], [0xff, 0xff]);
        assert_eq!(Listpack::parse(&bytes).map(Listpack::len), Ok(70_000));
        let bytes = listpack((0..65_535).map(|n| n.to_string()));
        assert_eq!(Listpack::parse(&bytes).map(Listpack::len), Ok(65_535));
    }

    proptest! {
        #[test]
        fn elements_are_read_back(model in prop::collection::vec(element(), 0..20)) {
            let bytes = listpack(&model);
            let parsed = Listpack::parse(&bytes).unwrap();
            prop_assert_eq!(parsed.len(), model.len());
            prop_assert_eq!(elements(parsed), model);
        }

        #[test]
        fn a_changed_byte_is_found_or_changes_an_element(
            model in prop::collection::vec(element(), 0..6),
            at in any::<prop::sample::Index>(),
            to in any::<u8>(),
        ) {
            let mut bytes = listpack(&model);
            let at = at.index(bytes.len());
            let is_change = std::mem::replace(&mut bytes[at], to) != to;
            if let Ok(parsed) = Listpack::parse(&bytes) {
                // The number of elements may be marked as unknown.
                prop_assert!(elements(parsed) != model || !is_change || bytes[4..6] == [0xff, 0xff]);
            }
            bytes.pop();
            prop_assert_eq!(Listpack::parse(&bytes).unwrap_err(), Corrupt);
        }
    }
}
