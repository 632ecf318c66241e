//! The name of a key among those of all databases, and how to look for one without owning it.

use hashbrown::Equivalent;

/// A database and a key in it.
pub(super) type Place = (usize, Box<[u8]>);

/// The same, borrowed: it hashes as a [`Place`] does.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct At<'a>(pub(super) usize, pub(super) &'a [u8]);

impl Equivalent<Place> for At<'_> {
    fn equivalent(&self, place: &Place) -> bool {
        self.0 == place.0 && *self.1 == *place.1
    }
}
