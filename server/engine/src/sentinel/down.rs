//! The checks whether servers are down: subjectively, in this sentinel's view, and objectively, in that of enough.

use super::effect::EventLevel;
use super::instance::{InstanceFlags, InstanceRole};
use super::link::{Channel, ExpectedReply};
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{FailoverState, Who};

impl Sentinel {
    /// Checks whether a server is down in this sentinel's own view.
    pub(super) fn check_subjectively_down(&mut self, who: Who) {
        self.drop_stuck_links(who);
        let now = self.now;
        let info_period = self.period(Period::Info);
        let Some(master) = self.master(who.master()) else { return };
        let (down_after, reboot_after) = (master.down_after, master.reboot_down_after);
        let Some(at) = self.instance(who) else { return };
        let silent = match at.link.pending_ping {
            0 if at.link.disconnected => now - at.link.last_available,
            0 => 0,
            since => now - since,
        };
        let is_master = matches!(who, Who::Master(_));
        let wrong_role = is_master
            && at.role_reported == InstanceRole::Replica
            && now - at.role_reported_at > down_after.saturating_add(info_period * 2);
        let rebooting =
            is_master && at.flags.has(InstanceFlags::MASTER_REBOOT) && now - at.rebooted_at > reboot_after;
        let (is_down, was_down) =
            (silent > down_after || wrong_role || rebooting, at.flags.has(InstanceFlags::S_DOWN));
        if is_down == was_down {
            return;
        }
        self.event(EventLevel::Warning, if is_down { "+sdown" } else { "-sdown" }, who);
        let Some(at) = self.instance_mut(who) else { return };
        if is_down {
            at.s_down_since = now;
            at.flags.set(InstanceFlags::S_DOWN);
        } else {
            at.flags.clear(InstanceFlags::S_DOWN | InstanceFlags::SCRIPT_KILL_SENT);
        }
    }

    /// Closes connections over which nothing arrives any more, so that new ones are tried.
    fn drop_stuck_links(&mut self, who: Who) {
        let now = self.now;
        let (reconnect, publish) = (self.period(Period::MinLinkReconnect), self.period(Period::Publish));
        let half = self.master(who.master()).map_or(i64::MAX, |master| master.down_after / 2);
        let Some(at) = self.instance(who) else { return };
        let link = &at.link;
        let is_old = |since: i64| now - since > reconnect;
        let commands_stuck = link.commands.as_ref().is_some_and(|one| is_old(one.since))
            && link.pending_ping != 0
            && now - link.pending_ping > half
            && now - link.last_pong > half;
        let messages_stuck = link.messages.as_ref().is_some_and(|one| is_old(one.since))
            && now - link.last_message > publish * 3;
        if commands_stuck {
            self.close(who, Channel::Commands);
        }
        if messages_stuck {
            self.close(who, Channel::Messages);
        }
    }

    /// Checks whether enough sentinels see a master down.
    pub(super) fn check_objectively_down(&mut self, master: u64) {
        let now = self.now;
        let Some(of) = self.master(master) else { return };
        let (mut votes, mut is_down) = (0, false);
        if of.at.flags.has(InstanceFlags::S_DOWN) {
            let others =
                of.peers.values().filter(|peer| peer.at.flags.has(InstanceFlags::MASTER_DOWN)).count();
            votes = 1 + others;
            is_down = votes >= of.quorum as usize;
        }
        let (quorum, was_down) = (of.quorum, of.at.flags.has(InstanceFlags::O_DOWN));
        if is_down == was_down {
            return;
        }
        let who = Who::Master(master);
        if is_down {
            self.event_with(EventLevel::Warning, "+odown", who, &format!(" #quorum {votes}/{quorum}"));
        } else {
            self.event(EventLevel::Warning, "-odown", who);
        }
        let Some(at) = self.instance_mut(who) else { return };
        if is_down {
            at.flags.set(InstanceFlags::O_DOWN);
            at.o_down_since = now;
        } else {
            at.flags.clear(InstanceFlags::O_DOWN);
        }
    }

    /// Asks other sentinels whether they see a master down, and for votes in a failover. `forced`: even if just asked.
    pub(super) fn ask_others(&mut self, master: u64, forced: bool) {
        for id in self.peer_ids(master) {
            self.ask(master, id, forced);
        }
    }

    fn ask(&mut self, master: u64, id: u64, forced: bool) {
        let (now, period) = (self.now, self.period(Period::Ask));
        let Some(of) = self.master_mut(master) else { return };
        let is_down = of.at.flags.has(InstanceFlags::S_DOWN);
        let wants_vote = of.failover.state > FailoverState::None;
        let Some(peer) = of.peers.get_mut(&id) else { return };
        let elapsed = now - peer.last_reply;
        if elapsed > period * 5 {
            // An answer that is this old does not count.
            peer.at.flags.clear(InstanceFlags::MASTER_DOWN);
            peer.leader = None;
        }
        if !is_down || peer.at.link.disconnected || (!forced && elapsed < period) {
            return;
        }
        let Some(of) = self.master(master) else { return };
        let port = of.at.address.port.to_string();
        let ip = self.shown(&of.at.address).to_owned();
        let epoch = self.current_epoch.to_string();
        let candidate = if wants_vote { self.own.id.clone() } else { "*".to_owned() };
        let words = ["SENTINEL", "is-master-down-by-addr", &ip, &port, &epoch, &candidate].map(str::as_bytes);
        self.send(Who::Peer(master, id), Channel::Commands, &words, ExpectedReply::IsDown);
    }

    /// Returns whether enough sentinels can be reached.
    pub(crate) fn quorum_of(&self, master: u64) -> Quorum {
        let Some(of) = self.master(master) else { return Quorum::default() };
        let voters = of.peers.len() + 1;
        let usable = 1 + of.peers.values().filter(|peer| !peer.at.is_down()).count();
        Quorum { usable, lacks_quorum: usable < of.quorum as usize, lacks_majority: usable < voters / 2 + 1 }
    }
}

/// The number of reachable sentinels, and the purposes for which it is not enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quorum {
    pub(crate) usable: usize,
    pub(crate) lacks_quorum: bool,
    pub(crate) lacks_majority: bool,
}
