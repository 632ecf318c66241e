//! Admission of clients: protected mode, and keep-alive of admitted connections.

use lockwheel_engine::Engine;
use socket2::{SockRef, TcpKeepalive};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The reply to a client from another machine in protected mode.
pub(super) const DENIED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is enabled and \
no password is set for the default user. In this mode connections are only accepted from the loopback interface. If \
you want to connect from external computers to Redis you may adopt one of the following solutions: 1) Just disable \
protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis \
from the same host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do \
so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by \
editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. \
3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. 4) Setup a \
an authentication password for the default user. NOTE: You only need to do one of the above things in order for the \
server to start accepting connections from the outside.\r\n";

/// The parameters of accepting, as the accepting thread sees them.
#[derive(Debug)]
pub(super) struct Admission {
    is_protected: AtomicBool,
    keep_alive_seconds: AtomicU64,
}

impl Admission {
    pub(super) fn of(engine: &Engine) -> Self {
        let (is_protected, keep_alive_seconds) = (AtomicBool::new(true), AtomicU64::new(0));
        let admission = Admission { is_protected, keep_alive_seconds };
        admission.follow(engine);
        admission
    }

    #[inline]
    pub(super) fn follow(&self, engine: &Engine) {
        let is_protected = engine.config.protected_mode && engine.users().is_default_without_password();
        self.is_protected.store(is_protected, Ordering::Relaxed);
        self.keep_alive_seconds.store(engine.config.tcp_keepalive, Ordering::Relaxed);
    }

    pub(super) fn admits(&self, stream: &TcpStream) -> bool {
        // A client that has already left is detected later.
        let is_local = || stream.peer_addr().is_ok_and(|peer| is_local(peer.ip()));
        !self.is_protected.load(Ordering::Relaxed) || is_local()
    }

    /// Enables keep-alive probes, as Redis does: after `tcp-keepalive` seconds, then thrice at a third of that.
    pub(super) fn keep_alive(&self, stream: &TcpStream) {
        let seconds = self.keep_alive_seconds.load(Ordering::Relaxed);
        if seconds == 0 {
            return;
        }
        let probes = TcpKeepalive::new()
            .with_time(Duration::from_secs(seconds))
            .with_interval(Duration::from_secs((seconds / 3).max(1)))
            .with_retries(3);
        // If the time is beyond the system's range, the system's own stays in force, as in Redis.
        if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&probes) {
            tracing::debug!(%error, "cannot set the times of keep-alive probes; those of the system apply");
        }
    }
}

/// Whether a peer counts as local. As in Redis, only these two addresses do, not all of 127.0.0.0/8.
fn is_local(ip: IpAddr) -> bool {
    ip.to_canonical() == IpAddr::V4(Ipv4Addr::LOCALHOST) || ip == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn tcp_keepalive_sets_the_keepalive_of_connections() {
        use lockwheel_engine::config::Config;
        use lockwheel_store::time::Now;
        use std::net::TcpListener;

        let mut engine = Engine::new(Config::default(), 7, Now::default());
        let admission = Admission::of(&engine);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for (seconds, times) in [(300, Some((300, 100))), (60, Some((60, 20))), (1, Some((1, 1))), (0, None)]
        {
            engine.config.tcp_keepalive = seconds;
            admission.follow(&engine);
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            admission.keep_alive(&stream);
            let socket = SockRef::from(&stream);
            assert_eq!(socket.keepalive().unwrap(), times.is_some(), "{seconds}");
            if let Some((time, interval)) = times {
                assert_eq!(socket.tcp_keepalive_time().unwrap().as_secs(), time);
                assert_eq!(socket.tcp_keepalive_interval().unwrap().as_secs(), interval);
                assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
            }
        }
    }

    #[test]
    fn two_addresses_are_local() {
        for (ip, local) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("127.0.0.5", false),
            ("192.0.2.2", false),
            ("::ffff:192.0.2.2", false),
            ("fd00::2", false),
        ] {
            assert_eq!(is_local(ip.parse().unwrap()), local, "{ip}");
        }
    }
}
