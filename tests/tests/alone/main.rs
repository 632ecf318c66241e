//! Tests that count the memory, the threads or the files of a process.

mod embedding;
mod hostile_master;
mod limits;
mod memory;
mod soak;
mod unread;
