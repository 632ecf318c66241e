//! The shared parts of the rows of CLIENT.

use crate::core::Handler;
use crate::spec::{Flags, Row};

const FLAGS: Flags = Flags::of(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);
/// The flags of the subcommands that affect other clients.
pub(super) const ADMIN: Flags = Flags::of(&[FLAGS, Flags::ADMIN]);

/// Returns the row of a subcommand, without its texts.
pub(super) const fn row(name: &'static str, arity: i32, handler: Handler) -> Row<Handler> {
    Row::new(name, arity, handler).flags(&[FLAGS]).categories(&["connection"])
}
