//! The deadlines of a server: which comes next on either clock, which fire before a batch, and moves of the clock
//! towards them.
//!
//! The room does not know the engine. [`Schedule`] answers questions, [`FiringPiece`] bounds what fires at once, and
//! [`ClockMoves`] moves the clock; the conductor in [`core`](crate::core) fires what is due.

mod clock_moves;
mod firing_piece;
mod schedule;

pub(crate) use clock_moves::ClockMoves;
pub(crate) use firing_piece::{FiringPiece, PIECE};
pub(crate) use schedule::{KeyDeadlines, Schedule};
