//! The engines that take part in an exchange, by the places of their servers.

use crate::core::Engine;
use std::ops::{Index, IndexMut};

/// The engines that take part in an exchange, in the order of their places. A server that hangs is left out.
pub(super) struct Nodes<'a, 'e> {
    engines: &'a mut [&'e mut Engine],
    places: usize,
}

impl<'a, 'e> Nodes<'a, 'e> {
    /// Returns engines in the order of their places, of `places` servers in total.
    pub(super) fn new(engines: &'a mut [&'e mut Engine], places: usize) -> Self {
        Nodes { engines, places }
    }

    /// Returns the engines without their places.
    pub(super) fn engines(&mut self) -> &mut [&'e mut Engine] {
        self.engines
    }

    /// Whether the server at a place takes part.
    pub(super) fn has(&self, place: usize) -> bool {
        self.find(place).is_some()
    }

    pub(super) fn get(&self, place: usize) -> Option<&Engine> {
        self.find(place).map(|at| &*self.engines[at])
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Engine> {
        self.find(place).map(|at| &mut *self.engines[at])
    }

    /// Iterates over the engines that take part, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Engine)> {
        self.engines.iter().map(|engine| (engine.member().place(), &**engine))
    }

    /// Iterates over the engines that take part for changes, with their places.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Engine)> {
        self.engines.iter_mut().map(|engine| (engine.member().place(), &mut **engine))
    }

    /// Returns the places of all servers, including those left out.
    pub(super) fn places(&self) -> std::ops::Range<usize> {
        0..self.places
    }

    pub(super) fn left_out(&self) -> Vec<usize> {
        self.places().filter(|place| !self.has(*place)).collect()
    }

    fn find(&self, place: usize) -> Option<usize> {
        // Usually all servers take part.
        if self.engines.get(place).is_some_and(|engine| engine.member().place() == place) {
            return Some(place);
        }
        self.engines.binary_search_by_key(&place, |engine| engine.member().place()).ok()
    }
}

impl Index<usize> for Nodes<'_, '_> {
    type Output = Engine;

    /// Returns the index of the engine at a place, which must take part.
    fn index(&self, place: usize) -> &Engine {
        self.engines[self.find(place).expect("it takes part")]
    }
}

impl IndexMut<usize> for Nodes<'_, '_> {
    fn index_mut(&mut self, place: usize) -> &mut Engine {
        self.get_mut(place).expect("it takes part")
    }
}
