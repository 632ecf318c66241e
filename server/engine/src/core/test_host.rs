//! A host for tests, whose clocks the test controls.

use super::engine::{Engine, Host};
use super::target::{NotConnected, Target, TargetAddress};
use crate::config::{Config, HostChanges, HostRefusal};
use lockwheel_store::time::Now;

pub(crate) struct TestHost<F>(pub(crate) F);

impl<F: Fn() -> Now + Send + Sync> Host for TestHost<F> {
    fn now(&self) -> Now {
        (self.0)()
    }

    fn stopwatch_ns(&self) -> u64 {
        0
    }

    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Err(HostRefusal::Listening)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}
