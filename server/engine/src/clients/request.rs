//! A request kept for later: queued by MULTI, or parked until a key is ready.

/// An owned request: one allocation for its bytes, one for where each argument ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    bytes: Box<[u8]>,
    ends: Box<[usize]>,
}

impl Request {
    pub(crate) fn new(argv: &[&[u8]]) -> Self {
        let ends = argv
            .iter()
            .scan(0, |end, arg| {
                *end += arg.len();
                Some(*end)
            })
            .collect();
        Request { bytes: argv.concat().into(), ends }
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
