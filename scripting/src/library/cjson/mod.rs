//! The library `cjson`: conversion between JSON and values, like the copy of the library in Redis.
//!
//! All error texts and corner cases are those of a running server: the syntax of numbers, the limit for sparse arrays,
//! the end of a text at a NUL.

mod decode;
mod encode;
mod settings;
mod token;

use super::frame::Frame;
use super::raise::Raise;
use super::registration::{Constant, Library};
use std::ffi::c_int;

/// The library. Its settings stay from script to script.
pub(super) const LIBRARY: Library = Library {
    name: c"cjson",
    functions: &[
        (c"encode", encode::encode),
        (c"decode", decode::decode),
        (c"encode_sparse_array", settings::encode_sparse_array),
        (c"encode_max_depth", settings::encode_max_depth),
        (c"decode_max_depth", settings::decode_max_depth),
        (c"encode_number_precision", settings::encode_number_precision),
        (c"encode_keep_buffer", settings::encode_keep_buffer),
        (c"encode_invalid_numbers", settings::encode_invalid_numbers),
        (c"decode_invalid_numbers", settings::decode_invalid_numbers),
        (c"new", new),
    ],
    constants: &[
        (c"null", Constant::Null),
        (c"_NAME", Constant::Text(c"cjson")),
        (c"_VERSION", Constant::Text(c"2.1.0")),
    ],
    settings: &settings::DEFAULTS,
};

/// `cjson.new()`: returns the same functions, with settings of their own.
fn new(frame: &Frame<'_>) -> Result<c_int, Raise> {
    frame.push_library(&LIBRARY)?;
    Ok(1)
}
