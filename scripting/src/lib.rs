//! Lua 5.1 as Redis offers it to scripts: the interface, as the engine uses it.
#![allow(missing_docs, dead_code, unused)]
use lockwheel_resp::Reply;
use std::sync::Arc;
pub trait Host {
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply);
    fn log(&mut self, _: u8, _: &[u8]);
    fn on_slow(&mut self) {}
    fn may_run(&mut self, _: &[&[u8]]) -> Option<bool>;
}
pub struct Options {
    pub memory_limit: usize,
    pub seed: u64,
    pub redis_version: &'static str,
}
pub struct Runtime;
#[derive(Clone, Copy)]
pub struct ScriptId;
#[derive(Clone)]
pub struct Sha;
impl Sha {
    pub fn as_bytes(&self) -> &[u8] {
        &[]
    }
}
pub struct Flags {
    pub no_writes: bool,
}
pub struct Error;
impl Error {
    pub fn into_bytes(self) -> Vec<u8> {
        vec![]
    }
}
impl Runtime {
    pub fn new(_: Options, _: Arc<Control>) -> Self {
        Runtime
    }
    pub fn load(&mut self, _: &[u8]) -> Result<Sha, Error> {
        Err(Error)
    }
    pub fn find(&self, _: &[u8]) -> Option<ScriptId> {
        None
    }
    pub fn intern(&mut self, _: &[u8]) -> Result<ScriptId, Error> {
        Err(Error)
    }
    pub fn flags(&self, _: ScriptId) -> Flags {
        Flags { no_writes: false }
    }
    pub fn exists(&self, _: &[u8]) -> bool {
        false
    }
    pub fn flush(&mut self) {}
    pub fn run(&mut self, _: ScriptId, _: &[&[u8]], _: &[&[u8]], _: &mut dyn Host, _: &mut dyn Reply) {}
}
pub struct Control;
pub enum KillError {
    NotBusy,
    Unkillable,
}
impl Control {
    pub fn new() -> Self {
        Control
    }
    pub fn begin(&self, _: u64) {}
    pub fn end(&self) {}
    pub fn running_since(&self) -> Option<u64> {
        None
    }
    pub fn mark_write(&self) {}
    pub fn arm(&self) {}
    pub fn kill(&self) -> Result<(), KillError> {
        Ok(())
    }
    pub fn force_kill(&self) {}
}
