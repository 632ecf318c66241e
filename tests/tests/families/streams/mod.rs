//! Streams, against what real servers answer.

mod bad_input;
mod entries;
mod groups;
mod nodes;
mod told;
mod waiting;
