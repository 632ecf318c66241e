//! The deadlines of a server: the next deadline on either clock, the deadlines that fire before a batch, and moves of
//! the clock towards them.
//!
//! The module does not know the engine. [`Schedule`] answers questions, [`FiringPiece`] bounds the deadlines that fire
//! at once, and [`ClockMoves`] moves the clock. The conductor in [`core`](crate::core) fires the due deadlines.

mod clock_moves;
mod firing_piece;
mod schedule;

pub(crate) use clock_moves::ClockMoves;
pub(crate) use firing_piece::{FiringPiece, PIECE};
pub(crate) use schedule::{KeyDeadlines, Schedule};
