//! The replica's part: the link to the master that it follows, and what has come over it.

use super::last_heard::{LastHeard, LinkClocks};
use super::link::{Link, LinkEvent, LinkParameters, LinkState};
use super::replid::ReplicationId;
use super::state::Replication;
use super::stream::is_newer_request;
use crate::clients::Slot;
use crate::config::Config;
use crate::outbound::{Endpoint, OutboundId};
use lockwheel_resp::allocation;

/// How the error of a command begins for which there is no memory.
const NO_MEMORY: &[u8] = b"OOM ";

/// The state of a replica's link to its master.
#[derive(Debug)]
pub(crate) struct ReplicaLink {
    /// Where the master is.
    host: String,
    port: u16,
    /// The connection, and what is said over it.
    link: Option<(OutboundId, Link)>,
    /// The session that runs what the master sends.
    slot: Slot,
    /// Whether it may go on from the data that it has: they are of a history, perhaps of its own.
    knows_history: bool,
    /// The history that the snapshot on its way belongs to, and its offset.
    expected: Option<(ReplicationId, i64)>,
    /// The part that has come of a transaction that has not ended.
    unapplied: Vec<u8>,
    /// Whether Redis 7.0 could not read that.
    has_newer_forms: bool,
    /// Whether there was no memory for a request of the master.
    lacks_change: bool,
    /// The master is told how far this replica is.
    owes_answer: bool,
    /// When the link was last used.
    heard: LastHeard,
    /// Since when it is down, in milliseconds of the clock that it goes by; none: it is not, or has never been up.
    down_since_ms: Option<i64>,
}

/// The next step with the bytes that have come from the master.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkStep {
    /// A snapshot is on its way: the master has taken the replica on.
    TakenOn,
    /// The stream goes on where it was left, perhaps under another name.
    GoOn(Option<ReplicationId>),
    /// The snapshot of this history, at this offset, becomes the data.
    Load { file: Vec<u8>, id: ReplicationId, offset: i64 },
    /// A request of the stream is run, if it has words.
    Run(Vec<Vec<u8>>),
    /// The link is of no use any more, for this reason.
    Down(String),
}

impl ReplicaLink {
    /// The master at this place, of which nothing has come. `knows_history`: the data are of a history that a master
    /// may go on from. `slot`: the session that runs what the master sends.
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

    /// The master's host.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The master's port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The session that runs what the master sends.
    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// Whether the data are of a history that a master may go on from.
    pub(crate) fn knows_history(&self) -> bool {
        self.knows_history
    }

    /// Whether the link was up and is down.
    pub(crate) fn was_up(&self) -> bool {
        self.down_since_ms.is_some()
    }

    /// Whether it could go on with its master from where it is. A master that became a replica goes on from its own
    /// history until a snapshot is on its way.
    pub(crate) fn could_go_on(&self) -> bool {
        self.is_connected() || self.was_up() || (self.knows_history && self.expected.is_none())
    }

    /// For how many milliseconds the link has been down, if it is and was up.
    pub(crate) fn down_ms(&self, now: LinkClocks) -> Option<i64> {
        Some(self.heard.clock_ms(now) - self.down_since_ms?)
    }

    /// For how many milliseconds nothing has come.
    pub(crate) fn silent_ms(&self, now: LinkClocks) -> i64 {
        self.heard.silent_ms(now)
    }

    /// Whether the master is heard: the link is up, and nothing is between the two servers.
    pub(crate) fn hears_master(&self) -> bool {
        self.is_connected() && !matches!(self.heard, LastHeard::Until(_))
    }

    /// Whether it leads to the master at this address.
    pub(crate) fn is_to(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }

    /// Bytes of the snapshot that have arrived, and how many there will be if that is known.
    pub(crate) fn progress(&self) -> Option<(usize, Option<usize>)> {
        self.link.as_ref().map(|(_, link)| link.progress())
    }

    /// How far the link is; none: there is none.
    pub(crate) fn state(&self) -> Option<LinkState> {
        self.link.as_ref().map(|(_, link)| link.state())
    }

    /// Whether what the master does is known at once.
    pub(crate) fn is_connected(&self) -> bool {
        self.state() == Some(LinkState::Connected) && self.expected.is_none()
    }

    /// Whether the master sends what a replica cannot read that may be as old as Redis 7.0.
    pub(crate) fn has_newer_forms(&self) -> bool {
        self.link.as_ref().is_some_and(|(_, link)| link.has_newer_forms())
    }

    /// Whether it has asked for the stream in vain, up to now.
    pub(crate) fn asked_in_vain(&self) -> bool {
        self.link.as_ref().is_some_and(|(_, link)| link.asked_in_vain())
    }
}

/// The way of a link, from the connection to its end.
impl ReplicaLink {
    /// Returns where to connect to, and with what the replica comes there.
    pub(crate) fn introduction(&self, history: &Replication, config: &Config) -> (Endpoint, LinkParameters) {
        let endpoint = Endpoint { host: self.host.as_str().into(), port: self.port };
        let parameters = &config.replication;
        let port = match parameters.announce_port {
            // What INFO shows of the process is told to an engine after it has begun.
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

    /// Waits for a connection.
    pub(crate) fn connect(&mut self, id: OutboundId, parameters: LinkParameters, now: LinkClocks) {
        self.link = Some((id, Link::new(parameters)));
        self.heard = LastHeard::first(self.heard.is_in_process(), now);
    }

    /// Records that something has happened to a connection; returns whether it is this link's.
    pub(crate) fn hear(&mut self, id: OutboundId, now: LinkClocks) -> bool {
        let is_its = self.link.as_ref().is_some_and(|(its, _)| *its == id);
        if is_its {
            self.heard.hear(now);
        }
        is_its
    }

    /// A server of this process is cut off from this one, or no longer: the master, if this is the connection to it.
    pub(crate) fn set_cut(&mut self, id: OutboundId, is_cut: bool, now: LinkClocks) {
        if self.link.as_ref().is_some_and(|(its, _)| *its == id) {
            self.heard.set_cut(is_cut, now);
        }
    }

    /// Notes that the connection to the master is open.
    pub(crate) fn opened(&mut self) {
        self.link.as_mut().into_iter().for_each(|(_, link)| link.opened());
    }

    /// Bytes from the master.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        self.link.as_mut().into_iter().for_each(|(_, link)| link.received(bytes));
    }

    /// Returns why the link is down whose connection has ended for this reason of the system.
    pub(crate) fn reason_of_end(&self, reason: &str) -> String {
        match reason {
            reason if self.state() == Some(LinkState::Connecting) => {
                format!("Error condition on socket for SYNC: {reason}")
            }
            "" => String::new(),
            reason => format!("Reading from master: {reason}"),
        }
    }

    /// Returns why the link is given up, if nothing has come for too long.
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

    /// Returns what is to be done next with what has come. Unwinds if there is no memory for it.
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

    /// Notes a request of the stream, and returns its words if it is to be run.
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

    /// Returns the requests of the stream that have been run since the last call, and whether Redis 7.0 cannot read
    /// them. `None`: the link is down.
    pub(crate) fn take_applied(&mut self) -> Option<(Vec<u8>, bool)> {
        self.link.as_ref()?;
        // Between processes that is said once a second.
        self.owes_answer |= self.heard.is_in_process();
        Some((std::mem::take(&mut self.unapplied), std::mem::take(&mut self.has_newer_forms)))
    }

    /// Returns what is to be sent to the master, if anything. It is told how far this replica is, if that is due.
    pub(crate) fn take_output(&mut self, offset: i64) -> Option<(OutboundId, Vec<u8>)> {
        let (id, link) = self.link.as_mut()?;
        if std::mem::take(&mut self.owes_answer) {
            link.acknowledge(offset);
        }
        let output = link.take_output();
        (!output.is_empty()).then_some((*id, output))
    }

    /// Tells the master how far this replica is, as is done between processes from time to time.
    pub(crate) fn report(&mut self) {
        self.owes_answer |= self.state() == Some(LinkState::Connected) && !self.heard.is_in_process();
    }

    /// A session's command is answered with this error: the session may be that of the master's stream.
    pub(crate) fn note_error(&mut self, slot: Slot, error: &[u8]) {
        self.lacks_change |= self.slot == slot && error.starts_with(NO_MEMORY);
    }

    /// Whether a request of the stream has not been run to its end, since there was no memory for it.
    pub(crate) fn lacks_change(&self) -> bool {
        self.lacks_change
    }

    /// A request of the stream has not been run, or not to its end. Only a snapshot makes up for that.
    pub(crate) fn miss_change(&mut self) {
        (self.knows_history, self.lacks_change) = (false, false);
    }

    /// The snapshot has become the data.
    pub(crate) fn loaded(&mut self) {
        self.expected = None;
    }

    /// The data are those of the master.
    pub(crate) fn come_up(&mut self) {
        self.down_since_ms = None;
        (self.knows_history, self.owes_answer) = (true, true);
    }

    /// The link is of no use any more; the next one begins soon.
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

    /// Ends the link, and returns its connection if there is one. What has come of a transaction that has not ended
    /// comes again.
    pub(crate) fn end(&mut self) -> Option<OutboundId> {
        self.unapplied.clear();
        self.has_newer_forms = false;
        self.expected = None;
        self.link.take().map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests;
