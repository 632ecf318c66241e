//! The facts of a server on which its node bases decisions.

use super::gossip::{Facts, NodeLogin};
use crate::config::Config;
use crate::replication::{ReplicaLink, Replication};
use lockwheel_store::time::Now;

impl Facts {
    /// Returns the facts at an instant of a server with these parts.
    pub(crate) fn of_server(
        config: &Config,
        (replication, following): (&Replication, Option<&ReplicaLink>),
        now: Now,
    ) -> Self {
        let parameters = &config.cluster;
        let is_connected = following.is_some_and(ReplicaLink::is_connected);
        Facts {
            now: now.monotonic_ms(),
            wall_ms: now.wall_ms(),
            offset: replication.offset().max(0).unsigned_abs(),
            is_synced: following.is_none_or(|following| is_connected || following.was_up()),
            hears_master: following.is_some_and(ReplicaLink::hears_master),
            announced_ip: parameters.announce_ip.clone(),
            login: NodeLogin::of(config),
            node_timeout: parameters.node_timeout.max(1),
            validity_factor: parameters.replica_validity_factor,
            ping_period: config.replication.ping_period.saturating_mul(1000),
            follows_slots: parameters.allow_replica_migration,
            never_takes_over: parameters.replica_no_failover,
        }
    }
}

impl NodeLogin {
    /// Returns the credentials for other nodes: those for a master, or else the password of its own clients.
    fn of(config: &Config) -> Self {
        let replication = &config.replication;
        let has_own = !replication.masterauth.is_empty();
        let password = if has_own { &replication.masterauth } else { &config.requirepass };
        let user = replication.masteruser.as_bytes();
        NodeLogin {
            user: Some(user.to_vec()).filter(|user| !user.is_empty() && has_own),
            password: Some(password.clone()).filter(|password| !password.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_of_a_replica_goes_before_the_password_of_clients() {
        let mut config = Config::default();
        assert_eq!(NodeLogin::of(&config), NodeLogin::default());
        config.requirepass = b"own".to_vec();
        config.replication.masteruser = "user".to_owned();
        assert_eq!(NodeLogin::of(&config), NodeLogin { user: None, password: Some(b"own".to_vec()) });
        config.replication.masterauth = b"theirs".to_vec();
        let login = NodeLogin { user: Some(b"user".to_vec()), password: Some(b"theirs".to_vec()) };
        assert_eq!(NodeLogin::of(&config), login);
    }
}
