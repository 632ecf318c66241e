//! The set value.

use super::encodings::{Encoding, Encodings};
use super::integer::{self, Text};
use super::intset::IntSet;
use super::packed::{self, Packed};
use super::table::{Table, are_distinct};
use crate::memory::block;
use lockwheel_resp::allocation;
use std::ops::Deref;

/// Distinct members: sorted integers, one block of memory in insertion order, or a table.
#[derive(Clone, Debug)]
pub struct Set(Form);

#[derive(Clone, Debug)]
enum Form {
    Packed(Packed),
    /// Boxed, so that a value has three words.
    Other(Box<Other>),
}

#[derive(Clone, Debug)]
enum Other {
    Ints(IntSet),
    Table(Table<Box<[u8]>>),
}

impl Default for Set {
    fn default() -> Self {
        Self(Form::Packed(Packed::default()))
    }
}

impl Set {
    /// An empty set. Its first member decides the encoding. Nothing is allocated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A small set of these members in this order, with any number and lengths. Returns `None` if a member repeats. The
    /// caller must have checked that they take less than half a gigabyte. O(members).
    #[must_use]
    pub fn small<T: Deref<Target = [u8]>>(
        members: impl IntoIterator<Item = T>,
        enc: &Encodings,
    ) -> Option<Self> {
        let packed = Packed::collect(members);
        are_distinct(packed.iter(), enc.seed).then_some(Self(Form::Packed(packed)))
    }

    /// A set of integers of `width` bytes (2, 4, 8), little endian. `None` unless ascending and complete. O(members).
    #[must_use]
    pub fn of_integers(width: usize, integers: Vec<u8>) -> Option<Self> {
        IntSet::of_ascending(width, integers).map(Self::ints)
    }

    /// The width and the bytes of a set of integers, in the form that [`Set::of_integers`] takes.
    #[must_use]
    pub fn integers(&self) -> Option<(usize, &[u8])> {
        match &self.0 {
            Form::Other(other) => match &**other {
                Other::Ints(ints) => Some(ints.parts()),
                Other::Table(_) => None,
            },
            Form::Packed(_) => None,
        }
    }

    /// An empty large set, with room for some of the `members` that it will get.
    #[must_use]
    pub fn large(members: usize, enc: &Encodings) -> Self {
        Self::table(Table::with_capacity(members, enc.seed))
    }

    /// An empty set for `hint` members, of which this is the first, in the encoding that SADD chooses in Redis 7.2.
    /// `hint` counts the members in one command, including repeated ones.
    #[must_use]
    pub fn for_members(first: &[u8], hint: usize, enc: &Encodings) -> Self {
        if integer::parse(first).is_some() && hint <= enc.set_max_intset_entries {
            Self::ints(IntSet::new())
        } else if hint <= enc.set_max_listpack_entries {
            Self::default()
        } else {
            Self::table(Table::with_capacity(hint, enc.seed))
        }
    }

    /// Announces that one command will add `hint` members; too many change the encoding at once, as in Redis 7.2.
    pub fn expect(&mut self, hint: usize, enc: &Encodings) {
        let limit = match self.encoding() {
            Encoding::Intset => enc.set_max_intset_entries,
            Encoding::Listpack => enc.set_max_listpack_entries,
            _ => return,
        };
        if hint > limit {
            self.enlarge(hint, enc.seed);
        }
    }

    /// Number of members. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.len(),
            Form::Other(other) => match &**other {
                Other::Ints(ints) => ints.len(),
                Other::Table(table) => table.len(),
            },
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.heap_bytes(),
            Form::Other(other) => {
                let inside = match &**other {
                    Other::Ints(ints) => ints.heap_bytes(),
                    Other::Table(table) => table.heap_bytes(),
                };
                block(size_of::<Other>()) + inside
            }
        }
    }

    /// The length of its single block of memory, while the set is small.
    #[inline]
    pub(super) fn packed_len(&self) -> Option<usize> {
        match &self.0 {
            Form::Packed(packed) => Some(packed.block_len()),
            Form::Other(_) => None,
        }
    }

    /// Whether there is no member. An empty set is not stored: its key is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `member` is in the set. O(members) while the set is small, O(log n) for integers, else O(1).
    #[must_use]
    pub fn contains(&self, member: &[u8]) -> bool {
        match &self.0 {
            Form::Packed(packed) => packed.iter().any(|there| there == member),
            Form::Other(other) => match &**other {
                Other::Ints(ints) => integer::parse(member).is_some_and(|value| ints.contains(value)),
                Other::Table(table) => table.find(member).is_some(),
            },
        }
    }

    /// Adds `member`. Returns false if it was there.
    pub fn add(&mut self, member: &[u8], enc: &Encodings) -> bool {
        match &mut self.0 {
            Form::Packed(packed) if packed.len() == 0 => self.add_first(member, enc),
            Form::Packed(packed) => {
                if packed.iter().any(|there| there == member) {
                    return false;
                }
                if packed.len() < enc.set_max_listpack_entries
                    && fits(member, enc)
                    && packed.has_room(member.len())
                {
                    packed.push(&[member]);
                    return true;
                }
                add_new(self.enlarge(1, enc.seed), member)
            }
            Form::Other(other) => match (&mut **other, integer::parse(member)) {
                (Other::Table(table), _) => add_new(table, member),
                (Other::Ints(ints), Some(value)) => {
                    let new = ints.add(value);
                    if new && ints.len() > enc.set_max_intset_entries {
                        self.enlarge(0, enc.seed);
                    }
                    new
                }
                (Other::Ints(_), None) => self.add_text_to_ints(member, enc),
            },
        }
    }

    /// Removes `member`. Returns false if it was not there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match &mut self.0 {
            Form::Packed(packed) => {
                let mut iter = packed.iter();
                loop {
                    let place = iter.place();
                    match iter.next() {
                        Some(there) if there == member => {
                            packed.replace(place, 1, &[]);
                            return true;
                        }
                        Some(_) => {}
                        None => return false,
                    }
                }
            }
            Form::Other(other) => match &mut **other {
                Other::Ints(ints) => integer::parse(member).is_some_and(|value| ints.remove(value)),
                Other::Table(table) => table.remove(member).is_some(),
            },
        }
    }

    /// The members: integers in ascending order, a small set in order of insertion.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.0 {
            Form::Packed(packed) => IterForm::Packed(packed.iter()),
            Form::Other(other) => match &**other {
                Other::Ints(ints) => IterForm::Ints(ints, 0),
                Other::Table(table) => IterForm::Table(table.entries().iter()),
            },
        })
    }

    /// The member with this index in the order of [`Set::iter`]. O(index) while the set is small, else O(1).
    #[must_use]
    pub fn nth(&self, index: usize) -> Option<Text<'_>> {
        match &self.0 {
            Form::Packed(packed) => packed.iter().nth(index).map(Text::Bytes),
            Form::Other(other) => match &**other {
                Other::Ints(ints) => ints.get(index).map(Text::int),
                Other::Table(table) => table.entries().get(index).map(|member| Text::Bytes(member)),
            },
        }
    }

    /// Removes the member with this index, without a copy of it. Returns false if there is none.
    pub fn remove_nth(&mut self, index: usize) -> bool {
        if index >= self.len() {
            return false;
        }
        match &mut self.0 {
            Form::Packed(packed) => {
                let place = packed.place_of(index);
                packed.replace(place, 1, &[]);
            }
            Form::Other(other) => match &mut **other {
                Other::Ints(ints) => {
                    if let Some(value) = ints.get(index) {
                        ints.remove(value);
                    }
                }
                Other::Table(table) => drop(table.remove_at(index)),
            },
        }
        true
    }

    /// Visits about `count` members from `cursor` on; returns the next cursor. 0 starts and ends. Every member that
    /// exists throughout a scan is visited. A small set or a set of integers is visited whole, as in Redis.
    pub fn scan<'a>(&'a self, cursor: u64, count: usize, mut visit: impl FnMut(Text<'a>)) -> u64 {
        if let Form::Other(other) = &self.0
            && let Other::Table(table) = &**other
        {
            return table.scan(cursor, count, |member| visit(Text::Bytes(member)));
        }
        self.iter().for_each(visit);
        0
    }

    /// The representation, named as by OBJECT ENCODING. An empty set has none yet and returns `listpack`.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Form::Packed(_) => Encoding::Listpack,
            Form::Other(other) => match &**other {
                Other::Ints(_) => Encoding::Intset,
                Other::Table(_) => Encoding::Hashtable,
            },
        }
    }

    fn ints(ints: IntSet) -> Self {
        Self(Form::Other(Box::new(Other::Ints(ints))))
    }

    fn table(table: Table<Box<[u8]>>) -> Self {
        Self(Form::Other(Box::new(Other::Table(table))))
    }

    /// Adds the first member, which decides the encoding.
    fn add_first(&mut self, member: &[u8], enc: &Encodings) -> bool {
        match integer::parse(member) {
            Some(value) if enc.set_max_intset_entries > 0 => {
                let mut ints = IntSet::new();
                ints.add(value);
                *self = Self::ints(ints);
                true
            }
            _ if enc.set_max_listpack_entries > 0 && fits(member, enc) => {
                self.0 = Form::Packed(packed_of([Text::Bytes(member)].into_iter()));
                true
            }
            _ => add_new(self.enlarge(1, enc.seed), member),
        }
    }

    /// Adds a member that is not an integer to a set of integers, which changes to the small or large form.
    fn add_text_to_ints(&mut self, member: &[u8], enc: &Encodings) -> bool {
        let longest = self.longest_int();
        if self.len() < enc.set_max_listpack_entries
            && fits(member, enc)
            && longest <= enc.set_max_listpack_value
        {
            self.0 = Form::Packed(packed_of(self.iter().chain([Text::Bytes(member)])));
            return true;
        }
        add_new(self.enlarge(1, enc.seed), member)
    }

    /// The length of the longest member of a set of integers, which is the first or the last.
    fn longest_int(&self) -> usize {
        let last = self.len().saturating_sub(1);
        [0, last].iter().filter_map(|index| self.nth(*index)).map(|text| text.len()).max().unwrap_or(0)
    }

    /// The table, built from another form if necessary, with room for `more` members.
    fn enlarge(&mut self, more: usize, seed: u64) -> &mut Table<Box<[u8]>> {
        if self.encoding() != Encoding::Hashtable {
            let mut table = Table::with_capacity(self.len() + more, seed);
            for member in self.iter() {
                add_new(&mut table, &member);
            }
            *self = Self::table(table);
        }
        match &mut self.0 {
            Form::Other(other) => match &mut **other {
                Other::Table(table) => table,
                Other::Ints(_) => unreachable!("made so above"),
            },
            Form::Packed(_) => unreachable!("made so above"),
        }
    }
}

fn fits(member: &[u8], enc: &Encodings) -> bool {
    member.len() <= enc.set_max_listpack_value
}

fn add_new(table: &mut Table<Box<[u8]>>, member: &[u8]) -> bool {
    table.insert_with(member, || allocation::copy(member)).is_ok()
}

fn packed_of<'a>(members: impl Iterator<Item = Text<'a>>) -> Packed {
    let mut packed = Packed::default();
    members.for_each(|member| packed.push(&[&member]));
    packed
}

/// The members of a [`Set`].
#[derive(Clone, Debug)]
pub struct Iter<'a>(IterForm<'a>);

#[derive(Clone, Debug)]
enum IterForm<'a> {
    Packed(packed::Iter<'a>),
    Ints(&'a IntSet, usize),
    Table(std::slice::Iter<'a, Box<[u8]>>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = Text<'a>;

    fn next(&mut self) -> Option<Text<'a>> {
        match &mut self.0 {
            IterForm::Packed(iter) => iter.next().map(Text::Bytes),
            IterForm::Ints(ints, at) => {
                let value = ints.get(*at)?;
                *at += 1;
                Some(Text::int(value))
            }
            IterForm::Table(iter) => iter.next().map(|member| Text::Bytes(member)),
        }
    }
}

impl<'a> IntoIterator for &'a Set {
    type Item = Text<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
