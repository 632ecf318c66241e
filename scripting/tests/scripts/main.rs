//! Scripts, run with a host of a few commands.
#![allow(missing_docs, clippy::unwrap_used)]

mod mock;
mod observed;
