//! The errors of a stream of replies.

use std::fmt;

/// The reason why a stream of replies cannot be read any further. The start of the next reply is unknown: close the
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReply {
    /// No type of reply begins with this byte.
    Type(u8),
    /// A header's length is not a number, or is negative where no null is allowed.
    Length,
    /// The text is not a valid value of the type that begins with this byte.
    Value(u8),
    /// A text is not followed by CR and LF.
    LineEnd,
    /// Attributes are followed by attributes instead of the value that they describe.
    Attributes,
    /// A header or number is longer than [`MAX_LINE`](crate::MAX_LINE), or a reply longer than its
    /// [limit](crate::ReplyLimits::max_len).
    TooLong,
    /// Aggregates nest deeper than their [limit](crate::ReplyLimits::max_depth).
    TooDeep,
}

impl fmt::Display for InvalidReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(byte) => write!(f, "no reply begins with '{}'", byte.escape_ascii()),
            Self::Length => f.write_str("invalid length in a reply"),
            Self::Value(kind) => write!(f, "invalid value of type '{}'", char::from(*kind)),
            Self::LineEnd => f.write_str("a text of a reply is not followed by CR and LF"),
            Self::Attributes => f.write_str("attributes are followed by attributes"),
            Self::TooLong => f.write_str("the reply is too long"),
            Self::TooDeep => f.write_str("the reply is nested too deeply"),
        }
    }
}

impl std::error::Error for InvalidReply {}
