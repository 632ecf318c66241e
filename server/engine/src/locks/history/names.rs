//! The names that entries of the history share: each is kept once, as long as an entry has it.

use crate::locks::redisson::owner_of;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use lockwheel_store::memory::{block, of_vec};
use sha1_smol::Sha1;
use std::borrow::Cow;
use std::hash::BuildHasher;

/// What part of the names there is more room for, when there is none.
const ROOM: usize = 8;
/// The least room that is made.
const LEAST_ROOM: usize = 16;

/// A longer name is kept by its beginning and its hash.
const MAX_BYTES: usize = 1024;

/// A name as the history has it: a long one is cut, since each entry of a reply shows it. O(its length).
pub(in crate::locks) fn shown(text: &[u8]) -> Cow<'_, [u8]> {
    if text.len() <= MAX_BYTES { Cow::Borrowed(text) } else { Cow::Owned(cut(text)) }
}

/// The field of a writer is cut as that of its owner is.
#[cold]
fn cut(text: &[u8]) -> Vec<u8> {
    let owner = owner_of(text);
    if owner.len() <= MAX_BYTES {
        return text.to_vec();
    }
    let hash = Sha1::from(owner).digest().to_string();
    [&owner[..MAX_BYTES], b"... sha1 ", hash.as_bytes(), &text[owner.len()..]].concat()
}

/// The number of a name; 0 is no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::locks) struct Name(u32);

impl Name {
    /// No name.
    pub(in crate::locks) const NONE: Self = Name(0);
}

/// A name, in a database if it is a key's.
#[derive(Clone, Debug)]
struct Known {
    db: u32,
    uses: u32,
    text: Box<[u8]>,
}

/// Names with their numbers, which are given again when nothing uses them any more.
#[derive(Clone, Debug)]
pub(in crate::locks) struct Names {
    hasher: FixedState,
    /// By number, from 1 on.
    known: Vec<Known>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    /// Bytes of the texts.
    texts: usize,
}

impl Names {
    /// No names. The seed decides their hash: clients choose them.
    pub(super) fn new(seed: u64) -> Self {
        Names {
            hasher: FixedState::with_seed(seed),
            known: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            texts: 0,
        }
    }

    /// The number of a name, which has a use more from now on. O(its length).
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

    /// Returns the name of a text as [`shown`] has it, which may well be the name of this number.
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

    /// Returns the name of a text as [`shown`] has it.
    #[inline(never)]
    fn intern_shown(&mut self, db: usize, text: &[u8]) -> Name {
        self.intern(db, &shown(text))
    }

    /// A name that is in use has a use more. O(1).
    #[inline]
    pub(super) fn use_again(&mut self, name: Name) -> Name {
        if let Some(known) = name.0.checked_sub(1).and_then(|at| self.known.get_mut(at as usize)) {
            known.uses += 1;
        }
        name
    }

    /// Whether this is the name of a number. O(its length).
    #[inline]
    pub(super) fn is(&self, name: Name, db: usize, text: &[u8]) -> bool {
        let known = name.0.checked_sub(1).and_then(|at| self.known.get(at as usize));
        let is_cut = |known: &Known| text.len() > MAX_BYTES && is(known, db as u32, &cut(text));
        known.is_some_and(|known| is(known, db as u32, text) || is_cut(known))
    }

    /// The name has a use less. O(its length).
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

    /// A name's number, if it is known. O(its length).
    #[cfg(test)]
    fn find(&self, db: usize, text: &[u8]) -> Option<Name> {
        let db = db as u32;
        let hash = self.hasher.hash_one((db, text));
        let found = self.numbers.find(hash, |&number| is(&self.known[number as usize - 1], db, text));
        found.map(|&number| Name(number))
    }

    /// The text of a name; `None` when it is none. O(1).
    pub(super) fn text(&self, name: Name) -> Option<&[u8]> {
        Some(&self.known.get(name.0.checked_sub(1)? as usize)?.text)
    }

    /// The text of a name; empty when it is none. O(1).
    pub(in crate::locks) fn text_of(&self, name: Name) -> &[u8] {
        self.text(name).unwrap_or_default()
    }

    /// Returns no names, which are hashed as these are.
    pub(in crate::locks) fn none_of_these(&self) -> Self {
        Names {
            hasher: self.hasher.clone(),
            known: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            texts: 0,
        }
    }

    /// The database of a key's name. O(1).
    pub(super) fn db(&self, name: Name) -> Option<usize> {
        Some(self.known.get(name.0.checked_sub(1)? as usize)?.db as usize)
    }

    /// Bytes of the texts, as an allocator rounds them up. O(1).
    pub(super) fn text_bytes(&self) -> usize {
        self.texts
    }

    /// Bytes of all of it. O(1).
    pub(super) fn memory(&self) -> usize {
        of_vec(&self.known) + of_vec(&self.free) + block(self.numbers.allocation_size()) + self.texts
    }
}

/// Room for one more, and some more: not as much again, for this is most of what a name takes besides its text.
fn make_room(known: &mut Vec<Known>) {
    if known.len() == known.capacity() {
        known.reserve_exact((known.len() / ROOM).max(LEAST_ROOM));
    }
}

fn is(known: &Known, db: u32, text: &[u8]) -> bool {
    known.db == db && *known.text == *text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_as_long_as_it_is_used() {
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
