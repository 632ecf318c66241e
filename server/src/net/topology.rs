//! The servers of one process: messages between them arrive while all of their engines are held.
//!
//! If a batch has an effect on another server, an exchange follows on the same thread, before the batch's replies are
//! written. A client that reads a reply therefore finds its effects everywhere. A server that hangs is left out, and
//! catches up when its batch has ended. A delayed request may begin a sleep or a script within an exchange. Such a
//! sleep begins after the exchange; a script stops all servers, and its own server's threads can kill it.
//!
//! Lock order: the network, then the engines by place; each is only attempted, with a time limit.

use super::busy::Job;
use super::hanging::{ATTEMPT, Attempt, Place, Waited};
use super::membership::Membership;
use super::shared::{Notices, Shared};
use super::shutdown::MemberEnd;
use lockwheel_engine::Engine;
use lockwheel_engine::clock::{AdvanceProgress, ClockAdvance};
use lockwheel_engine::outbound::OutboundId;
use lockwheel_engine::topology::{Network, Outside, StampSource};
use lockwheel_store::time::Now;
use parking_lot::{Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) struct Topology {
    places: Vec<Place>,
    network: Mutex<Network>,
    /// Whether all servers share their clock. Until then none is left out.
    is_joined: AtomicBool,
    /// Whether there is something to exchange.
    is_due: AtomicBool,
    /// The number of heals so far. Servers that run a script need it: partitioned clients cannot kill the script.
    heals: AtomicU64,
}

struct Member {
    topology: Arc<Topology>,
    place: usize,
}

/// The servers; `None` for those that are gone.
type Servers = Vec<Option<Arc<Shared>>>;

/// The engines; `None` for servers that are gone or hang.
type Held<'a> = Vec<Option<MutexGuard<'a, Engine>>>;

/// The driver of a network while engines are held.
struct Drivers<'a> {
    servers: &'a Servers,
    notices: Vec<Notices>,
    /// The connections of each server that lead out of the process.
    outside: Vec<Vec<OutboundId>>,
    sleeps: Vec<Duration>,
}

impl Outside for Drivers<'_> {
    fn drain(&mut self, network: &mut Network, node: usize, engine: &mut Engine) {
        let Some(shared) = &self.servers[node] else { return };
        while let Some(time) = shared.drain_until_sleep(engine, &mut self.notices[node]) {
            self.sleeps[node] = self.sleeps[node].saturating_add(time);
        }
        self.notices[node].outbound.drain(..).for_each(|id| network.post(node, id));
    }

    fn post(&mut self, node: usize, id: OutboundId) {
        self.outside[node].push(id);
    }
}

impl Topology {
    /// Joins the servers that listen on these ports, which then share the first's clock. Waits for a hanging one.
    pub(crate) fn join(nodes: &[Arc<Shared>], ports: Vec<u16>) -> Arc<Self> {
        let topology = Arc::new(Topology {
            places: nodes.iter().map(Place::new).collect(),
            network: Mutex::new(Network::new(ports)),
            is_joined: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            heals: AtomicU64::new(0),
        });
        for (place, shared) in nodes.iter().enumerate() {
            let _joined_once = shared.membership.set(Box::new(Member { topology: topology.clone(), place }));
        }
        let last = AtomicU64::new(0);
        let stamps = StampSource::new(move |count| last.fetch_add(count, Ordering::SeqCst) + count);
        topology.with_all(|network, engines, _| network.join(engines, &stamps));
        topology.is_joined.store(true, Ordering::SeqCst);
        topology
    }

    pub(crate) fn set_lag(&self, lag_ms: i64) {
        self.network.lock().set_lag(lag_ms);
    }

    /// Delivers the messages between the servers, or leaves that to the end of an exchange whose script still runs.
    fn exchange(&self) {
        self.is_due.store(true, Ordering::SeqCst);
        while self.is_due.load(Ordering::SeqCst) {
            if self.with_all(|_, _, _| ()).is_none() {
                return self.reach_those_that_hang();
            }
        }
    }

    /// Ends the partitions of hanging servers if all must end, and the scripts and sleeps of those that must be killed.
    fn reach_those_that_hang(&self) {
        let heals = self.heals.load(Ordering::SeqCst);
        for place in &self.places {
            let Some(shared) = place.shared().filter(|_| place.is_left_out() || place.keeps_exchange())
            else {
                continue;
            };
            if shared.script.running().is_some() && place.has_to_heal(heals) {
                heal_ahead(&shared);
            }
            if place.is_doomed.swap(false, Ordering::SeqCst) {
                kill_ahead(&shared);
            }
        }
    }

    /// Runs `work` at one instant with all engines but those of hanging servers, then delivers the messages. Returns
    /// `None` while a script stops another exchange, or if no engine is available.
    fn with_all<T>(
        &self,
        work: impl FnOnce(&mut Network, &mut [&mut Engine], &mut Drivers<'_>) -> T,
    ) -> Option<T> {
        let servers: Servers = self.places.iter().map(Place::shared).collect();
        let (mut network, mut held) = self.hold(&servers)?;
        let now = servers.iter().zip(&held).find_map(|(shared, engine)| {
            engine.as_ref().and(shared.as_ref()).map(|shared| shared.clock.now())
        })?;
        self.is_due.store(false, Ordering::SeqCst);
        // The participants do what has been requested so far, and no more.
        let heals = self.heals.load(Ordering::SeqCst);
        for (place, engine) in self.places.iter().zip(&held) {
            place.exchange_begins(engine.is_some());
            if engine.is_some() {
                place.has_to_heal(heals);
            }
        }
        let mut drivers = Drivers::of(&servers);
        // The notices from before a panic are delivered all the same.
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.bring_to(now, &mut network, &servers, &mut held);
            let mut engines: Vec<&mut Engine> =
                held.iter_mut().flatten().map(|engine| &mut **engine).collect();
            let result = work(&mut network, &mut engines, &mut drivers);
            network.serve(&mut engines, &mut drivers);
            result
        }));
        let clock = held.iter().flatten().next().map(|engine| engine.clock().clocks().clone());
        let Drivers { mut notices, outside, sleeps, .. } = drivers;
        for (place, engine) in held.into_iter().enumerate() {
            if let (Some(shared), Some(engine)) = (&servers[place], engine) {
                shared.unlock(engine, &mut notices[place]);
            }
            self.places[place].exchange_ends(clock.as_ref());
        }
        drop(network);
        for (((shared, notices), outside), sleep) in servers.iter().zip(notices).zip(outside).zip(sleeps) {
            let Some(shared) = shared else { continue };
            shared.outbound.post(outside);
            shared.deliver(notices);
            if !sleep.is_zero() {
                shared.sleep_on_a_thread(sleep);
            }
        }
        self.look_at_those_left_out(&servers);
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Brings all held engines to this instant, passes on their outgoing work, and notes which servers have ended.
    fn bring_to(&self, now: Now, network: &mut Network, servers: &Servers, held: &mut Held<'_>) {
        for ((node, place), engine) in self.places.iter().enumerate().zip(held.iter_mut()) {
            let Some(engine) = engine else { continue };
            place.catch_up(engine, now);
            match engine.parks_requests() {
                // Parked requests continue in a batch of their own server.
                true => engine.go_on_at(now),
                false => engine.begin(now),
            }
            std::mem::take(&mut *place.pending.lock()).into_iter().for_each(|id| network.post(node, id));
        }
        let mut engines: Vec<&mut Engine> = held.iter_mut().flatten().map(|engine| &mut **engine).collect();
        for (node, (place, shared)) in self.places.iter().zip(servers).enumerate() {
            let can_be_had = !place.is_left_out() || shared.is_none();
            if can_be_had && (shared.is_none() || place.has_left.load(Ordering::SeqCst)) {
                network.leave(&mut engines, node);
            }
        }
    }

    /// Schedules another exchange for left-out servers that are back; one that hangs starts it when its batch ends.
    fn look_at_those_left_out(&self, servers: &Servers) {
        let mut some_hang = false;
        for (place, shared) in self.places.iter().zip(servers) {
            if let (true, Some(shared)) = (place.is_left_out(), shared) {
                some_hang = true;
                if !shared.lock().is_locked() {
                    self.is_due.store(true, Ordering::SeqCst);
                }
            }
        }
        if some_hang {
            self.reach_those_that_hang();
        }
    }

    /// Holds the network and all available engines, in order. `None` while a script, maybe ours, stops an exchange.
    fn hold<'a>(&'a self, servers: &'a Servers) -> Option<(MutexGuard<'a, Network>, Held<'a>)> {
        let mut waited = vec![Waited::default(); servers.len()];
        loop {
            let Some(network) = self.network.try_lock_for(ATTEMPT) else {
                if self.places.iter().any(Place::keeps_exchange) {
                    return None;
                }
                continue;
            };
            let mut held: Held<'_> = Vec::with_capacity(servers.len());
            for ((place, shared), waited) in self.places.iter().zip(servers).zip(&mut waited) {
                let attempt = shared.as_ref().map_or(Attempt::Hangs, |shared| place.try_hold(shared, waited));
                match attempt {
                    Attempt::Held(engine) => held.push(Some(engine)),
                    Attempt::Hangs if !self.is_joined.load(Ordering::SeqCst) => {
                        thread::sleep(ATTEMPT);
                        break;
                    }
                    Attempt::Hangs => held.push(None),
                    Attempt::Busy => break,
                }
            }
            if held.len() == servers.len() {
                return Some((network, held));
            }
        }
    }
}

impl<'a> Drivers<'a> {
    fn of(servers: &'a Servers) -> Self {
        let count = servers.len();
        let notices = servers.iter().map(|_| Notices::default()).collect();
        Drivers { servers, notices, outside: vec![Vec::new(); count], sleeps: vec![Duration::ZERO; count] }
    }
}

/// Ends the partitions of a server that runs a script.
fn heal_ahead(shared: &Arc<Shared>) {
    let healed = Arc::downgrade(shared);
    shared.defer(Job::new(move |engine| {
        let links = engine.heal_ahead();
        healed.upgrade().into_iter().for_each(|shared| shared.relink(&links));
    }));
}

/// Ends the running script of a server, or its sleep.
fn kill_ahead(shared: &Arc<Shared>) {
    shared.wake();
    if shared.script.running().is_none() {
        return;
    }
    let killed = Arc::downgrade(shared);
    shared.defer(Job::new(move |engine| {
        if engine.die_ahead() {
            killed.upgrade().into_iter().for_each(|shared| shared.script.force_kill());
        }
    }));
    // The hook of the script does that, without waiting until the script is slow.
    shared.script.arm();
}

impl Membership for Member {
    fn catch_up(&self, engine: &mut Engine, now: Now) -> bool {
        self.topology.places[self.place].catch_up(engine, now)
    }

    fn note(&self, engine: &Engine, outbound: &mut Vec<OutboundId>, woken: bool) {
        let places = &self.topology.places;
        if woken || !outbound.is_empty() || engine.member().is_asking() {
            places[self.place].pending.lock().append(outbound);
            self.topology.is_due.store(true, Ordering::SeqCst);
        }
        if engine.member().asks_to_heal() {
            self.topology.heals.fetch_add(1, Ordering::SeqCst);
        }
        engine
            .member()
            .asks_to_kill()
            .for_each(|place| places[place].is_doomed.store(true, Ordering::SeqCst));
    }

    fn leave(&self) {
        self.topology.places[self.place].has_left.store(true, Ordering::SeqCst);
        self.topology.is_due.store(true, Ordering::SeqCst);
    }

    fn ends(&self) -> Vec<MemberEnd> {
        let servers = self.topology.places.iter().filter_map(Place::shared);
        let end_of = |server: Arc<Shared>| {
            let (shutdown, server) = (server.shutdown.clone(), Arc::downgrade(&server));
            let end = move || server.upgrade().into_iter().for_each(|server| server.end());
            MemberEnd { shutdown, end: Box::new(end) }
        };
        servers.map(end_of).collect()
    }

    fn exchange(&self) {
        let has_missed = || self.topology.places[self.place].is_left_out();
        if self.topology.is_due.load(Ordering::SeqCst) || has_missed() {
            self.topology.exchange();
        }
    }

    fn continue_advance(&self, advance: &mut ClockAdvance) -> AdvanceProgress {
        let advanced =
            self.topology.with_all(|network, engines, drivers| network.advance(engines, advance, drivers));
        if advanced.is_some() {
            // Handles requests that other threads had to leave meanwhile.
            self.exchange();
        }
        advanced.unwrap_or_else(|| match self.topology.places.iter().all(|place| place.shared().is_none()) {
            true => AdvanceProgress::Done,
            // Wait until the script that stops an exchange ends, or until a server is back.
            false => AdvanceProgress::WaitUs(1000),
        })
    }
}
