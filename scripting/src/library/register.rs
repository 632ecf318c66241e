//! `redis.register_function`, which a library of functions calls while it is loaded.

use super::frame::{Frame, Value};
use super::raise::Raise;
use crate::error::until_nul;
use crate::functions::registered::Given;
use std::ffi::c_int;

/// The approximate bytes of a function besides its texts.
const FUNCTION_BYTES: usize = 256;
/// The limit of the names of arguments and flags, in bytes; all valid names are shorter.
const MAX_NAME: usize = 32;

/// The error as the functions of `redis` raise it.
fn refused(text: &'static str) -> Raise {
    Raise::reply(text.as_bytes())
}

/// `redis.register_function(name, callback)`, or with a table of named arguments.
pub(crate) fn register_function(frame: &Frame<'_>) -> Result<c_int, Raise> {
    let Some(mut loading) = frame.context().loading.take() else {
        return Err(refused("redis.register_function can only be called on FUNCTION LOAD command"));
    };
    let registered = read(frame, loading.next_slot()).and_then(|given| loading.add(given).map_err(refused));
    frame.context().loading.set(Some(loading));
    registered.map(|()| 0)
}

/// Reads the arguments. The callback is stored in the slot.
fn read(frame: &Frame<'_>, slot: u32) -> Result<Given, Raise> {
    frame.take_room(FUNCTION_BYTES)?;
    match (frame.count(), frame.value(1)) {
        (1, Value::Table(table)) => read_named(frame, table, slot),
        (1, _) => Err(refused(
            "calling redis.register_function with a single argument is only applicable to Lua table (representing \
             named arguments).",
        )),
        (2, _) => {
            let name = frame.text(1);
            let name =
                name.ok_or_else(|| refused("first argument to redis.register_function must be a string"))?;
            frame.take_room(name.len())?;
            let name = Box::from(name);
            if !frame.keep_function(2, slot)? {
                return Err(refused("second argument to redis.register_function must be a function"));
            }
            Ok(Given { name: Some(name), has_callback: true, ..Given::default() })
        }
        _ => Err(refused("wrong number of arguments to redis.register_function")),
    }
}

fn read_named(frame: &Frame<'_>, table: c_int, slot: u32) -> Result<Given, Raise> {
    let mut given = Given::default();
    frame.each(table, &mut |frame, key, value| match key {
        Value::String(key) => read_argument(&mut given, frame, key, value, slot),
        Value::Number(_) => Err(refused("unknown argument given to redis.register_function")),
        _ => Err(refused("named argument key given to redis.register_function is not a string")),
    })?;
    Ok(given)
}

/// Reads one named argument, whose value is on top.
fn read_argument(
    given: &mut Given,
    frame: &Frame<'_>,
    key: &[u8],
    value: Value<'_>,
    slot: u32,
) -> Result<(), Raise> {
    let text = |otherwise| frame.top_text()?.ok_or_else(|| refused(otherwise));
    match &*folded(key) {
        b"function_name" => {
            const OTHERWISE: &str =
                "function_name argument given to redis.register_function must be a string";
            given.name = Some(text(OTHERWISE)?);
        }
        b"description" => {
            const OTHERWISE: &str = "description argument given to redis.register_function must be a string";
            given.description = Some(text(OTHERWISE)?);
        }
        b"callback" => {
            if !frame.keep_function(frame.top(), slot)? {
                return Err(refused("callback argument given to redis.register_function must be a function"));
            }
            given.has_callback = true;
        }
        b"flags" => {
            const OTHERWISE: &str =
                "flags argument to redis.register_function must be a table representing function flags";
            let Value::Table(table) = value else { return Err(refused(OTHERWISE)) };
            given.flags = Default::default();
            frame.elements(table, &mut |flag| match flag {
                Value::String(name) if given.flags.set_named(&folded(name)) => Ok(()),
                _ => Err(refused("unknown flag given")),
            })?;
        }
        _ => return Err(refused("unknown argument given to redis.register_function")),
    }
    Ok(())
}

/// A name in lower case, in the form in which Redis compares it: as a C string.
fn folded(name: &[u8]) -> Vec<u8> {
    until_nul(&name[..name.len().min(MAX_NAME)]).to_ascii_lowercase()
}
