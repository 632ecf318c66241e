//! The unix socket of a server, and its file.

use lockwheel_engine::config::Config;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The limit of the length of a path, in bytes. A path must be shorter.
const MAX_PATH_BYTES: usize = 108;

/// The file of a listening socket. Dropping this value removes the file, unless another server has replaced it.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// The device and the inode of the file.
    id: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if id(&self.path).is_ok_and(|found| found == self.id) {
            let _already_gone = fs::remove_file(&self.path);
        }
    }
}

fn id(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|data| (data.dev(), data.ino()))
}

/// Listens on the configured unix socket. As in Redis, a file at its path, maybe of a killed server, is removed.
pub(super) fn listen(config: &Config) -> io::Result<Option<(UnixListener, SocketFile)>> {
    let path = Path::new(&config.unixsocket);
    let len = config.unixsocket.len();
    if len == 0 {
        return Ok(None);
    }
    if len >= MAX_PATH_BYTES {
        let text = format!("unix socket path too long ({len}), must be under {MAX_PATH_BYTES}");
        return Err(io::Error::other(text));
    }
    // The next step reports the error if the file cannot be removed.
    let _nothing_there = fs::remove_file(path);
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile { path: path.to_owned(), id: id(path)? };
    // Clients can connect only once the socket listens, so no client gets in before the permissions are set.
    if config.unixsocketperm != 0 {
        fs::set_permissions(path, Permissions::from_mode(config.unixsocketperm))?;
    }
    socket.listen(config.tcp_backlog)?;
    socket.set_nonblocking(true)?;
    Ok(Some((socket.into(), file)))
}
