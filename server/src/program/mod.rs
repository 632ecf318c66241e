//! The server as a system's program: its files, its log, the background, its supervisor.

pub(crate) mod allocator;
pub(crate) mod background;
pub(crate) mod files;
pub(crate) mod log;
pub(crate) mod supervisor;
