//! The loading of the data at the start. The files are loaded in slices, so that the host can serve clients meanwhile.
//! Clients get `LOADING`, except for what tells of the server or ends it.

mod access;
mod log;
mod saved_file;
mod slice;
mod start;

pub(crate) use access::LOADING;
pub use access::{LoadAccess, LoadError};
pub(super) use log::reload;
pub use start::DataLoad;
