//! Lua 5.1 as Redis provides it to scripts and functions. The crate has a sandbox, `redis.*`, `cjson`, `cmsgpack`,
//! `bit` and `struct`. It also has a cache of compiled scripts, libraries of functions, and a kill that stops every
//! loop. It knows commands only through [`Host`].
//!
//! A [`Runtime`] holds the interpreters of a server. It belongs to one thread at a time and runs one script at a time.
//! Other threads see and stop a script through its [`ScriptControl`].

mod alloc;
mod before_7;
mod cache;
mod call;
mod context;
mod control;
mod convert;
mod entry;
mod error;
mod errors;
mod ffi;
mod functions;
mod handler;
mod host;
mod library;
mod number;
mod options;
mod random;
mod registry;
mod runtime;
mod sandbox;
mod script;
mod sha;
mod shebang;
mod sink;
mod sync;
mod vm;

pub use cache::ScriptId;
pub use control::{EntryKind, KillError, RunningScript, ScriptControl};
pub use error::Error;
pub use functions::{FunctionId, LibraryText, Registered};
pub use host::Host;
pub use options::Options;
pub use runtime::{EntryId, Invocation, Runtime};
pub use sha::Sha;
pub use shebang::{Flags, declared};
