//! Elections: a replica whose master has failed asks the masters for their votes and takes over with a majority.

use super::super::node::{Node, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::slot_set::SlotSet;
use super::super::view::ClusterView;
use super::message::{Body, Header};
use super::obstacles::Obstacle;
use super::state::{Candidacy, Gossip, quorum};

/// The fixed delay before a replica asks for votes, in milliseconds, so that the masters have learnt of the failure.
const DELAY_MS: i64 = 500;
/// The upper bound of the random part of the delay, in milliseconds, so that two replicas do not ask at once.
const DESYNC_MS: u64 = 500;
/// The additional delay for each replica with a higher replication offset, in milliseconds.
const RANK_MS: i64 = 1000;
/// The time, in milliseconds, after the node timeout during which obstacles to an election are not logged.
const EARLY_MS: i64 = 5000;
/// The minimum time to wait for votes, in milliseconds.
const VOTES_MS_MIN: i64 = 2000;

impl Gossip {
    /// Whether this node, a master with slots, votes for a replica that asks. It votes at most once in an epoch.
    pub(super) fn votes_for(&mut self, view: &mut ClusterView, sender: NodeNumber, header: &Header) -> bool {
        let Some(id) = view.node(sender).map(|node| node.id) else { return false };
        if !view.me().is_master() || view.me().slots == 0 {
            return false;
        }
        match self.judge_candidate(view, sender, header) {
            Ok(master) => {
                let now = self.now();
                if let Some(peer) = self.peers.get_mut(&master) {
                    peer.voted = Some(now);
                }
                view.last_vote_epoch = view.current_epoch;
                self.log(format!("Failover auth granted to {id} for epoch {}", view.current_epoch));
                self.changed();
                true
            }
            Err(why) => {
                self.log(format!("Failover auth denied to {id}: {why}"));
                false
            }
        }
    }

    /// Returns the master that a candidate may replace, or the reason if it may replace none.
    fn judge_candidate(
        &self,
        view: &ClusterView,
        sender: NodeNumber,
        header: &Header,
    ) -> Result<NodeNumber, String> {
        let (epoch, asked) = (view.current_epoch, header.current_epoch);
        if asked < epoch {
            return Err(format!("reqEpoch ({asked}) < curEpoch({epoch})"));
        }
        if view.last_vote_epoch == epoch {
            return Err(format!("already voted for epoch {epoch}"));
        }
        let Some(node) = view.node(sender).filter(|node| node.is_replica()) else {
            return Err("it is a master node".to_owned());
        };
        let Some((number, master)) = node.master.and_then(|number| Some((number, view.node(number)?))) else {
            return Err("I don't know its master".to_owned());
        };
        if !master.has_failed() && !header.is_forced {
            return Err("its master is up".to_owned());
        }
        let pause = self.facts.node_timeout.saturating_mul(2);
        let voted = self.peers.get(&number).and_then(|peer| peer.voted);
        if let Some(left) = voted.map(|at| at + pause - self.now()).filter(|left| *left > 0) {
            return Err(format!("can't vote about this master before {left} milliseconds"));
        }
        let later = header.slots.iter().find_map(|slot| {
            let owner = view.owner(slot).and_then(|owner| view.node(owner))?;
            (owner.config_epoch > header.config_epoch).then_some((slot, owner.config_epoch))
        });
        match later {
            Some((slot, of_slot)) => {
                Err(format!("slot {slot} epoch ({of_slot}) > reqEpoch ({})", header.config_epoch))
            }
            None => Ok(number),
        }
    }

    /// Advances the election of this node if it is a replica that has to take over.
    pub(super) fn go_on_with_election(&mut self, view: &mut ClusterView) {
        if !self.may_stand(view) {
            return;
        }
        let now = self.now();
        let patience = self.facts.node_timeout.saturating_mul(2).max(VOTES_MS_MIN);
        let age = self.candidacy.at.map_or(i64::MAX, |at| now - at);
        if age > patience.saturating_mul(2) {
            self.stand(view);
            if !self.is_manual() {
                return;
            }
        }
        if !self.candidacy.has_asked && !self.is_manual() {
            self.make_way(view);
        }
        let Some(at) = self.candidacy.at.filter(|at| now >= *at) else {
            return self.meet(view, Obstacle::Delay);
        };
        if now - at > patience {
            return self.meet(view, Obstacle::Expired);
        }
        if !self.candidacy.has_asked {
            self.ask_for_votes(view);
        } else if self.candidacy.votes.len() >= quorum(view) {
            self.win(view);
        } else {
            self.meet(view, Obstacle::Votes);
        }
    }

    /// Whether this node may stand for election: a replica of a failed master, or asked to take over, with recent data.
    fn may_stand(&mut self, view: &ClusterView) -> bool {
        let me = view.me();
        let Some(master) = me.master.filter(|_| me.is_replica()).and_then(|master| view.node(master)) else {
            self.obstacles.pass();
            return false;
        };
        let is_manual = self.is_manual();
        let is_forbidden = self.facts.never_takes_over && !is_manual;
        if !(master.has_failed() || is_manual) || master.slots == 0 || is_forbidden {
            self.obstacles.pass();
            return false;
        }
        let (timeout, factor) = (self.facts.node_timeout, self.facts.validity_factor);
        let age = (self.now() - self.heard_master - timeout).max(0);
        let may = factor == 0
            || is_manual
            || age <= timeout.saturating_mul(factor).saturating_add(self.facts.ping_period);
        if !may {
            self.meet(view, Obstacle::DataAge);
        }
        may
    }

    /// Records an obstacle to this replica's election. It is logged if it lasts.
    fn meet(&mut self, view: &ClusterView, obstacle: Obstacle) {
        let now = self.now();
        let early = self.facts.node_timeout.saturating_add(EARLY_MS);
        let has_failed = |master: &NodeNumber| view.node(*master).is_some_and(Node::has_failed);
        let failed = view.me().master.filter(has_failed).and_then(|master| self.peers.get(&master));
        let is_early = failed.is_some_and(|master| now - master.failed < early);
        if self.obstacles.meet(obstacle, now, is_early) {
            self.log(format!("Currently unable to failover: {}", obstacle.text()));
        }
    }

    /// Schedules the request for votes.
    fn stand(&mut self, view: &mut ClusterView) {
        let desync = self.rng.below(DESYNC_MS) as i64;
        let (rank, delay) = match self.is_manual() {
            true => (0, 0),
            false => {
                let rank = self.rank(view);
                (rank, DELAY_MS + desync + rank as i64 * RANK_MS)
            }
        };
        self.candidacy = Candidacy { at: Some(self.now() + delay), rank, ..Candidacy::default() };
        self.log(format!(
            "Start of election delayed for {delay} milliseconds (rank #{rank}, offset {}).",
            self.facts.offset
        ));
        let mine = view.me().master;
        self.broadcast(view, &Body::Pong(Vec::new()), |view, to| {
            view.node(to).is_some_and(|node| node.is_replica() && node.master == mine)
        });
    }

    /// Returns the number of other replicas of the same master that have a higher replication offset.
    fn rank(&self, view: &ClusterView) -> u64 {
        let (me, master) = (view.my_number(), view.me().master);
        let others = view.nodes().filter(|(number, node)| {
            *number != me
                && node.is_replica()
                && node.master == master
                && !node.flags.contains(NodeFlags::NO_FAILOVER)
        });
        let is_nearer =
            |number: &NodeNumber| self.peers.get(number).is_some_and(|peer| peer.offset > self.facts.offset);
        others.filter(|(number, _)| is_nearer(number)).count() as u64
    }

    /// Postpones the request for votes if more replicas than before have a higher offset.
    fn make_way(&mut self, view: &ClusterView) {
        let rank = self.rank(view);
        if rank > self.candidacy.rank {
            let more = (rank - self.candidacy.rank) as i64 * RANK_MS;
            self.candidacy.at = self.candidacy.at.map(|at| at + more);
            self.candidacy.rank = rank;
            self.log(format!("Replica rank updated to #{rank}, added {more} milliseconds of delay."));
        }
    }

    fn ask_for_votes(&mut self, view: &mut ClusterView) {
        view.current_epoch = view.current_epoch.saturating_add(1);
        (self.candidacy.epoch, self.candidacy.has_asked) = (view.current_epoch, true);
        self.log(format!("Starting a failover election for epoch {}.", view.current_epoch));
        self.changed();
        self.broadcast(view, &Body::AskVote, |_, _| true);
    }

    pub(super) fn count_vote(&mut self, view: &mut ClusterView, from: NodeNumber, epoch: u64) {
        let is_voter = view.node(from).is_some_and(|node| node.is_master() && node.slots > 0);
        if is_voter && self.candidacy.has_asked && epoch >= self.candidacy.epoch {
            self.candidacy.votes.insert(from);
            self.go_on_with_election(view);
        }
    }

    fn win(&mut self, view: &mut ClusterView) {
        self.log("Failover election won: I'm the new master.".to_owned());
        let epoch = self.candidacy.epoch;
        let me = view.me_mut();
        if me.config_epoch < epoch {
            me.config_epoch = epoch;
            self.log(format!("configEpoch set to {epoch} after successful failover"));
        }
        self.take_over(view);
    }

    /// Makes this replica the master of its master's slots and announces that to all nodes.
    pub(super) fn take_over(&mut self, view: &mut ClusterView) {
        view.take_over();
        self.candidacy = Candidacy::default();
        self.end_manual();
        self.changed();
        self.tell_all(view);
    }

    /// Takes over from a master that has these slots and this epoch, without a vote. This node need not know either of
    /// them: another node may have replaced the master that it knows. O(slots).
    pub(crate) fn succeed(&mut self, view: &mut ClusterView, slots: &SlotSet, epoch: u64) {
        view.current_epoch = view.current_epoch.max(epoch);
        if let Some(master) = view.me().master {
            slots.iter().for_each(|slot| view.assign(slot, Some(master)));
        }
        self.seize(view);
    }

    /// Takes over without a vote, in a new epoch.
    pub(crate) fn seize(&mut self, view: &mut ClusterView) {
        self.log("Taking over the master (user request).".to_owned());
        if view.bump_epoch() {
            self.log(format!("New configEpoch set to {}", view.me().config_epoch));
        }
        self.take_over(view);
    }
}
