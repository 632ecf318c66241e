//! The data that SENTINEL MASTERS, REPLICAS and SENTINELS show, and INFO.

use super::instance::{Instance, InstanceFlags};
use super::state::Sentinel;
use super::watched::{Master, Who};

/// Fields by name, in their order.
pub(crate) type InstanceFields = Vec<(&'static str, String)>;

impl Sentinel {
    /// The numbers of the watched masters.
    pub(crate) fn master_ids(&self) -> Vec<u64> {
        self.masters.keys().copied().collect()
    }

    /// The number of the master with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u64> {
        self.named(name)
    }

    pub(crate) fn name_of(&self, master: u64) -> &str {
        self.master(master).map_or("", |of| &of.at.name)
    }

    /// Returns the host and the port of the master that the sentinel has watched for the longest time.
    pub(crate) fn first_address(&self) -> Option<(String, u16)> {
        self.address_of(self.master_ids().into_iter().min()?)
    }

    /// The address of a master: the host and the port.
    pub(crate) fn address_of(&self, master: u64) -> Option<(String, u16)> {
        let address = self.master(master)?.current_address();
        Some((self.shown(address).to_owned(), address.port))
    }

    pub(crate) fn describe_master(&self, master: u64) -> InstanceFields {
        self.describe(Who::Master(master))
    }

    /// The fields of the replicas of a master. Replicas that are not announced are left out.
    pub(crate) fn describe_replicas(&self, master: u64) -> Vec<InstanceFields> {
        let Some(of) = self.master(master) else { return Vec::new() };
        let announced = of.replicas.iter().filter(|(_, replica)| replica.announced);
        announced.map(|(id, _)| self.describe(Who::Replica(master, *id))).collect()
    }

    pub(crate) fn describe_peers(&self, master: u64) -> Vec<InstanceFields> {
        self.peer_ids(master).into_iter().map(|id| self.describe(Who::Peer(master, id))).collect()
    }

    fn describe(&self, who: Who) -> InstanceFields {
        let (Some(at), Some(of)) = (self.instance(who), self.master(who.master())) else { return Vec::new() };
        let since = |instant: i64| (self.now - instant).to_string();
        let since_any = |instant: i64| if instant == 0 { "0".to_owned() } else { since(instant) };
        let mut fields = vec![
            ("name", at.name.clone()),
            ("ip", self.shown(&at.address).to_owned()),
            ("port", at.address.port.to_string()),
            ("runid", at.run_id.clone().unwrap_or_default()),
            ("flags", flags(who, at)),
            ("link-pending-commands", at.link.pending().to_string()),
            ("link-refcount", "1".to_owned()),
        ];
        if at.flags.has(InstanceFlags::FAILOVER_IN_PROGRESS) {
            fields.push(("failover-state", of.failover.state.word().to_owned()));
        }
        fields.push(("last-ping-sent", since_any(at.link.pending_ping)));
        fields.push(("last-ok-ping-reply", since(at.link.last_available)));
        fields.push(("last-ping-reply", since(at.link.last_pong)));
        if at.flags.has(InstanceFlags::S_DOWN) {
            fields.push(("s-down-time", since(at.s_down_since)));
        }
        if at.flags.has(InstanceFlags::O_DOWN) {
            fields.push(("o-down-time", since(at.o_down_since)));
        }
        fields.push(("down-after-milliseconds", of.down_after.to_string()));
        if !matches!(who, Who::Peer(..)) {
            fields.push(("info-refresh", since_any(at.info_refresh)));
            fields.push(("role-reported", at.role_reported.word().to_owned()));
            fields.push(("role-reported-time", since(at.role_reported_at)));
        }
        self.add_own_fields(who, of, &mut fields);
        fields
    }

    /// Adds the fields that only this kind of server has.
    fn add_own_fields(&self, who: Who, of: &Master, fields: &mut InstanceFields) {
        let unknown = || "?".to_owned();
        match who {
            Who::Master(_) => fields.extend([
                ("config-epoch", of.config_epoch.to_string()),
                ("num-slaves", of.replicas.len().to_string()),
                ("num-other-sentinels", of.peers.len().to_string()),
                ("quorum", of.quorum.to_string()),
                ("failover-timeout", of.failover_timeout.to_string()),
                ("parallel-syncs", of.parallel_syncs.to_string()),
            ]),
            Who::Replica(_, id) => {
                let Some(replica) = of.replicas.get(&id) else { return };
                let status = if replica.master_link_up { "ok" } else { "err" };
                fields.extend([
                    ("master-link-down-time", replica.master_link_down.to_string()),
                    ("master-link-status", status.to_owned()),
                    ("master-host", replica.master_host.clone().unwrap_or_else(unknown)),
                    ("master-port", replica.master_port.to_string()),
                    ("slave-priority", replica.priority.to_string()),
                    ("slave-repl-offset", replica.offset.to_string()),
                    ("replica-announced", u8::from(replica.announced).to_string()),
                ]);
            }
            Who::Peer(_, id) => {
                let Some(peer) = of.peers.get(&id) else { return };
                fields.extend([
                    ("last-hello-message", (self.now - peer.last_hello).to_string()),
                    ("voted-leader", peer.leader.clone().unwrap_or_else(unknown)),
                    ("voted-leader-epoch", peer.leader_epoch.to_string()),
                ]);
            }
        }
    }

    /// The last INFO of a master and of each replica, with its age in milliseconds.
    pub(crate) fn info_cache(&self, master: u64) -> Vec<(i64, Option<&[u8]>)> {
        let Some(of) = self.master(master) else { return Vec::new() };
        let all = [&of.at].into_iter().chain(of.replicas.values().map(|replica| &replica.at));
        let age = |at: &Instance| if at.info_refresh == 0 { 0 } else { self.now - at.info_refresh };
        all.map(|at| (age(at), at.info.as_deref())).collect()
    }

    pub(crate) fn info_lines(&self) -> Vec<(String, String)> {
        let tilt = self.tilt_since.map_or(-1, |since| (self.now - since) / 1000);
        let failures = u8::from(self.failures.after_election) + 2 * u8::from(self.failures.after_promotion);
        let mut lines = vec![
            ("sentinel_masters".to_owned(), self.masters.len().to_string()),
            ("sentinel_tilt".to_owned(), u8::from(self.tilt_since.is_some()).to_string()),
            ("sentinel_tilt_since_seconds".to_owned(), tilt.to_string()),
            ("sentinel_running_scripts".to_owned(), "0".to_owned()),
            ("sentinel_scripts_queue_length".to_owned(), "0".to_owned()),
            ("sentinel_simulate_failure_flags".to_owned(), failures.to_string()),
        ];
        for (number, of) in self.masters.values().enumerate() {
            let status = match of.at.flags {
                flags if flags.has(InstanceFlags::O_DOWN) => "odown",
                flags if flags.has(InstanceFlags::S_DOWN) => "sdown",
                _ => "ok",
            };
            let about = format!(
                "name={},status={status},address={}:{},slaves={},sentinels={}",
                of.at.name,
                self.shown(&of.at.address),
                of.at.address.port,
                of.replicas.len(),
                of.peers.len() + 1
            );
            lines.push((format!("master{number}"), about));
        }
        lines
    }

    /// The failures that a test asks for.
    pub(crate) fn failures(&self) -> super::state::SimulatedFailures {
        self.failures
    }

    /// Sets the failures that a test asks for.
    pub(crate) fn simulate(&mut self, failures: super::state::SimulatedFailures) {
        self.failures = failures;
    }

    pub(crate) fn periods_mut(&mut self) -> &mut super::periods::Periods {
        &mut self.periods
    }
}

fn flags(who: Who, at: &Instance) -> String {
    let kind = match who {
        Who::Master(_) => "master",
        Who::Replica(..) => "slave",
        Who::Peer(..) => "sentinel",
    };
    let mut names = Vec::new();
    names.extend(at.flags.has(InstanceFlags::S_DOWN).then_some("s_down"));
    names.extend(at.flags.has(InstanceFlags::O_DOWN).then_some("o_down"));
    names.push(kind);
    names.extend(at.link.disconnected.then_some("disconnected"));
    names.extend(at.flags.names());
    names.join(",")
}
