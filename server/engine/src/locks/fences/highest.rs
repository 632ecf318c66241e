//! All fenced resources.

use super::resource::Resource;
pub(in crate::locks) use super::resource::TokenSource;
use crate::keyspace::{Change, Context, Interests, Subscriber, Tx};
use crate::spec::CommandError;
use std::collections::BTreeMap;

/// The most resources, and bytes of all their names: clients choose them, and they stay.
const MOST: usize = 65_536;
const MOST_NAME_BYTES: usize = 16 << 20;

const FULL: CommandError =
    CommandError::text("ERR too many fenced resources: LOCK.FENCERESET forgets those that are not needed");

/// The fenced resources by name, in the order of their names.
#[derive(Debug, Default)]
pub(in crate::locks) struct Fences {
    resources: BTreeMap<Box<[u8]>, Resource>,
    name_bytes: usize,
    /// Bytes of the names of the locks by whose counters they go.
    source_bytes: usize,
}

impl Subscriber for Fences {
    /// None: no change of a key concerns a resource.
    fn interests(&self) -> Interests {
        Interests::NONE
    }

    fn changed(&mut self, _: &Change<'_>, _: &mut Context<'_>) {}

    fn memory(&self) -> usize {
        let names = self.name_bytes + self.source_bytes;
        size_of::<Self>() + names + self.resources.len() * size_of::<(Box<[u8]>, Resource)>()
    }
}

impl Fences {
    /// The fences, which an engine has subscribed.
    pub(super) fn of<'t>(tx: &'t Tx<'_>) -> &'t Fences {
        tx.subscriber().expect("an engine has subscribed its fences")
    }

    pub(super) fn of_mut<'t>(tx: &'t mut Tx<'_>) -> &'t mut Fences {
        tx.subscriber_mut().expect("an engine has subscribed its fences").0
    }

    /// Checks that a resource of this name can be shown tokens of these sources. O(log n).
    pub(in crate::locks) fn check(
        tx: &Tx<'_>,
        name: &[u8],
        sources: impl IntoIterator<Item = TokenSource>,
    ) -> Result<(), CommandError> {
        let fences = Fences::of(tx);
        let known = fences.resources.get(name);
        if known.is_none() {
            fences.check_room(name)?;
        }
        let mut resource = known.cloned().unwrap_or_default();
        for source in sources {
            resource.takes(&source)?;
            resource.source = Some(source);
        }
        let before = known.map_or(0, Resource::source_bytes);
        let names = fences.name_bytes + fences.source_bytes + resource.source_bytes();
        if resource.source_bytes() > before && names > MOST_NAME_BYTES {
            return Err(FULL);
        }
        Ok(())
    }

    /// A lock was granted with this token, which has passed [`Fences::check`]: a lower one is refused from now on.
    /// O(log n).
    pub(in crate::locks) fn raise(tx: &mut Tx<'_>, name: &[u8], token: i64, source: TokenSource) {
        let fences = Fences::of_mut(tx);
        let resource = fences.resource(name);
        let before = resource.source_bytes();
        resource.source = Some(source);
        resource.highest = resource.highest.max(token);
        let after = resource.source_bytes();
        fences.source_bytes = fences.source_bytes - before + after;
    }

    /// Shows a resource a token. O(log n).
    pub(super) fn show(&mut self, name: &[u8], token: i64) -> Result<(), CommandError> {
        if !self.resources.contains_key(name) {
            self.check_room(name)?;
        }
        self.resource(name).show(token)
    }

    /// What a resource of this name has been shown.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Resource> {
        self.resources.get(name)
    }

    /// All resources, in the order of their names.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Resource)> {
        self.resources.iter().map(|(name, resource)| (&**name, resource))
    }

    /// Forgets a resource, or all; how many there were.
    pub(super) fn forget(&mut self, name: Option<&[u8]>) -> usize {
        let before = self.resources.len();
        match name {
            None => *self = Fences::default(),
            Some(name) => {
                if let Some(resource) = self.resources.remove(name) {
                    self.name_bytes -= name.len();
                    self.source_bytes -= resource.source_bytes();
                }
            }
        }
        before - self.resources.len()
    }

    fn check_room(&self, name: &[u8]) -> Result<(), CommandError> {
        let fits = self.resources.len() < MOST && self.name_bytes + name.len() <= MOST_NAME_BYTES;
        if fits { Ok(()) } else { Err(FULL) }
    }

    fn resource(&mut self, name: &[u8]) -> &mut Resource {
        let name_bytes = &mut self.name_bytes;
        self.resources.entry(name.into()).or_insert_with(|| {
            *name_bytes += name.len();
            Resource::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_bound_to_resources_and_to_their_names() {
        let mut fences = Fences::default();
        for n in 0..MOST {
            fences.show(format!("r{n}").as_bytes(), 1).unwrap();
        }
        assert_eq!(fences.show(b"another", 1), Err(FULL));
        assert_eq!(fences.show(b"r7", 2), Ok(()));
        assert_eq!(fences.forget(Some(b"r7")), 1);
        assert_eq!(fences.show(b"another", 1), Ok(()));
        assert_eq!(fences.forget(None), MOST);
        assert_eq!(fences.name_bytes, 0);
        assert_eq!(fences.show(&vec![b'x'; MOST_NAME_BYTES], 1), Ok(()));
        assert_eq!(fences.show(b"y", 1), Err(FULL));
    }
}
