//! Votes for the sentinel that leads a failover.

use super::effect::EventLevel;
use super::instance::InstanceFlags;
use super::state::Sentinel;
use super::watched::Who;
use std::collections::BTreeMap;

/// The bound, in milliseconds, of the random delay of a failover, so that two sentinels do not begin at the same time.
const DESYNC_MS: u64 = 1000;

/// The answer to another sentinel that has asked whether a master is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MasterDownAnswer {
    pub(crate) is_down: bool,
    /// The sentinel that this one has voted for. `*` if no vote was requested, or it has voted for none.
    pub(crate) leader: String,
    pub(crate) leader_epoch: u64,
}

impl Sentinel {
    pub(super) fn desync(&mut self) -> i64 {
        self.rng.below(DESYNC_MS) as i64
    }

    /// Returns whether the master at an address is down, and this sentinel's vote, if a candidate is named.
    pub(crate) fn is_master_down(
        &mut self,
        ip: &str,
        port: i64,
        epoch: u64,
        candidate: &str,
    ) -> MasterDownAnswer {
        let found = self.masters.iter().find(|(_, master)| {
            let address = &master.at.address;
            i64::from(address.port) == port && (&*address.ip == ip || self.is_host(address, ip))
        });
        let found = found.map(|(id, master)| (*id, master.at.flags.has(InstanceFlags::S_DOWN)));
        let is_down = self.tilt_since.is_none() && found.is_some_and(|(_, is_down)| is_down);
        let mut verdict = MasterDownAnswer { is_down, leader: "*".to_owned(), leader_epoch: 0 };
        if let Some((master, _)) = found
            && candidate != "*"
        {
            let (leader, leader_epoch) = self.vote(master, epoch, candidate);
            verdict.leader = leader.unwrap_or_else(|| "*".to_owned());
            verdict.leader_epoch = leader_epoch;
        }
        verdict
    }

    /// Votes for a candidate, unless this sentinel has voted in this epoch. Returns the vote and its epoch.
    pub(super) fn vote(&mut self, master: u64, epoch: u64, candidate: &str) -> (Option<String>, u64) {
        self.adopt_epoch(epoch);
        let (now, current) = (self.now, self.current_epoch);
        let Some(of) = self.master_mut(master) else { return (None, 0) };
        if of.leader_epoch >= epoch || current > epoch {
            return (of.leader.clone(), of.leader_epoch);
        }
        of.leader = Some(candidate.to_owned());
        of.leader_epoch = current;
        self.unsaved = true;
        self.plain_event(EventLevel::Warning, "+vote-for-leader", format!("{candidate} {current}"));
        if !candidate.eq_ignore_ascii_case(&self.own.id) {
            // Another sentinel leads, so this one does not begin a failover for a while.
            let started = now + self.desync();
            self.master_mut(master).into_iter().for_each(|of| of.failover.started = started);
        }
        (Some(candidate.to_owned()), current)
    }

    /// Returns the leader of the failover of a master in an epoch. It is the sentinel with the votes of a majority, and
    /// of at least the quorum. Counting the votes also casts this sentinel's own vote.
    pub(super) fn leader(&mut self, master: u64, epoch: u64) -> Option<String> {
        let current = self.current_epoch;
        let of = self.master(master)?;
        let (voters, quorum) = (of.peers.len() + 1, of.quorum as usize);
        let mut votes: BTreeMap<String, usize> = BTreeMap::new();
        for peer in of.peers.values().filter(|peer| peer.leader_epoch == current) {
            if let Some(leader) = &peer.leader {
                *votes.entry(leader.clone()).or_default() += 1;
            }
        }
        let ahead = most(&votes).map_or_else(|| self.own.id.clone(), |(leader, _)| leader);
        if let (Some(vote), vote_epoch) = self.vote(master, epoch, &ahead)
            && vote_epoch == epoch
        {
            *votes.entry(vote).or_default() += 1;
        }
        let (winner, count) = most(&votes)?;
        (count > voters / 2 && count >= quorum).then_some(winner)
    }

    /// Begins a failover in a new epoch, for SENTINEL FAILOVER or a failed master.
    pub(super) fn begin_failover(&mut self, master: u64) {
        self.current_epoch = self.current_epoch.saturating_add(1);
        let (now, epoch, desync) = (self.now, self.current_epoch, self.desync());
        let Some(of) = self.master_mut(master) else { return };
        of.failover.state = super::watched::FailoverState::WaitStart;
        of.at.flags.set(InstanceFlags::FAILOVER_IN_PROGRESS);
        of.failover.epoch = epoch;
        of.failover.started = now + desync;
        of.failover.since = now;
        self.plain_event(EventLevel::Warning, "+new-epoch", epoch.to_string());
        self.event(EventLevel::Warning, "+try-failover", Who::Master(master));
    }
}

fn most(votes: &BTreeMap<String, usize>) -> Option<(String, usize)> {
    let mut first: Option<(&String, usize)> = None;
    for (name, count) in votes {
        if first.is_none_or(|(_, most)| *count > most) {
            first = Some((name, *count));
        }
    }
    first.map(|(name, count)| (name.clone(), count))
}
