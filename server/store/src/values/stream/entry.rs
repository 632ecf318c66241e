//! Entries of a stream, for reading.

use super::id::StreamId;
use super::text::{take_number, take_text};
use crate::values::Text;

/// One entry: its id, and pairs of a field and a value in the order in which they were added.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub(super) id: StreamId,
    pub(super) is_deleted: bool,
    pub(super) fields: Fields<'a>,
}

/// The location of an entry's fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields<'a> {
    /// The bytes of the node's fields, which the entry shares, and the bytes of the entry's values.
    Shared(&'a [u8], &'a [u8]),
    /// The entry's own fields, each before its value.
    Own(&'a [u8]),
}

impl<'a> Entry<'a> {
    /// The id.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Whether the entry was deleted and only its bytes are left.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Whether the entry shares the fields of its node.
    #[must_use]
    pub fn shares_fields(&self) -> bool {
        matches!(self.fields, Fields::Shared(..))
    }

    /// The pairs of a field and its value.
    #[must_use]
    pub fn pairs(&self) -> Pairs<'a> {
        match self.fields {
            Fields::Shared(mut fields, values) => {
                let left = take_number(&mut fields) as usize;
                Pairs { left, fields: Some(fields), values }
            }
            Fields::Own(mut values) => {
                let left = take_number(&mut values) as usize;
                Pairs { left, fields: None, values }
            }
        }
    }
}

/// The pairs of an entry.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    left: usize,
    /// The remaining fields, if they are separate from the values.
    fields: Option<&'a [u8]>,
    values: &'a [u8],
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Text<'a>, Text<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let field = match &mut self.fields {
            Some(fields) => take_text(fields),
            None => take_text(&mut self.values),
        };
        Some((field, take_text(&mut self.values)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Pairs<'_> {}
