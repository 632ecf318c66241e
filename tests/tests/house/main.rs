//! Keeps the house in order: what a reader of the sources finds is what the table, the pages and the licences say.

mod licences;
mod readme;
mod table;
mod tidy;
