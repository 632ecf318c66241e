//! Scripts, run with a host of a few commands.
#![allow(missing_docs, clippy::unwrap_used)]

mod cache;
mod kill;
mod limits;
mod mock;
mod observed;
mod replies;
mod sandbox;
