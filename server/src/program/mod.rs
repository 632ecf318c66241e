//! What makes the server a program of a system: its files, its log, the background, who supervises it.

pub(crate) mod allocator;
pub(crate) mod background;
pub(crate) mod files;
pub(crate) mod log;
pub(crate) mod supervisor;
