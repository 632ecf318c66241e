//! A request kept for later: queued by MULTI, or parked until a key is ready.

use crate::memory::{BufferBytes, HeldBytes, block};

/// An owned request: one allocation for its bytes, one for where each argument ends.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Box<[u8]>,
    ends: Box<[usize]>,
    _held: HeldBytes,
}

impl Request {
    /// A copy of these arguments, counted in the account as long as it exists.
    pub(crate) fn new(argv: &[&[u8]], account: &BufferBytes) -> Self {
        let ends: Box<[usize]> = argv
            .iter()
            .scan(0, |end, arg| {
                *end += arg.len();
                Some(*end)
            })
            .collect();
        let bytes: Box<[u8]> = argv.concat().into();
        let held = account.hold(block(bytes.len()) + block(size_of_val(&*ends)));
        Request { bytes, ends, _held: held }
    }

    /// The arguments, for [`crate::spec::Args`].
    pub(crate) fn argv(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter()).map(|(start, &end)| &self.bytes[start..end]).collect()
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }
}
