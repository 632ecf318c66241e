//! How long a test waits for a state.

use crate::spec::{Args, CommandError, Null, Wait, WaitClass, errors};

/// `LIMIT`, in milliseconds of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(u64);

/// Without `LIMIT`.
const DEFAULT_MS: u64 = 5000;

impl Limit {
    /// Reads what stands from argument `at` to the end: nothing, or `LIMIT ms`.
    pub(crate) fn parse(args: Args<'_>, at: usize) -> Result<Self, CommandError> {
        if args.len() == at {
            return Ok(Limit(DEFAULT_MS));
        }
        if args.len() != at + 2 || !args.is(at, "limit") {
            return Err(errors::SYNTAX);
        }
        let ms = args.int_in(at + 1, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
        Ok(Limit(ms.unsigned_abs()))
    }

    /// What a command that waits for a state of these keys (arguments), or of the server, comes back with.
    pub(crate) fn wait(self, keys: impl IntoIterator<Item = usize>) -> Wait {
        Wait { real_time: true, ..Wait::on_keys(keys, WaitClass::State, Some(self.0), Null::Bulk) }
    }
}
