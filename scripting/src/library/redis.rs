//! The table `redis`, except for the functions that call commands.

use super::frame::{Frame, Value};
use super::raise::Raise;
use super::registration::{Constant, Library};
use crate::call::{error_line, plain_line};
use crate::error::{joined, until_nul};
use crate::sha::Sha;
use lockwheel_resp::{Protocol, allocation};
use std::ffi::{CStr, c_int};

/// The table `redis`, which already has the functions that call commands.
pub(super) const LIBRARY: Library = Library {
    name: c"redis",
    functions: &[
        (c"error_reply", error_reply),
        (c"status_reply", status_reply),
        (c"sha1hex", sha1hex),
        (c"log", log),
        (c"setresp", setresp),
        (c"set_repl", set_repl),
        (c"replicate_commands", replicate_commands),
        (c"breakpoint", breakpoint),
        (c"debug", debug),
    ],
    constants: CONSTANTS,
    settings: &[],
};

const CONSTANTS: &[(&CStr, Constant)] = &[
    (c"LOG_DEBUG", Constant::Number(0)),
    (c"LOG_VERBOSE", Constant::Number(1)),
    (c"LOG_NOTICE", Constant::Number(2)),
    (c"LOG_WARNING", Constant::Number(3)),
    (c"REPL_NONE", Constant::Number(0)),
    (c"REPL_AOF", Constant::Number(1)),
    (c"REPL_SLAVE", Constant::Number(2)),
    (c"REPL_REPLICA", Constant::Number(2)),
    (c"REPL_ALL", Constant::Number(3)),
];

/// The most bytes of a message. A longer one is truncated.
const MAX_LOG: usize = 1 << 16;

/// `redis.error_reply(text)`: returns a table that becomes an error. Its code is the text's first word, if there are
/// several.
fn error_reply(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let (1, Value::String(text)) = (frame.count(), frame.value(1)) else {
        return bad_arguments(frame);
    };
    // The text is copied twice on its way into Lua.
    allocation::check(2 * text.len()).map_err(|_| Raise::memory())?;
    if frame.is_before_7() {
        return push_line(frame, &plain_line(text));
    }
    let mut line = Vec::with_capacity(text.len() + 1);
    if text.first() != Some(&b'-') {
        line.push(b'-');
    }
    line.extend_from_slice(text);
    push_error(frame, &line)
}

/// `redis.status_reply(text)`: returns a table that becomes a status.
fn status_reply(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let (1, Value::String(_)) = (frame.count(), frame.value(1)) else {
        return bad_arguments(frame);
    };
    frame.push_table(0, 1)?;
    frame.push_bytes(b"ok")?;
    frame.push_argument(1)?;
    frame.set()?;
    Ok(1)
}

/// Returns the error of a wrong call of these two functions, which is not raised.
fn bad_arguments(frame: &Frame<'_>) -> Result<c_int, Raise> {
    push_error(frame, b"wrong number or type of arguments")
}

/// Returns a table that becomes an error.
fn push_error(frame: &Frame<'_>, text: &[u8]) -> Result<c_int, Raise> {
    push_line(frame, &error_line(text))
}

fn push_line(frame: &Frame<'_>, line: &[u8]) -> Result<c_int, Raise> {
    frame.push_table(0, 1)?;
    frame.push_bytes(b"err")?;
    frame.push_bytes(line)?;
    frame.set()?;
    Ok(1)
}

/// `redis.sha1hex(text)`: returns the digest. A number counts as its text, any other value as an empty text.
fn sha1hex(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() != 1 {
        return Err(Raise::reply(b"wrong number of arguments".as_slice()));
    }
    let sha = Sha::of_long(frame.text(1).unwrap_or_default(), || frame.poll())?;
    frame.push_bytes(sha.as_bytes())?;
    Ok(1)
}

/// `redis.log(level, text, ...)`: writes the texts, separated by spaces, to the server's log.
fn log(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() < 2 {
        return Err(Raise::reply(b"redis.log() requires two arguments or more.".as_slice()));
    }
    let Some(level) = frame.to_number(1)? else {
        return Err(Raise::reply(b"First argument must be a number (log level).".as_slice()));
    };
    let level = level.trunc();
    if !(0.0..=3.0).contains(&level) {
        return Err(Raise::reply(b"Invalid debug level.".as_slice()));
    }
    let mut message = Vec::new();
    for argument in 2..=frame.count() {
        if argument > 2 {
            message.push(b' ');
        }
        let part = frame.text(argument).unwrap_or_default();
        message.extend_from_slice(&part[..part.len().min(MAX_LOG - message.len().min(MAX_LOG))]);
    }
    frame.context().with_host(|host| host.log(level as u8, &message)).ok_or_else(Raise::killed)?;
    Ok(0)
}

/// `redis.setresp(version)`: sets the protocol of the replies that the script gets.
fn setresp(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() != 1 {
        return Err(Raise::reply(b"redis.setresp() requires one argument.".as_slice()));
    }
    let protocol = match frame.to_number(1)?.unwrap_or_default() as i64 {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        _ => return Err(Raise::reply(b"RESP version must be 2 or 3.".as_slice())),
    };
    frame.context().protocol.set(protocol);
    Ok(0)
}

/// `redis.set_repl(flags)`: limits the receivers of the script's further changes.
fn set_repl(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() != 1 {
        return Err(Raise::reply(b"redis.set_repl() requires two arguments.".as_slice()));
    }
    let flags = frame.to_number(1)?.unwrap_or_default() as i64;
    if flags & !3 != 0 {
        let text = b"Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.";
        return Err(Raise::reply(text.as_slice()));
    }
    let (to_file, to_replicas) = (flags & 1 != 0, flags & 2 != 0);
    frame.context().with_host(|host| host.limit_changes(to_file, to_replicas)).ok_or_else(Raise::killed)?;
    Ok(0)
}

/// `redis.replicate_commands()`: always returns true, as in Redis 7.
fn replicate_commands(frame: &Frame<'_>) -> Result<c_int, Raise> {
    frame.push_boolean(true)?;
    Ok(1)
}

/// `redis.breakpoint()`: returns false, as there is no debugger.
fn breakpoint(frame: &Frame<'_>) -> Result<c_int, Raise> {
    frame.push_boolean(false)?;
    Ok(1)
}

/// `redis.debug(...)`: does nothing, as there is no debugger.
fn debug(_: &Frame<'_>) -> Result<c_int, Raise> {
    Ok(0)
}

/// Raises the error of a read of an unknown global variable. Called with the table and the name.
pub(crate) fn unknown_global(frame: &Frame<'_>) -> Result<c_int, Raise> {
    // Numbers and strings only, as in Redis.
    let name = frame.text(2).ok_or_else(|| {
        let text = b"Second argument to luaProtectedTableError must be a string or number";
        Raise::error(text.as_slice())
    })?;
    let text = b"Script attempted to access nonexistent global variable '";
    let text = joined(&[text, until_nul(name), b"'"]);
    Err(text.map_or_else(|_| Raise::memory(), Raise::error))
}
