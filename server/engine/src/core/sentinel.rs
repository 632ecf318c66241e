//! A server that is a sentinel: what it wants done is done, and what comes over its connections is given to it.

use super::engine::Engine;
use super::outbound::OutboundEvent;
use super::progress::Stop;
use crate::clock::{Timer, TimerKind};
use crate::config::system_reason;
use crate::member::TopologyRequest;
use crate::outbound::{Endpoint, OutboundId, Purpose};
use crate::sentinel::{Effect, Level, LinkId, Sentinel, SentinelLine, WrittenLine};

/// How often a sentinel looks at what it watches, in times a second: between this and twice as often, chosen anew each
/// time, so that not all sentinels ask for votes at once.
const TICKS_PER_SECOND: u64 = 10;

impl Engine {
    /// Begins to watch, if it is a sentinel: after [`Engine::set_host`].
    pub fn begin_as_sentinel(&mut self) {
        let Some(watching) = &mut self.sentinel else { return };
        if let Some(host) = self.environment.host.clone() {
            watching.state.set_resolver(Box::new(move |name| host.resolve(name)));
        }
        self.save_sentinel();
        let Some(watching) = &mut self.sentinel else { return };
        tracing::info!("Sentinel ID is {}", watching.state.id());
        let masters = watching.state.master_ids();
        masters.into_iter().for_each(|master| watching.state.announce_master(master));
        self.settle_sentinel();
        self.plan_sentinel_tick();
    }

    /// Watches what these lines of a configuration say, each without the word `sentinel`, and looks at it at once;
    /// what is wrong is left out.
    pub fn watch(&mut self, lines: &[&[&str]]) {
        let words = |line: &[&str]| line.iter().map(|word| word.as_bytes().to_vec()).collect();
        let lines =
            lines.iter().map(|line| SentinelLine { number: 0, text: line.join(" "), words: words(line) });
        let lines: Vec<SentinelLine> = lines.collect();
        self.with_sentinel(|state| {
            if let Err((line, why)) = state.configure(&lines) {
                state.log(Level::Warning, format!("{}: {why}", line.text));
            }
            state.master_ids().into_iter().for_each(|master| state.announce_master(master));
            state.tick();
        });
    }

    /// Where it says as a replica that it is: an address, if it announces one, and a port, if it announces that.
    pub fn announced_as_replica(&self) -> (String, u16) {
        let parameters = &self.config.replication;
        (parameters.announce_ip.clone(), parameters.announce_port)
    }

    /// Returns the address that it announces as a sentinel, if it announces one, and the port, if it announces that.
    pub(crate) fn announced_as_sentinel(&self) -> (String, u16) {
        self.sentinel.as_ref().map(|watching| watching.state.announced()).unwrap_or_default()
    }

    /// Changes a parameter of the sentinel. `None`: there is no such parameter; false: the value is wrong.
    pub(crate) fn set_sentinel_parameter(&mut self, name: &[u8], value: &[u8]) -> Option<bool> {
        let done = self.with_sentinel(|sentinel| sentinel.set_own(name, value)).flatten();
        if done == Some(true) {
            self.member.ask(TopologyRequest::Announced);
        }
        done
    }

    /// The lines that say how it logs in to a master as a replica would: names and values.
    pub fn login_of_master(&self) -> Vec<(&'static str, String)> {
        let parameters = &self.config.replication;
        let password = String::from_utf8_lossy(&parameters.masterauth).into_owned();
        let lines = [("auth-pass", password), ("auth-user", parameters.masteruser.clone())];
        lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The name that it has as a sentinel: 40 hexadecimal digits; none: it is no sentinel.
    pub fn sentinel_id(&self) -> Option<&str> {
        self.sentinel.as_ref().map(|watching| watching.state.id())
    }

    fn plan_sentinel_tick(&mut self) {
        self.plan_sentinel_tick_after(0);
    }

    /// The next look comes so many milliseconds later than it would; another that is planned does not come.
    fn plan_sentinel_tick_after(&mut self, ms: i64) {
        let order = self.keyspace.next_order();
        let now_ms = self.clock.now().monotonic_ms();
        let Some(watching) = &mut self.sentinel else { return };
        let pause_ms = 1000 / (TICKS_PER_SECOND + watching.rng.below(TICKS_PER_SECOND));
        let timer = Timer { kind: TimerKind::Sentinel, client: 0, order };
        let at_ms = now_ms.saturating_add(pause_ms as i64).saturating_add(ms);
        if let Some(planned) = watching.tick.replace(self.clock.timers_mut().insert(timer, at_ms)) {
            self.clock.timers_mut().cancel(planned);
        }
    }

    /// An advance of the clock that goes so far does not look at what is watched before its end.
    pub(super) fn leap_over_sentinel_ticks(&mut self, ms: i64) {
        if let Some(watching) = &mut self.sentinel {
            watching.state.leap(ms);
            self.plan_sentinel_tick_after(ms);
        }
    }

    /// It is time to look at what is watched.
    pub(super) fn sentinel_tick(&mut self) {
        if let Some(watching) = &mut self.sentinel {
            watching.tick = None;
        }
        // The next look is planned whatever becomes of this one.
        self.plan_sentinel_tick();
        if !self.faults.outage.was_killed() {
            self.with_sentinel(Sentinel::tick);
        }
    }

    /// Something has happened to a connection of the sentinel.
    pub(super) fn sentinel_link(&mut self, link: LinkId, id: OutboundId, event: OutboundEvent<'_>) {
        let local_ip = self.outbound.local_ip(id).map(str::to_owned);
        self.with_sentinel(|state| match event {
            OutboundEvent::Opened => state.opened(link, local_ip.as_deref()),
            OutboundEvent::Received(bytes) => state.received(link, bytes),
            OutboundEvent::Closed { reason } => state.closed(link, reason),
        });
        if let (OutboundEvent::Closed { .. }, Some(watching)) = (event, &mut self.sentinel) {
            watching.links.remove(&link);
        }
    }

    /// What the sentinel is asked or told at the present instant; what it wants done is done. `None`: there is none.
    pub(crate) fn with_sentinel<T>(&mut self, work: impl FnOnce(&mut Sentinel) -> T) -> Option<T> {
        let now = self.clock.now();
        let watching = self.sentinel.as_mut()?;
        watching.state.set_time(now.monotonic_ms(), now.wall_ms());
        let done = work(&mut watching.state);
        self.settle_sentinel();
        Some(done)
    }

    /// Does what the sentinel wants done, in its order, and writes down what it has come to know.
    fn settle_sentinel(&mut self) {
        while let Some(effect) = self.sentinel.as_mut().and_then(|watching| watching.state.next_effect()) {
            self.carry_out(effect);
        }
        if self.sentinel.as_mut().is_some_and(|watching| watching.state.take_unsaved()) {
            self.save_sentinel();
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        let linked = |engine: &Engine, link| {
            engine.sentinel.as_ref().and_then(|watching| watching.links.get(&link)).copied()
        };
        match effect {
            Effect::Connect { link, ip, port } => {
                let id = self.connect_to(Endpoint { host: ip, port }, Purpose::Sentinel(link));
                if let Some(watching) = &mut self.sentinel {
                    watching.links.insert(link, id);
                }
            }
            Effect::Send { link, bytes } => {
                linked(self, link).into_iter().for_each(|id| self.outbound.send(id, &bytes));
            }
            Effect::Close { link } => {
                linked(self, link).into_iter().for_each(|id| self.outbound.close(id));
                if let Some(watching) = &mut self.sentinel {
                    watching.links.remove(&link);
                }
            }
            Effect::Event { level, name, text } => {
                log(level, &format!("{name} {text}"));
                if level != Level::Debug {
                    self.send_to_subscribers(name.as_bytes(), text.as_bytes());
                }
            }
            Effect::Log { level, text } => log(level, &text),
            Effect::Crash => self.stop = Some(Stop::Shutdown),
        }
    }

    /// Writes what the sentinel knows into the configuration file.
    pub(crate) fn save_sentinel(&mut self) {
        // One among the servers of a process has no file, and what it knows is where its engine is.
        let saved = if self.config.file.is_empty() { Ok(()) } else { self.rewrite_config(false) };
        match &saved {
            Ok(()) => tracing::info!("Sentinel new configuration saved on disk"),
            Err(error) => tracing::warn!(
                "WARNING: Sentinel was not able to save the new configuration on disk!!!: {}",
                system_reason(error)
            ),
        }
        if let Some(watching) = &mut self.sentinel {
            watching.is_saved = saved.is_ok();
        }
    }

    /// The lines of the configuration file that say what the sentinel knows.
    pub(super) fn sentinel_lines(&self) -> Vec<WrittenLine> {
        self.sentinel.as_ref().map(|watching| watching.state.lines()).unwrap_or_default()
    }
}

fn log(level: Level, text: &str) {
    match level {
        Level::Debug => tracing::trace!("{text}"),
        Level::Verbose => tracing::debug!("{text}"),
        Level::Notice => tracing::info!("{text}"),
        Level::Warning => tracing::warn!("{text}"),
    }
}
