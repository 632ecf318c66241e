//! The notices of what happens to locks: events on the channels `__lock@<db>__:<key>`, and pushes to the connections
//! whose holds are concerned.
//!
//! Events go to clients that have subscribed to such a channel, or to a pattern that begins with two underscores. A
//! client that listens to everything for other reasons gets only what Redis would send. Pushes go to RESP3 connections.

mod message;
mod news;

pub(super) use message::{announce, effect};
pub(super) use news::{HoldNews, HolderConnection, News, push};
