//! Members with their scores, in either order, and how they are replied.

use crate::values::{ZSet, zset};
use lockwheel_resp::{Protocol, Reply};
use std::iter::Rev;
use std::ops::Range;

/// Members and scores, lowest or highest first.
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

    /// Replies the members alone.
    pub(super) fn write_members(self, reply: &mut dyn Reply) {
        reply.array(self.len());
        self.for_each(|(member, _)| reply.bulk(member));
    }

    /// Replies members and scores: one after the other, in RESP3 pair by pair.
    pub(super) fn write(self, reply: &mut dyn Reply) {
        if reply.protocol() == Protocol::Resp3 {
            return self.write_nested(reply);
        }
        reply.array(self.len() * 2);
        self.for_each(|pair| write_pair(pair, reply));
    }

    /// Replies members and scores pair by pair.
    pub(super) fn write_nested(self, reply: &mut dyn Reply) {
        reply.array(self.len());
        for pair in self {
            reply.array(2);
            write_pair(pair, reply);
        }
    }

    /// Replies the first member and its score as two values of an array that has begun.
    pub(super) fn write_first(mut self, reply: &mut dyn Reply) {
        if let Some(pair) = self.next() {
            write_pair(pair, reply);
        }
    }
}

fn write_pair((member, score): (&[u8], f64), reply: &mut dyn Reply) {
    reply.bulk(member);
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
