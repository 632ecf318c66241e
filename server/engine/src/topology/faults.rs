//! Faults of the servers of one process: kills, promotions and partitions.

use super::link::AcceptedLink as Connection;
use super::missed::Missed;
use super::network::{Key, Network};
use super::nodes::Nodes;
use crate::clients::Slot;
use crate::core::{Engine, Stop, merged_history};
use crate::faults::{Apart, DataFate, FaultControl, GrantNumbers, Link, NodeFault};
use crate::member::{BroadcastAnswer, LAST, Promotion};
use crate::replication::SentHistory;
use crate::spec::CommandError;

const NO_REPLICA: CommandError =
    CommandError::text("ERR the server is not a replica of a server in this topology");
const NONE_CAN: CommandError = CommandError::text("ERR no replica in this topology can take over");

/// The client that asks for a fault, and its server.
#[derive(Clone, Copy, Debug)]
struct Asker {
    node: usize,
    client: u64,
}

impl Network {
    /// Carries out the fault that a client has asked for. Returns the reply.
    pub(super) fn inflict(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        (node, client): (usize, u64),
        fault: NodeFault,
    ) -> Result<BroadcastAnswer, CommandError> {
        let asker = Asker { node, client };
        match fault {
            NodeFault::Down { node, .. } if self.has_left(node) => Ok(BroadcastAnswer::Ok),
            NodeFault::Down { node, ms, .. } if !self.may_be_killed(nodes, node, ms) => {
                Err(CommandError::text(LAST))
            }
            NodeFault::Down { node, ms, data } => {
                let now_ms = nodes[node].clock().now().monotonic_ms();
                let until_ms = ms.map_or(i64::MAX, |ms| now_ms.saturating_add_unsigned(ms));
                let caller = (asker.node == node).then_some(asker.client);
                self.kill(nodes, node, until_ms, caller, data);
                Ok(BroadcastAnswer::Ok)
            }
            NodeFault::Up { node } => {
                let was_down = !self.has_left(node) && nodes[node].faults().outage.was_killed();
                if was_down {
                    nodes[node].restart(None, |planner| planner.come_back());
                }
                Ok(BroadcastAnswer::Count(usize::from(was_down)))
            }
            NodeFault::Lag { ms } => {
                let lag_ms = ms.map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
                self.lag(lag_ms, nodes[asker.node].clock().now().monotonic_ms());
                Ok(BroadcastAnswer::Ok)
            }
            NodeFault::FailOver { node, numbers } => {
                let replica = self.replica_to_promote(nodes, asker.node, node)?;
                self.fail_over(nodes, replica, numbers, asker);
                Ok(BroadcastAnswer::Ok)
            }
            NodeFault::Part { nodes: places, from: Apart::Clients, link } => {
                self.part_from_clients(nodes, asker, &places, link)
            }
            NodeFault::Part { nodes: places, from, .. } => {
                let others = match from {
                    Apart::Nodes(others) => others,
                    _ => nodes.places().filter(|place| !places.contains(place)).collect(),
                };
                Ok(BroadcastAnswer::Count(self.part(nodes, places, others)?))
            }
            NodeFault::Heal => {
                let healed = std::mem::take(&mut self.healed) + self.heal_all(nodes);
                Ok(BroadcastAnswer::Count(healed))
            }
        }
    }

    /// Ends all partitions between servers and from clients. Returns their number.
    pub(super) fn heal_all(&mut self, nodes: &mut Nodes<'_, '_>) -> usize {
        let mut healed = self.heal(nodes);
        for (_, node) in nodes.iter_mut() {
            healed += node.change_faults(|control, _| control.faults.connections.heal(&mut control.step));
        }
        healed
    }

    /// Whether a killed server can come back: by itself after `ms`, or by request to another server.
    fn may_be_killed(&self, nodes: &Nodes<'_, '_>, node: usize, ms: Option<u64>) -> bool {
        let runs = nodes[node].clock().runs();
        let can_be_asked = |(place, other): (usize, &Engine)| {
            let is_up = !other.faults().outage.was_killed()
                || (runs && other.faults().outage.comes_up_at().is_some());
            place != node && is_up && !other.config.is_sentinel() && !self.has_left(place)
        };
        (runs && ms.is_some()) || nodes.iter().any(can_be_asked)
    }

    /// Kills a server, for other servers and for its clients, until an instant of the monotonic clock.
    pub(super) fn kill(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        node: usize,
        until_ms: i64,
        caller: Option<u64>,
        data: DataFate,
    ) {
        for other in nodes.places() {
            // A server that keeps its data can still send them to its replicas.
            if other != node && data == DataFate::Lost {
                self.note_lost(nodes, node, other);
            }
        }
        for (key, link) in self.take_links(|key, link| key.0 == node || link.to == node) {
            self.disconnect(nodes, link.to, link.slot);
            if key.0 != node {
                self.close(nodes, key, "");
            }
        }
        self.forget_wanted(node);
        if let Some(node) = nodes.get_mut(node) {
            node.restart(None, |planner| planner.kill(until_ms, caller, data));
        }
    }

    /// Ends all partitions, lags and outages.
    pub(super) fn end_faults(&mut self, nodes: &mut Nodes<'_, '_>) {
        self.heal(nodes);
        if let Some(now_ms) = nodes.iter().next().map(|(_, node)| node.clock().now().monotonic_ms()) {
            self.end_lag(now_ms);
        }
        for (place, node) in nodes.iter_mut() {
            if node.faults().outage.was_killed() && !self.has_left(place) {
                node.restart(None, |planner| planner.come_back());
            }
        }
    }

    /// Lets replicas without a link retry their masters, once, if these are up and have the data. Whether any tried.
    pub(super) fn retry_masters(&self, nodes: &mut Nodes<'_, '_>, tried: &mut Vec<usize>) -> bool {
        let before = tried.len();
        for node in nodes.places().filter(|node| nodes.has(*node)).collect::<Vec<_>>() {
            let serves = |master: usize| {
                nodes.has(master)
                    && !nodes[master].faults().outage.was_killed()
                    && nodes[master].replication().has_its_master()
            };
            let is_served = self.master_of(nodes, node).is_some_and(serves);
            if is_served
                && !nodes[node].faults().outage.was_killed()
                && !tried.contains(&node)
                && nodes[node].change_replication(|control| control.retry_master())
            {
                tried.push(node);
            }
        }
        tried.len() > before
    }

    /// Continues each replica's numbers of grants after its master's last number, as if replication were immediate.
    pub(super) fn count_grants(&self, nodes: &mut Nodes<'_, '_>) {
        for node in nodes.places() {
            if let Some(master) = self.master_of(nodes, node).filter(|master| nodes.has(*master)) {
                let last = nodes[master].grants().last_number();
                nodes[node].grants().go_on_after(last);
            }
        }
    }

    /// Restarts the servers whose outage is over, and schedules a look at the others. Whether any was restarted.
    pub(super) fn raise_due(nodes: &mut Nodes<'_, '_>) -> bool {
        let mut any = false;
        for (_, node) in nodes.iter_mut() {
            if node.faults().outage.may_come_up(node.clock().now().monotonic_ms()) {
                node.restart(None, |planner| planner.come_back());
                any = true;
            } else if let Some(at_ms) = node.faults().outage.comes_up_at() {
                node.look_again_at(at_ms);
            }
        }
        any
    }

    /// If all servers are down, restarts those whose outage has an end: no client could advance the clock for them.
    pub(super) fn let_clients_in(&self, nodes: &mut Nodes<'_, '_>) {
        let can_be_reached = |place: usize| {
            let is_open = |node: &Engine| {
                !node.faults().outage.was_killed()
                    || node.faults().has_clients(&node.sessions, &self.slots_at(place))
            };
            // A hanging server is still open for its clients.
            !self.has_left(place) && (!nodes.has(place) || is_open(&nodes[place]))
        };
        if nodes.places().any(can_be_reached) {
            return;
        }
        for (place, node) in nodes.iter_mut() {
            if node.faults().outage.comes_up_at().is_some() && !self.has_left(place) {
                node.restart(None, |planner| planner.come_back());
            }
        }
    }

    /// Stops the servers for good whose outage has no end, if no other server is left that could end it.
    pub(super) fn end_those_down(&self, nodes: &mut Nodes<'_, '_>) {
        let may_be_up = |node: &Engine| {
            !node.faults().outage.was_killed() || node.faults().outage.comes_up_at().is_some()
        };
        let is_there = |place: usize| !self.has_left(place) && nodes.get(place).is_none_or(may_be_up);
        if nodes.places().any(is_there) {
            return;
        }
        for (_, node) in nodes.iter_mut().filter(|(place, _)| !self.has_left(*place)) {
            node.stop = Some(Stop::Shutdown);
        }
    }

    /// Returns the replica that takes over: the named one, or the first replica of the asked server or of its master.
    fn replica_to_promote(
        &self,
        nodes: &Nodes<'_, '_>,
        asker: usize,
        named: Option<usize>,
    ) -> Result<usize, CommandError> {
        if let Some(node) = named {
            let is_one = self.master_of(nodes, node).is_some() && !nodes[node].faults().outage.was_killed();
            return if is_one { Ok(node) } else { Err(NO_REPLICA) };
        }
        let master = self.master_of(nodes, asker).unwrap_or(asker);
        let mut all = nodes.places();
        let can = |node: &usize| {
            self.master_of(nodes, *node) == Some(master) && !nodes[*node].faults().outage.was_killed()
        };
        all.find(can).ok_or(NONE_CAN)
    }

    /// Returns the master that a server follows. `None` also for a server that is left out.
    pub(super) fn master_of(&self, nodes: &Nodes<'_, '_>, node: usize) -> Option<usize> {
        let node = nodes.get(node)?;
        let (host, port) = node.replication().followed(node.faults().outage.was_killed())?;
        self.node_at(host, port)
    }

    /// Returns the master at the top of the chain of replication above a server.
    fn first_master_of(&self, nodes: &Nodes<'_, '_>, node: usize) -> Option<usize> {
        // Servers may follow each other in a circle.
        let chain = std::iter::successors(self.master_of(nodes, node), |of| self.master_of(nodes, *of));
        chain.take(nodes.places().len()).take_while(|of| *of != node).last()
    }

    /// Makes a replica the master with the data it has. The old master and its other replicas follow it.
    fn fail_over(&mut self, nodes: &mut Nodes<'_, '_>, replica: usize, numbers: GrantNumbers, asker: Asker) {
        let Some(master) = self.first_master_of(nodes, replica) else { return };
        if !nodes[replica].is_node() {
            // A cluster node reports its losses after any kind of takeover.
            self.note_lost(nodes, master, replica);
        }
        if numbers == GrantNumbers::Restart {
            nodes[replica].grants().restart_numbers();
        }
        let spared = if asker.node == master { asker.client } else { 0 };
        if nodes[replica].is_node() {
            let of_master = nodes.get_mut(master).and_then(|node| {
                node.with_gossip(|_, view| (view.claim(view.my_number()), view.me().config_epoch))
            });
            let (slots, epoch) = of_master.unwrap_or_default();
            nodes[replica].with_gossip(|gossip, view| gossip.succeed(view, &slots, epoch));
        } else {
            nodes[replica].unfollow_master();
        }
        if !nodes.has(master) {
            // The old master must learn what the replica lacks before it follows it and forgets that.
            self.note_promotions(nodes);
        }
        let address = self.address(replica, &nodes[replica]);
        for place in nodes.places().filter(|place| *place != replica) {
            if nodes.has(place) {
                self.follow_successor(nodes, place, master, address.clone(), spared);
            } else {
                let address = address.clone();
                self.missed.push((place, Missed::Replaced { master, address, spared }));
            }
        }
        if !nodes[replica].is_node() {
            self.tell_sentinels(nodes, master, replica, &address);
        }
    }

    /// Lets a server follow the successor of its master. If the server is the old master itself, its clients are cut,
    /// except the spared one. Nodes of a cluster follow later, when they hear of the takeover.
    pub(super) fn follow_successor(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        place: usize,
        master: usize,
        (host, port): (String, u16),
        spared: u64,
    ) {
        let (was_killed, is_node) = (nodes[place].faults().outage.was_killed(), nodes[place].is_node());
        if place == master && !was_killed {
            let links = self.slots_at(master);
            nodes[master].change_faults(|control, _| {
                control.faults.cut_clients(control.sessions, (spared, &links), &mut control.step);
            });
        }
        if is_node || (place != master && self.master_of(nodes, place) != Some(master)) {
            return;
        }
        if was_killed {
            nodes[place].config.replication.follow_when_up(&host, port);
        } else {
            nodes[place].follow_master(host, port);
        }
    }

    /// Names the new master to the sentinels that are up at once. Those that are cut off learn of it from the others.
    fn tell_sentinels(
        &self,
        nodes: &mut Nodes<'_, '_>,
        master: usize,
        replica: usize,
        (host, port): &(String, u16),
    ) {
        let epoch = next_epoch(nodes);
        for (place, node) in nodes.iter_mut() {
            if !node.faults().outage.was_killed() && !self.has_left(place) && !self.is_cut(place, replica) {
                node.with_sentinel(|state| state.follow_failover(self.leads_to(master), host, *port, epoch));
            }
        }
    }

    /// Returns the address of the server that the others begin as replicas of, if it has not left.
    pub(super) fn first_master(&self, nodes: &Nodes<'_, '_>) -> Option<(String, u16)> {
        let first = nodes.iter().find_map(|(_, node)| node.first_master());
        first.filter(|(host, port)| self.node_at(host, *port).is_some_and(|place| !self.has_left(place)))
    }

    /// Lets the sentinels monitor the first master again, if one of them monitors another or is in a failover.
    pub(super) fn return_sentinels(&self, nodes: &mut Nodes<'_, '_>, (host, port): &(String, u16)) {
        let is_meant = |host: &str, port| self.node_at(host, port).is_some();
        let mut strays = false;
        for (_, node) in nodes.iter_mut() {
            strays |= node.with_sentinel(|state| state.strays(is_meant, host, *port)) == Some(true);
        }
        let epoch = next_epoch(nodes);
        for (_, node) in nodes.iter_mut().filter(|_| strays) {
            node.with_sentinel(|state| state.follow_failover(is_meant, host, *port, epoch));
        }
    }

    /// Returns a server to its first role, if it was left out while another server was reset. A sentinel monitors the
    /// master of the other sentinels, as there may have been a failover since.
    pub(super) fn return_late(&self, nodes: &mut Nodes<'_, '_>, place: usize) {
        nodes[place].return_to_first_view();
        let Some(first) = self.first_master(nodes) else { return };
        nodes[place].return_to_first_role();
        let others = nodes.iter_mut().filter(|(other, _)| *other != place);
        let named = others.filter_map(|(_, node)| node.with_sentinel(|state| state.first_address())?).next();
        let (host, port) = named.unwrap_or(first);
        let is_meant = |host: &str, port| self.node_at(host, port).is_some();
        let epoch = next_epoch(nodes);
        nodes[place].with_sentinel(|state| {
            if state.strays(is_meant, &host, port) {
                state.follow_failover(is_meant, &host, port, epoch);
            }
        });
    }

    /// Handles all promotions of replicas since the last call; see [`Network::note_promotion`].
    pub(super) fn note_promotions(&mut self, nodes: &mut Nodes<'_, '_>) {
        for node in nodes.places() {
            while let Some(promotion) =
                nodes.get_mut(node).and_then(|node| node.member_mut().take_promotion())
            {
                self.note_promotion(nodes, node, &promotion);
            }
        }
    }

    /// Records in the history what a new master lacks, and gives it the holders of the locks that it has.
    pub(super) fn note_promotion(&mut self, nodes: &mut Nodes<'_, '_>, node: usize, promotion: &Promotion) {
        match self.node_at(&promotion.host, promotion.port) {
            Some(master) if nodes.has(master) => self.note_lost_to(nodes, node, promotion),
            Some(master) => self.missed.push((master, Missed::Lost(node, promotion.clone()))),
            None => {}
        }
        if let Some(history) = merged_history(nodes.engines()) {
            nodes[node].grants().inherit_holds(&history);
        }
    }

    /// Records in the history what a new master lacks, by the data that its old master has sent it.
    pub(super) fn note_lost_to(&self, nodes: &mut Nodes<'_, '_>, replica: usize, promotion: &Promotion) {
        let master = self.node_at(&promotion.host, promotion.port);
        let Some(master) = master.filter(|master| nodes.has(*master)) else { return };
        match nodes[master].replication().sent_history(promotion.id, promotion.offset) {
            SentHistory::Nothing => {}
            SentHistory::UpTo(offset) => nodes[master].note_lost_writes(replica, offset),
            SentHistory::OfAnother if nodes.has(replica) => note_lost_keys(nodes, master, replica),
            SentHistory::OfAnother => {}
        }
    }

    /// Cuts servers off from their clients. Returns the number of clients that are cut off now.
    fn part_from_clients(
        &self,
        nodes: &mut Nodes<'_, '_>,
        asker: Asker,
        places: &[usize],
        link: Link,
    ) -> Result<BroadcastAnswer, CommandError> {
        let mut count = 0;
        for &place in places {
            let spared = if place == asker.node { asker.client } else { 0 };
            let links = self.slots_at(place);
            count += nodes[place].change_faults(|control, _| {
                let FaultControl { faults, sessions, step, .. } = control;
                faults.part_from_clients(sessions, (spared, &links), link, step)
            })?;
        }
        Ok(BroadcastAnswer::Count(count))
    }

    /// Returns the sessions of other servers at this one.
    fn slots_at(&self, node: usize) -> Vec<Slot> {
        self.links().filter(|(_, link)| link.to == node).map(|(_, link)| link.slot).collect()
    }

    /// Records in the history which writes of a master a replica of it lacks.
    fn note_lost(&self, nodes: &mut Nodes<'_, '_>, master: usize, replica: usize) {
        if !nodes.has(master) || !nodes.has(replica) {
            return;
        }
        if let Some(offset) = nodes[replica].replication().offset_in_history_of(nodes[master].replication()) {
            nodes[master].note_lost_writes(replica, offset);
        } else if !nodes[replica].faults().outage.was_killed()
            && self.master_of(nodes, replica) == Some(master)
        {
            // The replica has not even received the first snapshot.
            note_lost_keys(nodes, master, replica);
        }
    }

    /// Continues the numbers of grants and the lock holds of a server that has received keys by MIGRATE.
    pub(super) fn receive_keys(&self, nodes: &mut Nodes<'_, '_>, from: usize, to: usize) {
        let last = nodes[from].grants().last_number();
        nodes[to].grants().go_on_after(last);
        if let Some(history) = merged_history(nodes.engines()) {
            nodes[to].grants().receive_holds(&history);
        }
    }

    fn take_links(&mut self, is_meant: impl Fn(&Key, &Connection) -> bool) -> Vec<(Key, Connection)> {
        let meant: Vec<Key> =
            self.links().filter(|(key, link)| is_meant(key, link)).map(|(key, _)| *key).collect();
        meant.into_iter().filter_map(|key| Some((key, self.remove_link(key)?))).collect()
    }
}

/// Records in the history which keys of a master a replica lacks or has with another value.
fn note_lost_keys(nodes: &mut Nodes<'_, '_>, master: usize, replica: usize) {
    let keys = nodes[master].key_dumps().all();
    let lost = keys.into_iter().filter(|key| !nodes[replica].key_dumps().has(key)).map(|(_, key, _)| key);
    let mut lost: Vec<Vec<u8>> = lost.collect();
    lost.sort_unstable();
    nodes[master].history().lost_keys(replica, lost, true);
}

/// Returns an epoch above all that the sentinels know.
fn next_epoch(nodes: &mut Nodes<'_, '_>) -> u64 {
    let known = nodes.iter_mut().filter_map(|(_, node)| node.with_sentinel(|state| state.current_epoch()));
    known.max().unwrap_or_default().saturating_add(1)
}
