//! An entry of a stream, as it is read.

use super::id::StreamId;
use super::text::{take_number, take_text};
use crate::values::Text;

/// One entry: its id, and pairs of a field and a value, in the order in which they were given.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub(super) id: StreamId,
    /// Whether it was deleted.
    pub(super) is_deleted: bool,
    pub(super) fields: Fields<'a>,
}

/// Where an entry's fields are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fields<'a> {
    /// Those of the node, whose bytes come first, and its values.
    Shared(&'a [u8], &'a [u8]),
    /// Its own, each before its value.
    Own(&'a [u8]),
}

impl<'a> Entry<'a> {
    /// The id.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Whether it was deleted and only its place is still there.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Whether its fields are those of its node.
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
    /// The fields that are still to come, where they stand apart from the values.
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
