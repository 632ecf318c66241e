//! Hello messages, in which another sentinel tells of itself and of a master, through a watched server or by PUBLISH.

use super::address::InstanceAddress;
use super::effect::EventLevel;
use super::state::Sentinel;
use super::watched::{FailoverState, Master, Peer, Who};

/// The length of a sentinel's run id. A longer id is invalid.
const RUN_ID_LEN: usize = 40;

/// A hello: `ip,port,run id,epoch,master,master's ip,master's port,master's epoch`.
struct Hello<'a> {
    ip: &'a str,
    port: u16,
    run_id: &'a str,
    current_epoch: u64,
    master: &'a str,
    master_host: &'a str,
    master_port: u16,
    config_epoch: u64,
}

impl<'a> Hello<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let fields: Vec<&str> = text.split(',').collect();
        let [ip, port, run_id, current_epoch, master, master_host, master_port, config_epoch] = *fields
        else {
            return None;
        };
        if run_id.len() > RUN_ID_LEN {
            return None;
        }
        Some(Hello {
            ip,
            port: port.parse().ok()?,
            run_id,
            current_epoch: current_epoch.parse().ok()?,
            master,
            master_host,
            master_port: master_port.parse().ok()?,
            config_epoch: config_epoch.parse().ok()?,
        })
    }
}

impl Sentinel {
    /// Processes a hello message. A malformed message changes nothing.
    pub(crate) fn hear(&mut self, text: &[u8]) {
        let Some(hello) = std::str::from_utf8(text).ok().and_then(Hello::parse) else { return };
        let Some(master) = self.named(hello.master.as_bytes()) else { return };
        let Some(address) = self.address(hello.ip, hello.port) else { return };
        let found = self.find_peer(master, |peer| {
            peer.at.run_id.as_deref() == Some(hello.run_id) && peer.at.address.is(&address)
        });
        let peer = match found {
            Some(peer) => Some(peer),
            None => self.meet(master, &hello, address),
        };
        self.adopt_epoch(hello.current_epoch);
        let Some(peer) = peer else { return };
        self.adopt_config(master, peer, &hello);
        let now = self.now;
        self.peer_mut(master, peer).into_iter().for_each(|peer| peer.last_hello = now);
    }

    fn find_peer(&self, master: u64, is_it: impl Fn(&Peer) -> bool) -> Option<u64> {
        self.master(master)?.peers.iter().find(|(_, peer)| is_it(peer)).map(|(id, _)| *id)
    }

    /// Adds a sentinel that is unknown, or known at another address.
    fn meet(&mut self, master: u64, hello: &Hello<'_>, address: InstanceAddress) -> Option<u64> {
        let same = self.find_peer(master, |peer| peer.at.run_id.as_deref() == Some(hello.run_id));
        if let Some(id) = same {
            self.remove_peer(master, id);
            let more = format!(" ip {} port {} for {}", hello.ip, hello.port, hello.run_id);
            self.event_with(EventLevel::Notice, "+sentinel-address-switch", Who::Master(master), &more);
        } else if let Some(other) = self.find_peer(master, |peer| peer.at.address.is(&address)) {
            // Another sentinel uses the address. The known one cannot be reached until it announces its own.
            self.event(EventLevel::Notice, "+sentinel-invalid-addr", Who::Peer(master, other));
            self.invalidate(master, other);
        }
        let id = self.add_peer(master, hello.run_id, address.clone())?;
        if same.is_none() {
            self.event(EventLevel::Notice, "+sentinel", Who::Peer(master, id));
        } else {
            self.moved(master, hello.run_id, &address);
        }
        self.unsaved = true;
        Some(id)
    }

    fn invalidate(&mut self, master: u64, id: u64) {
        let run_id = self.peer_mut(master, id).and_then(|peer| peer.at.run_id.clone());
        for (other, peer) in self.known_as(run_id.as_deref()) {
            self.peer_mut(other, peer).into_iter().for_each(|peer| peer.at.address.port = 0);
            self.close_both(Who::Peer(other, peer));
        }
    }

    /// Updates the address of a sentinel for the other masters that it watches.
    fn moved(&mut self, master: u64, run_id: &str, address: &InstanceAddress) {
        for (other, peer) in self.known_as(Some(run_id)) {
            if other != master {
                self.peer_mut(other, peer).into_iter().for_each(|peer| peer.at.address = address.clone());
                self.close_both(Who::Peer(other, peer));
                self.event(EventLevel::Notice, "+sentinel-address-update", Who::Peer(other, peer));
            }
        }
    }

    /// Finds a sentinel by its run id: the numbers of each master that has it and of the sentinel there.
    fn known_as(&self, run_id: Option<&str>) -> Vec<(u64, u64)> {
        let of =
            self.masters.iter().flat_map(|(id, master)| master.peers.iter().map(move |peer| (*id, peer)));
        of.filter(|(_, (_, peer))| run_id.is_some() && peer.at.run_id.as_deref() == run_id)
            .map(|(master, (id, _))| (master, *id))
            .collect()
    }

    /// Adopts a sentinel's view of a master, if it is newer.
    fn adopt_config(&mut self, master: u64, peer: u64, hello: &Hello<'_>) {
        let Some(of) = self.master_mut(master) else { return };
        if of.config_epoch >= hello.config_epoch {
            return;
        }
        of.config_epoch = hello.config_epoch;
        let old = of.at.address.clone();
        if hello.master_port == old.port && self.is_host(&old, hello.master_host) {
            return;
        }
        let Some(new) = self.address(hello.master_host, hello.master_port) else { return };
        self.event(EventLevel::Warning, "+config-update-from", Who::Peer(master, peer));
        self.announce_switch(master, &old, &new);
        self.move_master(master, new);
    }

    /// Whether a master for which `leads_there` is true is watched at another address, or has a failover in progress.
    pub(crate) fn strays(&self, leads_there: impl Fn(&str, u16) -> bool, host: &str, port: u16) -> bool {
        let new = self.address(host, port);
        self.masters.values().filter(|of| leads_there(&of.at.address.host, of.at.address.port)).any(|of| {
            let is_there = new.as_ref().is_some_and(|new| of.at.address.is(new));
            !is_there || of.failover.state != FailoverState::None
        })
    }

    /// Watches the server at this host and port, from this epoch on, instead of each master for which `is_meant` is
    /// true. That server was made the master by an authority that all must follow. A failover of such a master ends.
    pub(crate) fn follow_failover(
        &mut self,
        is_meant: impl Fn(&str, u16) -> bool,
        host: &str,
        port: u16,
        epoch: u64,
    ) {
        let is_it = |of: &Master| is_meant(&of.at.address.host, of.at.address.port);
        let masters: Vec<u64> = self.masters.iter().filter(|(_, of)| is_it(of)).map(|(id, _)| *id).collect();
        for master in masters {
            self.adopt_epoch(epoch);
            let Some(old) = self.master(master).map(|of| of.at.address.clone()) else { continue };
            let new = self.address(host, port);
            let (Some(of), Some(new)) = (self.master_mut(master), new) else { continue };
            of.config_epoch = epoch;
            if !old.is(&new) {
                self.announce_switch(master, &old, &new);
            }
            self.move_master(master, new);
        }
    }

    pub(super) fn announce_switch(&mut self, master: u64, old: &InstanceAddress, new: &InstanceAddress) {
        let Some(of) = self.master(master) else { return };
        let text =
            format!("{} {} {} {} {}", of.at.name, self.shown(old), old.port, self.shown(new), new.port);
        self.plain_event(EventLevel::Warning, "+switch-master", text);
    }
}
