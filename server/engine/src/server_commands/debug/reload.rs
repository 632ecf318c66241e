//! DEBUG RELOAD passes the data through a saved file. DEBUG LOADAOF encodes and decodes every value in memory.

use crate::config::system_reason;
use crate::core::{Call, Engine, NotSaved};
use crate::server_commands::persistence::{LoadMode, log_header};
use crate::spec::{Args, CommandError, Outcome, REDIS_VERSION};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::rdb::{self, Reader, Writer};
use lockwheel_store::values::{Encodings, Value};

const UNKNOWN_OPTION: &str = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.";
const UNREADABLE: &str = "ERR Error trying to load the RDB dump";
/// The line of the log after every reload.
const RELOADED: &str = "DB reloaded by DEBUG RELOAD";

/// Saves the data and reads the file, unless an option omits a step. If the file was just written, the data are already
/// there. Then each value replaces itself, so that lock holds stay known.
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
        in_place(engine, call, reply)?;
        log_as_loaded(&engine.keyspace, engine.memory_parts().usage().total());
        tracing::warn!("{RELOADED}");
        return Ok(());
    }
    let file = engine.environment.files(&engine.config).read(&engine.config.saves.dbfilename);
    let file = file.map_err(|error| system_reason(&error).to_string());
    file.and_then(|file| engine.data_loader().load(&file, mode)).map_err(|why| {
        tracing::warn!("{why}");
        CommandError::text(UNREADABLE)
    })?;
    tracing::warn!("{RELOADED}");
    reply.ok();
    Ok(())
}

/// Writes the log lines of a load for a file that was just written and is not read. O(databases).
fn log_as_loaded(keyspace: &Keyspace, used_bytes: usize) {
    let keys = (0..keyspace.databases()).map(|db| keyspace.sizes(db).0).sum::<usize>();
    log_header(b"redis-ver", REDIS_VERSION.as_bytes(), 0);
    log_header(b"ctime", b"0", 0);
    log_header(b"used-mem", used_bytes.to_string().as_bytes(), 0);
    tracing::info!("Done loading RDB, keys loaded: {keys}, keys expired: 0.");
}

/// Replaces each value by its encoded and decoded copy. Deadlines stay. As in Redis, clients that watch or track keys
/// are notified as if all had been deleted. Other clients see no change.
pub(super) fn in_place(engine: &mut Engine, call: Call<'_>, reply: &mut dyn Reply) -> Outcome {
    let mut tx = engine.keyspace.tx(call.db, engine.clock().now());
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
