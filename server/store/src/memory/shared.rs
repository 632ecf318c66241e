//! Bytes that several buffers share. They are stored, and counted, once.

use super::block::block;
use super::buffers::{BufferBytes, HeldBytes};
use std::fmt;
use std::sync::{Arc, Weak};

/// Immutable shared bytes. The last owner to drop them removes them from the account.
#[derive(Clone)]
pub struct SharedBytes(Arc<Counted>);

/// A weak reference to shared bytes.
#[derive(Clone, Default)]
pub struct WeakBytes(Weak<Counted>);

struct Counted {
    bytes: Box<[u8]>,
    _held: HeldBytes,
}

impl SharedBytes {
    /// Shares the bytes, and counts them in this account. O(1), unless the buffer has spare room.
    #[must_use]
    pub fn new(account: &BufferBytes, bytes: Vec<u8>) -> Self {
        let bytes = bytes.into_boxed_slice();
        let held = account.hold(block(bytes.len()) + block(size_of::<Counted>()));
        SharedBytes(Arc::new(Counted { bytes, _held: held }))
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Number of owners.
    #[must_use]
    pub fn owners(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// A reference that does not keep the bytes alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakBytes {
        WeakBytes(Arc::downgrade(&self.0))
    }
}

impl WeakBytes {
    /// The bytes, unless the last owner has dropped them.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedBytes> {
        self.0.upgrade().map(SharedBytes)
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes").field("len", &self.bytes().len()).finish()
    }
}

impl fmt::Debug for WeakBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakBytes").field(&self.upgrade()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_are_counted_until_the_last_owner_drops_them() {
        let account = BufferBytes::default();
        let one = SharedBytes::new(&account, b"text".to_vec());
        let counted = account.get();
        let (other, weak) = (one.clone(), one.downgrade());
        assert_eq!((account.get(), other.bytes()), (counted, &b"text"[..]));
        drop(one);
        assert_eq!((account.get(), weak.upgrade().is_some()), (counted, true));
        drop(other);
        assert_eq!((account.get(), weak.upgrade().is_none()), (0, true));
    }
}
