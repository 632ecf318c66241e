//! The protocol between a replica and its master: bytes in, events and bytes out.

use super::replid::ReplicationId;
use super::transfer::{Arrived, Transfer};
use lockwheel_resp::{Batch, RequestLimits, RequestParser, allocation, write_request};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct LinkParameters {
    /// The user. Empty: the default user.
    pub(crate) user: String,
    /// The password. Empty: no password is sent.
    pub(crate) password: Vec<u8>,
    pub(crate) port: u16,
    /// The announced address. Empty: the address of the connection.
    pub(crate) ip: String,
    /// The history that the replica knows, and the first offset that it lacks.
    pub(crate) knows: Option<(ReplicationId, i64)>,
    /// Whether this replica, or a replica of it, may be as old as Redis 7.0 and needs older forms.
    pub(crate) for_7_0: bool,
    /// Whether the peer is a replica that is to become the master (FAILOVER).
    pub(crate) fails_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// There is no connection yet.
    Connecting,
    /// The replica introduces itself.
    Handshake,
    /// The snapshot is being transferred.
    Sync,
    /// The replica follows the stream.
    Connected,
}

impl LinkState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            LinkState::Connecting => "connecting",
            LinkState::Handshake => "handshake",
            LinkState::Sync => "sync",
            LinkState::Connected => "connected",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// A snapshot of this history, up to this offset, will follow.
    FullResync(ReplicationId, i64),
    /// The stream continues where the replica has left it. The id is the new name of the history, if it has changed.
    Continue(Option<ReplicationId>),
    /// The snapshot, complete.
    Snapshot(Vec<u8>),
    /// A request of the stream. Without words, it only keeps the connection alive.
    Request {
        words: Vec<Vec<u8>>,
        /// The bytes of the request in the stream.
        raw: Vec<u8>,
    },
    /// The link is unusable for this reason.
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Ping,
    Auth,
    Port,
    Address,
    Capabilities,
    Psync,
}

/// The maximum length of a reply line, in bytes.
const MAX_LINE: usize = 4096;

/// A link to a master, from its connection on.
#[derive(Debug)]
pub(crate) struct MasterLink {
    parameters: LinkParameters,
    state: LinkState,
    awaited: VecDeque<Awaited>,
    /// The unread input: lines of replies, then the stream.
    input: Vec<u8>,
    output: Vec<u8>,
    transfer: Transfer,
    parser: RequestParser,
    events: VecDeque<LinkEvent>,
    has_failed: bool,
    was_refused: bool,
}

impl MasterLink {
    pub(crate) fn new(parameters: LinkParameters) -> Self {
        MasterLink {
            parameters,
            state: LinkState::Connecting,
            awaited: VecDeque::new(),
            input: Vec::new(),
            output: Vec::new(),
            transfer: Transfer::default(),
            parser: RequestParser::new(),
            events: VecDeque::new(),
            has_failed: false,
            was_refused: false,
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        self.state
    }

    /// Whether the master may send forms that Redis 7.0 cannot read.
    pub(crate) fn has_newer_forms(&self) -> bool {
        !self.parameters.for_7_0
    }

    /// Returns the number of received bytes of the snapshot, and its total size if known.
    pub(crate) fn progress(&self) -> (usize, Option<usize>) {
        self.transfer.progress()
    }

    /// Handles the opening of the connection.
    pub(crate) fn opened(&mut self) {
        self.state = LinkState::Handshake;
        tracing::info!("Non blocking connect for SYNC fired the event.");
        self.ask(Awaited::Ping, &[b"PING"]);
    }

    /// Handles bytes from the master.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if self.has_failed {
            return;
        }
        match self.state {
            LinkState::Connecting => {}
            LinkState::Sync => self.receive_snapshot(bytes),
            LinkState::Handshake => {
                allocation::append(&mut self.input, bytes);
                self.read_replies();
            }
            LinkState::Connected => {
                allocation::append(&mut self.input, bytes);
                self.read_stream();
            }
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<LinkEvent> {
        self.events.pop_front()
    }

    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Whether the replica has asked for the stream and has not been accepted so far.
    pub(crate) fn asked_in_vain(&self) -> bool {
        self.was_refused
            || (self.state == LinkState::Handshake && self.awaited.front() == Some(&Awaited::Psync))
    }

    /// Acknowledges the stream up to this offset. `synced`: the offset up to which it is on this server's disk.
    pub(crate) fn acknowledge(&mut self, offset: i64, synced: Option<i64>) {
        if self.state == LinkState::Connected {
            let (offset, synced) = (offset.to_string(), synced.map(|synced| synced.to_string()));
            let mut words: Vec<&[u8]> = vec![b"REPLCONF", b"ACK", offset.as_bytes()];
            words.extend(synced.iter().flat_map(|synced| [&b"FACK"[..], synced.as_bytes()]));
            write_request(&words, &mut self.output);
        }
    }

    fn fail(&mut self, why: impl Into<String>) {
        self.has_failed = true;
        self.events.push_back(LinkEvent::Failed(why.into()));
    }

    fn ask(&mut self, awaited: Awaited, words: &[&[u8]]) {
        self.awaited.push_back(awaited);
        write_request(words, &mut self.output);
    }

    fn read_replies(&mut self) {
        let mut rest = std::mem::take(&mut self.input);
        let mut read = 0;
        while self.state == LinkState::Handshake && !self.has_failed {
            let Some(length) = rest[read..].iter().position(|byte| *byte == b'\n') else {
                if rest.len() - read > MAX_LINE {
                    self.fail("the master's answer is too long");
                }
                rest.drain(..read);
                self.input = rest;
                return;
            };
            let line = rest[read..read + length].trim_ascii();
            read += length + 1;
            // Empty lines keep the connection alive while the master prepares its reply.
            if !line.is_empty() {
                self.read_reply(line);
            }
        }
        rest.drain(..read);
        match self.state {
            LinkState::Sync => self.receive_snapshot(&rest),
            LinkState::Connected => {
                self.input = rest;
                self.read_stream();
            }
            _ => {}
        }
    }

    fn read_reply(&mut self, line: &[u8]) {
        let shown = String::from_utf8_lossy(line).into_owned();
        let is_error = line.starts_with(b"-");
        match self.awaited.pop_front() {
            Some(Awaited::Ping) => {
                let may_go_on = [&b"-NOAUTH"[..], b"-NOPERM", b"-ERR operation not permitted"];
                if is_error && !may_go_on.iter().any(|start| line.starts_with(start)) {
                    return self.fail(format!("Error reply to PING from master: '{shown}'"));
                }
                tracing::info!("Master replied to PING, replication can continue...");
                self.introduce();
            }
            Some(Awaited::Auth) if is_error => self.fail(format!("Unable to AUTH to MASTER: {shown}")),
            // The handshake ignores what the master does not understand.
            Some(Awaited::Port | Awaited::Address | Awaited::Auth) => {}
            Some(Awaited::Capabilities) => self.ask_for_stream(),
            Some(Awaited::Psync) => self.read_resync(line, shown),
            None => self.fail(format!("Unexpected reply from master: '{shown}'")),
        }
    }

    fn introduce(&mut self) {
        let LinkParameters { user, password, port, ip, .. } = self.parameters.clone();
        if !password.is_empty() {
            match user.as_bytes() {
                b"" => self.ask(Awaited::Auth, &[b"AUTH", &password]),
                user => self.ask(Awaited::Auth, &[b"AUTH", user, &password]),
            }
        }
        self.ask(Awaited::Port, &[b"REPLCONF", b"listening-port", port.to_string().as_bytes()]);
        if !ip.is_empty() {
            self.ask(Awaited::Address, &[b"REPLCONF", b"ip-address", ip.as_bytes()]);
        }
        let capabilities: [&[u8]; 7] = [b"REPLCONF", b"capa", b"eof", b"capa", b"psync2", b"capa", b"rdb-12"];
        let count = if self.parameters.for_7_0 { 5 } else { 7 };
        self.ask(Awaited::Capabilities, &capabilities[..count]);
    }

    fn ask_for_stream(&mut self) {
        match self.parameters.knows {
            Some((id, offset)) => {
                let offset = offset.to_string();
                tracing::info!("Trying a partial resynchronization (request {id}:{offset}).");
                let words: [&[u8]; 4] = [b"PSYNC", id.as_bytes(), offset.as_bytes(), b"FAILOVER"];
                let count = if self.parameters.fails_over { 4 } else { 3 };
                self.ask(Awaited::Psync, &words[..count]);
            }
            None => {
                tracing::info!("Partial resynchronization not possible (no cached master)");
                self.ask(Awaited::Psync, &[b"PSYNC", b"?", b"-1"]);
            }
        }
    }

    fn read_resync(&mut self, line: &[u8], shown: String) {
        let mut words = line.split(|byte| *byte == b' ');
        let (word, id, offset) = (words.next().unwrap_or_default(), words.next(), words.next());
        let id = id.and_then(ReplicationId::read);
        if word == b"+FULLRESYNC" {
            let offset = offset.and_then(|text| std::str::from_utf8(text).ok()?.parse::<i64>().ok());
            let (Some(id), Some(offset)) = (id, offset.filter(|offset| (0..=i64::MAX / 2).contains(offset)))
            else {
                return self.fail(format!("Master replied with wrong +FULLRESYNC syntax: {shown}"));
            };
            tracing::info!("Full resync from master: {id}:{offset}");
            self.state = LinkState::Sync;
            self.events.push_back(LinkEvent::FullResync(id, offset));
        } else if word == b"+CONTINUE" && self.parameters.knows.is_some() {
            self.state = LinkState::Connected;
            self.events.push_back(LinkEvent::Continue(id));
        } else {
            self.was_refused = true;
            self.fail(format!("Unexpected reply to PSYNC from master: {shown}"));
        }
    }

    fn receive_snapshot(&mut self, bytes: &[u8]) {
        match self.transfer.receive(bytes) {
            Arrived::Part => {}
            Arrived::Failed(why) => self.fail(why),
            Arrived::All(snapshot, rest) => {
                self.transfer = Transfer::default();
                self.events.push_back(LinkEvent::Snapshot(snapshot));
                self.state = LinkState::Connected;
                self.input = rest;
                self.read_stream();
            }
        }
    }

    fn read_stream(&mut self) {
        let limits = RequestLimits { max_bulk: usize::MAX >> 2, unauthenticated: false };
        let mut batch = Batch::new();
        loop {
            let parsed = self.parser.parse(&self.input, &limits, &mut batch);
            let mut begin = 0;
            for at in 0..batch.len() {
                let words =
                    batch.arguments(at, &self.input).map(|word| allocation::copy(word).into_vec()).collect();
                let end = batch.consumed_by(at);
                let raw = allocation::copy(&self.input[begin..end]).into_vec();
                self.events.push_back(LinkEvent::Request { words, raw });
                begin = end;
            }
            let end = batch.consumed();
            if end > begin {
                let raw = allocation::copy(&self.input[begin..end]).into_vec();
                self.events.push_back(LinkEvent::Request { words: Vec::new(), raw });
            }
            self.input.drain(..end);
            if let Err(error) = parsed {
                return self.fail(format!("the stream cannot be read: {error}"));
            }
            if !batch.has_more() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
