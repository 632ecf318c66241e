//! Iteration over a list from both ends.

use super::List;
use super::chunks::Spot;
use std::ops::Range;

/// The elements of a [`List`], from both ends.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    list: &'a List,
    left: usize,
    front: Spot,
    /// The spot after the last element.
    back: Spot,
}

impl<'a> Iter<'a> {
    pub(super) fn new(list: &'a List, range: Range<usize>) -> Self {
        let end = range.end.min(list.len());
        let left = end.saturating_sub(range.start);
        let nowhere = Spot { chunk: 0, place: 0 };
        let mut iter = Self { list, left, front: nowhere, back: nowhere };
        if left > 0 {
            iter.front = list.spot(range.start).unwrap_or(nowhere);
            iter.back = list.spot(end - 1).unwrap_or(nowhere);
            iter.back.place = iter.after(iter.back).map_or(0, |(_, next)| next.place);
        }
        iter
    }

    /// The element at `spot` and the spot after it, in the same chunk.
    fn after(&self, spot: Spot) -> Option<(&'a [u8], Spot)> {
        let (element, place) = self.list.chunk(spot.chunk)?.at(spot.place)?;
        Some((element, Spot { place, ..spot }))
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        if self.front.place >= self.list.chunk(self.front.chunk)?.end() {
            let chunk = self.front.chunk + 1;
            self.front = Spot { chunk, place: self.list.chunk(chunk)?.front() };
        }
        let (element, next) = self.after(self.front)?;
        self.front = next;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if self.back.place <= self.list.chunk(self.back.chunk)?.front() {
            let chunk = self.back.chunk.checked_sub(1)?;
            self.back = Spot { chunk, place: self.list.chunk(chunk)?.end() };
        }
        self.back.place = self.list.chunk(self.back.chunk)?.before(self.back.place)?;
        self.after(self.back).map(|(element, _)| element)
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a List {
    type Item = &'a [u8];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
