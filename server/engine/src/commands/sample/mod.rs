//! Random elements of a collection: what HRANDFIELD, SRANDMEMBER and ZRANDMEMBER share.

mod draw;
mod request;

pub(super) use draw::{check_choice, distinct};
pub(super) use request::{Sampled, pair_row, sample};
