//! The engines that take part in an exchange, by the places of their servers.

use crate::core::Engine;
use std::ops::{Index, IndexMut};

/// The engines that take part in an exchange, in the order of their places. A server that hangs is left out.
pub(super) struct Nodes<'a, 'e> {
    engines: &'a mut [&'e mut Engine],
    places: usize,
}

impl<'a, 'e> Nodes<'a, 'e> {
    /// Engines in the order of their places, of so many servers.
    pub(super) fn new(engines: &'a mut [&'e mut Engine], places: usize) -> Self {
        Nodes { engines, places }
    }

    /// The engines without their places.
    pub(super) fn engines(&mut self) -> &mut [&'e mut Engine] {
        self.engines
    }

    /// Whether the server at a place takes part.
    pub(super) fn has(&self, place: usize) -> bool {
        self.find(place).is_some()
    }

    /// The engine at a place, if it takes part.
    pub(super) fn get(&self, place: usize) -> Option<&Engine> {
        self.find(place).map(|at| &*self.engines[at])
    }

    /// The engine at a place, if it takes part.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Engine> {
        self.find(place).map(|at| &mut *self.engines[at])
    }

    /// All that take part, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Engine)> {
        self.engines.iter().map(|engine| (engine.member().place(), &**engine))
    }

    /// All that take part, with their places.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Engine)> {
        self.engines.iter_mut().map(|engine| (engine.member().place(), &mut **engine))
    }

    /// The places of all servers, whether they take part or not.
    pub(super) fn places(&self) -> std::ops::Range<usize> {
        0..self.places
    }

    /// The places of the servers that are left out.
    pub(super) fn left_out(&self) -> Vec<usize> {
        self.places().filter(|place| !self.has(*place)).collect()
    }

    fn find(&self, place: usize) -> Option<usize> {
        // Mostly all take part.
        if self.engines.get(place).is_some_and(|engine| engine.member().place() == place) {
            return Some(place);
        }
        self.engines.binary_search_by_key(&place, |engine| engine.member().place()).ok()
    }
}

impl Index<usize> for Nodes<'_, '_> {
    type Output = Engine;

    /// The engine at a place, which takes part.
    fn index(&self, place: usize) -> &Engine {
        self.engines[self.find(place).expect("it takes part")]
    }
}

impl IndexMut<usize> for Nodes<'_, '_> {
    fn index_mut(&mut self, place: usize) -> &mut Engine {
        self.get_mut(place).expect("it takes part")
    }
}
