//! The differential tests: commands of the table in random sequences, sent to a real server and to ours at once.
//!
//! A sequence begins on empty servers. Its commands are generated from the rows' synopses, plain, in transactions and
//! from scripts, on several connections. Every reply is compared, and at the end the whole state. A failing sequence is
//! shrunk to the lines that matter. Any difference that is not in [`crate::differences`] is a failure, and so is an
//! option or an error of a row that was never produced.

pub mod commands;
pub mod directed;
mod directed_more;
mod directed_users;
pub mod duel;
mod elsewhere;
pub mod messages;
pub mod run;
pub mod sequence;
mod shrink;

pub use commands::{Commands, Subject};
pub use duel::Duel;
pub use messages::compare_messages;
pub use run::{Family, Measure, differ, rounds, seed};
