//! The error replies of commands, each with its exact text.

use lockwheel_resp::allocation::OutOfMemory;
use lockwheel_store::keyspace::WrongType;
use std::borrow::Cow;
use std::fmt;

/// An error reply: the code and the text, without the leading `-`. Two errors are equal if their texts are equal.
#[derive(Clone, Debug)]
pub struct CommandError {
    text: Cow<'static, [u8]>,
    /// The argument that causes the error, if it is known.
    argument: Option<Box<WrongArgument>>,
}

/// An argument that its command does not accept.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongArgument {
    /// The index of the argument. The command's name has index 0.
    pub(super) at: usize,
    pub(super) valid: ValidValues,
}

/// The values that an argument may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValidValues {
    /// An integer between the two numbers, both included.
    Integer(i64, i64),
    /// A value in words: `a number from 0 to 1`.
    Value(&'static str),
}

impl fmt::Display for ValidValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValidValues::Integer(min, max) => write!(f, "an integer from {min} to {max}"),
            ValidValues::Value(words) => f.write_str(words),
        }
    }
}

impl CommandError {
    /// An error with a fixed text.
    pub const fn text(text: &'static str) -> Self {
        CommandError { text: Cow::Borrowed(text.as_bytes()), argument: None }
    }

    /// An error whose text is made from its cause.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        CommandError { text: Cow::Owned(text.into()), argument: None }
    }

    /// Marks the error as caused by argument `at`. The errors of our own commands then name the argument.
    #[cold]
    pub(crate) fn of_argument(self, at: usize, valid: ValidValues) -> Self {
        CommandError { argument: Some(Box::new(WrongArgument { at, valid })), ..self }
    }

    pub(super) fn argument(&self) -> Option<&WrongArgument> {
        self.argument.as_deref()
    }

    /// The reply, without the leading `-`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// `wrong number of arguments` for a command, by its full lower-case name.
    pub fn arity(name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{name}' command"))
    }
}

impl PartialEq for CommandError {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CommandError {}

/// The part of a client's words that an error quotes. Redis prints the words as a C string, which ends at a NUL.
pub fn quotable(words: &[u8]) -> &[u8] {
    words.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl From<WrongType> for CommandError {
    fn from(_: WrongType) -> Self {
        errors::WRONG_TYPE
    }
}

impl From<OutOfMemory> for CommandError {
    fn from(_: OutOfMemory) -> Self {
        errors::INSUFFICIENT_MEMORY
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
        ANY_WITHOUT_COUNT = "ERR the ANY argument requires COUNT argument";
        AUTOCLAIM_COUNT = "ERR COUNT must be > 0";
        AUTOCLAIM_MIN_IDLE = "ERR Invalid min-idle-time argument for XAUTOCLAIM";
        BOX_NEGATIVE = "ERR height or width cannot be negative";
        BUSY_KEY = "BUSYKEY Target key name already exists.";
        CLAIM_IDLE = "ERR Invalid IDLE option argument for XCLAIM";
        CLAIM_MIN_IDLE = "ERR Invalid min-idle-time argument for XCLAIM";
        CLAIM_RETRYCOUNT = "ERR Invalid RETRYCOUNT option argument for XCLAIM";
        CLAIM_TIME = "ERR Invalid TIME option argument for XCLAIM";
        COUNT_NEGATIVE = "ERR COUNT can't be negative";
        COUNT_NOT_POSITIVE = "ERR count should be greater than 0";
        DB_OUT_OF_RANGE = "ERR DB index is out of range";
        DECREMENT_OVERFLOW = "ERR decrement would overflow";
        DOLLAR_OF_GROUP = "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the \
                           history of this consumer by specifying a proper ID, or use the > ID to get new \
                           messages. The $ ID would just return an empty result set.";
        ELEMENTS_TOO_LARGE = "ERR Elements are too large to be stored";
        ENTRIES_ADDED_BELOW_LENGTH = "ERR The entries_added specified in XSETID is smaller than the \
                                      target stream length";
        ENTRIES_ADDED_NEGATIVE = "ERR entries_added must be positive";
        ENTRIES_READ_NEGATIVE = "ERR value for ENTRIESREAD must be positive or -1";
        GEO_COUNT_NOT_POSITIVE = "ERR COUNT must be > 0";
        GROUP_EXISTS = "BUSYGROUP Consumer Group name already exists";
        GROUP_OF_XREAD = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.";
        GT_LT_OR_NX = "ERR GT, LT, and/or NX options at the same time are not compatible";
        HASH_VALUE_NOT_AN_INTEGER = "ERR hash value is not an integer";
        HASH_VALUE_NOT_A_FLOAT = "ERR hash value is not a float";
        ID_BELOW_GIVEN_MAX_DELETED = "ERR The ID specified in XSETID is smaller than the provided \
                                      max_deleted_entry_id";
        ID_BELOW_MAX_DELETED = "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id";
        ID_BELOW_TOP = "ERR The ID specified in XSETID is smaller than the target stream top item";
        ID_NOT_ABOVE_TOP = "ERR The ID specified in XADD is equal or smaller than the target stream top item";
        ID_NOT_ABOVE_ZERO = "ERR The ID specified in XADD must be greater than 0-0";
        INCREMENT_NAN_OR_INFINITY = "ERR increment would produce NaN or Infinity";
        INCREMENT_OVERFLOW = "ERR increment or decrement would overflow";
        INCR_OF_MANY = "ERR INCR option supports a single increment-element pair";
        INDEX_OUT_OF_RANGE = "ERR index out of range";
        INFINITE_INCREMENT = "ERR value is NaN or Infinity";
        INSUFFICIENT_MEMORY = "OOM Insufficient memory";
        INVALID_CURSOR = "ERR invalid cursor";
        INVALID_END_ID = "ERR invalid end ID for the interval";
        INVALID_START_ID = "ERR invalid start ID for the interval";
        INVALID_STREAM_ID = "ERR Invalid stream ID specified as stream command argument";
        LIMIT_ARGUMENT_NEGATIVE = "ERR The LIMIT argument must be >= 0.";
        LIMIT_BY_RANK = "ERR syntax error, LIMIT is only supported in combination with either \
                         BYSCORE or BYLEX";
        LIMIT_NEGATIVE = "ERR LIMIT can't be negative";
        LIMIT_OF_EXACT_TRIMMING = "ERR syntax error, LIMIT cannot be used without the special ~ option";
        LIMIT_WITHOUT_STRATEGY = "ERR syntax error, LIMIT cannot be used without specifying a \
                                  trimming strategy";
        MAXLEN_ARGUMENT_NEGATIVE = "ERR The MAXLEN argument must be >= 0.";
        MAXLEN_NEGATIVE = "ERR MAXLEN can't be negative";
        MIN_OR_MAX_NOT_A_FLOAT = "ERR min or max is not a float";
        MIN_OR_MAX_NOT_A_STRING = "ERR min or max not valid string range item";
        MISSING_GROUP = "ERR Missing GROUP option for XREADGROUP";
        NEW_WITHOUT_GROUP = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP \
                             <group> <consumer> option.";
        NOACK_OF_XREAD = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.";
        NOT_AN_INTEGER = "ERR value is not an integer or out of range";
        NOT_A_FLOAT = "ERR value is not a valid float";
        NO_HEIGHT = "ERR need numeric height";
        NO_RADIUS = "ERR need numeric radius";
        NO_SUCH_KEY = "ERR no such key";
        NO_SUCH_PLACE = "ERR could not decode requested zset member";
        NO_TRIMMING_STRATEGY = "ERR syntax error, XTRIM must be called with a trimming strategy";
        NO_WIDTH = "ERR need numeric width";
        NUMKEYS_NOT_POSITIVE = "ERR numkeys should be greater than 0";
        NUMKEYS_TOO_LARGE = "ERR Number of keys can't be greater than number of args";
        OFFSET_OUT_OF_RANGE = "ERR offset is out of range";
        OUT_OF_INT_RANGE = "ERR value is out of range, value must between -2147483648 and 2147483647";
        OUT_OF_LONG_RANGE = "ERR value is out of range, value must between -9223372036854775807 and \
                             9223372036854775807";
        OUT_OF_RANGE = "ERR value is out of range";
        OUT_OF_RANGE_POSITIVE = "ERR value is out of range, must be positive";
        PATTERN_TOO_LONG = "ERR the pattern is longer than 4096 bytes";
        RADIUS_NEGATIVE = "ERR radius cannot be negative";
        RADIUS_TELLS = "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options";
        RANK_ZERO = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use \
                     negative to start from the end of the list";
        SAME_OBJECT = "ERR source and destination objects are the same";
        SCORES_BY_LEX = "ERR syntax error, WITHSCORES not supported in combination with BYLEX";
        SCORE_IS_NAN = "ERR resulting score is not a number (NaN)";
        SEARCH_TELLS = "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options";
        STREAM_EXHAUSTED = "ERR The stream has exhausted the last possible ID, unable to add more items";
        STRING_TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
        SYNTAX = "ERR syntax error";
        TIMEOUT_NEGATIVE = "ERR timeout is negative";
        TIMEOUT_NOT_AN_INTEGER = "ERR timeout is not an integer or out of range";
        TIMEOUT_NOT_A_FLOAT = "ERR timeout is not a float or out of range";
        TIMEOUT_OUT_OF_RANGE = "ERR timeout is out of range";
        TWO_TRIMMING_STRATEGIES = "ERR syntax error, MAXLEN and MINID options at the same time are \
                                   not compatible";
        UNBLOCKED = "UNBLOCKED client unblocked via CLIENT UNBLOCK";
        UNKNOWN_UNIT = "ERR unsupported unit provided. please use M, KM, FT, MI";
        WEIGHT_NOT_A_FLOAT = "ERR weight value is not a float";
        WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";
        XGROUP_WITHOUT_KEY = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE \
                              you may want to use the MKSTREAM option to create an empty stream \
                              automatically.";
        XX_AND_NX = "ERR XX and NX options at the same time are not compatible";
    }
}
