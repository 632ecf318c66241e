//! Fences: the highest token that each resource outside of the server has been shown.
//!
//! A resource stands for another system that checks tokens, so its state survives a flush of the keys.

mod commands;
mod highest;
mod resource;

pub(super) use commands::ROWS;
pub(super) use highest::{Fences, TokenSource};
