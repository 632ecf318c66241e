//! The append-only file: its changes, and its reading at the start.

mod conductor;
mod loading;

pub(super) use conductor::{append_streamed, log_synced, synced};
pub(super) use loading::reload;
