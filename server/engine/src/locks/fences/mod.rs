//! Fences: the highest token that each resource outside of the server has been shown.
//!
//! A resource stands for another system that checks tokens. So its state does not go with keys: it stays when they are
//! flushed.

mod commands;
mod highest;
mod resource;

pub(super) use commands::ROWS;
pub(super) use highest::{Fences, TokenSource};
