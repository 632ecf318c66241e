//! DEBUG RELOAD passes the data through a saved file. DEBUG LOADAOF encodes and decodes every value in memory.

use crate::config::system_reason;
use crate::core::{DebugControl, DebugEffect};
use crate::server_commands::persistence::{DataLoader, LoadMode, log_header};
use crate::spec::{Args, CommandError, REDIS_VERSION};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Tx};
use lockwheel_store::rdb::{self, Reader, Writer};
use lockwheel_store::values::{Encodings, Value};

const UNKNOWN_OPTION: &str = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.";
const UNREADABLE: &str = "ERR Error trying to load the RDB dump";
/// The line of the log after every reload.
const RELOADED: &str = "DB reloaded by DEBUG RELOAD";

struct ReloadOptions {
    saves: bool,
    mode: LoadMode,
}

impl ReloadOptions {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = ReloadOptions { saves: true, mode: LoadMode { flush: true, merge: false } };
        for at in 2..args.len() {
            match &*args[at].to_ascii_lowercase() {
                b"nosave" => options.saves = false,
                b"noflush" => options.mode.flush = false,
                b"merge" => options.mode.merge = true,
                _ => return Err(CommandError::text(UNKNOWN_OPTION)),
            }
        }
        Ok(options)
    }
}

/// Saves the data and reads the file, unless the options say that less is to be done.
pub(super) fn reload(
    control: &mut DebugControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<DebugEffect, CommandError> {
    match ReloadOptions::parse(args)?.saves {
        true => Ok(DebugEffect::SaveThen(read_file)),
        false => read_file(control, args, reply),
    }
}

/// Reads the file. A file that was just written puts each value in its own place, so that locks' holds stay known.
fn read_file(
    control: &mut DebugControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<DebugEffect, CommandError> {
    let ReloadOptions { saves, mode } = ReloadOptions::parse(args)?;
    if saves && mode.flush {
        let effect = in_place(control.tx())?;
        log_as_loaded(control.keyspace, control.used_bytes);
        tracing::warn!("{RELOADED}");
        return Ok(effect);
    }
    let file = control.environment.files(control.config).read(&control.config.saves.dbfilename);
    let file = file.map_err(|error| system_reason(&error).to_string());
    let DebugControl { environment, clock, keyspace, scripts, saves, .. } = control;
    let instants = (clock.now(), clock.system());
    let mut loader = DataLoader::new(environment, instants, (&mut **keyspace, &mut **scripts, &mut **saves));
    file.and_then(|file| loader.load(&file, mode)).map_err(|why| {
        tracing::warn!("{why}");
        CommandError::text(UNREADABLE)
    })?;
    tracing::warn!("{RELOADED}");
    reply.ok();
    Ok(DebugEffect::None)
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
pub(super) fn in_place(mut tx: Tx<'_>) -> Result<DebugEffect, CommandError> {
    for db in 0..tx.databases() {
        tx.select(db);
        let keys: Vec<Box<[u8]>> = tx.iter().map(|(key, _)| key.into()).collect();
        for key in keys {
            if !tx.rebuild(&key, read_again) {
                return Err(CommandError::text(UNREADABLE));
            }
        }
    }
    Ok(DebugEffect::ForgetTrackedKeys)
}

fn read_again(value: &Value, encodings: &Encodings) -> Option<Value> {
    let mut writer = Writer::new();
    rdb::write_value(value, &mut writer);
    rdb::read_value(&mut Reader::new(writer.written()), encodings).ok()
}
