//! The data about a watched server of any kind: a master, a replica or another sentinel.

use super::address::InstanceAddress;
use super::link::InstanceLink;

/// The role that a server reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceRole {
    Master,
    Replica,
}

impl InstanceRole {
    pub(super) fn word(self) -> &'static str {
        match self {
            InstanceRole::Master => "master",
            InstanceRole::Replica => "slave",
        }
    }
}

/// The states that SENTINEL MASTERS shows as flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InstanceFlags(u16);

impl InstanceFlags {
    pub(super) const S_DOWN: InstanceFlags = InstanceFlags(1);
    pub(super) const O_DOWN: InstanceFlags = InstanceFlags(1 << 1);
    /// Another sentinel that says that the master is down.
    pub(super) const MASTER_DOWN: InstanceFlags = InstanceFlags(1 << 2);
    pub(super) const FAILOVER_IN_PROGRESS: InstanceFlags = InstanceFlags(1 << 3);
    pub(super) const PROMOTED: InstanceFlags = InstanceFlags(1 << 4);
    pub(super) const RECONF_SENT: InstanceFlags = InstanceFlags(1 << 5);
    pub(super) const RECONF_INPROG: InstanceFlags = InstanceFlags(1 << 6);
    pub(super) const RECONF_DONE: InstanceFlags = InstanceFlags(1 << 7);
    pub(super) const FORCE_FAILOVER: InstanceFlags = InstanceFlags(1 << 8);
    pub(super) const SCRIPT_KILL_SENT: InstanceFlags = InstanceFlags(1 << 9);
    /// A master that has come back as another process.
    pub(super) const MASTER_REBOOT: InstanceFlags = InstanceFlags(1 << 10);

    /// The names of the flags that are shown, in their order.
    const NAMES: [(InstanceFlags, &'static str); 8] = [
        (InstanceFlags::MASTER_DOWN, "master_down"),
        (InstanceFlags::FAILOVER_IN_PROGRESS, "failover_in_progress"),
        (InstanceFlags::PROMOTED, "promoted"),
        (InstanceFlags::RECONF_SENT, "reconf_sent"),
        (InstanceFlags::RECONF_INPROG, "reconf_inprog"),
        (InstanceFlags::RECONF_DONE, "reconf_done"),
        (InstanceFlags::FORCE_FAILOVER, "force_failover"),
        (InstanceFlags::SCRIPT_KILL_SENT, "script_kill_sent"),
    ];

    /// Whether one of these flags is set.
    pub(super) fn has(self, any: InstanceFlags) -> bool {
        self.0 & any.0 != 0
    }

    pub(super) fn set(&mut self, flags: InstanceFlags) {
        self.0 |= flags.0;
    }

    pub(super) fn clear(&mut self, flags: InstanceFlags) {
        self.0 &= !flags.0;
    }

    /// The names of the flags that are shown behind the kind of server and the state of its connection.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        InstanceFlags::NAMES.into_iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| name)
    }
}

impl std::ops::BitOr for InstanceFlags {
    type Output = InstanceFlags;

    fn bitor(self, other: InstanceFlags) -> InstanceFlags {
        InstanceFlags(self.0 | other.0)
    }
}

/// The data about a watched server. Instants are in milliseconds; 0 means never.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    pub(super) run_id: Option<String>,
    pub(super) address: InstanceAddress,
    pub(super) flags: InstanceFlags,
    pub(super) link: InstanceLink,
    pub(super) last_publish: i64,
    pub(super) s_down_since: i64,
    pub(super) o_down_since: i64,
    pub(super) info: Option<Vec<u8>>,
    pub(super) info_refresh: i64,
    pub(super) role_reported: InstanceRole,
    pub(super) role_reported_at: i64,
    /// The instant at which the server was first seen to be another process.
    pub(super) rebooted_at: i64,
}

impl Instance {
    pub(super) fn new(name: String, address: InstanceAddress, role: InstanceRole, now: i64) -> Self {
        Instance {
            name,
            run_id: None,
            address,
            flags: InstanceFlags::default(),
            link: InstanceLink::new(now),
            last_publish: now,
            s_down_since: 0,
            o_down_since: 0,
            info: None,
            info_refresh: 0,
            role_reported: role,
            role_reported_at: now,
            rebooted_at: 0,
        }
    }

    /// Whether the server has been up for `ms` milliseconds.
    pub(super) fn no_down_for(&self, ms: i64, now: i64) -> bool {
        let last = self.s_down_since.max(self.o_down_since);
        last == 0 || now - last > ms
    }

    pub(super) fn is_down(&self) -> bool {
        self.flags.has(InstanceFlags::S_DOWN | InstanceFlags::O_DOWN)
    }
}
