//! Random elements of a collection, for HRANDFIELD, SRANDMEMBER and ZRANDMEMBER.

mod draw;
mod request;

pub(super) use draw::{check_choice, distinct};
pub(super) use request::{Sampled, pair_row, sample};
