//! The first pass over a result.

use lockwheel_resp::{Protocol, Reply};

/// A sink that discards everything. The walk itself counts.
pub(super) struct Measure;

impl Reply for Measure {
    fn protocol(&self) -> Protocol {
        Protocol::Resp3
    }
    fn status(&mut self, _: &[u8]) {}
    fn error(&mut self, _: &[u8]) {}
    fn integer(&mut self, _: i64) {}
    fn bulk(&mut self, _: &[u8]) {}
    fn null(&mut self) {}
    fn null_array(&mut self) {}
    fn double(&mut self, _: f64) {}
    fn decimal(&mut self, _: f64) {}
    fn boolean(&mut self, _: bool) {}
    fn big_number(&mut self, _: &[u8]) {}
    fn verbatim(&mut self, _: [u8; 3], _: &[u8]) {}
    fn array(&mut self, _: usize) {}
    fn map(&mut self, _: usize) {}
    fn set(&mut self, _: usize) {}
    fn push(&mut self, _: usize) {}
}
