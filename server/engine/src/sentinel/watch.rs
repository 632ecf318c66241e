//! The addition and removal of watched masters, replicas and sentinels.

use super::address::InstanceAddress;
use super::effect::EventLevel;
use super::instance::{Instance, InstanceFlags, InstanceRole};
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{FailoverState, Master, Peer, Replica, Who};
use lockwheel_store::keyspace::glob;
use std::collections::BTreeMap;

/// The most servers and sentinels that are watched for one master. Reports of more are ignored.
const MAX_WATCHED: usize = 1000;

/// The reason why a server is not watched, in Redis' words.
pub(crate) type WatchRefusal = &'static str;

pub(super) const BAD_PORT: WatchRefusal = "Invalid port number.";
pub(super) const NO_ADDRESS: WatchRefusal = "Can't resolve instance hostname.";
const DUPLICATE: WatchRefusal = "Duplicate master name.";
const BAD_QUORUM: WatchRefusal = "Quorum must be 1 or greater.";

impl Sentinel {
    /// Watches a master, and returns its number, or the reason why it cannot be watched.
    pub(crate) fn add_master(
        &mut self,
        name: &str,
        host: &str,
        port: i64,
        quorum: i64,
    ) -> Result<u64, WatchRefusal> {
        let quorum = u32::try_from(quorum).ok().filter(|quorum| (1..=i32::MAX as u32).contains(quorum));
        let quorum = quorum.ok_or(BAD_QUORUM)?;
        let port = u16::try_from(port).map_err(|_| BAD_PORT)?;
        let address = self.address(host, port).ok_or(NO_ADDRESS)?;
        if self.named(name.as_bytes()).is_some() {
            return Err(DUPLICATE);
        }
        let at = Instance::new(name.to_owned(), address, InstanceRole::Master, self.now);
        let down_after = self.period(Period::DefaultDownAfter);
        let timeout = self.period(Period::DefaultFailoverTimeout);
        let id = self.next_id();
        self.masters.insert(id, Master::new(at, quorum, down_after, timeout));
        Ok(id)
    }

    pub(crate) fn announce_master(&mut self, master: u64) {
        let Some(quorum) = self.master(master).map(|of| of.quorum) else { return };
        self.event_with(EventLevel::Warning, "+monitor", Who::Master(master), &format!(" quorum {quorum}"));
    }

    /// Watches a replica. Returns its number, or `None` if it is watched already.
    pub(super) fn add_replica(&mut self, master: u64, address: InstanceAddress) -> Option<u64> {
        let of = self.master(master)?;
        if of.replicas.len() >= MAX_WATCHED || of.replicas.values().any(|known| known.at.address.is(&address))
        {
            return None;
        }
        let replica = Replica::new(self.shown(&address), address.clone(), self.now);
        let id = self.next_id();
        self.master_mut(master)?.replicas.insert(id, replica);
        Some(id)
    }

    /// Watches another sentinel. Returns its number, or `None` if its run id is known already.
    pub(super) fn add_peer(&mut self, master: u64, run_id: &str, address: InstanceAddress) -> Option<u64> {
        let now = self.now;
        let of = self.master(master)?;
        if of.peers.len() >= MAX_WATCHED || of.peers.values().any(|peer| peer.at.name == run_id) {
            return None;
        }
        let mut peer = Peer::new(run_id.to_owned(), address, now);
        peer.at.run_id = Some(run_id.to_owned());
        let id = self.next_id();
        self.master_mut(master)?.peers.insert(id, peer);
        Some(id)
    }

    pub(super) fn remove_peer(&mut self, master: u64, id: u64) {
        self.close_both(Who::Peer(master, id));
        self.master_mut(master).into_iter().for_each(|of| drop(of.peers.remove(&id)));
    }

    /// Forgets a master and all that belongs to it.
    pub(crate) fn remove_master(&mut self, master: u64) {
        self.event(EventLevel::Warning, "-monitor", Who::Master(master));
        self.forget_all(master, true);
        self.close_both(Who::Master(master));
        self.masters.remove(&master);
        self.unsaved = true;
    }

    /// Forgets the replicas of a master, and its sentinels too.
    fn forget_all(&mut self, master: u64, peers: bool) {
        for id in self.replica_ids(master) {
            self.close_both(Who::Replica(master, id));
        }
        for id in if peers { self.peer_ids(master) } else { Vec::new() } {
            self.close_both(Who::Peer(master, id));
        }
        let Some(of) = self.master_mut(master) else { return };
        of.replicas = BTreeMap::new();
        if peers {
            of.peers = BTreeMap::new();
        }
    }

    /// Resets all masters whose name matches. Returns their number.
    pub(crate) fn reset_matching(&mut self, pattern: &[u8]) -> usize {
        let is_meant = |master: &Master| glob::matches(pattern, master.at.name.as_bytes(), false);
        let meant: Vec<u64> = self.masters.iter().filter(|(_, of)| is_meant(of)).map(|(id, _)| *id).collect();
        for master in &meant {
            self.reset(*master, true);
            self.event(EventLevel::Warning, "+reset-master", Who::Master(*master));
        }
        meant.len()
    }

    /// Resets a master, as if it were watched from now on.
    fn reset(&mut self, master: u64, peers: bool) {
        self.forget_all(master, peers);
        self.close_both(Who::Master(master));
        let now = self.now;
        let Some(of) = self.master_mut(master) else { return };
        of.at.flags = InstanceFlags::default();
        of.leader = None;
        of.failover.state = FailoverState::None;
        of.failover.since = 0;
        of.failover.started = 0;
        of.failover.promoted = None;
        of.at.run_id = None;
        let link = &mut of.at.link;
        link.pending_ping = now;
        link.last_ping = 0;
        link.last_available = now;
        link.last_pong = now;
        of.at.role_reported_at = now;
        of.at.role_reported = InstanceRole::Master;
    }

    /// Moves a master to another address. Its replicas are then the known replicas and the old master.
    pub(super) fn move_master(&mut self, master: u64, new: InstanceAddress) {
        let Some(of) = self.master(master) else { return };
        let old = of.at.address.clone();
        let known = of.replicas.values().map(|replica| replica.at.address.clone());
        let mut replicas: Vec<InstanceAddress> = known.filter(|address| !address.is(&new)).collect();
        if !old.is(&new) {
            replicas.push(old);
        }
        self.reset(master, false);
        let Some(of) = self.master_mut(master) else { return };
        of.at.address = new;
        of.at.o_down_since = 0;
        of.at.s_down_since = 0;
        for address in replicas {
            if let Some(id) = self.add_replica(master, address) {
                self.event(EventLevel::Notice, "+slave", Who::Replica(master, id));
            }
        }
        self.unsaved = true;
    }
}
