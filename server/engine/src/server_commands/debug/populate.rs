//! DEBUG POPULATE.

use crate::spec::{Args, Outcome, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Str, Value};

/// The maximum number of keys per call, about a few seconds' work.
const MAX_KEYS: usize = 1 << 24;
/// The maximum total size of the values, in bytes.
const MAX_BYTES: usize = 4 << 30;

/// Creates numbered keys, except those that exist already. Refuses a call for too many.
pub(super) fn populate(mut tx: Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let count = args.count(2)?;
    let prefix = args.get(3).unwrap_or(b"key");
    let size = if args.len() == 5 { args.count(4)? } else { 0 };
    let bytes = count.checked_mul(size.max(prefix.len()));
    if count > MAX_KEYS || bytes.is_none_or(|bytes| bytes > MAX_BYTES) {
        return Err(errors::OUT_OF_RANGE);
    }
    allocation::check(size)?;
    for number in 0..count {
        let key = [prefix, format!(":{number}").as_bytes()].concat();
        if tx.exists(&key) {
            continue;
        }
        let mut text = format!("value:{number}").into_bytes();
        if size > 0 {
            text.resize(size, 0);
        }
        tx.set(&key, Value::Str(Str::text_only(&text)), false);
        tx.touched(&key);
    }
    reply.ok();
    Ok(())
}
