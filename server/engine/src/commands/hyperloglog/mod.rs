//! HyperLogLogs: PFADD, PFCOUNT, PFMERGE, and the commands that inspect them.

pub(super) mod add;
pub(super) mod count;
pub(super) mod debug;
pub(super) mod merge;
mod self_test;
#[cfg(test)]
mod tests;

use crate::spec::CommandError;
use lockwheel_store::values::hyperloglog::{Corrupted, Sketch, SketchMut};
use lockwheel_store::values::{Encodings, Str};

const NO_SKETCH: &str = "WRONGTYPE Key is not a valid HyperLogLog string value.";
/// The error for a HyperLogLog with corrupted registers.
const CORRUPTED: &str = "INVALIDOBJ Corrupted HLL object detected";

impl From<Corrupted> for CommandError {
    fn from(_: Corrupted) -> Self {
        CommandError::text(CORRUPTED)
    }
}

/// Reads the text of a string as a HyperLogLog.
fn sketch(text: &[u8]) -> Result<Sketch<'_>, CommandError> {
    Sketch::of(text).ok_or(CommandError::text(NO_SKETCH))
}

/// Opens a string as a HyperLogLog for changes. If it is one, its encoding becomes `raw`.
fn sketch_mut<'a>(value: &'a mut Str, encodings: &Encodings) -> Result<SketchMut<'a>, CommandError> {
    sketch(&value.text())?;
    SketchMut::of(value.buffer(), encodings.hll_sparse_max_bytes).ok_or(CommandError::text(NO_SKETCH))
}
