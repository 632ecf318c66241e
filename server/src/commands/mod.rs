//! Data commands: one file a family, its rows and its handlers.

mod lists;
mod ranges;
mod ready;
mod scan;

use crate::table::{DataHandler, Row};

/// The rows of all families, a slice a file.
pub(crate) const ROWS: &[&[Row<DataHandler>]] =
    &[lists::change::ROWS, lists::pop::ROWS, lists::read::ROWS, lists::transfer::ROWS, scan::ROWS];
