//! Lock commands that affect clients other than the sender.

mod cancel;

use crate::core::Handler;
use crate::spec::Row;

pub(super) const ROWS: &[Row<Handler>] = cancel::ROWS;
