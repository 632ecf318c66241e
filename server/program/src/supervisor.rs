//! The program's supervisor, and its notifications.

use lockwheel_engine::config::Supervision;
use std::env;

const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
const UPSTART_JOB: &str = "UPSTART_JOB";

/// A supervisor that was found in the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervisor {
    Upstart,
    Systemd,
}

impl Supervisor {
    /// Returns the configured supervisor if the environment shows it, and a warning if it does not.
    pub(crate) fn find(asked: Supervision) -> (Option<Self>, Option<&'static str>) {
        let is_set = |name| env::var_os(name).is_some();
        match asked {
            Supervision::Upstart | Supervision::Auto if is_set(UPSTART_JOB) => {
                (Some(Supervisor::Upstart), None)
            }
            Supervision::Systemd | Supervision::Auto if is_set(NOTIFY_SOCKET) => {
                (Some(Supervisor::Systemd), None)
            }
            Supervision::Upstart => (None, Some("upstart supervision requested, but UPSTART_JOB not found!")),
            Supervision::Systemd => (None, Some("systemd supervision error: NOTIFY_SOCKET not found!")),
            Supervision::Auto | Supervision::No => (None, None),
        }
    }

    pub(crate) fn ready(self) {
        match self {
            Supervisor::Systemd => notify("STATUS=Ready to accept connections\nREADY=1"),
            // Upstart waits for its job to stop itself, and then continues it.
            #[cfg(unix)]
            Supervisor::Upstart => {
                use rustix::process::{Signal, getpid, kill_process};
                let _always_allowed = kill_process(getpid(), Signal::STOP);
            }
            #[cfg(not(unix))]
            Supervisor::Upstart => {}
        }
    }

    pub(crate) fn stopping(self) {
        if self == Supervisor::Systemd {
            notify("STOPPING=1");
        }
    }
}

#[cfg(unix)]
fn notify(state: &str) {
    if let Err(error) = send(state) {
        tracing::warn!("systemd supervision error: {error}");
    }
}

#[cfg(not(unix))]
fn notify(_: &str) {}

#[cfg(unix)]
fn send(state: &str) -> std::io::Result<()> {
    use std::os::unix::net::UnixDatagram;
    let path = env::var_os(NOTIFY_SOCKET).unwrap_or_default();
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = path.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(state.as_bytes(), &address).map(drop);
    }
    socket.send_to(state.as_bytes(), path).map(drop)
}
