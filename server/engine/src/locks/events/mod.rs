//! The notices of what happens to locks: events on the channels `__lock@<db>__:<key>`, and pushes to the RESP3
//! connections whose holds are concerned. Events go to clients that subscribe to such a channel, or to a pattern that
//! begins with two underscores. A client that listens to everything for other reasons gets only what Redis would send.

mod message;
mod news;

pub(super) use message::{announce, effect};
pub(super) use news::{HoldNews, HolderConnection, News, push};
