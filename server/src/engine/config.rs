//! The parameters that the engine and the sockets use.
#![allow(missing_docs)]
use crate::keyspace::Keyspace;
use crate::time::Mode;
use std::net::IpAddr;
#[derive(Clone, Copy, Debug, Default)]
pub enum TimeMode {
    #[default]
    Real,
    Manual,
}
#[derive(Clone, Debug)]
pub struct Config {
    pub databases: usize,
    pub requirepass: String,
    pub control: bool,
    pub time: TimeMode,
    pub seed: Option<u64>,
    pub threads: usize,
    pub port: u16,
    pub tcp_backlog: i32,
    pub busy_reply_threshold: u64,
    pub lua_memory_limit: usize,
    pub maxclients: usize,
    pub client_query_buffer_limit: usize,
    pub proto_max_bulk_len: usize,
}
impl Default for Config {
    fn default() -> Self {
        Config {
            databases: 16,
            requirepass: String::new(),
            control: true,
            time: TimeMode::Real,
            seed: None,
            threads: 1,
            port: 6379,
            tcp_backlog: 511,
            busy_reply_threshold: 5000,
            lua_memory_limit: 2 << 30,
            maxclients: 10000,
            client_query_buffer_limit: 1 << 30,
            proto_max_bulk_len: 512 << 20,
        }
    }
}
pub struct OutputLimit {
    pub hard: usize,
    pub soft: usize,
    pub soft_seconds: i64,
}
impl Config {
    pub fn clock_mode(&self) -> Mode {
        match self.time {
            TimeMode::Real => Mode::Real,
            TimeMode::Manual => Mode::Manual,
        }
    }
    pub fn apply_to(&self, _: &mut Keyspace) {}
    pub fn bind_addresses(&self) -> Vec<(IpAddr, bool)> {
        vec![([127, 0, 0, 1].into(), false), (IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), true)]
    }
    pub fn output_limit(&self, pubsub: bool) -> OutputLimit {
        if pubsub {
            OutputLimit { hard: 32 << 20, soft: 8 << 20, soft_seconds: 60 }
        } else {
            OutputLimit { hard: 0, soft: 0, soft_seconds: 0 }
        }
    }
}
