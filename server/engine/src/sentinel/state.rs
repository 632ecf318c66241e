//! The whole state of a sentinel, the look-up of watched servers, and events about them.

use super::address::{InstanceAddress, Resolve, Resolver};
use super::effect::{EventLevel, InstanceLinkId, SentinelAction};
use super::instance::Instance;
use super::link::Channel;
use super::periods::{Period, Periods};
use super::watched::{InstanceLogin, Master, Peer, Replica, Who};
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, VecDeque};

/// The instant, in milliseconds, at which the monotonic clock begins. It is not 0, so that 0 can mean never.
const EPOCH_MS: i64 = 1 << 40;

/// A failure that a test asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SimulatedFailures {
    /// The server ends once it is elected.
    pub(crate) after_election: bool,
    /// The server ends once a replica is promoted.
    pub(crate) after_promotion: bool,
}

/// The data that this sentinel announces, and its logins to other sentinels.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// The run id of the sentinel: 40 hexadecimal digits.
    pub(super) id: String,
    pub(super) announce_ip: Option<Vec<u8>>,
    pub(super) announce_port: u16,
    /// The port that it listens on.
    pub(super) port: u16,
    /// The login at other sentinels.
    pub(super) login: InstanceLogin,
    /// The password that clients of this sentinel need. Other sentinels have the same password.
    pub(super) requirepass: Vec<u8>,
    pub(super) resolve_hostnames: bool,
    pub(super) announce_hostnames: bool,
    pub(super) deny_scripts_reconfig: bool,
}

#[derive(Debug)]
pub(crate) struct Sentinel {
    pub(super) own: Own,
    pub(super) current_epoch: u64,
    pub(super) masters: BTreeMap<u64, Master>,
    pub(super) periods: Periods,
    pub(super) failures: SimulatedFailures,
    /// The instant since which the clock is not trusted, if it is not.
    pub(super) tilt_since: Option<i64>,
    /// The present instant.
    pub(super) now: i64,
    /// The present instant of the wall clock, in milliseconds since 1970.
    pub(super) wall_ms: i64,
    pub(super) last_tick: i64,
    pub(super) links: BTreeMap<InstanceLinkId, (Who, Channel)>,
    pub(super) rng: Rng,
    pub(super) resolver: Resolver,
    /// Whether the state has changes that the file does not have.
    pub(super) unsaved: bool,
    effects: VecDeque<SentinelAction>,
    /// The last number given to a link or a watched server.
    last_id: u64,
}

impl Sentinel {
    /// A sentinel that watches nothing. `monotonic_ms` is the present instant.
    pub(crate) fn new(mut rng: Rng, monotonic_ms: i64) -> Self {
        let words = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        let mut id: String = words.iter().map(|word| format!("{word:016x}")).collect();
        id.truncate(40);
        let now = EPOCH_MS + monotonic_ms;
        Sentinel {
            own: Own { id, deny_scripts_reconfig: true, ..Own::default() },
            current_epoch: 0,
            masters: BTreeMap::new(),
            periods: Periods::default(),
            failures: SimulatedFailures::default(),
            tilt_since: None,
            now,
            wall_ms: 0,
            last_tick: now,
            links: BTreeMap::new(),
            rng,
            resolver: Resolver(Box::new(|_| None)),
            unsaved: false,
            effects: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Sets the resolver of names, for configurations that allow names.
    pub(crate) fn set_resolver(&mut self, resolve: Box<Resolve>) {
        self.resolver = Resolver(resolve);
    }

    /// Sets the port that is announced, and the password that clients of this sentinel need.
    pub(crate) fn set_server(&mut self, port: u16, requirepass: &[u8]) {
        self.own.port = port;
        self.own.requirepass = requirepass.to_vec();
    }

    /// The configured address to announce. The host may be empty, and the port 0.
    pub(crate) fn announced(&self) -> (String, u16) {
        let ip = self.own.announce_ip.as_deref().unwrap_or_default();
        (String::from_utf8_lossy(ip).into_owned(), self.own.announce_port)
    }

    pub(crate) fn current_epoch(&self) -> u64 {
        self.current_epoch
    }

    /// The run id of the sentinel: 40 hexadecimal digits.
    pub(crate) fn id(&self) -> &str {
        &self.own.id
    }

    /// Sets the present instant of the monotonic clock and of the wall clock, in milliseconds.
    pub(crate) fn set_time(&mut self, monotonic_ms: i64, wall_ms: i64) {
        (self.now, self.wall_ms) = (EPOCH_MS + monotonic_ms, wall_ms);
    }

    pub(crate) fn next_effect(&mut self) -> Option<SentinelAction> {
        self.effects.pop_front()
    }

    /// Returns whether the file must be written, and resets that mark.
    pub(crate) fn take_unsaved(&mut self) -> bool {
        std::mem::take(&mut self.unsaved)
    }

    pub(super) fn effect(&mut self, effect: SentinelAction) {
        self.effects.push_back(effect);
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn period(&self, period: Period) -> i64 {
        self.periods.get(period)
    }

    /// The address of a host and a port. `None` if it is no IP and names are not resolved. An unknown name is accepted.
    pub(super) fn address(&self, host: &str, port: u16) -> Option<InstanceAddress> {
        let ip = match self.resolver.ip(host, self.own.resolve_hostnames) {
            Some(ip) => ip,
            None if self.own.resolve_hostnames => "".into(),
            None => return None,
        };
        Some(InstanceAddress { host: host.into(), ip, port })
    }

    /// The host of an address as clients are shown it.
    pub(super) fn shown<'a>(&self, address: &'a InstanceAddress) -> &'a str {
        if self.own.announce_hostnames { &address.host } else { &address.ip }
    }

    /// Whether a host is that of an address.
    pub(super) fn is_host(&self, address: &InstanceAddress, host: &str) -> bool {
        match self.resolver.ip(host, self.own.resolve_hostnames) {
            Some(ip) => ip == address.ip,
            None => host.eq_ignore_ascii_case(if self.own.resolve_hostnames {
                &address.host
            } else {
                &address.ip
            }),
        }
    }

    pub(super) fn master(&self, id: u64) -> Option<&Master> {
        self.masters.get(&id)
    }

    pub(super) fn master_mut(&mut self, id: u64) -> Option<&mut Master> {
        self.masters.get_mut(&id)
    }

    pub(super) fn named(&self, name: &[u8]) -> Option<u64> {
        self.masters.iter().find(|(_, master)| master.at.name.as_bytes() == name).map(|(id, _)| *id)
    }

    pub(super) fn replica(&self, master: u64, id: u64) -> Option<&Replica> {
        self.master(master)?.replicas.get(&id)
    }

    pub(super) fn replica_mut(&mut self, master: u64, id: u64) -> Option<&mut Replica> {
        self.master_mut(master)?.replicas.get_mut(&id)
    }

    pub(super) fn peer_mut(&mut self, master: u64, id: u64) -> Option<&mut Peer> {
        self.master_mut(master)?.peers.get_mut(&id)
    }

    pub(super) fn instance(&self, who: Who) -> Option<&Instance> {
        let master = self.master(who.master())?;
        match who {
            Who::Master(_) => Some(&master.at),
            Who::Replica(_, id) => master.replicas.get(&id).map(|replica| &replica.at),
            Who::Peer(_, id) => master.peers.get(&id).map(|peer| &peer.at),
        }
    }

    pub(super) fn instance_mut(&mut self, who: Who) -> Option<&mut Instance> {
        let master = self.master_mut(who.master())?;
        match who {
            Who::Master(_) => Some(&mut master.at),
            Who::Replica(_, id) => master.replicas.get_mut(&id).map(|replica| &mut replica.at),
            Who::Peer(_, id) => master.peers.get_mut(&id).map(|peer| &mut peer.at),
        }
    }

    pub(super) fn replica_ids(&self, master: u64) -> Vec<u64> {
        self.master(master).map(|master| master.replicas.keys().copied().collect()).unwrap_or_default()
    }

    pub(super) fn peer_ids(&self, master: u64) -> Vec<u64> {
        self.master(master).map(|master| master.peers.keys().copied().collect()).unwrap_or_default()
    }

    /// The words at the beginning of an event: its server and the server's master.
    fn subject(&self, who: Who) -> String {
        let (Some(at), Some(master)) = (self.instance(who), self.master(who.master())) else {
            return String::new();
        };
        let words = |kind: &str, at: &Instance| {
            format!("{kind} {} {} {}", at.name, self.shown(&at.address), at.address.port)
        };
        let of = &master.at;
        let master = || format!("{} {} {}", of.name, self.shown(&of.address), of.address.port);
        match who {
            Who::Master(_) => words("master", at),
            Who::Replica(..) => format!("{} @ {}", words("slave", at), master()),
            Who::Peer(..) => format!("{} @ {}", words("sentinel", at), master()),
        }
    }

    /// Emits an event about a server.
    pub(super) fn event(&mut self, level: EventLevel, name: &'static str, who: Who) {
        self.event_with(level, name, who, "");
    }

    /// Emits an event about a server, with more words behind.
    pub(super) fn event_with(&mut self, level: EventLevel, name: &'static str, who: Who, more: &str) {
        let text = format!("{}{more}", self.subject(who));
        self.effect(SentinelAction::Event { level, name, text });
    }

    /// Emits an event with a text of its own.
    pub(super) fn plain_event(&mut self, level: EventLevel, name: &'static str, text: String) {
        self.effect(SentinelAction::Event { level, name, text });
    }

    pub(crate) fn log(&mut self, level: EventLevel, text: String) {
        self.effect(SentinelAction::Log { level, text });
    }

    pub(super) fn adopt_epoch(&mut self, epoch: u64) {
        if epoch > self.current_epoch {
            self.current_epoch = epoch;
            self.unsaved = true;
            self.plain_event(EventLevel::Warning, "+new-epoch", epoch.to_string());
        }
    }
}
