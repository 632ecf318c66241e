//! Data commands: one file per family, with rows and handlers.

mod at_once;
mod bitmaps;
mod bounded_counter;
mod counters;
mod databases;
mod digests;
mod dump;
mod expiry;
mod geo;
mod hashes;
mod hyperloglog;
mod keys;
mod lcs;
mod lists;
mod object;
mod pop_first;
mod ranges;
mod sample;
mod scan;
mod set_options;
mod sets;
mod sort;
mod sorted_sets;
mod streams;
mod string_ranges;
mod strings;
#[cfg(test)]
mod testing;

use crate::spec::{BlockingHandler, DataHandler, ReadingAnyKeyHandler, Row};

pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[
    at_once::ROWS,
    bitmaps::combine::ROWS,
    bitmaps::fields::ROWS,
    bitmaps::ranges::ROWS,
    bitmaps::single::ROWS,
    bounded_counter::ROWS,
    counters::ROWS,
    databases::ROWS,
    digests::ROWS,
    dump::ROWS,
    expiry::ROWS,
    geo::places::ROWS,
    geo::search::ROWS,
    hashes::at_once::ROWS,
    hashes::change::ROWS,
    hashes::expiry::ROWS,
    hashes::read::ROWS,
    hyperloglog::add::ROWS,
    hyperloglog::count::ROWS,
    hyperloglog::debug::ROWS,
    hyperloglog::merge::ROWS,
    keys::ROWS,
    lcs::ROWS,
    lists::change::ROWS,
    lists::pop::ROWS,
    lists::read::ROWS,
    lists::transfer::ROWS,
    object::ROWS,
    scan::ROWS,
    sets::algebra::ROWS,
    sets::change::ROWS,
    sets::read::ROWS,
    sorted_sets::algebra::commands::ROWS,
    sorted_sets::change::ROWS,
    sorted_sets::pop::ROWS,
    sorted_sets::random::ROWS,
    sorted_sets::range::ROWS,
    sorted_sets::read::ROWS,
    streams::add::ROWS,
    streams::auto_claim::ROWS,
    streams::claim::ROWS,
    streams::delete::ROWS,
    streams::info::ROWS,
    streams::manage_groups::ROWS,
    streams::pending::ROWS,
    streams::range::ROWS,
    streams::set_id::ROWS,
    string_ranges::ROWS,
    strings::ROWS,
];

/// The rows of the families that may read keys which their requests do not name.
pub(crate) const READING_ANY_KEY_ROWS: &[&[Row<ReadingAnyKeyHandler>]] = &[sort::ROWS];

pub(crate) const BLOCKING_ROWS: &[&[Row<BlockingHandler>]] =
    &[lists::blocking::ROWS, sorted_sets::blocking::ROWS, streams::read::ROWS];
