//! What happens to locks, for those who want to be told: events on the channels `__lock@<db>__:<key>`, and pushes to
//! the connections whose holds are concerned.
//!
//! Events go to those who have subscribed to such a channel, or to a pattern that begins with two underscores: who
//! listens to everything for other reasons is sent what Redis would send. Pushes go to RESP3 connections.

mod message;
mod news;

pub(super) use message::{announce, effect};
pub(super) use news::{HoldNews, HolderConnection, News, push};
