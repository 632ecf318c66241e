//! Streams, compared with real servers' answers.

mod bad_input;
mod entries;
mod groups;
mod nodes;
mod notifications;
mod waiting;
