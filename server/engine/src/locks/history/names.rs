//! The names that entries of the history share. Each name is stored once, as long as an entry uses it.

use crate::locks::redisson::owner_of;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use lockwheel_store::memory::{block, vec_heap_bytes};
use sha1_smol::Sha1;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// The inverse of the growth of a full list of names: it grows by an eighth.
const ROOM: usize = 8;
/// The least growth of the list, in names.
const MIN_GROWTH: usize = 16;

/// The maximum number of bytes of a name that is kept whole. A longer name is kept as its beginning and its hash.
const MAX_BYTES: usize = 1024;

/// Returns a name as the history stores it. A long name is cut, since each entry of a reply shows it. O(its length).
pub(in crate::locks) fn shown(text: &[u8]) -> Cow<'_, [u8]> {
    if text.len() <= MAX_BYTES { Cow::Borrowed(text) } else { Cow::Owned(cut(text)) }
}

/// Cuts a long name. The field of a writer is cut in the same way as that of its owner.
#[cold]
fn cut(text: &[u8]) -> Vec<u8> {
    let owner = owner_of(text);
    if owner.len() <= MAX_BYTES {
        return text.to_vec();
    }
    let hash = Sha1::from(owner).digest().to_string();
    [&owner[..MAX_BYTES], b"... sha1 ", hash.as_bytes(), &text[owner.len()..]].concat()
}

/// The number of a name; 0 stands for no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::locks) struct Name(u32);

impl Name {
    pub(in crate::locks) const NONE: Self = Name(0);
}

/// A stored name. The name of a key belongs to a database.
#[derive(Clone, Debug)]
struct Known {
    db: u32,
    uses: u32,
    text: Box<[u8]>,
}

/// Names with their numbers. The number of an unused name is given again.
#[derive(Clone, Debug)]
pub(in crate::locks) struct Names {
    hasher: FixedState,
    /// The names by number, from 1 on.
    known: Vec<Known>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    /// Bytes of the texts.
    texts: usize,
}

impl Names {
    /// Returns an empty set of names. The seed decides the hash, since clients choose the names.
    pub(super) fn new(seed: u64) -> Self {
        Names {
            hasher: FixedState::with_seed(seed),
            known: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            texts: 0,
        }
    }

    /// Returns the number of a name and adds a use of it. O(its length).
    pub(in crate::locks) fn intern(&mut self, db: usize, text: &[u8]) -> Name {
        let db = db as u32;
        let hash = self.hasher.hash_one((db, text));
        let (known, hasher) = (&mut self.known, &self.hasher);
        let is = |&number: &u32| is(&known[number as usize - 1], db, text);
        let rehash = |&number: &u32| {
            let known = &known[number as usize - 1];
            hasher.hash_one((known.db, &*known.text))
        };
        match self.numbers.entry(hash, is, rehash) {
            Entry::Occupied(number) => {
                let number = *number.get();
                known[number as usize - 1].uses += 1;
                Name(number)
            }
            Entry::Vacant(place) => {
                let new = Known { db, uses: 1, text: text.into() };
                self.texts += block(text.len());
                let number = match self.free.pop() {
                    Some(number) => {
                        known[number as usize - 1] = new;
                        number
                    }
                    None => {
                        make_room(known);
                        known.push(new);
                        known.len() as u32
                    }
                };
                place.insert(number);
                Name(number)
            }
        }
    }

    /// Returns the name of a text as [`shown`] stores it, and adds a use of it. The name is likely to be `likely`.
    #[inline]
    pub(super) fn intern_like(&mut self, likely: Name, db: usize, text: &[u8]) -> Name {
        let known = likely.0.checked_sub(1).and_then(|at| self.known.get_mut(at as usize));
        match known {
            Some(known) if is(known, db as u32, text) => {
                known.uses += 1;
                likely
            }
            _ => self.intern_shown(db, text),
        }
    }

    /// Returns the name of a text as [`shown`] stores it, and adds a use of it.
    #[inline(never)]
    fn intern_shown(&mut self, db: usize, text: &[u8]) -> Name {
        self.intern(db, &shown(text))
    }

    /// Adds a use of a name that is in use. O(1).
    #[inline]
    pub(super) fn use_again(&mut self, name: Name) -> Name {
        if let Some(known) = name.0.checked_sub(1).and_then(|at| self.known.get_mut(at as usize)) {
            known.uses += 1;
        }
        name
    }

    /// Whether this text has this name. O(its length).
    #[inline]
    pub(super) fn is(&self, name: Name, db: usize, text: &[u8]) -> bool {
        let known = name.0.checked_sub(1).and_then(|at| self.known.get(at as usize));
        let is_cut = |known: &Known| text.len() > MAX_BYTES && is(known, db as u32, &cut(text));
        known.is_some_and(|known| is(known, db as u32, text) || is_cut(known))
    }

    /// Removes a use of a name. O(its length).
    pub(super) fn release(&mut self, name: Name) {
        let Some(known) = name.0.checked_sub(1).and_then(|at| self.known.get_mut(at as usize)) else {
            return;
        };
        known.uses -= 1;
        if known.uses > 0 {
            return;
        }
        let text = std::mem::take(&mut known.text);
        self.texts -= block(text.len());
        let hash = self.hasher.hash_one((known.db, &*text));
        if let Ok(place) = self.numbers.find_entry(hash, |&number| number == name.0) {
            place.remove();
        }
        self.free.push(name.0);
    }

    /// Returns the number of a name, if it is stored. O(its length).
    #[cfg(test)]
    fn find(&self, db: usize, text: &[u8]) -> Option<Name> {
        let db = db as u32;
        let hash = self.hasher.hash_one((db, text));
        let found = self.numbers.find(hash, |&number| is(&self.known[number as usize - 1], db, text));
        found.map(|&number| Name(number))
    }

    /// Returns the text of a name, or `None` for no name. O(1).
    pub(super) fn text(&self, name: Name) -> Option<&[u8]> {
        Some(&self.known.get(name.0.checked_sub(1)? as usize)?.text)
    }

    /// Returns the text of a name, empty for no name. O(1).
    pub(in crate::locks) fn text_of(&self, name: Name) -> &[u8] {
        self.text(name).unwrap_or_default()
    }

    /// Returns an empty set of names with the same hash.
    pub(in crate::locks) fn none_of_these(&self) -> Self {
        Names {
            hasher: self.hasher.clone(),
            known: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            texts: 0,
        }
    }

    /// Returns the database of a key's name. O(1).
    pub(super) fn db(&self, name: Name) -> Option<usize> {
        Some(self.known.get(name.0.checked_sub(1)? as usize)?.db as usize)
    }

    /// Returns the bytes of the texts, as an allocator rounds them up. O(1).
    pub(super) fn text_bytes(&self) -> usize {
        self.texts
    }

    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        vec_heap_bytes(&self.known)
            + vec_heap_bytes(&self.free)
            + block(self.numbers.allocation_size())
            + self.texts
    }
}

/// Makes room for more names. The capacity does not double, since this list is most of the memory of a name.
fn make_room(known: &mut Vec<Known>) {
    if known.len() == known.capacity() {
        known.reserve_exact((known.len() / ROOM).max(MIN_GROWTH));
    }
}

fn is(known: &Known, db: u32, text: &[u8]) -> bool {
    known.db == db && *known.text == *text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_once_while_it_is_used() {
        let mut names = Names::new(7);
        let [one, same, other_db, other] =
            [(0, b"a"), (0, b"a"), (1, b"a"), (0, b"b")].map(|(db, text)| names.intern(db, text));
        assert_eq!(one, same);
        assert!(one != other_db && one != other && other != Name::NONE);
        assert_eq!(
            (names.text(one), names.db(other_db), names.text(Name::NONE)),
            (Some(&b"a"[..]), Some(1), None)
        );
        names.release(one);
        assert_eq!(names.find(0, b"a"), Some(one));
        names.release(one);
        assert_eq!(names.find(0, b"a"), None);
        assert_eq!(names.intern(5, b"new"), one, "its number is given again");
        [one, other_db, other].into_iter().for_each(|name| names.release(name));
        assert_eq!((names.text_bytes(), names.numbers.len()), (0, 0));
    }
}
