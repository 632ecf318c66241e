//! The owners of a history: a writer's field and a reader's field of one owner belong together.

use super::super::history::{Name, Ring};
use super::super::redisson::owner_of;
use lockwheel_store::memory::{block, map_heap_bytes, vec_heap_bytes};
use std::collections::BTreeMap;

/// The fields of an owner: the first one seen, and the other one if it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields([Name; 2]);

#[derive(Debug, Default)]
pub(in crate::locks) struct Owners {
    /// The number of the owner of a field.
    of_field: BTreeMap<Name, usize>,
    /// The number of an owner by its bare name.
    by_name: BTreeMap<Box<[u8]>, usize>,
    fields: Vec<Fields>,
    name_bytes: usize,
}

impl Owners {
    /// Records the field of an entry. O(log n).
    pub(in crate::locks) fn note(&mut self, ring: &Ring, field: Name) {
        if field == Name::NONE || self.of_field.contains_key(&field) {
            return;
        }
        let name = owner_of(ring.text(field));
        let number = match self.by_name.get(name) {
            Some(&number) => {
                self.fields[number].0[1] = field;
                number
            }
            None => {
                self.fields.push(Fields([field, Name::NONE]));
                self.by_name.insert(name.into(), self.fields.len() - 1);
                self.name_bytes += block(name.len());
                self.fields.len() - 1
            }
        };
        self.of_field.insert(field, number);
    }

    /// Returns the memory in bytes. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        map_heap_bytes(&self.of_field)
            + map_heap_bytes(&self.by_name)
            + vec_heap_bytes(&self.fields)
            + self.name_bytes
    }

    /// Whether two fields belong to one owner. O(log n).
    pub(super) fn is_same(&self, one: Name, other: Name) -> bool {
        one == other || self.first_field(one) == self.first_field(other)
    }

    /// Returns the field by which the owner of a field was first seen. O(log n).
    pub(in crate::locks) fn first_field(&self, field: Name) -> Name {
        self.of_field.get(&field).map_or(field, |&number| self.fields[number].0[0])
    }

    /// Returns all fields of the owner of a field, at most two. O(log n).
    pub(super) fn fields_of(&self, field: Name) -> impl Iterator<Item = Name> + use<> {
        let fields = self.of_field.get(&field).map_or([field, Name::NONE], |&number| self.fields[number].0);
        let mut at = 0;
        std::iter::from_fn(move || {
            let field = fields.get(at).copied().filter(|&field| at == 0 || field != Name::NONE);
            at += 1;
            field
        })
    }
}
