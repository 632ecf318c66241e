//! The compared servers: search, start on separate cores, measurement, end.

pub mod affinity;
mod client;
pub mod cpu;
mod find;
pub mod memory;
mod process;

pub use client::Client;
pub use find::{Candidate, Located, find};
pub use process::Server;
