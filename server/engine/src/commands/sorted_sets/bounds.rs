//! Ranges of scores and of members, as in ZRANGEBYSCORE, ZRANGEBYLEX and the like.

use crate::spec::{Args, CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::values::ZSet;
use std::ops::{Bound, Range};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scores {
    min: Bound<f64>,
    max: Bound<f64>,
}

impl Scores {
    /// Reads the range from argument `min` to `max`: numbers, also infinite, with `(` before an excluded bound.
    pub(super) fn parse(args: Args<'_>, min: usize, max: usize) -> Result<Self, CommandError> {
        let bound = |index| args.get(index).and_then(score_bound).ok_or(errors::MIN_OR_MAX_NOT_A_FLOAT);
        Ok(Scores { min: bound(min)?, max: bound(max)? })
    }

    pub(super) fn ranks(self, set: &ZSet) -> Range<usize> {
        set.ranks_by_score(self.min, self.max)
    }
}

fn score_bound(text: &[u8]) -> Option<Bound<f64>> {
    match text {
        [b'(', number @ ..] => lenient_f64(number).map(Bound::Excluded),
        number => lenient_f64(number).map(Bound::Included),
    }
}

/// Reads a number as C's `strtod` does, as Redis does here. Leading white space is allowed. A number out of range
/// becomes infinite or zero, and an empty text is zero. The text ends at a NUL. A `nan` is refused.
fn lenient_f64(text: &[u8]) -> Option<f64> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(0.0);
    }
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let text = &text[blanks..];
    number::parse_f64(text).or_else(|| {
        let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        (!value.is_nan()).then_some(value)
    })
}

/// The members between two bounds of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Members<'a> {
    min: Edge<'a>,
    max: Edge<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge<'a> {
    /// `-`: below every member.
    Least,
    /// `+`: above every member.
    Greatest,
    /// `[member` or `(member`.
    At(Bound<&'a [u8]>),
}

impl<'a> Members<'a> {
    /// Reads the range from argument `min` to argument `max`: `-`, `+`, `[member` or `(member`.
    pub(super) fn parse(args: Args<'a>, min: usize, max: usize) -> Result<Self, CommandError> {
        let edge = |index| args.get(index).and_then(Edge::parse).ok_or(errors::MIN_OR_MAX_NOT_A_STRING);
        Ok(Members { min: edge(min)?, max: edge(max)? })
    }

    /// The ranks of the members in this range if all scores are equal, otherwise those that Redis finds.
    pub(super) fn ranks(self, set: &ZSet) -> Range<usize> {
        if self.min == Edge::Greatest || self.max == Edge::Least {
            return 0..0;
        }
        set.ranks_by_member(self.min.bound(), self.max.bound())
    }
}

impl<'a> Edge<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        match text {
            b"-" => Some(Edge::Least),
            b"+" => Some(Edge::Greatest),
            [b'[', member @ ..] => Some(Edge::At(Bound::Included(member))),
            [b'(', member @ ..] => Some(Edge::At(Bound::Excluded(member))),
            _ => None,
        }
    }

    fn bound(self) -> Bound<&'a [u8]> {
        match self {
            Edge::Least | Edge::Greatest => Bound::Unbounded,
            Edge::At(bound) => bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_read_as_the_real_server_reads_them() {
        let infinity = f64::INFINITY;
        for (text, expected) in [
            ("1.5", Bound::Included(1.5)),
            ("(1.5", Bound::Excluded(1.5)),
            ("(", Bound::Excluded(0.0)),
            ("", Bound::Included(0.0)),
            (" \x0b1", Bound::Included(1.0)),
            ("1\0x", Bound::Included(1.0)),
            ("0x10", Bound::Included(16.0)),
            ("1e400", Bound::Included(infinity)),
            ("-1e400", Bound::Included(-infinity)),
            ("1e-400", Bound::Included(0.0)),
            ("-Infinity", Bound::Included(-infinity)),
            ("(+inf", Bound::Excluded(infinity)),
        ] {
            assert_eq!(score_bound(text.as_bytes()), Some(expected), "{text:?}");
        }
        for text in ["x", "1 ", " ", "((1", "nan", "(NaN", "1x", "-"] {
            assert_eq!(score_bound(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn members_need_a_sign() {
        assert_eq!(Edge::parse(b"-"), Some(Edge::Least));
        assert_eq!(Edge::parse(b"+"), Some(Edge::Greatest));
        assert_eq!(Edge::parse(b"["), Some(Edge::At(Bound::Included(&[]))));
        assert_eq!(Edge::parse(b"(-"), Some(Edge::At(Bound::Excluded(b"-"))));
        for text in ["", "a", "-a", "+a"] {
            assert_eq!(Edge::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
