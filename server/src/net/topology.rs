//! The servers of one process: what they send one another arrives while all of their engines are held.
//!
//! A batch that has an effect on another server is followed by an exchange, on the same thread and before its own
//! replies are written: who reads a reply finds its effects everywhere. While a script of one of them is slow the
//! others go on by themselves, and the end of the script is followed by the exchange. A script that begins in an
//! exchange, since its request was late, keeps all of them; its own server's threads can kill it.

use super::busy::Job;
use super::membership::Membership;
use super::shared::{Notices, Shared};
use lockwheel_engine::Engine;
use lockwheel_engine::core::{ClockTurn, TurnProgress};
use lockwheel_engine::outbound::OutboundId;
use lockwheel_engine::topology::{Network, Outside, StampSource};
use parking_lot::{Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The servers of one process.
pub(crate) struct Topology {
    nodes: Vec<Weak<Shared>>,
    network: Mutex<Network>,
    /// For each server its connections that are to be looked at.
    pending: Vec<Mutex<Vec<OutboundId>>>,
    /// For each server whether it has ended.
    left: Vec<AtomicBool>,
    /// There is something to exchange; while a script runs, it waits for that.
    is_due: AtomicBool,
    /// All partitions are to end, also of a server that runs a script: its clients cannot kill that.
    is_healing: AtomicBool,
    /// For each server whether it is to be killed, its script with it.
    doomed: Vec<AtomicBool>,
}

/// A server's place in it.
struct Member {
    topology: Arc<Topology>,
    node: usize,
}

/// All engines.
type Held<'a> = Vec<MutexGuard<'a, Engine>>;

/// The driver of a network, while all engines are held.
struct Drivers<'a> {
    nodes: &'a [Arc<Shared>],
    notices: Vec<Notices>,
    /// For each server its connections that lead out of the process.
    outside: Vec<Vec<OutboundId>>,
}

impl Outside for Drivers<'_> {
    fn drain(&mut self, network: &mut Network, node: usize, engine: &mut Engine) {
        self.nodes[node].drain(engine, &mut self.notices[node]);
        self.notices[node].outbound.drain(..).for_each(|id| network.post(node, id));
    }

    fn post(&mut self, node: usize, id: OutboundId) {
        self.outside[node].push(id);
    }
}

impl Topology {
    /// The servers that listen on these ports, which share their clock from now on: that of the first.
    pub(crate) fn join(nodes: &[Arc<Shared>], ports: Vec<u16>) -> Arc<Self> {
        let topology = Arc::new(Topology {
            nodes: nodes.iter().map(Arc::downgrade).collect(),
            network: Mutex::new(Network::new(ports)),
            pending: nodes.iter().map(|_| Mutex::default()).collect(),
            left: nodes.iter().map(|_| AtomicBool::new(false)).collect(),
            is_due: AtomicBool::new(false),
            is_healing: AtomicBool::new(false),
            doomed: nodes.iter().map(|_| AtomicBool::new(false)).collect(),
        });
        for (node, shared) in nodes.iter().enumerate() {
            let _joined_once = shared.membership.set(Box::new(Member { topology: topology.clone(), node }));
        }
        let last = AtomicU64::new(0);
        let stamps = StampSource::new(move |count| last.fetch_add(count, Ordering::SeqCst) + count);
        topology.with_all(|network, engines, _| network.join(engines, &stamps));
        topology
    }

    /// From now on a replica is told everything so many milliseconds later.
    pub(crate) fn set_lag(&self, lag_ms: i64) {
        self.network.lock().set_lag(lag_ms);
    }

    /// Lets what the servers have sent one another arrive. While a script of one of them runs it is left to the end of
    /// that script, which looks for it.
    fn exchange(&self) {
        self.is_due.store(true, Ordering::SeqCst);
        while self.is_due.load(Ordering::SeqCst) {
            if self.with_all(|_, _, _| ()).is_none() {
                self.heal_ahead();
                return self.kill_ahead();
            }
        }
    }

    /// Ends the partitions of those that run a script, if all are to end.
    fn heal_ahead(&self) {
        if self.is_healing.swap(false, Ordering::SeqCst) {
            let nodes = self.nodes.iter().filter_map(Weak::upgrade);
            nodes.filter(|node| node.script.running().is_some()).for_each(|node| {
                let healed = Arc::downgrade(&node);
                node.defer(Job::new(move |engine| {
                    let links = engine.heal_ahead();
                    healed.upgrade().into_iter().for_each(|node| node.relink(&links));
                }));
            });
        }
    }

    /// Ends the scripts of those that are to be killed.
    fn kill_ahead(&self) {
        let nodes =
            self.nodes.iter().zip(&self.doomed).filter_map(|(node, doomed)| Some((node.upgrade()?, doomed)));
        for (node, doomed) in nodes {
            if node.script.running().is_some() && doomed.swap(false, Ordering::SeqCst) {
                let killed = Arc::downgrade(&node);
                node.defer(Job::new(move |engine| {
                    if engine.die_ahead() {
                        killed.upgrade().into_iter().for_each(|node| node.script.force_kill());
                    }
                }));
            }
        }
    }

    /// Whether one of the servers is gone.
    fn has_ended(&self) -> bool {
        self.nodes.iter().any(|node| node.strong_count() == 0)
    }

    /// Runs `work` with all engines held, at one instant; then lets what they have sent one another arrive. `None`
    /// when a server has ended, or runs a script.
    fn with_all<T>(
        &self,
        work: impl FnOnce(&mut Network, &mut [&mut Engine], &mut Drivers<'_>) -> T,
    ) -> Option<T> {
        let nodes = self.nodes.iter().map(Weak::upgrade).collect::<Option<Vec<_>>>()?;
        let (mut network, mut held) = self.hold(&nodes)?;
        self.is_due.store(false, Ordering::SeqCst);
        // Who waits for it is answered now.
        self.is_healing.store(false, Ordering::SeqCst);
        self.doomed.iter().for_each(|doomed| doomed.store(false, Ordering::SeqCst));
        let mut drivers = Drivers::of(&nodes);
        // What has happened before a panic is told all the same.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut engines: Vec<&mut Engine> = held.iter_mut().map(|engine| &mut **engine).collect();
            let now = nodes[0].clock.now();
            engines.iter_mut().for_each(|engine| match engine.parks_requests() {
                // They go on in a batch of their own server.
                true => engine.go_on_at(now),
                false => engine.begin(now),
            });
            for (node, pending) in self.pending.iter().enumerate() {
                std::mem::take(&mut *pending.lock()).into_iter().for_each(|id| network.post(node, id));
            }
            let left = self.left.iter().enumerate().filter(|(_, left)| left.load(Ordering::SeqCst));
            left.for_each(|(node, _)| network.leave(&mut engines, node));
            let result = work(&mut network, &mut engines, &mut drivers);
            network.serve(&mut engines, &mut drivers);
            result
        }));
        for ((shared, engine), notices) in nodes.iter().zip(held).zip(&mut drivers.notices) {
            shared.unlock(engine, notices);
        }
        drop(network);
        let Drivers { notices, outside, .. } = drivers;
        for ((shared, notices), outside) in nodes.iter().zip(notices).zip(outside) {
            shared.outbound.post(outside);
            shared.deliver(notices);
        }
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Holds the network and all engines, always in the same order; `None` while one of the servers runs a script, or
    /// waits for another server, which may be one of these. Who holds them already may be the one that runs it.
    fn hold<'a>(&'a self, nodes: &'a [Arc<Shared>]) -> Option<(MutexGuard<'a, Network>, Held<'a>)> {
        /// How long a batch may take before it is looked at again whether it is a script.
        const PATIENCE: Duration = Duration::from_millis(2);
        let is_busy =
            |node: &Arc<Shared>| node.script.running().is_some() || node.awaits_target.load(Ordering::SeqCst);
        while !nodes.iter().any(is_busy) {
            let Some(network) = self.network.try_lock_for(PATIENCE) else { continue };
            let held: Option<Held<'_>> =
                nodes.iter().map(|node| node.lock().try_lock_for(PATIENCE)).collect();
            if let Some(held) = held {
                return Some((network, held));
            }
        }
        None
    }
}

impl<'a> Drivers<'a> {
    fn of(nodes: &'a [Arc<Shared>]) -> Self {
        let notices = nodes.iter().map(|_| Notices::default()).collect();
        Drivers { nodes, notices, outside: vec![Vec::new(); nodes.len()] }
    }
}

impl Membership for Member {
    fn note(&self, engine: &Engine, outbound: &mut Vec<OutboundId>, woken: bool) {
        if woken || !outbound.is_empty() || engine.asks_clock() {
            self.topology.pending[self.node].lock().append(outbound);
            self.topology.is_due.store(true, Ordering::SeqCst);
        }
        if engine.asks_to_heal() {
            self.topology.is_healing.store(true, Ordering::SeqCst);
        }
        engine.asks_to_kill().for_each(|node| self.topology.doomed[node].store(true, Ordering::SeqCst));
    }

    fn leave(&self) {
        self.topology.left[self.node].store(true, Ordering::SeqCst);
        self.topology.is_due.store(true, Ordering::SeqCst);
    }

    fn exchange(&self) {
        if self.topology.is_due.load(Ordering::SeqCst) {
            self.topology.exchange();
        }
    }

    fn continue_turning(&self, turn: &mut ClockTurn) -> TurnProgress {
        let turned = self.topology.with_all(|network, engines, drivers| network.turn(engines, turn, drivers));
        if turned.is_some() {
            // What others had to leave while a script ran in it.
            self.exchange();
        }
        turned.unwrap_or_else(|| match self.topology.has_ended() {
            true => TurnProgress::Done,
            // A script runs, whose end comes.
            false => TurnProgress::WaitUs(1000),
        })
    }
}
