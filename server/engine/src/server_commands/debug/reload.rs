//! DEBUG RELOAD: every value through the bytes that DUMP makes, in memory.

use crate::core::{Call, Engine};
use crate::rdb::{self, Reader, Writer};
use crate::spec::{Args, CommandError, Outcome};
use crate::values::{Encodings, Value};
use lockwheel_resp::Reply;

const UNKNOWN_OPTION: &str = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.";
const UNREADABLE: &str = "ERR Error trying to load the RDB dump";

/// Checks the options: without a file they mean nothing else.
pub(super) fn check(args: Args<'_>) -> Outcome {
    let is_known = |at: usize| ["merge", "noflush", "nosave"].iter().any(|word| args.is(at, word));
    if (2..args.len()).all(is_known) { Ok(()) } else { Err(CommandError::text(UNKNOWN_OPTION)) }
}

/// Puts what is read in the place of each value. Deadlines stay, and nobody is told of a change: there is none.
pub(super) fn reload(engine: &mut Engine, call: Call<'_>, reply: &mut dyn Reply) -> Outcome {
    let mut tx = engine.keyspace.tx(call.db, engine.time.now);
    for db in 0..tx.databases() {
        tx.select(db);
        let keys: Vec<Box<[u8]>> = tx.iter().map(|(key, _)| key.into()).collect();
        for key in keys {
            if !tx.rebuild(&key, read_again) {
                return Err(CommandError::text(UNREADABLE));
            }
        }
    }
    reply.ok();
    Ok(())
}

fn read_again(value: &Value, encodings: &Encodings) -> Option<Value> {
    let mut writer = Writer::new();
    rdb::write_value(value, &mut writer);
    rdb::read_value(&mut Reader::new(writer.written()), encodings).ok()
}
