//! The libraries that scripts find besides Lua's own: lists of names and functions over a safe [`Frame`].
//!
//! A new library is a file in this folder with a [`Library`] in it, written without `unsafe`, and a line in
//! [`LIBRARIES`].

mod bit;
mod buffer;
mod cjson;
mod cmsgpack;
mod frame;
mod math;
mod numeral;
mod raise;
mod redis;
mod register;
mod registration;
mod search;
mod struct_lib;
#[cfg(test)]
mod tests;

pub(crate) use frame::{Frame, Value, push_function};
pub(crate) use redis::unknown_global;
pub(crate) use register::register_function;
pub(crate) use registration::{Library, open};

/// All libraries.
pub(crate) const LIBRARIES: &[Library] =
    &[redis::LIBRARY, struct_lib::LIBRARY, math::LIBRARY, cjson::LIBRARY, cmsgpack::LIBRARY, bit::LIBRARY];
