//! The errors that commands answer, each with its exact text.

use crate::keyspace::WrongType;
use std::borrow::Cow;

/// An error reply: its code and text, without the leading `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError(Cow<'static, [u8]>);

impl CommandError {
    /// An error with a fixed text.
    pub const fn text(text: &'static str) -> Self {
        CommandError(Cow::Borrowed(text.as_bytes()))
    }

    /// An error whose text is made from its cause.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        CommandError(Cow::Owned(text.into()))
    }

    /// The reply, without the leading `-`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `wrong number of arguments` for a command, by its full lower-case name.
    pub fn arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }
}

/// A client's words as an error quotes them: Redis prints them as a C string, which ends at a NUL.
pub fn quotable(words: &[u8]) -> &[u8] {
    words.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl From<WrongType> for CommandError {
    fn from(_: WrongType) -> Self {
        errors::WRONG_TYPE
    }
}

/// Fixed errors. The texts are Redis', as observed; the order is alphabetical.
pub mod errors {
    use super::CommandError;

    macro_rules! errors {
        ($($name:ident = $text:literal;)*) => {
            $(
                #[doc = concat!("`", $text, "`")]
                pub const $name: CommandError = CommandError::text($text);
            )*
        };
    }

    errors! {
        COUNT_NEGATIVE = "ERR COUNT can't be negative";
        COUNT_NOT_POSITIVE = "ERR count should be greater than 0";
        DB_OUT_OF_RANGE = "ERR DB index is out of range";
        DECREMENT_OVERFLOW = "ERR decrement would overflow";
        GT_LT_OR_NX = "ERR GT, LT, and/or NX options at the same time are not compatible";
        HASH_VALUE_NOT_AN_INTEGER = "ERR hash value is not an integer";
        HASH_VALUE_NOT_A_FLOAT = "ERR hash value is not a float";
        INCREMENT_NAN_OR_INFINITY = "ERR increment would produce NaN or Infinity";
        INCREMENT_OVERFLOW = "ERR increment or decrement would overflow";
        INCR_OF_MANY = "ERR INCR option supports a single increment-element pair";
        INDEX_OUT_OF_RANGE = "ERR index out of range";
        INFINITE_INCREMENT = "ERR value is NaN or Infinity";
        INVALID_CURSOR = "ERR invalid cursor";
        LIMIT_BY_RANK = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX";
        LIMIT_NEGATIVE = "ERR LIMIT can't be negative";
        MAXLEN_NEGATIVE = "ERR MAXLEN can't be negative";
        MIN_OR_MAX_NOT_A_FLOAT = "ERR min or max is not a float";
        MIN_OR_MAX_NOT_A_STRING = "ERR min or max not valid string range item";
        NOT_AN_INTEGER = "ERR value is not an integer or out of range";
        NOT_A_FLOAT = "ERR value is not a valid float";
        NO_SUCH_KEY = "ERR no such key";
        NUMKEYS_NOT_POSITIVE = "ERR numkeys should be greater than 0";
        NUMKEYS_TOO_LARGE = "ERR Number of keys can't be greater than number of args";
        OFFSET_OUT_OF_RANGE = "ERR offset is out of range";
        OUT_OF_INT_RANGE = "ERR value is out of range, value must between -2147483648 and 2147483647";
        OUT_OF_LONG_RANGE = "ERR value is out of range, value must between -9223372036854775807 and \
                             9223372036854775807";
        OUT_OF_RANGE = "ERR value is out of range";
        OUT_OF_RANGE_POSITIVE = "ERR value is out of range, must be positive";
        RANK_ZERO = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                     negative to start from the end of the list";
        SAME_OBJECT = "ERR source and destination objects are the same";
        SCORES_BY_LEX = "ERR syntax error, WITHSCORES not supported in combination with BYLEX";
        SCORE_IS_NAN = "ERR resulting score is not a number (NaN)";
        STRING_TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
        SYNTAX = "ERR syntax error";
        TIMEOUT_NEGATIVE = "ERR timeout is negative";
        TIMEOUT_NOT_AN_INTEGER = "ERR timeout is not an integer or out of range";
        TIMEOUT_NOT_A_FLOAT = "ERR timeout is not a float or out of range";
        TIMEOUT_OUT_OF_RANGE = "ERR timeout is out of range";
        UNBLOCKED = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
        WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";
        XX_AND_NX = "ERR XX and NX options at the same time are not compatible";
    }
}
