//! What happens to locks, for those who want to be told: events on the channels `__lock@<db>__:<key>`, and pushes to
//! the connections whose holds are concerned.
//!
//! Events go to those who have subscribed to such a channel, or to a pattern that begins with two underscores: who
//! listens to everything for other reasons is sent what Redis would send. Pushes go to RESP3 connections.

mod message;
mod news;
mod of_waits;
mod warnings;

pub(super) use message::announce;
pub(super) use news::{HoldNews, HolderConnection, News};
pub(crate) use of_waits::deadlock;
pub(crate) use of_waits::left;
pub(super) use of_waits::{granted, queued};
pub(crate) use warnings::watch_leases;
pub(super) use warnings::{converted, jeopardy, lease_set, lint, lint_release};
