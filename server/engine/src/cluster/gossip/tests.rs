//! Nodes of a cluster without engines. A seed decides when their connections are cut, slowed down and repaired.

use super::super::node::{Node, NodeId, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::slot::SLOTS;
use super::super::view::{ClusterState, ClusterView};
use super::effect::{GossipEffect, PeerLinkId};
use super::hearing::Speaker;
use super::message::GossipMessage;
use super::state::{Facts, Gossip};
use lockwheel_resp::{Batch, RequestLimits, RequestParser};
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The node timeout of these tests, in milliseconds.
const TIMEOUT_MS: i64 = 2000;

struct Member {
    gossip: Gossip,
    view: ClusterView,
    offset: u64,
    is_down: bool,
    is_paused: bool,
}

/// A transfer in progress between two nodes.
enum Parcel {
    Request { from: usize, link: PeerLinkId, bytes: Vec<u8> },
    Answer { to: usize, link: PeerLinkId, bytes: Vec<u8> },
}

struct World {
    members: Vec<Member>,
    /// The node at the other end of each connection.
    links: BTreeMap<(usize, PeerLinkId), usize>,
    parcels: VecDeque<(i64, usize, Parcel)>,
    /// Pairs of nodes that cannot reach each other.
    cut: BTreeSet<(usize, usize)>,
    now: i64,
    rng: Rng,
    longest_way_ms: u64,
    /// The master that has won each epoch.
    winners: BTreeMap<u64, NodeId>,
}

fn id(at: usize) -> NodeId {
    NodeId::parse(format!("{at:040}").as_bytes()).unwrap()
}

fn node(at: usize, flags: NodeFlags) -> Node {
    let port = at as u16 + 1;
    Node { ip: "127.0.0.1".to_owned(), port, bus_port: port, flags, ..Node::new(id(at)) }
}

impl World {
    /// Returns a cluster of masters with replicas, all of which know one another.
    fn new(seed: u64, masters: usize, replicas: usize) -> Self {
        let all = masters * (1 + replicas);
        let members = (0..all).map(|me| Self::member(seed, me, masters, all)).collect();
        let mut world = World {
            members,
            links: BTreeMap::new(),
            parcels: VecDeque::new(),
            cut: BTreeSet::new(),
            now: 1000,
            rng: Rng::new(seed),
            longest_way_ms: 20,
            winners: BTreeMap::new(),
        };
        (0..all).for_each(|at| world.act(at, |gossip, view| gossip.sync(view)));
        world
    }

    fn member(seed: u64, me: usize, masters: usize, all: usize) -> Member {
        let role = |at: usize| if at < masters { NodeFlags::MASTER } else { NodeFlags::REPLICA };
        let mut view = ClusterView::alone(node(me, role(me)));
        let mut numbers = BTreeMap::from([(me, view.my_number())]);
        for at in (0..all).filter(|at| *at != me) {
            numbers.insert(at, view.add_node(node(at, role(at))));
        }
        for at in 0..all {
            let number = numbers[&at];
            let node = view.node_mut(number).unwrap();
            if at < masters {
                node.config_epoch = at as u64 + 1;
            } else {
                node.master = Some(numbers[&(at % masters)]);
            }
        }
        for slot in 0..SLOTS {
            let owner = usize::from(slot) * masters / usize::from(SLOTS);
            view.assign(slot, Some(numbers[&owner]));
        }
        view.current_epoch = masters as u64;
        view.refresh();
        let gossip = Gossip::new(seed ^ me as u64);
        Member { gossip, view, offset: 100, is_down: false, is_paused: false }
    }

    fn facts(&self, at: usize) -> Facts {
        let member = &self.members[at];
        let me = member.view.me();
        let master = me.master.and_then(|master| member.view.node(master));
        let hears_master = master.is_some_and(|master| {
            let master = usize::from(master.port) - 1;
            !self.members[master].is_down && !self.is_cut(at, master)
        });
        Facts {
            now: self.now,
            wall_ms: self.now,
            offset: member.offset,
            is_synced: true,
            hears_master,
            node_timeout: TIMEOUT_MS,
            validity_factor: 10,
            ping_period: 10_000,
            follows_slots: true,
            ..Facts::default()
        }
    }

    fn is_cut(&self, one: usize, other: usize) -> bool {
        self.cut.contains(&(one.min(other), one.max(other)))
    }

    /// Runs an action of a node, and then carries out its effects.
    fn act<T>(&mut self, at: usize, work: impl FnOnce(&mut Gossip, &mut ClusterView) -> T) -> T {
        let facts = self.facts(at);
        let Member { gossip, view, .. } = &mut self.members[at];
        gossip.set_facts(facts);
        let done = work(gossip, view);
        while let Some(effect) = self.members[at].gossip.next_effect() {
            self.carry_out(at, effect);
        }
        self.note_winner(at);
        done
    }

    fn carry_out(&mut self, at: usize, effect: GossipEffect) {
        match effect {
            GossipEffect::Connect { link, port, .. } => {
                self.links.insert((at, link), usize::from(port) - 1);
                let Member { gossip, view, .. } = &mut self.members[at];
                gossip.opened(view, link);
            }
            GossipEffect::Send { link, bytes } => {
                let to = self.links[&(at, link)];
                self.post(to, Parcel::Request { from: at, link, bytes });
            }
            GossipEffect::Close { link } => _ = self.links.remove(&(at, link)),
            GossipEffect::Changed => self.members[at].view.refresh(),
            GossipEffect::PauseWrites { .. } => self.members[at].is_paused = true,
            GossipEffect::Unpause => self.members[at].is_paused = false,
            GossipEffect::Publish { .. }
            | GossipEffect::LoseSlots(_)
            | GossipEffect::Log(_)
            | GossipEffect::Notice(_) => {}
        }
    }

    /// Delivers a parcel after a random delay, in order with the others of its connection.
    fn post(&mut self, at: usize, parcel: Parcel) {
        let way = 1 + self.rng.below(self.longest_way_ms) as i64;
        let last = self.parcels.iter().filter(|(_, to, _)| *to == at).map(|(due, ..)| *due).max();
        let due = (self.now + way).max(last.unwrap_or(0));
        self.parcels.push_back((due, at, parcel));
    }

    /// Checks that no other node has won the epoch of a master with slots.
    fn note_winner(&mut self, at: usize) {
        let me = self.members[at].view.me();
        if me.is_master() && me.slots > 0 {
            let winner = *self.winners.entry(me.config_epoch).or_insert(me.id);
            assert_eq!(winner, me.id, "two masters have epoch {}", me.config_epoch);
        }
    }

    fn deliver(&mut self, at: usize, parcel: Parcel) {
        let is_there = |world: &Self, other: usize| {
            !world.members[at].is_down && !world.members[other].is_down && !world.is_cut(at, other)
        };
        match parcel {
            Parcel::Request { from, link, bytes } => {
                if !is_there(self, from) || !self.links.contains_key(&(from, link)) {
                    return;
                }
                for message in messages(&bytes) {
                    let message = GossipMessage::read(&message).expect("it is one");
                    let speaker = Speaker { session: (from * 1000) as u64, ip: "127.0.0.1" };
                    let answer = self.act(at, |gossip, view| gossip.hear_request(view, message, speaker));
                    let bytes = match answer.map(|answer| answer.write()) {
                        Some(answer) => {
                            [format!("${}\r\n", answer.len()).as_bytes(), &answer, b"\r\n"].concat()
                        }
                        None => b"$-1\r\n".to_vec(),
                    };
                    self.post(from, Parcel::Answer { to: at, link, bytes });
                }
            }
            Parcel::Answer { to, link, bytes } => {
                if is_there(self, to) {
                    self.act(at, |gossip, view| gossip.received(view, link, &bytes));
                }
            }
        }
    }

    fn pass(&mut self, ms: i64) {
        for _ in 0..ms / 10 {
            self.now += 10;
            let (due, later) = self.parcels.drain(..).partition(|(due, ..)| *due <= self.now);
            self.parcels = later;
            let due: VecDeque<_> = due;
            due.into_iter().for_each(|(_, at, parcel)| self.deliver(at, parcel));
            for at in 0..self.members.len() {
                // The nodes do not tick at the same instant.
                if (self.now / 10 + at as i64) % 10 == 0 && !self.members[at].is_down {
                    self.act(at, Gossip::tick);
                }
            }
        }
    }

    /// Returns a node's view of the owners of slots and of the replicas' masters.
    fn opinion(&self, at: usize) -> Vec<(Option<NodeId>, usize)> {
        let view = &self.members[at].view;
        let mut all: Vec<_> = Vec::new();
        for owner in view.owners() {
            let owner = owner.and_then(|owner| view.node(owner)).map(|node| node.id);
            match all.last_mut() {
                Some((last, count)) if *last == owner => *count += 1,
                _ => all.push((owner, 1)),
            }
        }
        all
    }

    fn agrees(&self) -> bool {
        let first = self.opinion(0);
        (1..self.members.len()).all(|at| self.opinion(at) == first)
    }

    fn masters(&self) -> Vec<usize> {
        let serves =
            |at: &usize| self.members[*at].view.me().is_master() && self.members[*at].view.me().slots > 0;
        (0..self.members.len()).filter(serves).collect()
    }

    fn number(&self, of: usize, at: usize) -> NodeNumber {
        self.members[of].view.find(id(at).as_bytes()).unwrap()
    }
}

fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut batch = Batch::new();
    RequestParser::new().parse(bytes, &RequestLimits::default(), &mut batch).expect("it is right");
    (0..batch.len()).map(|at| batch.with_arguments(at, bytes, |argv| argv[2].to_vec())).collect()
}

#[test]
fn a_lost_master_is_replaced_and_returns_as_a_replica() {
    for seed in 0..10 {
        let mut world = World::new(seed, 3, 1);
        world.pass(1000);
        assert_eq!(world.members[0].view.state(), ClusterState::Ok);
        world.members[0].is_down = true;
        world.pass(15_000);
        assert_eq!(world.masters().iter().filter(|at| **at != 0).count(), 3, "seed {seed}");
        let replica = &world.members[3].view;
        assert!(replica.me().is_master() && replica.me().slots == 5462, "seed {seed}");
        assert!(replica.node(world.number(3, 0)).unwrap().has_failed());
        assert_eq!(replica.state(), ClusterState::Ok);
        world.members[0].is_down = false;
        world.pass(10_000);
        let old = &world.members[0].view;
        assert!(old.me().is_replica() && old.me().master == Some(world.number(0, 3)), "seed {seed}");
        assert!(world.agrees());
        assert!(!world.members[3].view.node(world.number(3, 0)).unwrap().has_failed());
    }
}

/// A master that has not learnt of the failure in time gives no vote, so another replica wins.
#[test]
fn the_most_current_replica_takes_over_unless_it_asks_too_early() {
    let mut nearest = 0;
    for seed in 0..20 {
        let mut world = World::new(seed, 3, 2);
        world.members[6].offset = 200;
        world.pass(2000);
        world.members[0].is_down = true;
        world.pass(15_000);
        let (winner, other) = if world.members[6].view.me().is_master() { (6, 3) } else { (3, 6) };
        nearest += usize::from(winner == 6);
        assert!(world.members[winner].view.me().is_master(), "seed {seed}");
        assert_eq!(world.members[other].view.me().master, Some(world.number(other, winner)), "seed {seed}");
    }
    assert!(nearest >= 14, "{nearest} of 20");
}

#[test]
fn a_failover_needs_a_majority_of_masters() {
    let mut world = World::new(7, 3, 1);
    world.pass(1000);
    for other in 1..6 {
        world.cut.insert((0, other));
    }
    world.pass(20_000);
    let alone = &world.members[0].view;
    assert!(alone.me().is_master() && alone.state() == ClusterState::Fail);
    assert!(alone.nodes().all(|(_, node)| !node.has_failed()), "nobody has agreed");
    assert!(alone.nodes().filter(|(_, node)| node.flags.contains(NodeFlags::MAY_HAVE_FAILED)).count() == 5);
    assert!(world.members[3].view.me().is_master());
    world.cut.clear();
    world.pass(10_000);
    assert!(world.members[0].view.me().is_replica() && world.agrees());
}

#[test]
fn a_manual_failover_completes_once_the_replica_has_everything() {
    for seed in 0..10 {
        let mut world = World::new(seed, 3, 1);
        world.members[0].offset = 300;
        world.pass(1000);
        world.act(3, |gossip, view| gossip.begin_manual(view, false));
        world.pass(1000);
        assert!(world.members[0].is_paused && world.members[3].view.me().is_replica(), "seed {seed}");
        world.members[3].offset = 300;
        world.pass(2000);
        assert!(world.members[3].view.me().is_master(), "seed {seed}");
        assert!(world.members[0].view.me().is_replica() && !world.members[0].is_paused, "seed {seed}");
        assert!(world.agrees(), "seed {seed}");
    }
}

#[test]
fn a_failover_that_takes_too_long_is_aborted() {
    let mut world = World::new(7, 3, 1);
    world.members[0].offset = 300;
    world.pass(1000);
    world.act(3, |gossip, view| gossip.begin_manual(view, false));
    world.pass(10_000);
    world.members[3].offset = 300;
    world.pass(5000);
    assert!(world.members[0].view.me().is_master() && !world.members[0].is_paused);
    assert!(world.members[3].view.me().is_replica());
}

#[test]
fn a_node_that_meets_one_node_learns_of_all() {
    let mut world = World::new(7, 5, 0);
    for at in 0..5 {
        let mut view = ClusterView::alone(node(at, NodeFlags::MASTER));
        view.me_mut().ip.clear();
        view.me_mut().config_epoch = 1;
        let member = &mut world.members[at];
        (member.view, member.gossip) = (view, Gossip::new(at as u64));
    }
    (world.parcels, world.links, world.winners) = Default::default();
    for at in 1..5 {
        world.act(at, |gossip, view| {
            view.add_node(Node { id: id(90 + at), ..node(0, NodeFlags::HANDSHAKE) });
            gossip.sync(view);
        });
    }
    world.pass(20_000);
    for at in 0..5 {
        let view = &world.members[at].view;
        let mut known: Vec<NodeId> = view.nodes().map(|(_, node)| node.id).collect();
        known.sort();
        assert_eq!(known, (0..5).map(id).collect::<Vec<_>>());
        assert_eq!(view.me().ip, "127.0.0.1");
    }
    let epochs: BTreeSet<u64> = world.members.iter().map(|member| member.view.me().config_epoch).collect();
    assert_eq!(epochs.len(), 5, "who has had the same epoch has taken another");
}

#[test]
fn two_owners_of_a_slot_agree_on_the_higher_epoch() {
    let mut world = World::new(7, 3, 0);
    world.pass(500);
    // The first node believes that it owns the last slots, by an earlier epoch.
    world.act(0, |_, view| {
        let me = view.my_number();
        (16_000..SLOTS).for_each(|slot| view.assign(slot, Some(me)));
    });
    assert!(!world.agrees());
    world.pass(10_000);
    assert!(world.agrees());
    assert_eq!(world.members[0].view.owner(16_000), Some(world.number(0, 2)));
    // And by a later epoch.
    world.act(0, |_, view| {
        let me = view.my_number();
        (16_000..SLOTS).for_each(|slot| view.assign(slot, Some(me)));
        view.bump_epoch();
    });
    world.pass(10_000);
    assert!(world.agrees());
    assert_eq!(world.members[2].view.owner(16_000), Some(world.number(2, 0)));
}

/// Whatever nodes and connections fail and return, no epoch has two masters, and afterwards all nodes agree.
#[test]
fn no_epoch_has_two_masters_and_all_nodes_finally_agree() {
    for seed in 0..60 {
        let mut world = World::new(seed, 3, 2);
        world.longest_way_ms = 1 + world.rng.below(150);
        for _ in 0..12 {
            match world.rng.below(6) {
                0 => {
                    let at = world.rng.below(9) as usize;
                    world.members[at].is_down = !world.members[at].is_down;
                }
                1 | 2 => {
                    let [one, other] = [0; 2].map(|_| world.rng.below(9) as usize);
                    world.cut.insert((one.min(other), one.max(other)));
                }
                3 => world.cut.clear(),
                4 => {
                    let at = world.rng.below(9) as usize;
                    let is_replica = world.members[at].view.me().is_replica();
                    if is_replica && !world.members[at].is_down {
                        let is_forced = world.rng.below(2) == 0;
                        world.act(at, |gossip, view| gossip.begin_manual(view, is_forced));
                    }
                }
                _ => {
                    let at = world.rng.below(9) as usize;
                    world.members[at].offset += world.rng.below(100);
                }
            }
            let ms = 100 + world.rng.below(9000) as i64;
            world.pass(ms);
        }
        world.cut.clear();
        world.members.iter_mut().for_each(|member| member.is_down = false);
        world.pass(40_000);
        assert!(world.agrees(), "seed {seed}");
        assert_eq!(world.masters().len(), 3, "seed {seed}");
        for member in &world.members {
            assert_eq!(member.view.state(), ClusterState::Ok, "seed {seed}");
        }
    }
}

/// A node survives any message, and never knows more nodes than the maximum.
#[test]
fn a_hostile_node_does_no_harm() {
    let mut world = World::new(7, 3, 0);
    let mut rng = Rng::new(7);
    let whole: Vec<Vec<u8>> = (1..3)
        .flat_map(|from| {
            let facts = world.facts(from);
            let Member { gossip, view, .. } = &mut world.members[from];
            gossip.set_facts(facts);
            gossip.tell_all(view);
            let number = view.my_number();
            gossip.ping(view, number, true);
            let mut sent = Vec::new();
            while let Some(effect) = gossip.next_effect() {
                if let GossipEffect::Send { bytes, .. } = effect {
                    sent.extend(messages(&bytes));
                }
            }
            sent
        })
        .collect();
    for round in 0..20_000 {
        let mut bytes = whole[rng.below(whole.len() as u64) as usize].clone();
        for _ in 0..1 + rng.below(40) {
            let len = bytes.len() as u64;
            bytes[rng.below(len) as usize] = b'0' + rng.below(75) as u8;
        }
        if let Some(message) = GossipMessage::read(&bytes) {
            let speaker = Speaker { session: round, ip: "127.0.0.1" };
            world.act(0, |gossip, view| {
                gossip.hear_request(view, message, speaker);
                gossip.forget_session(round);
            });
        }
        assert!(world.members[0].view.nodes().len() <= super::state::MAX_NODES);
        world.parcels.clear();
    }
    world.now += 100;
    world.act(0, Gossip::tick);
}
