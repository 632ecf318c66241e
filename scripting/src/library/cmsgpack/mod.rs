//! The library `cmsgpack`: conversion between MessagePack and values, like the copy of the library in Redis.
//!
//! The library supports neither binary strings nor extensions. All error texts and corner cases are those of a running
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
        // Scripts find the same text as in Redis.
        (c"_COPYRIGHT", Constant::Text(c"Copyright (C) 2012, Salvatore Sanfilippo")),
        (c"_DESCRIPTION", Constant::Text(c"MessagePack C implementation for Lua")),
    ],
);
