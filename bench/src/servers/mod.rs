//! The servers that are compared: found, started on a core of their own, measured, ended.

pub mod affinity;
mod client;
pub mod cpu;
mod find;
pub mod memory;
mod process;

pub use client::Client;
pub use find::{Candidate, Located, find};
pub use process::Server;
