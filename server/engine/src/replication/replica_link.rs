//! The replica's side of replication: the link to its master, and the data received over it.

use super::last_heard::{LastHeard, LinkClocks};
use super::link::{LinkEvent, LinkParameters, LinkState, MasterLink};
use super::replid::ReplicationId;
use super::state::Replication;
use crate::clients::Slot;
use crate::config::Config;
use crate::outbound::{Endpoint, OutboundId};
use crate::propagation::is_newer_request;
use lockwheel_resp::allocation;

/// The prefix of the error of a command that finds no memory.
const NO_MEMORY: &[u8] = b"OOM ";

#[derive(Debug)]
pub(crate) struct ReplicaLink {
    host: String,
    port: u16,
    /// The connection and its protocol state.
    link: Option<(OutboundId, MasterLink)>,
    /// The session that runs the master's requests.
    slot: Slot,
    /// Whether the data belong to a history, perhaps the server's own, that a master may continue.
    knows_history: bool,
    /// The history and the offset of the snapshot that is being received.
    expected: Option<(ReplicationId, i64)>,
    /// The received part of a transaction that has not ended.
    unapplied: Vec<u8>,
    /// Whether the unapplied part has forms that Redis 7.0 cannot read.
    has_newer_forms: bool,
    /// Whether a request of the master found no memory.
    lacks_change: bool,
    /// Whether an acknowledgement to the master is due.
    owes_answer: bool,
    /// The time at which the master was last heard.
    heard: LastHeard,
    /// The time since which the link is down, in milliseconds of its clock. `None`: it is up, or never was.
    down_since_ms: Option<i64>,
}

/// The next step with the bytes received from the master.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkStep {
    /// A snapshot follows: the master has accepted the replica.
    TakenOn,
    /// The stream continues where it was left, perhaps under another name.
    GoOn(Option<ReplicationId>),
    /// The snapshot of this history, up to this offset, replaces the data.
    Load { file: Vec<u8>, id: ReplicationId, offset: i64 },
    /// A request of the stream must be run, unless it has no words.
    Run(Vec<Vec<u8>>),
    /// The link is unusable for this reason.
    Down(String),
}

impl ReplicaLink {
    /// Creates a link to the master at this address, without a connection. `knows_history`: the data belong to a
    /// history that a master may continue. `slot`: the session that runs the master's requests.
    pub(crate) fn new(
        (host, port): (String, u16),
        knows_history: bool,
        slot: Slot,
        heard: LastHeard,
    ) -> Self {
        ReplicaLink {
            host,
            port,
            link: None,
            slot,
            knows_history,
            expected: None,
            unapplied: Vec::new(),
            has_newer_forms: false,
            lacks_change: false,
            owes_answer: false,
            heard,
            down_since_ms: None,
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the session that runs the master's requests.
    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// Whether the data belong to a history that a master may continue.
    pub(crate) fn knows_history(&self) -> bool {
        self.knows_history
    }

    /// Whether the link was up and is now down.
    pub(crate) fn was_up(&self) -> bool {
        self.down_since_ms.is_some()
    }

    /// Whether the replica can continue with its master from its current offset. A master that became a replica
    /// continues its own history until a snapshot is being received.
    pub(crate) fn could_go_on(&self) -> bool {
        self.is_connected() || self.was_up() || (self.knows_history && self.expected.is_none())
    }

    /// Returns the milliseconds since the link went down. `None`: it is up, or never was.
    pub(crate) fn down_ms(&self, now: LinkClocks) -> Option<i64> {
        Some(self.heard.clock_ms(now) - self.down_since_ms?)
    }

    /// Returns the milliseconds since the master was last heard.
    pub(crate) fn silent_ms(&self, now: LinkClocks) -> i64 {
        self.heard.silent_ms(now)
    }

    /// Whether the master is heard: the link is up, and the network between the two servers works.
    pub(crate) fn hears_master(&self) -> bool {
        self.is_connected() && !matches!(self.heard, LastHeard::Until(_))
    }

    /// Whether the master has this address.
    pub(crate) fn is_to(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }

    /// Returns the number of received bytes of the snapshot, and its total size if known.
    pub(crate) fn progress(&self) -> Option<(usize, Option<usize>)> {
        self.link.as_ref().map(|(_, link)| link.progress())
    }

    /// Returns the state of the connection, if there is one.
    pub(crate) fn state(&self) -> Option<LinkState> {
        self.link.as_ref().map(|(_, link)| link.state())
    }

    /// Whether the link is up, so that the master's changes are known at once.
    pub(crate) fn is_connected(&self) -> bool {
        self.state() == Some(LinkState::Connected) && self.expected.is_none()
    }

    /// Whether the master may send forms that Redis 7.0 cannot read.
    pub(crate) fn has_newer_forms(&self) -> bool {
        self.link.as_ref().is_some_and(|(_, link)| link.has_newer_forms())
    }

    /// Whether the replica has asked for the stream and has not been accepted so far.
    pub(crate) fn asked_in_vain(&self) -> bool {
        self.link.as_ref().is_some_and(|(_, link)| link.asked_in_vain())
    }
}

/// The life of a link, from its connection to its end.
impl ReplicaLink {
    /// Returns the address to connect to, and the parameters of the handshake.
    pub(crate) fn introduction(&self, history: &Replication, config: &Config) -> (Endpoint, LinkParameters) {
        let endpoint = Endpoint { host: self.host.as_str().into(), port: self.port };
        let parameters = &config.replication;
        let port = match parameters.announce_port {
            // An engine learns after its start what INFO shows of the process.
            0 => config.shown_port(),
            port => port,
        };
        let parameters = LinkParameters {
            user: parameters.masteruser.clone(),
            password: parameters.masterauth.clone(),
            port,
            ip: parameters.announce_ip.clone(),
            knows: self.knows_history.then_some((history.id(), history.offset() + 1)),
            for_7_0: history.is_for_7_0(),
            fails_over: history.fails_over(),
        };
        tracing::info!("Connecting to MASTER {}:{}", endpoint.host, endpoint.port);
        tracing::info!("MASTER <-> REPLICA sync started");
        (endpoint, parameters)
    }

    /// Starts to wait for a connection.
    pub(crate) fn connect(&mut self, id: OutboundId, parameters: LinkParameters, now: LinkClocks) {
        self.link = Some((id, MasterLink::new(parameters)));
        self.heard = LastHeard::first(self.heard.is_in_process(), now);
    }

    /// Records activity on a connection. Returns whether the connection belongs to this link.
    pub(crate) fn hear(&mut self, id: OutboundId, now: LinkClocks) -> bool {
        let is_its = self.link.as_ref().is_some_and(|(its, _)| *its == id);
        if is_its {
            self.heard.hear(now);
        }
        is_its
    }

    /// Records that a server of this process is cut off, or reachable again, if the connection belongs to this link.
    pub(crate) fn set_cut(&mut self, id: OutboundId, is_cut: bool, now: LinkClocks) {
        if self.link.as_ref().is_some_and(|(its, _)| *its == id) {
            self.heard.set_cut(is_cut, now);
        }
    }

    /// Records that the connection to the master is open.
    pub(crate) fn opened(&mut self) {
        self.link.as_mut().into_iter().for_each(|(_, link)| link.opened());
    }

    pub(crate) fn received(&mut self, bytes: &[u8]) {
        self.link.as_mut().into_iter().for_each(|(_, link)| link.received(bytes));
    }

    /// Returns the reason for the log when the connection has ended. `reason` is the system's.
    pub(crate) fn reason_of_end(&self, reason: &str) -> String {
        match reason {
            reason if self.state() == Some(LinkState::Connecting) => {
                format!("Error condition on socket for SYNC: {reason}")
            }
            "" => String::new(),
            reason => format!("Reading from master: {reason}"),
        }
    }

    /// Returns the reason for giving the link up, if the master has been silent for too long.
    pub(crate) fn timed_out(&self, now: LinkClocks, timeout_ms: i64) -> Option<&'static str> {
        let state = self.state().filter(|_| self.heard.is_timed_out(now, timeout_ms))?;
        Some(match state {
            LinkState::Connecting | LinkState::Handshake => "Timeout connecting to the MASTER...",
            LinkState::Sync => {
                "Timeout receiving bulk data from MASTER... If the problem persists try to set the 'repl-timeout' \
                 parameter in redis.conf to a larger value."
            }
            LinkState::Connected => "MASTER timeout: no data nor PING received...",
        })
    }

    /// Returns the next step with the received bytes. Unwinds if there is no memory for it.
    pub(crate) fn next_step(&mut self) -> Option<LinkStep> {
        loop {
            let step = match self.link.as_mut()?.1.next_event()? {
                LinkEvent::FullResync(id, offset) => {
                    self.expected = Some((id, offset));
                    LinkStep::TakenOn
                }
                LinkEvent::Continue(id) => LinkStep::GoOn(id),
                LinkEvent::Snapshot(file) => {
                    let Some((id, offset)) = self.expected else { continue };
                    LinkStep::Load { file, id, offset }
                }
                LinkEvent::Request { words, raw } => LinkStep::Run(self.receive_request(words, &raw)),
                LinkEvent::Failed(why) => LinkStep::Down(why),
            };
            return Some(step);
        }
    }

    /// Records a request of the stream, and returns its words if it must be run.
    fn receive_request(&mut self, words: Vec<Vec<u8>>, raw: &[u8]) -> Vec<Vec<u8>> {
        allocation::append(&mut self.unapplied, raw);
        self.has_newer_forms |= is_newer_request(&words);
        match &words[..] {
            [name, what, ..] if name.eq_ignore_ascii_case(b"replconf") => {
                self.owes_answer |= what.eq_ignore_ascii_case(b"getack");
                Vec::new()
            }
            _ => words,
        }
    }

    /// Returns the requests of the stream executed since the last call, and whether they have forms that Redis 7.0
    /// cannot read. `None`: there is no connection.
    pub(crate) fn take_applied(&mut self) -> Option<(Vec<u8>, bool)> {
        self.link.as_ref()?;
        // Between processes, the acknowledgement is sent once a second.
        self.owes_answer |= self.heard.is_in_process();
        Some((std::mem::take(&mut self.unapplied), std::mem::take(&mut self.has_newer_forms)))
    }

    /// Returns the pending output to the master, with an acknowledgement of this offset if one is due. `synced`: the
    /// offset up to which the stream is on the disk of this server.
    pub(crate) fn take_output(&mut self, offset: i64, synced: Option<i64>) -> Option<(OutboundId, Vec<u8>)> {
        let (id, link) = self.link.as_mut()?;
        if std::mem::take(&mut self.owes_answer) {
            link.acknowledge(offset, synced);
        }
        let output = link.take_output();
        (!output.is_empty()).then_some((*id, output))
    }

    /// Requests the periodic acknowledgement that is sent to a master of another process.
    pub(crate) fn report(&mut self) {
        self.owes_answer |= self.state() == Some(LinkState::Connected) && !self.heard.is_in_process();
    }

    /// Records the error reply of a command, in case the session is that of the master's stream. Returns whether it is.
    pub(crate) fn note_error(&mut self, slot: Slot, command: &str, error: &[u8]) -> bool {
        let is_unexpected = self.slot == slot;
        if is_unexpected {
            self.lacks_change |= error.starts_with(NO_MEMORY);
            let error = String::from_utf8_lossy(error);
            tracing::warn!(
                "== CRITICAL == This replica is sending an error to its master: '{error}' after processing the \
                 command '{command}'"
            );
        }
        is_unexpected
    }

    /// Whether a request of the stream was not run completely, for lack of memory.
    pub(crate) fn lacks_change(&self) -> bool {
        self.lacks_change
    }

    /// Records that a request of the stream was not run completely. Only a snapshot can repair that.
    pub(crate) fn miss_change(&mut self) {
        (self.knows_history, self.lacks_change) = (false, false);
    }

    /// Records that the snapshot has replaced the data.
    pub(crate) fn loaded(&mut self) {
        self.expected = None;
    }

    /// Records that the link is up: the data are the master's.
    pub(crate) fn come_up(&mut self) {
        self.down_since_ms = None;
        (self.knows_history, self.owes_answer) = (true, true);
    }

    /// Records that the link is unusable. The next one begins soon.
    pub(crate) fn go_down(&mut self, now: LinkClocks) {
        if self.state().is_some_and(|state| state != LinkState::Connecting) {
            tracing::info!("Connection with master lost.");
        }
        if self.is_connected() {
            tracing::info!("Caching the disconnected master state.");
            tracing::info!("Reconnecting to MASTER {}:{}", self.host, self.port);
            self.down_since_ms = Some(self.heard.clock_ms(now));
        }
    }

    /// Ends the link; returns its connection. The master sends an incomplete transaction again.
    pub(crate) fn end(&mut self) -> Option<OutboundId> {
        self.unapplied.clear();
        self.has_newer_forms = false;
        self.expected = None;
        self.link.take().map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests;
