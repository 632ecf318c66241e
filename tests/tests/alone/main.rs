//! What needs a process of its own: its memory, its threads or its files are counted.

mod embedding;
mod hostile_master;
mod limits;
mod memory;
mod soak;
mod unread;
