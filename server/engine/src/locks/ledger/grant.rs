//! The number of a grant, stored beside the entry of the held key in six bytes per lock.

use lockwheel_store::keyspace::Mark;

/// A hold that the server saw being taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct Grant {
    /// The number, above every earlier number of this server. For a native hold it is the token.
    pub(in crate::locks) number: u64,
    /// Whether a native command took the hold.
    pub(in crate::locks) native: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum Marked {
    /// The only owner holds the lock by this grant.
    One(Grant),
    /// The lock has several owners, whose grants are kept elsewhere.
    Several,
    /// The key is no lock: it holds the lease of a read hold, with this number.
    ReadLease(u64),
}

/// The mark of keys that several owners hold.
const SEVERAL: u64 = 1;
/// Set in the marks of keys that hold leases.
const LEASE: u64 = 1 << 47;

impl Marked {
    /// Decodes a mark: the lowest bit stands for a native hold, the highest for a lease. The number takes 46 bits,
    /// enough for two years of a million grants a second, and begins at 1: the lowest bit alone means several owners.
    #[inline]
    pub(in crate::locks) fn read(mark: Mark) -> Self {
        let [a, b, c, d, e, f] = mark;
        let bits = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        if bits == SEVERAL {
            Marked::Several
        } else if bits & LEASE != 0 {
            Marked::ReadLease(bits & !LEASE)
        } else {
            Marked::One(Grant { number: bits >> 1, native: bits & 1 == 1 })
        }
    }

    #[inline]
    pub(in crate::locks) fn mark(self) -> Mark {
        let bits = match self {
            Marked::One(grant) => grant.number << 1 | u64::from(grant.native),
            Marked::Several => SEVERAL,
            Marked::ReadLease(number) => number | LEASE,
        };
        let [a, b, c, d, e, f, ..] = bits.to_le_bytes();
        [a, b, c, d, e, f]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::keyspace::mark_of_thread;

    /// A mark that the keyspace sets by itself is a grant by no native command.
    #[test]
    fn a_mark_of_a_thread_is_a_grant() {
        let grant = Grant { number: 4711, native: false };
        assert_eq!(Marked::read(mark_of_thread(4711)), Marked::One(grant));
        assert_eq!(Marked::One(grant).mark(), mark_of_thread(4711));
    }

    #[test]
    fn a_grant_is_read_back_from_its_mark() {
        for grant in [(1, true), (1, false), (300, true), ((1 << 46) - 1, false)] {
            let marked = Marked::One(Grant { number: grant.0, native: grant.1 });
            assert_eq!(Marked::read(marked.mark()), marked);
        }
        for marked in [Marked::Several, Marked::ReadLease(1), Marked::ReadLease((1 << 47) - 1)] {
            assert_eq!(Marked::read(marked.mark()), marked);
        }
    }
}
