//! All fenced resources.
//!
//! Clients choose their names, and they outlive FLUSHALL. So together they take at most [`MAX_BYTES`], which do not
//! count towards `maxmemory`: they never cause a write to be refused. The least recently used one goes first.

use super::resource::Resource;
pub(in crate::locks) use super::resource::TokenSource;
use crate::spec::CommandError;
use lockwheel_store::keyspace::{Change, Context, Interests, Subscriber, Tx};
use lockwheel_store::memory::block;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of bytes that all resources take, as counted here.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of a resource besides its names: its entries in both trees, and the counts of its shared name.
const ENTRY_BYTES: usize = size_of::<(Arc<[u8]>, Resource)>() + size_of::<(u64, Arc<[u8]>)>() + 16;

const TOO_LARGE: CommandError = CommandError::text(
    "ERR the names of the resource and its lock are too long: a resource takes at most 4194304 bytes",
);

/// The fenced resources by name, in the order of their names.
#[derive(Debug, Default)]
pub(in crate::locks) struct Fences {
    resources: BTreeMap<Arc<[u8]>, Resource>,
    /// The names by the number of their last use.
    by_use: BTreeMap<u64, Arc<[u8]>>,
    last_use: u64,
    bytes: usize,
}

impl Subscriber for Fences {
    /// Returns no interests: no change of a key concerns a resource.
    fn interests(&self) -> Interests {
        Interests::NONE
    }

    fn changed(&mut self, _: &Change<'_>, _: &mut Context<'_>) {}

    fn memory(&self) -> usize {
        size_of::<Self>() + self.bytes
    }
}

impl Fences {
    /// Returns the fences, which an engine has subscribed.
    pub(super) fn of<'t>(tx: &'t Tx<'_>) -> &'t Fences {
        tx.subscriber().expect("an engine has subscribed its fences")
    }

    pub(super) fn of_mut<'t>(tx: &'t mut Tx<'_>) -> &'t mut Fences {
        tx.subscriber_mut().expect("an engine has subscribed its fences").0
    }

    /// Returns the bytes of all resources. O(1).
    pub(in crate::locks) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks that a resource of this name takes tokens of these sources. O(log n).
    pub(in crate::locks) fn check(
        tx: &Tx<'_>,
        name: &[u8],
        sources: impl IntoIterator<Item = TokenSource>,
    ) -> Result<(), CommandError> {
        let mut resource = Fences::of(tx).get(name).cloned().unwrap_or_default();
        for source in sources {
            resource.takes(&source)?;
            resource.source = Some(source);
        }
        check_size(name, &resource)
    }

    /// Raises the highest token of a resource to that of a granted lock, which has passed [`Fences::check`]. O(log n).
    pub(in crate::locks) fn raise(tx: &mut Tx<'_>, name: &[u8], token: i64, source: TokenSource) {
        Fences::of_mut(tx).change(name, |resource| {
            resource.source = Some(source);
            resource.highest = resource.highest.max(token);
        });
    }

    /// Shows a resource a token. O(log n).
    pub(super) fn show(&mut self, name: &[u8], token: i64) -> Result<(), CommandError> {
        if !self.resources.contains_key(name) {
            check_size(name, &Resource::default())?;
        }
        self.change(name, |resource| resource.show(token))
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&Resource> {
        self.resources.get(name)
    }

    /// Returns all resources, in the order of their names.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Resource)> {
        self.resources.iter().map(|(name, resource)| (&**name, resource))
    }

    /// Forgets a resource, or all. Returns the number of forgotten resources.
    pub(super) fn forget(&mut self, name: Option<&[u8]>) -> usize {
        let before = self.resources.len();
        match name {
            None => *self = Fences { last_use: self.last_use, ..Fences::default() },
            Some(name) => self.remove(name),
        }
        before - self.resources.len()
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(resource) = self.resources.remove(name) {
            self.by_use.remove(&resource.last_use);
            self.bytes -= bytes_of(name, &resource);
        }
    }

    /// Changes a resource, and creates it if it is absent. If there are too many bytes, the resources that were used
    /// the longest time ago go. O(log n), and as much for each that goes.
    fn change<T>(&mut self, name: &[u8], change: impl FnOnce(&mut Resource) -> T) -> T {
        let (name, mut resource) = match self.resources.remove_entry(name) {
            Some((name, resource)) => {
                self.by_use.remove(&resource.last_use);
                self.bytes -= bytes_of(&name, &resource);
                (name, resource)
            }
            None => (name.into(), Resource::default()),
        };
        let changed = change(&mut resource);
        self.last_use += 1;
        resource.last_use = self.last_use;
        self.bytes += bytes_of(&name, &resource);
        self.by_use.insert(self.last_use, name.clone());
        self.resources.insert(name, resource);
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.remove(&oldest);
        }
        changed
    }
}

fn bytes_of(name: &[u8], resource: &Resource) -> usize {
    ENTRY_BYTES + block(name.len()) + block(resource.source_bytes())
}

fn check_size(name: &[u8], resource: &Resource) -> Result<(), CommandError> {
    if bytes_of(name, resource) <= MAX_BYTES { Ok(()) } else { Err(TOO_LARGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_resource_is_evicted() {
        let mut fences = Fences::default();
        let each = bytes_of(b"r100000", &Resource::default());
        let room = MAX_BYTES / each;
        for n in 0..room {
            fences.show(format!("r{}", 100_000 + n).as_bytes(), 5).unwrap();
        }
        assert_eq!((fences.resources.len(), fences.bytes()), (room, room * each));
        // A refusal is a use as well.
        assert!(fences.show(b"r100000", 4).is_err());
        fences.show(b"another", 1).unwrap();
        assert_eq!((fences.resources.len(), fences.by_use.len()), (room, room));
        assert!(fences.get(b"r100000").is_some() && fences.get(b"r100001").is_none());
        assert_eq!(fences.forget(Some(b"r100000")), 1);
        assert_eq!(fences.bytes(), (room - 1) * each);
        assert_eq!(fences.show(&vec![b'x'; MAX_BYTES - 8192], 1), Ok(()));
        assert!(fences.bytes() <= MAX_BYTES && fences.resources.len() < 100);
        assert_eq!(fences.show(&vec![b'x'; MAX_BYTES], 1), Err(TOO_LARGE));
        fences.forget(None);
        assert_eq!((fences.bytes(), fences.by_use.len()), (0, 0));
    }

    #[test]
    fn the_name_of_a_lock_counts() {
        let mut fences = Fences::default();
        let source = TokenSource::Counter((0, vec![b'k'; 1000].into()));
        fences.change(b"r", |resource| resource.source = Some(source));
        assert!(fences.bytes() > 1000);
        fences.change(b"r", |resource| resource.source = Some(TokenSource::Sequence));
        assert!(fences.bytes() < 1000);
    }
}
