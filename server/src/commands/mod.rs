//! Data commands: one file a family, its rows and its handlers.

mod scan;

use crate::table::{DataHandler, Row};

/// The rows of all families, a slice a file.
pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[scan::ROWS];
