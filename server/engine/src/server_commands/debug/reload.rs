//! DEBUG RELOAD: the data through the file of a save. DEBUG LOADAOF: every value through its bytes, in memory.

use crate::core::{Call, Engine, NotSaved};
use crate::server_commands::persistence::LoadMode;
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::rdb::{self, Reader, Writer};
use lockwheel_store::values::{Encodings, Value};

const UNKNOWN_OPTION: &str = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.";
const UNREADABLE: &str = "ERR Error trying to load the RDB dump";

/// Saves the data and reads the file, unless the options say that less is to be done. Where the file has just been
/// written, what it has is there already: each value is put in the place of itself, so that holds of locks stay known.
pub(super) fn reload(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (mut saves, mut mode) = (true, LoadMode { flush: true, merge: false });
    for at in 2..args.len() {
        match &*args[at].to_ascii_lowercase() {
            b"nosave" => saves = false,
            b"noflush" => mode.flush = false,
            b"merge" => mode.merge = true,
            _ => return Err(CommandError::text(UNKNOWN_OPTION)),
        }
    }
    if saves {
        engine.save().map_err(|NotSaved| CommandError::text("ERR"))?;
    }
    if saves && mode.flush {
        return in_place(engine, call, reply);
    }
    engine.reload(mode).map_err(|why| {
        tracing::warn!("{why}");
        CommandError::text(UNREADABLE)
    })?;
    reply.ok();
    Ok(())
}

/// Puts what is read in the place of each value. Deadlines stay. Who watches or tracks keys is told as if all had gone,
/// as in Redis; for others nothing has changed.
pub(super) fn in_place(engine: &mut Engine, call: Call<'_>, reply: &mut dyn Reply) -> Outcome {
    let mut tx = engine.keyspace.tx(call.db, engine.now());
    for db in 0..tx.databases() {
        tx.select(db);
        let keys: Vec<Box<[u8]>> = tx.iter().map(|(key, _)| key.into()).collect();
        for key in keys {
            if !tx.rebuild(&key, read_again) {
                return Err(CommandError::text(UNREADABLE));
            }
        }
    }
    engine.tracking().forget_keys();
    reply.ok();
    Ok(())
}

fn read_again(value: &Value, encodings: &Encodings) -> Option<Value> {
    let mut writer = Writer::new();
    rdb::write_value(value, &mut writer);
    rdb::read_value(&mut Reader::new(writer.written()), encodings).ok()
}
