//! The zipmap: fields and values in one block of memory, the form of small hashes before Redis 2.6. Only read.
//!
//! A byte is the number of fields (254 for that many and more). A byte 0xff follows the fields and values. A field is
//! its length and bytes. A value is its length, a byte with the number of unused bytes behind it, and its bytes. As in
//! Redis, each length has its shortest form.

use super::reader::{Corrupt, Reader};

/// The last byte.
const END: u8 = 0xff;
/// A length of at least this follows in four bytes. For a number of fields: at least this many.
const LONG: u8 = 0xfe;

/// A zipmap whose fields have all been checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipmap<'a> {
    pairs: &'a [u8],
    len: usize,
}

impl<'a> Zipmap<'a> {
    /// Checks all of a zipmap. O(bytes).
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Corrupt> {
        let (end, counted) = bytes.split_last().ok_or(Corrupt)?;
        let (count, pairs) = counted.split_first().ok_or(Corrupt)?;
        let (mut rest, mut len) = (Reader::new(pairs), 0);
        while !rest.is_at_end() {
            read_pair(&mut rest)?;
            len += 1;
        }
        let is_counted = *count == LONG || usize::from(*count) == len;
        if *end == END && is_counted { Ok(Self { pairs, len }) } else { Err(Corrupt) }
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let mut rest = Reader::new(self.pairs);
        std::iter::from_fn(move || read_pair(&mut rest).ok()).flatten()
    }
}

fn read_pair<'a>(reader: &mut Reader<'a>) -> Result<[&'a [u8]; 2], Corrupt> {
    let length = read_length(reader)?;
    let field = reader.bytes(length)?;
    let length = read_length(reader)?;
    let unused = reader.byte()?;
    let value = reader.bytes(length)?;
    reader.bytes(usize::from(unused))?;
    Ok([field, value])
}

fn read_length(reader: &mut Reader<'_>) -> Result<usize, Corrupt> {
    match reader.byte()? {
        LONG => match u32::from_le_bytes(reader.array()?) {
            short if short < u32::from(LONG) => Err(Corrupt),
            length => Ok(length as usize),
        },
        END => Err(Corrupt),
        length => Ok(usize::from(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_values_are_read() {
        let long = [b'x'; 254];
        let bytes =
            [&b"\x02\x03foo\x03\x02bar??\x05hello\xfe\xfe\x00\x00\x00\x00"[..], &long, b"\xff"].concat();
        let zipmap = Zipmap::parse(&bytes).unwrap();
        let words: Vec<&[u8]> = zipmap.iter().collect();
        assert_eq!(words, [&b"foo"[..], b"bar", b"hello", &long]);
        assert_eq!(zipmap.len(), 2);
        for len in 0..bytes.len() {
            assert!(Zipmap::parse(&bytes[..len]).is_err(), "{len}");
        }
        assert!(Zipmap::parse(b"\x01\x03foo\x03\x02bar??\x05hello\x05\x00world\xff").is_err());
        assert!(Zipmap::parse(b"\xfe\x03foo\x03\x02bar??\xff").is_ok());
    }
}
