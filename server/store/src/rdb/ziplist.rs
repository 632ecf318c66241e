//! The ziplist: strings and integers in one block of memory, the form of small values before Redis 7.0. Only read.
//!
//! Four bytes are the length of the whole, four the offset of the last entry. Two are the number of entries (65,535 for
//! that many and more). A byte 0xff follows the entries. An entry is the length of the entry before it, and its data,
//! which begins with its kind and length.

use super::listpack::read_i24;
use super::reader::{Corrupt, Reader};
use crate::values::Text;

/// The bytes before the first entry.
const HEADER: usize = 10;
/// The last byte.
const END: u8 = 0xff;
/// The first byte of an entry if the length of the entry before follows in four bytes.
const LONG: u8 = 0xfe;
/// The number of entries that stands for at least that many.
const MANY: u16 = u16::MAX;

/// A ziplist whose entries have all been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ziplist<'a> {
    entries: &'a [u8],
    len: usize,
}

impl<'a> Ziplist<'a> {
    /// Checks all of a ziplist. O(bytes).
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let mut reader = Reader::new(bytes);
        let (size, tail) = (u32::from_le_bytes(reader.array()?), u32::from_le_bytes(reader.array()?));
        let count = u16::from_le_bytes(reader.array()?);
        let (end, entries) = bytes[HEADER..].split_last().ok_or(Corrupt)?;
        if size as usize != bytes.len() || *end != END {
            return Err(Corrupt);
        }
        let (mut rest, mut len, mut before, mut last) = (Reader::new(entries), 0, 0, 0);
        while !rest.is_at_end() {
            last = entries.len() - rest.left();
            let (length_before, _) = read_entry(&mut rest)?;
            if length_before != before {
                return Err(Corrupt);
            }
            before = entries.len() - rest.left() - last;
            len += 1;
        }
        let is_counted = count == MANY || usize::from(count) == len;
        let is_right = is_counted && tail as usize == HEADER + last;
        if is_right { Ok(Self { entries, len }) } else { Err(Corrupt) }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Text<'a>> + Clone {
        let mut rest = Reader::new(self.entries);
        std::iter::from_fn(move || read_entry(&mut rest).ok().map(|(_, text)| text))
    }
}

/// Reads an entry; returns the recorded length of the entry before it, too.
fn read_entry<'a>(reader: &mut Reader<'a>) -> Result<(usize, Text<'a>), Corrupt> {
    let before = match reader.byte()? {
        LONG => u32::from_le_bytes(reader.array()?) as usize,
        END => return Err(Corrupt),
        length => usize::from(length),
    };
    Ok((before, read_data(reader)?))
}

fn read_data<'a>(reader: &mut Reader<'a>) -> Result<Text<'a>, Corrupt> {
    let first = reader.byte()?;
    let integer = match first {
        0..0x40 => return reader.bytes(usize::from(first)).map(Text::Bytes),
        0x40..0x80 => {
            let length = u16::from_be_bytes([first & 0x3f, reader.byte()?]);
            return reader.bytes(usize::from(length)).map(Text::Bytes);
        }
        0x80 => {
            let length = u32::from_be_bytes(reader.array()?);
            return reader.bytes(length as usize).map(Text::Bytes);
        }
        0xc0 => i64::from(i16::from_le_bytes(reader.array()?)),
        0xd0 => i64::from(i32::from_le_bytes(reader.array()?)),
        0xe0 => i64::from_le_bytes(reader.array()?),
        0xf0 => i64::from(read_i24(reader)?),
        0xfe => i64::from(i8::from_le_bytes(reader.array()?)),
        0xf1..0xfe => i64::from(first & 0x0f) - 1,
        _ => return Err(Corrupt),
    };
    Ok(Text::int(integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ziplist(entries: &[&[u8]]) -> Vec<u8> {
        let (mut body, mut before, mut tail) = (Vec::new(), 0_usize, 0);
        for data in entries {
            tail = body.len();
            match u8::try_from(before) {
                Ok(before @ 0..LONG) => body.push(before),
                _ => body.extend([&[LONG][..], &(before as u32).to_le_bytes()].concat()),
            }
            body.extend_from_slice(data);
            before = body.len() - tail;
        }
        let mut out = ((HEADER + body.len() + 1) as u32).to_le_bytes().to_vec();
        out.extend(((HEADER + tail) as u32).to_le_bytes());
        out.extend((entries.len() as u16).to_le_bytes());
        out.extend(body);
        out.push(END);
        out
    }

    fn long(length: usize) -> Vec<u8> {
        let mut data = vec![0x40 | (length >> 8) as u8, length as u8];
        data.resize(data.len() + length, b'x');
        data
    }

    #[test]
    fn entries_of_all_kinds_are_read() {
        let (medium, large) = (long(300), [&b"\x80\x00\x00\x00\x03"[..], b"abc"].concat());
        let bytes = ziplist(&[
            b"\x00",
            b"\x02ab",
            &medium,
            &large,
            b"\xf1",
            b"\xfd",
            b"\xfe\x80",
            b"\xc0\x00\x80",
            b"\xf0\xff\xff\xff",
            b"\xd0\x00\x00\x00\x80",
            b"\xe0\xff\xff\xff\xff\xff\xff\xff\x7f",
        ]);
        let read: Vec<Vec<u8>> = Ziplist::parse(&bytes).unwrap().iter().map(|text| text.to_vec()).collect();
        let expected = ["", "ab", &"x".repeat(300), "abc", "0", "12", "-128", "-32768", "-1", "-2147483648"];
        assert_eq!(read[..10], expected.map(|text| text.as_bytes().to_vec()));
        assert_eq!(read[10], i64::MAX.to_string().into_bytes());
    }

    #[test]
    fn every_cut_and_every_wrong_length_is_found() {
        let bytes = ziplist(&[b"\x02ab", &long(300), b"\xf3", b"\x01z"]);
        for len in 0..bytes.len() {
            assert!(Ziplist::parse(&bytes[..len]).is_err(), "{len}");
        }
        // The lengths of the whole and of each entry, the offset of the last entry, the count.
        for at in [0, 4, 8, HEADER, HEADER + 4, HEADER + 4 + 303, HEADER + 4 + 303 + 4 + 3] {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert!(Ziplist::parse(&wrong).is_err(), "{at}");
        }
        assert!(Ziplist::parse(&ziplist(&[])).is_ok_and(|empty| empty.len() == 0));
    }
}
