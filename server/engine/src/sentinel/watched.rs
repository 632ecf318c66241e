//! The three kinds of watched servers: masters, their replicas, and other sentinels that watch them.

use super::address::InstanceAddress;
use super::instance::{Instance, InstanceRole};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailoverState {
    None,
    WaitStart,
    SelectSlave,
    SendSlaveofNoOne,
    WaitPromotion,
    ReconfSlaves,
    UpdateConfig,
}

impl FailoverState {
    pub(super) fn word(self) -> &'static str {
        match self {
            FailoverState::None => "none",
            FailoverState::WaitStart => "wait_start",
            FailoverState::SelectSlave => "select_slave",
            FailoverState::SendSlaveofNoOne => "send_slaveof_noone",
            FailoverState::WaitPromotion => "wait_promotion",
            FailoverState::ReconfSlaves => "reconf_slaves",
            FailoverState::UpdateConfig => "update_config",
        }
    }
}

#[derive(Debug)]
pub(super) struct Failover {
    pub(super) state: FailoverState,
    /// The instant at which the state began.
    pub(super) since: i64,
    /// The instant at which the last failover began or was voted for.
    pub(super) started: i64,
    pub(super) epoch: u64,
    /// The replica that becomes the master.
    pub(super) promoted: Option<u64>,
    /// The start of the failover for which the delay of the next one has been logged.
    pub(super) delay_logged: i64,
}

/// The user and the password for a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InstanceLogin {
    pub(super) user: Option<Vec<u8>>,
    pub(super) password: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Master {
    pub(super) at: Instance,
    pub(super) config_epoch: u64,
    pub(super) quorum: u32,
    pub(super) parallel_syncs: u32,
    /// Milliseconds of silence after which the master, its replicas and its sentinels are down.
    pub(super) down_after: i64,
    pub(super) failover_timeout: i64,
    pub(super) reboot_down_after: i64,
    pub(super) login: InstanceLogin,
    /// The names of renamed commands at the master and its replicas.
    pub(super) renames: BTreeMap<String, Vec<u8>>,
    /// The sentinel that this one has voted for, and the vote's epoch.
    pub(super) leader: Option<String>,
    pub(super) leader_epoch: u64,
    pub(super) failover: Failover,
    pub(super) replicas: BTreeMap<u64, Replica>,
    pub(super) peers: BTreeMap<u64, Peer>,
}

impl Master {
    pub(super) fn new(at: Instance, quorum: u32, down_after: i64, failover_timeout: i64) -> Self {
        let failover = Failover {
            state: FailoverState::None,
            since: 0,
            started: 0,
            epoch: 0,
            promoted: None,
            delay_logged: 0,
        };
        Master {
            at,
            config_epoch: 0,
            quorum,
            parallel_syncs: 1,
            down_after,
            failover_timeout,
            reboot_down_after: 0,
            login: InstanceLogin::default(),
            renames: BTreeMap::new(),
            leader: None,
            leader_epoch: 0,
            failover,
            replicas: BTreeMap::new(),
            peers: BTreeMap::new(),
        }
    }

    /// The address of the master. From its promotion on, it is that of the promoted replica.
    pub(super) fn current_address(&self) -> &InstanceAddress {
        match self.failover.promoted.and_then(|id| self.replicas.get(&id)) {
            Some(promoted) if self.failover.state >= FailoverState::ReconfSlaves => &promoted.at.address,
            _ => &self.at.address,
        }
    }

    /// The name of a command at the master.
    pub(super) fn called<'a>(&'a self, command: &'a str) -> &'a [u8] {
        self.renames.get(&command.to_ascii_lowercase()).map_or(command.as_bytes(), Vec::as_slice)
    }
}

#[derive(Debug)]
pub(super) struct Replica {
    pub(super) at: Instance,
    /// Milliseconds since the replica lost its connection to the master.
    pub(super) master_link_down: i64,
    pub(super) priority: i64,
    pub(super) announced: bool,
    pub(super) reconf_sent_at: i64,
    pub(super) master_host: Option<String>,
    pub(super) master_port: i64,
    pub(super) master_link_up: bool,
    pub(super) offset: u64,
    /// The instant at which a change of the replica's master was last seen.
    pub(super) conf_changed_at: i64,
}

impl Replica {
    /// A replica that is named after this host.
    pub(super) fn new(host: &str, address: InstanceAddress, now: i64) -> Self {
        let name = format!("{}:{}", bracketed(host), address.port);
        Replica {
            at: Instance::new(name, address, InstanceRole::Replica, now),
            master_link_down: 0,
            priority: 100,
            announced: true,
            reconf_sent_at: 0,
            master_host: None,
            master_port: 0,
            master_link_up: false,
            offset: 0,
            conf_changed_at: now,
        }
    }
}

/// A host in the form in front of a colon and a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) at: Instance,
    pub(super) last_hello: i64,
    /// The instant of the last answer whether the master is down.
    pub(super) last_reply: i64,
    /// The sentinel that it has voted for, and the epoch of the vote.
    pub(super) leader: Option<String>,
    pub(super) leader_epoch: u64,
}

impl Peer {
    pub(super) fn new(name: String, address: InstanceAddress, now: i64) -> Self {
        Peer {
            at: Instance::new(name, address, InstanceRole::Master, now),
            last_hello: now,
            last_reply: now,
            leader: None,
            leader_epoch: 0,
        }
    }
}

/// The id of a watched server, valid as long as it is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Master(u64),
    Replica(u64, u64),
    Peer(u64, u64),
}

impl Who {
    /// The number of the master that the server belongs to.
    pub(super) fn master(self) -> u64 {
        match self {
            Who::Master(id) | Who::Replica(id, _) | Who::Peer(id, _) => id,
        }
    }
}
