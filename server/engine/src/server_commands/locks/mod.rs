//! Commands on locks that concern other clients than the one that sends them.

mod cancel;

use crate::core::Handler;
use crate::spec::Row;

/// The rows of this family.
pub(super) const ROWS: &[Row<Handler>] = cancel::ROWS;
