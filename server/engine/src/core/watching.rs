//! The state of a server that is a sentinel.

use crate::clock::TimerKey;
use crate::config::Config;
use crate::outbound::OutboundId;
use crate::sentinel::{LinkId, Sentinel, SentinelLine};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::time::Now;
use std::collections::BTreeMap;

/// What a sentinel watches, and its connections.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) state: Sentinel,
    /// Whether the configuration file has what is known.
    pub(crate) is_saved: bool,
    pub(super) rng: Rng,
    pub(super) links: BTreeMap<LinkId, OutboundId>,
    /// The timer of its next look.
    pub(super) tick: Option<TimerKey>,
}

impl Watching {
    /// That of a configuration, if it is one of a sentinel.
    pub(super) fn configured(config: &Config, seed: u64, system: Now) -> Option<Box<Self>> {
        let lines = config.sentinel.as_ref()?;
        let mut rng = Rng::new(seed ^ 0x0073_656e_7469_6e65);
        let mut state =
            Sentinel::new(Rng::new(rng.next_u64()), config.clock(system).read(system).monotonic_ms());
        // The lines were tried when they were read.
        let _tried = state.configure(lines);
        let port = config.shown_port();
        state.set_server(port, &config.requirepass);
        Some(Box::new(Watching { state, is_saved: false, rng, links: BTreeMap::new(), tick: None }))
    }

    /// It knows what these lines say and nothing else, from this instant of the monotonic clock on.
    pub(super) fn begin_anew(&mut self, lines: &[SentinelLine], now_ms: i64, (port, password): (u16, &[u8])) {
        self.state = Sentinel::new(Rng::new(self.rng.next_u64()), now_ms);
        // They are those that it has written.
        let _right = self.state.configure(lines);
        self.state.set_server(port, password);
        self.links.clear();
    }
}
