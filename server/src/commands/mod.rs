//! Data commands: one file a family, its rows and its handlers.

mod counters;
mod databases;
mod expiry;
mod keys;
mod lists;
mod ranges;
mod ready;
mod scan;
mod set_options;
mod string_ranges;
mod strings;

use crate::table::{DataHandler, Row};

/// The rows of all families, a slice a file.
pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[
    counters::ROWS,
    databases::ROWS,
    expiry::ROWS,
    keys::ROWS,
    lists::change::ROWS,
    lists::pop::ROWS,
    lists::read::ROWS,
    lists::transfer::ROWS,
    scan::ROWS,
    string_ranges::ROWS,
    strings::ROWS,
];
