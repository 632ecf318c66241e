//! The string value.

use super::encodings::Encoding;
use super::integer::{self, Text};
use crate::memory::{block, vec_heap_bytes};
use lockwheel_resp::allocation::{self, OutOfMemory};
use std::borrow::Cow;

/// The length up to which strings are stored in the value, without an allocation.
const INLINE: usize = 22;
/// The length up to which Redis calls a string `embstr` that was not grown.
const EMBSTR: usize = 44;

/// The most spare room, in bytes, that padding leaves for later growth.
const MAX_SPARE_BYTES: usize = 1 << 20;

/// A string: an integer, a short text in place, or one right-sized block of memory.
#[derive(Debug)]
pub struct Str(Form);

#[derive(Debug)]
enum Form {
    Int(i64),
    Inline {
        len: u8,
        bytes: [u8; INLINE],
    },
    Exact(Box<[u8]>),
    /// A string that was grown in place, with spare room for more.
    #[expect(clippy::box_collection, reason = "a fourth word here would be one in every value")]
    Grown(Box<Vec<u8>>),
}

impl Str {
    /// A string as SET stores it: canonical integers become `int`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        match integer::parse(bytes) {
            Some(value) => Self::from_i64(value),
            None => Self::text_only(bytes),
        }
    }

    /// Reads the first byte of a string that is not stored in place.
    #[inline]
    pub(super) fn touch(&self) -> bool {
        match &self.0 {
            Form::Int(_) | Form::Inline { .. } => false,
            Form::Exact(bytes) => bytes.first() == Some(&0),
            Form::Grown(bytes) => bytes.first() == Some(&0),
        }
    }

    /// The number of bytes outside the value. 0 if the string is stored in place.
    #[inline]
    pub fn outside(&self) -> usize {
        match &self.0 {
            Form::Int(_) | Form::Inline { .. } => 0,
            Form::Exact(bytes) => bytes.len(),
            Form::Grown(bytes) => bytes.capacity(),
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Int(_) | Form::Inline { .. } => 0,
            Form::Exact(bytes) => block(bytes.len()),
            Form::Grown(bytes) => block(size_of::<Vec<u8>>()) + vec_heap_bytes(bytes),
        }
    }

    #[inline]
    pub(super) fn is_in_place(&self) -> bool {
        matches!(self.0, Form::Int(_) | Form::Inline { .. })
    }

    /// A string that stays text even if it is an integer, like the result of INCRBYFLOAT.
    #[must_use]
    pub fn text_only(bytes: &[u8]) -> Self {
        if bytes.len() > INLINE {
            return Self(Form::Exact(allocation::copy(bytes)));
        }
        let mut inline = [0; INLINE];
        inline[..bytes.len()].copy_from_slice(bytes);
        Self(Form::Inline { len: bytes.len() as u8, bytes: inline })
    }

    /// The integer `value`.
    #[must_use]
    pub const fn from_i64(value: i64) -> Self {
        Self(Form::Int(value))
    }

    /// An empty string of encoding `raw`, from which SETRANGE starts if there is no key.
    #[must_use]
    pub fn raw() -> Self {
        Self(Form::Grown(Box::default()))
    }

    /// A string of encoding `raw` with these bytes. O(1).
    #[must_use]
    pub fn raw_from(bytes: Vec<u8>) -> Self {
        Self(Form::Grown(Box::new(bytes)))
    }

    /// The bytes. Nothing is allocated: an integer is written out in place.
    #[must_use]
    pub fn text(&self) -> Text<'_> {
        match &self.0 {
            Form::Int(value) => Text::int(*value),
            Form::Inline { len, bytes } => Text::Bytes(&bytes[..usize::from(*len)]),
            Form::Exact(bytes) => Text::Bytes(bytes),
            Form::Grown(bytes) => Text::Bytes(bytes),
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text().len()
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integer with this canonical text, in any encoding.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Form::Int(value) => Some(*value),
            _ => integer::parse(&self.text()),
        }
    }

    /// Checks that memory suffices for a length of `len` bytes.
    ///
    /// # Errors
    /// Returns the size if memory is short.
    #[inline]
    pub fn check_room(&self, len: usize) -> Result<(), OutOfMemory> {
        match &self.0 {
            Form::Grown(bytes) if bytes.capacity() >= len => Ok(()),
            _ => allocation::check(len),
        }
    }

    /// Appends bytes. The encoding becomes `raw`, even if nothing is appended, as in Redis. Amortised O(appended).
    pub fn append(&mut self, bytes: &[u8]) {
        allocation::append(self.grown(bytes.len()), bytes);
    }

    /// Overwrites bytes from `offset` on, after padding with zero bytes up to it. The encoding becomes `raw`. The
    /// caller must have checked that the resulting length is allowed, and that `bytes` are not empty.
    pub fn set_range(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        let missing = end.saturating_sub(self.len());
        let whole = self.grown(missing);
        if whole.len() < end {
            allocation::reserve(whole, missing);
            whole.resize(end, 0);
        }
        whole[offset..end].copy_from_slice(bytes);
    }

    /// The bytes, at least `len` of them by added zeros, to be changed in place. The encoding becomes `raw`. The caller
    /// must have checked that the length is allowed.
    #[inline]
    pub fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        match &self.0 {
            Form::Grown(bytes) if bytes.len() >= len => {}
            _ => self.pad(len),
        }
        match &mut self.0 {
            Form::Grown(bytes) => bytes,
            _ => unreachable!("made so above"),
        }
    }

    /// The bytes as a vector that may be changed, grown and shrunk. The encoding becomes `raw`.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.grown(0)
    }

    /// Makes the string a buffer of at least `len` bytes.
    #[inline(never)]
    fn pad(&mut self, len: usize) {
        let text = self.text();
        // The system provides zeroed memory, so that a bit at a distant offset costs no time.
        if len / 2 >= text.len() {
            let mut bytes = allocation::zeros(len);
            bytes[..text.len()].copy_from_slice(&text);
            *self = Self::raw_from(bytes);
            return;
        }
        let missing = len.saturating_sub(text.len());
        let bytes = self.grown(missing);
        if bytes.capacity() < len {
            allocation::reserve(bytes, missing + len.min(MAX_SPARE_BYTES));
        }
        bytes.resize(bytes.len().max(len), 0);
    }

    /// The representation, named as by OBJECT ENCODING.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Form::Int(_) => Encoding::Int,
            Form::Inline { .. } => Encoding::Embstr,
            Form::Exact(bytes) if bytes.len() <= EMBSTR => Encoding::Embstr,
            Form::Exact(_) | Form::Grown(_) => Encoding::Raw,
        }
    }

    /// The bytes as a buffer with room for `more`, converted if necessary.
    fn grown(&mut self, more: usize) -> &mut Vec<u8> {
        if !matches!(self.0, Form::Grown(_)) {
            let text = self.text();
            let mut bytes = Vec::new();
            allocation::reserve(&mut bytes, text.len() + more);
            bytes.extend_from_slice(&text);
            self.0 = Form::Grown(Box::new(bytes));
        }
        match &mut self.0 {
            Form::Grown(bytes) => bytes,
            _ => unreachable!("made so above"),
        }
    }
}

impl Clone for Str {
    /// Copies the string. Unwinds if memory for a large copy is short.
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Form::Int(value) => Form::Int(*value),
            Form::Inline { len, bytes } => Form::Inline { len: *len, bytes: *bytes },
            Form::Exact(bytes) => Form::Exact(allocation::copy(bytes)),
            Form::Grown(bytes) => Form::Grown(Box::new(allocation::copy(bytes).into_vec())),
        })
    }
}

impl From<Cow<'_, [u8]>> for Str {
    /// Converts like [`Str::new`]. Long owned bytes are not copied.
    fn from(bytes: Cow<'_, [u8]>) -> Self {
        match bytes {
            Cow::Owned(bytes) if bytes.len() > EMBSTR => Self(Form::Exact(bytes.into_boxed_slice())),
            bytes => Self::new(&bytes),
        }
    }
}

impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Str {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encodings_are_those_of_the_real_server() {
        assert_eq!(Str::new(b"12").encoding(), Encoding::Int);
        assert_eq!(Str::new(b"012").encoding(), Encoding::Embstr);
        assert_eq!(Str::new(&[b'x'; 44]).encoding(), Encoding::Embstr);
        assert_eq!(Str::new(&[b'x'; 45]).encoding(), Encoding::Raw);
        assert_eq!(Str::text_only(b"5").encoding(), Encoding::Embstr);
        assert_eq!(Str::raw().encoding(), Encoding::Raw);
        let mut grown = Str::new(b"5");
        grown.append(b"");
        assert_eq!((grown.encoding(), grown.to_i64()), (Encoding::Raw, Some(5)));
    }

    #[test]
    fn set_range_pads_with_zero_bytes() {
        let mut text = Str::new(b"ab");
        text.set_range(4, b"cd");
        assert_eq!(&*text.text(), b"ab\0\0cd");
        text.set_range(1, b"X");
        assert_eq!(&*text.text(), b"aX\0\0cd");
    }

    proptest! {
        #[test]
        fn bytes_are_read_back(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..100),
                any::<i64>().prop_map(|n| n.to_string().into_bytes()),
            ],
        ) {
            for text in [Str::new(&bytes), Str::text_only(&bytes)] {
                prop_assert_eq!(&*text.text(), &bytes[..]);
                prop_assert_eq!(text.len(), bytes.len());
                prop_assert_eq!(text.to_i64(), integer::parse(&bytes));
            }
        }

        #[test]
        fn a_string_grows_as_a_vector_does(
            start in "[0-9a-z]{0,50}",
            steps in prop::collection::vec((0_usize..80, "[a-z]{0,30}", 0..3), 0..20),
        ) {
            let mut model = start.clone().into_bytes();
            let mut text = Str::new(&model);
            for (offset, bytes, way) in steps {
                if way == 0 {
                    model.resize(model.len().max(offset), 0);
                    prop_assert_eq!(&*text.bytes_mut(offset), &model[..]);
                    prop_assert_eq!(text.encoding(), Encoding::Raw);
                } else if way == 1 {
                    text.append(bytes.as_bytes());
                    model.extend_from_slice(bytes.as_bytes());
                } else {
                    text.set_range(offset, bytes.as_bytes());
                    let end = offset + bytes.len();
                    if model.len() < end {
                        model.resize(end, 0);
                    }
                    model[offset..end].copy_from_slice(bytes.as_bytes());
                }
                prop_assert_eq!(&*text.text(), &model[..]);
            }
        }
    }
}
