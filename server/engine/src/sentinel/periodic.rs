//! The periodic messages: PING, INFO, and the hello message by which sentinels find each other.

use super::instance::InstanceFlags;
use super::link::{Channel, ExpectedReply};
use super::links::HELLO;
use super::periods::Period;
use super::state::Sentinel;
use super::watched::Who;

/// The most unanswered commands at a server.
const MAX_PENDING_COMMANDS: usize = 100;
/// Milliseconds between two INFO requests to a replica during a failover or while its link or its master is down.
const INFO_OFTEN_MS: i64 = 1000;

impl Sentinel {
    pub(super) fn send_periodic(&mut self, who: Who) {
        let Some(at) = self.instance(who) else { return };
        if at.link.disconnected || at.link.pending() >= MAX_PENDING_COMMANDS {
            return;
        }
        let (now, ping_period) = (self.now, self.ping_period(who));
        let is_peer = matches!(who, Who::Peer(..));
        let wants_info = !is_peer && (at.info_refresh == 0 || now - at.info_refresh > self.info_period(who));
        let wants_ping = now - at.link.last_pong > ping_period && now - at.link.last_ping > ping_period / 2;
        let wants_hello = now - at.last_publish > self.period(Period::Publish);
        if wants_info {
            let info = self.called(who, "INFO");
            self.send(who, Channel::Commands, &[&info], ExpectedReply::Info);
        }
        if wants_ping {
            self.send_ping(who);
        }
        if wants_hello {
            self.send_hello(who);
        }
    }

    /// The period of INFO requests to a server, in milliseconds. It is short for a replica whose master is in trouble.
    fn info_period(&self, who: Who) -> i64 {
        let often = match who {
            Who::Replica(master, id) => {
                let of = self.master(master).map(|master| master.at.flags).unwrap_or_default();
                of.has(InstanceFlags::O_DOWN | InstanceFlags::FAILOVER_IN_PROGRESS)
                    || self.replica(master, id).is_some_and(|replica| replica.master_link_down != 0)
            }
            _ => false,
        };
        if often { INFO_OFTEN_MS } else { self.period(Period::Info) }
    }

    fn ping_period(&self, who: Who) -> i64 {
        let down_after = self.master(who.master()).map_or(i64::MAX, |master| master.down_after);
        down_after.min(self.period(Period::Ping))
    }

    pub(super) fn send_ping(&mut self, who: Who) {
        let ping = self.called(who, "PING");
        if !self.send(who, Channel::Commands, &[&ping], ExpectedReply::Ping) {
            return;
        }
        let now = self.now;
        if let Some(at) = self.instance_mut(who) {
            at.link.last_ping = now;
            if at.link.pending_ping == 0 {
                at.link.pending_ping = now;
            }
        }
    }

    /// Publishes a hello message about this sentinel and its view of the master.
    fn send_hello(&mut self, who: Who) {
        let Some(hello) = self.hello(who) else { return };
        let publish = self.called(who, "PUBLISH");
        self.send(who, Channel::Commands, &[&publish, HELLO.as_bytes(), &hello], ExpectedReply::Publish);
    }

    fn hello(&self, who: Who) -> Option<Vec<u8>> {
        let at = self.instance(who)?;
        let master = self.master(who.master())?;
        let own = &self.own;
        // The address for other sentinels: the announced one, or else the address that the server sees.
        let ip = match &own.announce_ip {
            Some(ip) => ip.as_slice(),
            None => at.link.local_ip.as_deref()?.as_bytes(),
        };
        let port = if own.announce_port > 0 { own.announce_port } else { own.port };
        let address = master.current_address();
        let about = format!(
            ",{port},{},{},{},{},{},{}",
            own.id,
            self.current_epoch,
            master.at.name,
            self.shown(address),
            address.port,
            master.config_epoch
        );
        Some([ip, about.as_bytes()].concat())
    }

    /// Makes the next hello message to each server of a master due at once.
    pub(super) fn force_hello(&mut self, master: u64) {
        let before = self.now - self.period(Period::Publish) - 1;
        let Some(master) = self.master_mut(master) else { return };
        let replicas = master.replicas.values_mut().map(|replica| &mut replica.at);
        let peers = master.peers.values_mut().map(|peer| &mut peer.at);
        for at in [&mut master.at].into_iter().chain(replicas).chain(peers) {
            at.last_publish = at.last_publish.min(before);
        }
    }
}
