//! The hash value: fields and their values.

use super::encodings::{Encoding, Encodings};
use super::packed::{self, Packed};
use super::table::{Keyed, Table, are_distinct};
use crate::memory::block;
use deadlines::Deadlines;
use lockwheel_resp::allocation;
use std::ops::Deref;

mod deadlines;
mod timed;

/// Fields and values: one block of memory in insertion order while small, else a table.
#[derive(Clone, Debug, Default)]
pub struct Hash(Form);

#[derive(Clone, Debug)]
enum Form {
    /// Fields and values in turn.
    Packed(Packed),
    Table(Box<Large>),
}

/// The table of a large hash, and the deadlines of its fields, if any has one.
#[derive(Clone, Debug)]
struct Large {
    table: Table<Pair>,
    deadlines: Option<Box<Deadlines>>,
}

impl Large {
    fn with_capacity(fields: usize, seed: u64) -> Self {
        Large { table: Table::with_capacity(fields, seed), deadlines: None }
    }

    fn heap_bytes(&self) -> usize {
        let of_deadlines = |deadlines: &Deadlines| block(size_of::<Deadlines>()) + deadlines.heap_bytes();
        block(size_of::<Self>()) + self.table.heap_bytes() + self.deadlines.as_deref().map_or(0, of_deadlines)
    }
}

impl Default for Form {
    fn default() -> Self {
        Self::Packed(Packed::default())
    }
}

/// A field and its value in one allocation: the length of the field, the field, the value.
#[derive(Clone, Debug)]
struct Pair(Box<[u8]>);

impl Pair {
    fn new(field: &[u8], value: &[u8]) -> Self {
        let prefix = packed::length_size(field.len());
        let mut bytes = allocation::zeros(prefix + field.len() + value.len());
        packed::write_length(&mut bytes, 0, field.len());
        bytes[prefix..prefix + field.len()].copy_from_slice(field);
        bytes[prefix + field.len()..].copy_from_slice(value);
        Self(bytes.into_boxed_slice())
    }

    fn split(&self) -> (&[u8], &[u8]) {
        let (len, prefix) = packed::read_length(&self.0).unwrap_or_default();
        self.0[prefix..].split_at(len)
    }

    /// Replaces the value; in place if it is as long as the old one.
    fn set(&mut self, value: &[u8]) {
        let (field, old) = self.split();
        if old.len() == value.len() {
            let start = self.0.len() - value.len();
            self.0[start..].copy_from_slice(value);
        } else {
            *self = Self::new(field, value);
        }
    }
}

impl Keyed for Pair {
    fn key(&self) -> &[u8] {
        self.split().0
    }

    fn heap_bytes(&self) -> usize {
        block(self.0.len())
    }
}

impl Hash {
    /// An empty hash. Nothing is allocated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A small hash of these fields and values in this order, with any number and lengths. Returns `None` if a field
    /// repeats. The caller must have checked that they take less than half a gigabyte. O(fields).
    #[must_use]
    pub fn small<T: Deref<Target = [u8]>>(
        words: impl IntoIterator<Item = T>,
        enc: &Encodings,
    ) -> Option<Self> {
        let packed = Packed::collect(words);
        are_distinct(packed.iter().step_by(2), enc.seed).then_some(Self(Form::Packed(packed)))
    }

    /// An empty large hash, with room for some of the `fields` that it will get.
    #[must_use]
    pub fn large(fields: usize, enc: &Encodings) -> Self {
        Self(Form::Table(Box::new(Large::with_capacity(fields, enc.seed))))
    }

    /// Announces that one command will set `fields` fields. If that is too many for a small hash, the hash becomes
    /// large at once, as in Redis, even if some fields repeat.
    pub fn expect(&mut self, fields: usize, enc: &Encodings) {
        if fields > enc.hash_max_listpack_entries {
            self.enlarge(fields, enc.seed);
        }
    }

    /// The number of fields. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.len() / 2,
            Form::Table(large) => large.table.len(),
        }
    }

    /// Bytes of heap that the hash holds. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.heap_bytes(),
            Form::Table(large) => large.heap_bytes(),
        }
    }

    /// The length of its single block of memory, while the hash is small.
    #[inline]
    pub(super) fn packed_len(&self) -> Option<usize> {
        match &self.0 {
            Form::Packed(packed) => Some(packed.block_len()),
            Form::Table(_) => None,
        }
    }

    /// Whether there is no field. An empty hash is not stored: its key is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of `field`. O(fields) while the hash is small, else O(1).
    #[must_use]
    pub fn get(&self, field: &[u8]) -> Option<&[u8]> {
        match &self.0 {
            Form::Packed(packed) => Some(packed.at(find(packed, field)?.1)),
            Form::Table(large) => Some(large.table.get(field)?.split().1),
        }
    }

    /// Whether `field` exists.
    #[must_use]
    pub fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets `field` to `value`, and removes its deadline. Returns true if the field is new.
    pub fn set(&mut self, field: &[u8], value: &[u8], enc: &Encodings) -> bool {
        self.put(field, value, false, enc)
    }

    /// Sets `field` to `value`, and keeps its deadline. Returns true if the field is new.
    pub fn set_keeping(&mut self, field: &[u8], value: &[u8], enc: &Encodings) -> bool {
        self.put(field, value, true, enc)
    }

    #[inline(always)]
    fn put(&mut self, field: &[u8], value: &[u8], keep_deadline: bool, enc: &Encodings) -> bool {
        let long = field.len().max(value.len()) > enc.hash_max_listpack_value;
        if let Form::Packed(packed) = &mut self.0
            && !long
            && packed.has_room(field.len() + value.len())
        {
            let new = set_packed(packed, field, value);
            if packed.len() / 2 > enc.hash_max_listpack_entries {
                self.enlarge(0, enc.seed);
            }
            return new;
        }
        let large = self.enlarge(0, enc.seed);
        match large.table.insert_with(field, || Pair::new(field, value)) {
            Ok(_) => true,
            Err(position) => {
                large.table.change(position, |pair| pair.set(value));
                if !keep_deadline && large.deadlines.is_some() {
                    large.clear_deadline(position);
                }
                false
            }
        }
    }

    /// Sets `field` to `value` if it does not exist. Returns true if it was set.
    pub fn set_new(&mut self, field: &[u8], value: &[u8], enc: &Encodings) -> bool {
        !self.contains(field) && self.set(field, value, enc)
    }

    /// Removes `field`. Returns true if it existed.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match &mut self.0 {
            Form::Packed(packed) => match find(packed, field) {
                Some((place, _)) => {
                    packed.replace(place, 2, &[]);
                    true
                }
                None => false,
            },
            Form::Table(large) => large.remove(field),
        }
    }

    /// The fields and values, in order of insertion while the hash is small.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Form::Packed(packed) => IterForm::Packed(packed.iter()),
            Form::Table(large) => IterForm::Table(large.table.entries().iter()),
        })
    }

    /// The first field and its value in the order of [`Hash::iter`]: the oldest, while the hash is small. O(1).
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<(&[u8], &[u8])> {
        self.iter().next()
    }

    /// The first field in the order of [`Hash::iter`]: the oldest, while the hash is small. O(1).
    #[must_use]
    #[inline(always)]
    pub fn first_field(&self) -> Option<&[u8]> {
        match &self.0 {
            Form::Packed(packed) => packed.first(),
            Form::Table(large) => large.table.entries().first().map(|pair| pair.split().0),
        }
    }

    /// Replaces the value of `field` by the result of `new`, which gets `None` if there is no such field. Returns
    /// whether the field is new. Keeps the field's deadline.
    ///
    /// # Errors
    /// Returns the error of `new`; the hash is unchanged then.
    pub fn update<T: Deref<Target = [u8]>, E>(
        &mut self,
        field: &[u8],
        enc: &Encodings,
        new: impl FnOnce(Option<&[u8]>) -> Result<T, E>,
    ) -> Result<bool, E> {
        if let Form::Packed(packed) = &mut self.0
            && let Some((_, place)) = find(packed, field)
        {
            let value = new(Some(packed.at(place)))?;
            if value.len() <= enc.hash_max_listpack_value && packed.has_room(value.len()) {
                packed.set(place, &value);
                return Ok(false);
            }
            return Ok(self.set_keeping(field, &value, enc));
        }
        let value = new(self.get(field))?;
        Ok(self.set_keeping(field, &value, enc))
    }

    /// The field and value with this index in the order of [`Hash::iter`]. O(index) while the hash is small, else O(1).
    #[must_use]
    pub fn nth(&self, index: usize) -> Option<(&[u8], &[u8])> {
        match &self.0 {
            Form::Packed(packed) => {
                let mut iter = packed.iter_at(packed.place_of(index * 2));
                Some((iter.next()?, iter.next()?))
            }
            Form::Table(large) => Some(large.table.entries().get(index)?.split()),
        }
    }

    /// Visits about `count` fields from `cursor` on; returns the next cursor. 0 starts and ends. Every field that
    /// exists throughout a scan is visited. A small hash is visited whole, as in Redis.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(&'a [u8], &'a [u8])) -> u64 {
        match &self.0 {
            Form::Packed(_) => {
                self.iter().for_each(|(field, value)| visit(field, value));
                0
            }
            Form::Table(large) => large.table.scan(cursor, count, |pair| {
                let (field, value) = pair.split();
                visit(field, value);
            }),
        }
    }

    /// The representation, named as by OBJECT ENCODING.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Form::Packed(_) => Encoding::Listpack,
            Form::Table(_) => Encoding::Hashtable,
        }
    }

    /// The table, which is built from the small form if necessary.
    fn enlarge(&mut self, more: usize, seed: u64) -> &mut Large {
        if let Form::Packed(packed) = &self.0 {
            let mut large = Large::with_capacity(packed.len() / 2 + more, seed);
            for (field, value) in self.iter() {
                // Fields are distinct already.
                let _ = large.table.insert_with(field, || Pair::new(field, value));
            }
            self.0 = Form::Table(Box::new(large));
        }
        match &mut self.0 {
            Form::Table(large) => large,
            Form::Packed(_) => unreachable!("made so above"),
        }
    }
}

fn find(packed: &Packed, field: &[u8]) -> Option<(usize, usize)> {
    let mut iter = packed.iter();
    loop {
        let place = iter.place();
        let found = iter.next()? == field;
        let value = iter.place();
        if found {
            return Some((place, value));
        }
        iter.next();
    }
}

fn set_packed(packed: &mut Packed, field: &[u8], value: &[u8]) -> bool {
    match find(packed, field) {
        Some((_, place)) => {
            packed.set(place, value);
            false
        }
        None => {
            packed.push(&[field, value]);
            true
        }
    }
}

/// Fields and values of a [`Hash`].
#[derive(Clone, Debug)]
pub struct Iter<'a>(IterForm<'a>);

#[derive(Clone, Debug)]
enum IterForm<'a> {
    Packed(packed::Iter<'a>),
    Table(std::slice::Iter<'a, Pair>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterForm::Packed(iter) => Some((iter.next()?, iter.next()?)),
            IterForm::Table(iter) => iter.next().map(Pair::split),
        }
    }
}

impl<'a> IntoIterator for &'a Hash {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
