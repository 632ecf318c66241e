//! The state of a server that is a sentinel.

use crate::clock::{MonotonicTimers, TimerKey, TimerKind};
use crate::config::Config;
use crate::outbound::{Endpoint, Outbound, OutboundEvent, OutboundId, Purpose};
use crate::sentinel::{EventLevel, InstanceLinkId, Resolve, Sentinel, SentinelAction, SentinelLine};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;
use std::collections::BTreeMap;

/// The least number of ticks of a sentinel per second. Each time a rate between this and twice this is chosen, so that
/// not all sentinels ask for votes at the same time.
const TICKS_PER_SECOND: u64 = 10;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SentinelEffect {
    /// An event is published on the channel of its name.
    Publish { name: &'static str, text: String },
    /// The server ends, as a test of failures has asked for.
    Crash,
    /// The file is written, because the state of the sentinel has changed.
    Save,
}

/// The state of a server that is a sentinel. After a change by [`SentinelServer::tell`], the caller calls
/// [`SentinelServer::next_effect`] until there is no effect left.
#[derive(Debug)]
pub struct SentinelServer {
    state: Sentinel,
    /// Whether the configuration file has the present state.
    is_saved: bool,
    rng: Rng,
    /// The connections, by the sentinel's ids for them.
    links: BTreeMap<InstanceLinkId, OutboundId>,
    tick: Option<TimerKey>,
}

impl SentinelServer {
    /// Returns the sentinel of a configuration, if it is one's. `seed` decides its random choices.
    pub(crate) fn configured(config: &Config, seed: u64, system: Now) -> Option<Box<Self>> {
        let lines = config.sentinel.as_ref()?;
        let mut rng = Rng::new(seed ^ 0x0073_656e_7469_6e65);
        let mut state =
            Sentinel::new(Rng::new(rng.next_u64()), config.clock(system).read(system).monotonic_ms());
        // The lines were checked when they were read.
        let _tried = state.configure(lines);
        state.set_server(config.shown_port(), &config.requirepass);
        Some(Box::new(SentinelServer { state, is_saved: false, rng, links: BTreeMap::new(), tick: None }))
    }

    /// Restarts at an instant of the monotonic clock, in milliseconds, as a process that knows only its file.
    pub(crate) fn begin_anew(&mut self, config: &Config, now_ms: i64) {
        let lines = self.state.lines().into_iter().map(|(name, values, _)| {
            let words = std::iter::once(name.as_bytes().to_vec()).chain(values).collect();
            SentinelLine { number: 0, text: name.to_owned(), words }
        });
        let lines: Vec<SentinelLine> = lines.collect();
        self.state = Sentinel::new(Rng::new(self.rng.next_u64()), now_ms);
        // The lines are right, because the sentinel has written them.
        let _right = self.state.configure(&lines);
        self.state.set_server(config.shown_port(), &config.requirepass);
        self.links.clear();
    }

    /// Returns the run id of the sentinel: 40 hexadecimal digits.
    pub fn id(&self) -> &str {
        self.state.id()
    }

    /// Returns the configured address and port to announce. The address may be empty, and the port 0.
    pub(crate) fn announced(&self) -> (String, u16) {
        self.state.announced()
    }

    pub(crate) fn state(&self) -> &Sentinel {
        &self.state
    }

    pub(crate) fn resolve_by(&mut self, resolve: Box<Resolve>) {
        self.state.set_resolver(resolve);
    }

    pub(crate) fn announce_masters(&mut self) {
        announce_masters(&mut self.state);
    }

    /// Applies these lines of a configuration, each without the word `sentinel`, and checks the watched servers at
    /// once. The first wrong line is logged; it and the lines ranked behind it are left out.
    pub(crate) fn watch(state: &mut Sentinel, lines: &[&[&str]]) {
        let words = |line: &[&str]| line.iter().map(|word| word.as_bytes().to_vec()).collect();
        let lines =
            lines.iter().map(|line| SentinelLine { number: 0, text: line.join(" "), words: words(line) });
        let lines: Vec<SentinelLine> = lines.collect();
        if let Err((line, why)) = state.configure(&lines) {
            state.log(EventLevel::Warning, format!("{}: {why}", line.text));
        }
        announce_masters(state);
        state.tick();
    }

    /// Sets the sentinel's time, and runs `work` on its state.
    pub(crate) fn tell<T>(&mut self, now: Now, work: impl FnOnce(&mut Sentinel) -> T) -> T {
        self.state.set_time(now.monotonic_ms(), now.wall_ms());
        work(&mut self.state)
    }

    /// Carries out the sentinel's effects on connections and logs. Returns the next one for the engine, a save last.
    pub(crate) fn next_effect(&mut self, outbound: &mut Outbound) -> Option<SentinelEffect> {
        while let Some(effect) = self.state.next_effect() {
            match effect {
                SentinelAction::Connect { link, ip, port } => {
                    let endpoint = Endpoint { host: ip, port };
                    self.links.insert(link, outbound.connect(endpoint, Purpose::Sentinel(link)));
                }
                SentinelAction::Send { link, bytes } => {
                    self.links.get(&link).into_iter().for_each(|id| outbound.send(*id, &bytes));
                }
                SentinelAction::Close { link } => {
                    self.links.remove(&link).into_iter().for_each(|id| outbound.close(id));
                }
                SentinelAction::Event { level, name, text } => {
                    log(level, &format!("{name} {text}"));
                    if level != EventLevel::Debug {
                        return Some(SentinelEffect::Publish { name, text });
                    }
                }
                SentinelAction::Log { level, text } => log(level, &text),
                SentinelAction::Crash => return Some(SentinelEffect::Crash),
            }
        }
        self.state.take_unsaved().then_some(SentinelEffect::Save)
    }

    /// Passes an event of a connection to the sentinel. `local_ip` is the address at this end.
    pub(crate) fn follow_link(
        state: &mut Sentinel,
        link: InstanceLinkId,
        event: OutboundEvent<'_>,
        local_ip: Option<&str>,
    ) {
        match event {
            OutboundEvent::Opened => state.opened(link, local_ip),
            OutboundEvent::Received(bytes) => state.received(link, bytes),
            OutboundEvent::Closed { reason } => state.closed(link, reason),
        }
    }

    /// Forgets a connection that has ended.
    pub(crate) fn forget_link(&mut self, link: InstanceLinkId) {
        self.links.remove(&link);
    }

    /// Whether the configuration file has the present state.
    pub(crate) fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// Records whether the configuration file has the present state.
    pub(crate) fn set_saved(&mut self, is_saved: bool) {
        self.is_saved = is_saved;
    }

    /// Schedules the next tick, in place of any scheduled one.
    pub(crate) fn plan_tick(&mut self, timers: MonotonicTimers<'_>) {
        self.plan_tick_after(0, timers);
    }

    /// Schedules the next tick, `ms` milliseconds later than usual.
    fn plan_tick_after(&mut self, ms: u64, mut timers: MonotonicTimers<'_>) {
        let pause_ms = 1000 / (TICKS_PER_SECOND + self.rng.below(TICKS_PER_SECOND));
        let planned = timers.set(TimerKind::Sentinel, 0, pause_ms.saturating_add(ms));
        timers.cancel(self.tick.replace(planned));
    }

    /// Schedules the next tick after the timer of the present one has fired, whatever the present tick does.
    pub(crate) fn tick_fired(&mut self, timers: MonotonicTimers<'_>) {
        self.tick = None;
        self.plan_tick(timers);
    }

    /// Moves the scheduled tick behind an advance by `ms` milliseconds, which the sentinel does not notice.
    pub(crate) fn leap(&mut self, ms: u64, timers: MonotonicTimers<'_>) {
        self.state.leap(i64::try_from(ms).unwrap_or(i64::MAX));
        self.plan_tick_after(ms, timers);
    }
}

fn announce_masters(state: &mut Sentinel) {
    state.master_ids().into_iter().for_each(|master| state.announce_master(master));
}

fn log(level: EventLevel, text: &str) {
    match level {
        EventLevel::Debug => tracing::trace!("{text}"),
        EventLevel::Verbose => tracing::debug!("{text}"),
        EventLevel::Notice => tracing::info!("{text}"),
        EventLevel::Warning => tracing::warn!("{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timers;
    use crate::outbound::Outgoing;
    use lockwheel_store::keyspace::Keyspace;

    /// A sentinel that watches nothing yet.
    fn fresh() -> Box<SentinelServer> {
        let config = Config::default().into_sentinel();
        SentinelServer::configured(&config, 7, Now::default()).expect("it is a sentinel")
    }

    fn effects(server: &mut SentinelServer, outbound: &mut Outbound) -> Vec<SentinelEffect> {
        std::iter::from_fn(|| server.next_effect(outbound)).collect()
    }

    const MONITOR: &[&[&str]] = &[&["monitor", "m", "127.0.0.1", "7000", "1"]];

    #[test]
    fn a_master_is_announced_connected_to_and_saved_last() {
        let (mut server, mut outbound) = (fresh(), Outbound::default());
        effects(&mut server, &mut outbound);
        let done = server.tell(Now::default(), |state| state.monitor("m", "127.0.0.1", 7000, 1));
        assert!(done.is_ok());
        server.tell(Now::default(), Sentinel::tick);
        let done = effects(&mut server, &mut outbound);
        let SentinelEffect::Publish { name, text } = &done[0] else { panic!("{done:?}") };
        assert_eq!((*name, &**text), ("+monitor", "master m 127.0.0.1 7000 quorum 1"));
        assert_eq!(done.last(), Some(&SentinelEffect::Save), "{done:?}");
        let id = outbound.next_pending().expect("a connection is wanted");
        assert!(matches!(outbound.take(id), Some(Outgoing::Connect(to)) if to.port == 7000));
        assert_eq!(server.links.values().next(), Some(&id));
    }

    #[test]
    fn a_restarted_sentinel_keeps_its_id_and_masters_and_has_no_connections() {
        let (mut server, mut outbound) = (fresh(), Outbound::default());
        server.tell(Now::default(), |state| SentinelServer::watch(state, MONITOR));
        effects(&mut server, &mut outbound);
        let id = server.state().id().to_owned();
        server.begin_anew(&Config::default().into_sentinel(), 5);
        assert!(server.links.is_empty() && server.state().find(b"m").is_some());
        assert_eq!(server.state().id(), id);
    }

    #[test]
    fn ticks_come_ten_to_twenty_times_a_second_and_after_an_advance() {
        let (mut timers, mut keyspace) = (Timers::default(), Keyspace::new(1, 7));
        let mut server = fresh();
        for _ in 0..50 {
            server.plan_tick(MonotonicTimers::new(0, &mut timers, &mut keyspace));
            let at_ms = timers.first().map_or(0, |(at_ms, _)| at_ms);
            assert!((52..=100).contains(&at_ms) && timers.count(TimerKind::Sentinel) == 1, "{at_ms}");
        }
        server.leap(5000, MonotonicTimers::new(0, &mut timers, &mut keyspace));
        assert!(timers.first().is_some_and(|(at_ms, _)| (5052..=5100).contains(&at_ms)));
    }
}
