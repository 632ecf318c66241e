//! DEBUG: commands for tests.

mod crash;
mod digest;
mod object;
mod populate;
mod protocol;
mod reload;
mod switches;

use crate::core::{DebugControl, DebugEffect, Handler, LOADING, ServerHandler};
use crate::spec::{Args, CommandError, CommandTable, Flags, Row, errors, help, quotable};
use lockwheel_resp::{Reply, number};
use lockwheel_store::values::Value;

const REFUSED: &str = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", \
                       you can run it from a local connection, otherwise you need to set this option in the \
                       configuration file, and then restart the server.";

const SYNTAX: &str = "(AOF-FLUSH-SLEEP microseconds | ASSERT | CHANGE-REPL-ID | CONFIG-REWRITE-FORCE-ALL | \
    CRASH-AND-RECOVER [milliseconds] | DICT-RESIZING enabled | DIGEST | DIGEST-VALUE [key:string ...] | \
    ERROR message | HTSTATS db | HTSTATS-KEY key:string | LOADAOF | LOG message | OBJECT key:string | OOM | PANIC | \
    PAUSE-CRON enabled | POPULATE count [prefix [size]] | PROTOCOL type | QUICKLIST-PACKED-THRESHOLD size | \
    RELOAD [option ...] | RESTART [milliseconds] | REPLYBUFFER (PEAK-RESET-TIME milliseconds | RESIZING \
    enabled) | SDSLEN key:string | SEGFAULT | SET-ACTIVE-EXPIRE enabled | SET-DISABLE-DENY-SCRIPTS enabled | \
    SLEEP seconds | HELP)";

pub(super) const ROWS: &[Row<Handler>] = &[Row::new(
    "debug",
    -2,
    Handler::Server(&ServerHandler::Debug(debug)),
)
.flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE])
.about("server", "1.0.0", "Depends on subcommand.")
.summary("Provides commands for tests: they show internals, and stop or change what runs.")
.internal()
.syntax(SYNTAX)
.help(&[
    "AOF-FLUSH-SLEEP <microsec>",
    "    Pause before each flush of the append-only file. 0, the default: no pause.",
    "ASSERT",
    "    Crash by an assertion that does not hold; if 'enable-debug-command' is 'yes'.",
    "CHANGE-REPL-ID",
    "    Give the server another replication id.",
    "CONFIG-REWRITE-FORCE-ALL",
    "    Like CONFIG REWRITE but writes all configuration options, including keywords not listed in original",
    "    configuration file or default values.",
    "CRASH-AND-RECOVER [<milliseconds>]",
    "    Crash, and run anew after <milliseconds>. Nothing is saved.",
    "DICT-RESIZING <0|1>",
    "    Accepted: tables are never resized in steps.",
    "DIGEST",
    "    A hexadecimal digest of all keys, as Redis computes it.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    A hexadecimal digest of the value of each key, as Redis computes it.",
    "ERROR <string>",
    "    Return an error with <string> as message.",
    "HTSTATS <dbid>",
    "    How many keys a database has, and how many of them have a deadline.",
    "HTSTATS-KEY <key>",
    "    How many elements there are in the hash table that <key> holds.",
    "LOADAOF",
    "    Read the append-only files in place of the data. Without such files, the same as RELOAD.",
    "LOG <message>",
    "    Write <message> to the server log.",
    "OBJECT <key>",
    "    Tell how what <key> holds is kept.",
    "OOM",
    "    Crash as when there is no memory left.",
    "PANIC",
    "    Crash by a panic.",
    "PAUSE-CRON <0|1>",
    "    Accepted: there is no periodic job.",
    "POPULATE <count> [<prefix>] [<size>]",
    "    Create <count> string keys named key:<num>, or <prefix>:<num>, with values of <size> bytes.",
    "PROTOCOL <type>",
    "    Reply with a test value of the specified type. <type> can be: string,",
    "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
    "    true, false.",
    "QUICKLIST-PACKED-THRESHOLD <size>",
    "    Accepted: a large element of a list has a block of its own anyway. At most about 4gb.",
    "RELOAD [option ...]",
    "    Write every value as DUMP does, and put what is read from that in its place.",
    "RESTART [<milliseconds>]",
    "    Run anew after <milliseconds>. Nothing is saved.",
    "REPLYBUFFER PEAK-RESET-TIME <NEVER||RESET|time>",
    "    Accepted: reply buffers are not resized by time.",
    "REPLYBUFFER RESIZING <0|1>",
    "    Accepted: reply buffers are not resized by time.",
    "SDSLEN <key>",
    "    Tell how much memory the name of <key> and its string take.",
    "SEGFAULT",
    "    Crash by a wrong access to memory.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Let keys expire at their deadlines (1, the default), or only when they are named (0).",
    "SET-DISABLE-DENY-SCRIPTS <0|1>",
    "    Let scripts call the commands that are not for them (1), or not (0, the default).",
    "SLEEP <seconds>",
    "    Stop the server for <seconds>. Decimals allowed.",
])
.errors(&["ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try DEBUG HELP.", REFUSED])];

/// Runs a subcommand of DEBUG, if `enable-debug-command` allows it for the client.
fn debug(
    control: &mut DebugControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<DebugEffect, CommandError> {
    if !control.config.enable_debug_command.allows(control.is_local) {
        return Err(CommandError::text(REFUSED));
    }
    if let Some(crash) = crash::named(args)? {
        return crash::crash(control.config, crash);
    }
    match (&*args[1].to_ascii_lowercase(), args.len()) {
        (b"loadaof" | b"reload" | b"populate", _) if control.is_loading => return Err(LOADING),
        (b"help", 2) => write_help(control.commands, args, reply),
        (b"sleep", 3) => return Ok(sleep(args)),
        (b"error", 3) => reply.error(&args[2]),
        (b"log", 3) => log(args, reply),
        (b"object", 3) => object::object(control, args, reply)?,
        (b"sdslen", 3) => object::string_lengths(control, args, reply)?,
        (b"htstats", 3) => object::table_of_database(control, args, reply)?,
        (b"htstats-key", 3) => object::table_of_key(control, args, reply)?,
        (b"digest", 2) => digest::of_all(control.tx(), reply),
        (b"digest-value", _) => digest::of_keys(&control.tx(), args, reply),
        (b"populate", 3..=5) => populate::populate(control.tx(), args, reply)?,
        (b"config-rewrite-force-all", 2) => return Ok(DebugEffect::RewriteConfig),
        (b"protocol", 3) => protocol::protocol(args, reply)?,
        (b"aof-flush-sleep", 3) => return Ok(DebugEffect::DelayFlushes { us: microseconds(&args[2]) }),
        (b"loadaof", 2) if control.has_append_only => return Ok(DebugEffect::LoadAppendOnly),
        (b"loadaof", 2) => return reload::in_place(control.tx()),
        (b"reload", _) => return reload::reload(control, args, reply),
        _ => return switches::switch(control.switches, args, reply),
    }
    Ok(DebugEffect::None)
}

fn write_help(commands: &CommandTable, args: Args<'_>, reply: &mut dyn Reply) {
    if let Some(debug) = commands.resolve(args) {
        help::write_container(debug, reply);
    }
}

fn log(args: Args<'_>, reply: &mut dyn Reply) {
    tracing::warn!("DEBUG LOG: {}", String::from_utf8_lossy(quotable(&args[2])));
    reply.ok();
}

fn sleep(args: Args<'_>) -> DebugEffect {
    // Text that is not a number counts as 0, as in Redis.
    let seconds = number::parse_f64(&args[2]).filter(|seconds| *seconds > 0.0).unwrap_or(0.0);
    // A cast from a float saturates at the range of the integer.
    DebugEffect::Sleep { us: (seconds * 1e6) as u64 }
}

/// Returns a number of microseconds, parsed like C's `atoi`: text that is not a number is 0.
fn microseconds(text: &[u8]) -> u64 {
    number::parse_i64(text).and_then(|us| u64::try_from(us).ok()).unwrap_or(0)
}

/// Reads the value of a key without counting an access.
fn peek<T>(
    control: &mut DebugControl<'_>,
    key: &[u8],
    look: impl FnOnce(&Value) -> T,
) -> Result<T, CommandError> {
    control.tx().peek(key).map(look).ok_or(errors::NO_SUCH_KEY)
}
