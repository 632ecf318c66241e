//! A request kept for later: queued by MULTI, or parked until a key is ready.

use lockwheel_resp::allocation;
use lockwheel_store::memory::block;

/// An owned request. It has one allocation for the bytes, and one for the ends of the arguments.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Box<[u8]>,
    ends: Box<[usize]>,
}

impl Request {
    /// A copy of these arguments.
    pub(crate) fn new(argv: &[&[u8]]) -> Self {
        let ends: Box<[usize]> = argv
            .iter()
            .scan(0, |end, arg| {
                *end += arg.len();
                Some(*end)
            })
            .collect();
        let mut bytes = Vec::new();
        allocation::reserve(&mut bytes, ends.last().copied().unwrap_or(0));
        argv.iter().for_each(|argument| bytes.extend_from_slice(argument));
        Request { bytes: bytes.into(), ends }
    }

    /// The arguments, for [`crate::spec::Args`].
    pub(crate) fn argv(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter()).map(|(start, &end)| &self.bytes[start..end]).collect()
    }

    /// Returns an argument. O(1).
    ///
    /// # Panics
    /// Panics if the request has no such argument.
    pub(crate) fn argument(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// Bytes of all arguments. O(1).
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory of both allocations. O(1).
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        block(self.bytes.len()) + block(size_of_val(&*self.ends))
    }
}
