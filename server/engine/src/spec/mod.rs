//! The definition of a command: its row in the table, its arguments, its errors. The module knows no particular
//! command.
//!
//! A command is one `const` [`Row`] and one function, side by side in its family's file. The row drives the arity
//! error, COMMAND and its subcommands, and the keys that ACL, WATCH and cluster routing see. It also drives the random
//! sequences of the differential tests and the documentation.

mod args;
mod categories;
mod channels;
mod command_set;
mod error;
mod explained;
mod find_keys;
mod flags;
mod flow;
mod grammar;
pub(crate) mod help;
mod id;
mod keys;
mod names;
mod nearest;
mod registry;
mod row;
mod since;
pub mod syntax;
mod unknown;
mod version;
mod versions;
mod wait;

pub use args::{Args, TimeoutRule, kept_pattern, parse_integer_timeout_ms, parse_timeout_ms};
pub use categories::{Categories, Category};
pub use channels::ChannelSpec;
pub use command_set::CommandSet;
pub(crate) use error::ValidValues;
pub use error::{CommandError, errors, quotable};
pub(crate) use explained::{explained, no_such_command, similar_command, unknown_word};
pub(crate) use find_keys::atoi;
pub use flags::{Flags, KeyFlags};
pub use flow::{BlockingOutcome, Flow, Outcome};
pub(crate) use grammar::{
    CommandGrammar, Compiled, Mismatch, ParsedArgs, Part as GrammarPart, Symbol, SymbolSet,
    Token as GrammarToken, grammar, symbols,
};
pub use id::CommandId;
pub(crate) use id::PerCommand;
pub use keys::{Begin, Find, Key, KeyFinder, KeySpec};
pub use nearest::{nearest, suggestion};
pub use registry::{Command, CommandTable, Registration};
pub use row::{OptionTexts, Row, Secrets, Spec};
pub(crate) use since::Newer;
pub use since::{Before, Refusing};
pub(crate) use unknown::{unknown_command, unknown_or_arity, unknown_subcommand, wrong_arity};
pub use version::Version;
pub(crate) use versions::Versions;
pub use wait::{Answer, Argument, Asking, Attempt, Null, OnKeys, OutOfTurn, Wait, WaitClass};

use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

/// The handler of a data command: it sees the transaction, its arguments and the reply, and nothing else. It validates
/// before it writes: an `Err` must leave every key as it was.
pub type DataHandler = fn(&mut Tx<'_>, Args<'_>, &mut dyn Reply) -> Outcome;

/// The handler of a data command that may wait: as [`DataHandler`], or the handler returns a [`Wait`].
pub type BlockingHandler = fn(&mut Tx<'_>, Args<'_>, &mut dyn Reply) -> BlockingOutcome;

/// The handler of a data command that may read keys beside those that it names. `bool`: the caller may read any key.
pub type ReadingAnyKeyHandler = fn(&mut Tx<'_>, bool, Args<'_>, &mut dyn Reply) -> Outcome;

/// The version of Redis that replies follow.
pub const REDIS_VERSION: &str = "7.2.7";
