//! The library `cmsgpack`: MessagePack to and from values, as the copy of it in Redis does.
//!
//! It knows neither binary strings nor extensions. All texts of errors and all corner cases were read off a running
//! server.

mod pack;
mod unpack;

use super::registration::{Constant, Library};

/// The library.
pub(super) const LIBRARY: Library = Library::plain(
    c"cmsgpack",
    &[
        (c"pack", pack::pack),
        (c"unpack", unpack::unpack),
        (c"unpack_one", unpack::unpack_one),
        (c"unpack_limit", unpack::unpack_limit),
    ],
    &[
        (c"_NAME", Constant::Text(c"cmsgpack")),
        (c"_VERSION", Constant::Text(c"lua-cmsgpack 0.4.0")),
        // Scripts find what they find in Redis.
        (c"_COPYRIGHT", Constant::Text(c"Copyright (C) 2012, Salvatore Sanfilippo")),
        (c"_DESCRIPTION", Constant::Text(c"MessagePack C implementation for Lua")),
    ],
);
