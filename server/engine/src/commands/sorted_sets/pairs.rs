//! Members with their scores, in either order, and their replies.

use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::values::{ZSet, zset};
use std::iter::Rev;
use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) enum Pairs<'a> {
    Ascending(zset::Iter<'a>),
    Descending(Rev<zset::Iter<'a>>),
}

impl<'a> Pairs<'a> {
    /// The members with these ranks (counted from the lowest), highest first if `reverse`.
    pub(super) fn new(set: &'a ZSet, ranks: Range<usize>, reverse: bool) -> Self {
        let members = set.range(ranks);
        if reverse { Pairs::Descending(members.rev()) } else { Pairs::Ascending(members) }
    }

    /// Replies the first member and its score as two values of an array that has begun.
    pub(super) fn write_first(mut self, reply: &mut dyn Reply) {
        if let Some(pair) = self.next() {
            write_pair(pair, reply);
        }
    }
}

/// Replies only the members.
pub(super) fn write_members<M: AsRef<[u8]>>(
    pairs: impl ExactSizeIterator<Item = (M, f64)>,
    reply: &mut dyn Reply,
) {
    reply.array(pairs.len());
    pairs.for_each(|(member, _)| reply.bulk(member.as_ref()));
}

/// Replies members and scores: one after the other in RESP2, pair by pair in RESP3.
pub(super) fn write_scored<M: AsRef<[u8]>>(
    pairs: impl ExactSizeIterator<Item = (M, f64)>,
    reply: &mut dyn Reply,
) {
    if reply.protocol() == Protocol::Resp3 {
        return write_nested(pairs, reply);
    }
    reply.array(pairs.len() * 2);
    pairs.for_each(|pair| write_pair(pair, reply));
}

pub(super) fn write_nested<M: AsRef<[u8]>>(
    pairs: impl ExactSizeIterator<Item = (M, f64)>,
    reply: &mut dyn Reply,
) {
    reply.array(pairs.len());
    for pair in pairs {
        reply.array(2);
        write_pair(pair, reply);
    }
}

pub(super) fn write_pair<M: AsRef<[u8]>>((member, score): (M, f64), reply: &mut dyn Reply) {
    reply.bulk(member.as_ref());
    reply.double(score);
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Pairs::Ascending(members) => members.next(),
            Pairs::Descending(members) => members.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Pairs::Ascending(members) => members.size_hint(),
            Pairs::Descending(members) => members.size_hint(),
        }
    }
}

impl ExactSizeIterator for Pairs<'_> {}
