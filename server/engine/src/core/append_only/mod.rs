//! The changes of the append-only file.

mod conductor;

pub(super) use conductor::{append_streamed, log_synced, synced};
