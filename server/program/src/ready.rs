//! The announcement that the server is ready: by files, a descriptor, and a line on standard output.

use super::files::PublishedFile;
use super::log;
use super::output::say;
use lockwheel::{Server, StartError};
use lockwheel_engine::config::{Config, system_reason};
use std::fs::File;
use std::io::{self, Write};
use std::process;

pub(crate) enum Failure {
    Start(StartError),
    /// The port could not be announced. The text is a sentence.
    Announcement(String),
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Failure::Start(error)
    }
}

pub(crate) struct Announcement {
    pid_file: String,
    port_file: String,
    tls_port_file: String,
    descriptor: Option<File>,
}

impl Announcement {
    /// Returns the channels of `config`. Takes over an inherited descriptor, so call this before the process opens any.
    pub(crate) fn of(config: &Config) -> Result<Self, String> {
        let descriptor = match config.ready_fd {
            -1 => None,
            number => Some(take_descriptor(number).map_err(|error| {
                format!("Can't write to the descriptor {number}: {}", system_reason(&error))
            })?),
        };
        Ok(Announcement {
            pid_file: config.pidfile.clone(),
            port_file: config.port_file.clone(),
            tls_port_file: config.tls.port_file.clone(),
            descriptor,
        })
    }

    /// Writes the process id and the ports to their files. Returns the file of the process id, if there is one.
    pub(crate) fn publish(&mut self, server: &Server) -> Result<Option<PublishedFile>, Failure> {
        let pid_file = PublishedFile::write(&self.pid_file, process::id());
        if let Err(error) = &pid_file {
            tracing::warn!("Failed to write PID file: {}", system_reason(error));
        }
        let tls_port = server.tls_port().unwrap_or(0);
        for (path, port) in [(&self.port_file, server.port()), (&self.tls_port_file, tls_port)] {
            PublishedFile::write(path, port).map_err(|error| {
                let reason = system_reason(&error);
                Failure::Announcement(format!("Can't write the file '{path}': {reason}"))
            })?;
        }
        if let Some(mut descriptor) = self.descriptor.take() {
            writeln!(descriptor, "{}", port_of(server)).map_err(|error| {
                Failure::Announcement(format!("Can't write to the ready-fd: {}", system_reason(&error)))
            })?;
        }
        Ok(pid_file.unwrap_or_default())
    }
}

/// Returns the port of plain clients, or else the port of clients over TLS, or else 0.
pub(crate) fn port_of(server: &Server) -> u16 {
    if server.port() == 0 { server.tls_port().unwrap_or(0) } else { server.port() }
}

/// Takes over an inherited descriptor. It is closed with the returned file, and no child process inherits it.
#[cfg(unix)]
fn take_descriptor(number: i32) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    if number <= 2 {
        return Err(io::Error::other("it is a standard stream"));
    }
    // Check the descriptor before a file is opened, which might get this number.
    nix::unistd::dup(number).and_then(nix::unistd::close)?;
    let file = File::open("/dev/null")?;
    nix::unistd::dup2(number, file.as_raw_fd())?;
    nix::unistd::close(number)?;
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::CLOEXEC)?;
    Ok(file)
}

#[cfg(not(unix))]
fn take_descriptor(_: i32) -> io::Result<File> {
    Err(io::Error::other("Descriptors are not supported"))
}

/// Prints the lines for which harnesses wait on standard output, wherever the log goes. No process may be reading them.
pub(crate) fn print(server: &Server, unix_socket: &str, has_log: bool) {
    let (port, tls_port) = (server.port(), server.tls_port().unwrap_or(0));
    let tcp = format!("Ready to accept connections tcp, port={port}");
    let tls = format!("Ready to accept connections tls, port={tls_port}");
    let unix = format!("The server is now ready to accept connections at {unix_socket}");
    for (ready, is_so) in [(tcp, port != 0), (unix, !unix_socket.is_empty()), (tls, tls_port != 0)] {
        if is_so {
            if has_log {
                tracing::info!("{ready}");
            }
            let _unheard = say(format!("{}\n", log::line('*', &ready)).as_bytes());
        }
    }
}
