//! Rules of the sources: they agree with the table, the pages and the licences.

mod licences;
mod readme;
mod table;
mod tidy;
