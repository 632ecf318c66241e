//! The harness that the tests share: real servers, its own small client, and ways to compare.
//!
//! Only the table of commands knows how Lockwheel works inside. The rest speaks RESP over TCP, so that every check also
//! runs against a real redis-server.

pub mod broken;
pub mod check;
pub mod client;
pub mod commands_page;
pub mod compare;
pub mod coverage;
pub mod cpu;
pub mod differences;
pub mod differential;
pub mod family;
pub mod generate;
pub mod line;
pub mod ours;
pub mod own_process;
pub mod pages;
pub mod pair;
pub mod program;
pub mod rdb;
pub mod redis_commands;
pub mod redis_server;
pub mod redisson;
pub mod redisson_scripts;
pub mod reference;
pub mod reply;
pub mod rng;
pub mod shapes;
pub mod simulated;
pub mod simulated_topology;
pub mod state;
pub mod steered;
pub mod tcl_suite;
pub mod tls;
pub mod universe;
pub mod verdict;
pub mod workshop;
