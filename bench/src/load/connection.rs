//! One connection: its batch under way, and the check of what comes back.

use super::check::Expect;
use super::keys::Chooser;
use super::{Plan, Step};
use crate::error::{Error, Result, WrongReply};
use lockwheel_resp::{InvalidReply, Replies, ReplyLimits, ReplyParser};
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Instant;

/// Room for replies beyond those that are expected, so that an error comes whole.
const SPARE: usize = 1024;
/// How much more of a reply that does not end a message shows.
const SHOWN: usize = 300;

/// A connection of a generator.
pub(super) struct Connection {
    socket: TcpStream,
    /// Its number among all connections, of all generators.
    number: u64,
    steps: Vec<Step>,
    /// Whether every reply is known to the byte: then whole batches are compared as they come.
    exact: bool,
    chooser: Chooser,
    pipeline: usize,
    /// The step that comes next, and the key and the counter of the turn that it belongs to.
    step: usize,
    key: u64,
    counter: u64,
    /// The batch under way as on the wire, how much of it is written, and how many requests it has.
    requests: Vec<u8>,
    written: usize,
    batch: usize,
    /// What must come, when that is exact; else what was asked: step, key, counter.
    expected: Vec<u8>,
    asked: Vec<(usize, u64, u64)>,
    answered: usize,
    /// What has come, how much of the buffer it fills, and how much of that was found right.
    replies: Vec<u8>,
    filled: usize,
    checked: usize,
    /// Where the replies end, when not all are known to the byte.
    parser: ReplyParser,
    parsed: Replies,
    /// When the batch was sent, or should have been.
    pub(super) since: Instant,
    /// When batches that wait for this connection should have been sent.
    pub(super) due: VecDeque<Instant>,
}

impl Connection {
    /// Connects; blocks until the server accepts.
    pub(super) fn open(addr: SocketAddr, number: u64) -> Result<Connection> {
        let io = |what: &str| Error::io(format!("{what} {addr}"));
        let socket = std::net::TcpStream::connect(addr).map_err(io("connect to"))?;
        socket.set_nodelay(true).map_err(io("set an option of the connection to"))?;
        socket.set_nonblocking(true).map_err(io("set an option of the connection to"))?;
        Ok(Connection {
            socket: TcpStream::from_std(socket),
            number,
            steps: Vec::new(),
            exact: true,
            chooser: Chooser::new(super::Order::Once, 0, 0, 1, 0),
            pipeline: 1,
            step: 0,
            key: 0,
            counter: 0,
            requests: Vec::new(),
            written: 0,
            batch: 0,
            expected: Vec::new(),
            asked: Vec::new(),
            answered: 0,
            replies: Vec::new(),
            filled: 0,
            checked: 0,
            parser: ReplyParser::new(),
            parsed: Replies::new(),
            since: Instant::now(),
            due: VecDeque::new(),
        })
    }

    pub(super) fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Gets ready for a run. Nothing is under way.
    pub(super) fn begin(&mut self, plan: &Plan<'_>, connections: u64) {
        self.steps = plan.steps.iter().map(|step| step.for_connection(self.number)).collect();
        self.exact = self.steps.iter().all(|step| matches!(step.expect, Expect::Exact(_)));
        self.chooser = Chooser::new(plan.order, plan.keys, self.number, connections, plan.seed);
        self.pipeline = plan.pipeline;
        self.counter = plan.counter;
        self.step = 0;
        self.due.clear();
    }

    /// The counter of the last turn.
    pub(super) fn counter(&self) -> u64 {
        self.counter
    }

    /// Sends the next batch; how many requests it has. When the run `ends`, those that end the turn, so that no lock
    /// stays held. 0: there is none.
    pub(super) fn send(&mut self, since: Instant, ends: bool) -> Result<usize> {
        self.requests.clear();
        self.expected.clear();
        self.asked.clear();
        (self.written, self.batch, self.answered, self.filled, self.checked) = (0, 0, 0, 0, 0);
        while self.batch < self.pipeline {
            if self.step == 0 {
                if ends {
                    break;
                }
                let Some(key) = self.chooser.next() else { break };
                self.key = key;
                self.counter += 1;
            }
            let step = &self.steps[self.step];
            step.request.append(&mut self.requests, self.key, self.counter);
            match &step.expect {
                Expect::Exact(reply) if self.exact => {
                    reply.append(&mut self.expected, self.key, self.counter);
                }
                _ => self.asked.push((self.step, self.key, self.counter)),
            }
            self.batch += 1;
            self.step += 1;
            if self.step == self.steps.len() {
                self.step = 0;
            }
        }
        self.since = since;
        if self.batch > 0 {
            let room = self.expected.len() + SPARE;
            if self.replies.len() < room {
                self.replies.resize(room, 0);
            }
            self.flush()?;
        }
        Ok(self.batch)
    }

    /// Writes what is not written yet, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> Result<()> {
        while self.written < self.requests.len() {
            match self.socket.write(&self.requests[self.written..]) {
                Ok(0) => return Err(self.closed()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::io("write to a server")(source)),
            }
        }
        Ok(())
    }

    /// Reads and checks what has come; how many requests the batch had when it is complete now.
    pub(super) fn receive(&mut self) -> Result<Option<usize>> {
        loop {
            if self.filled == self.replies.len() {
                self.replies.resize(2 * self.filled + SPARE, 0);
            }
            let room = self.replies.len() - self.filled;
            match self.socket.read(&mut self.replies[self.filled..]) {
                Ok(0) => return Err(self.closed()),
                Ok(count) => {
                    self.filled += count;
                    if self.check()? {
                        return Ok(Some(std::mem::take(&mut self.batch)));
                    }
                    if count < room {
                        // A short read has emptied the socket: what comes later is an edge of its own.
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::io("read from a server")(source)),
            }
        }
    }

    /// Whether all of the batch's replies have come.
    fn check(&mut self) -> Result<bool> {
        let whole = if self.exact { self.check_bytes()? } else { self.check_replies()? };
        if whole && self.filled > self.checked {
            let came = self.replies[self.checked..self.filled].to_vec();
            return Err(wrong(Vec::new(), "nothing: every request is answered".to_string(), came));
        }
        Ok(whole)
    }

    /// Compares with the bytes that must come.
    fn check_bytes(&mut self) -> Result<bool> {
        let end = self.filled.min(self.expected.len());
        if self.replies[self.checked..end] == self.expected[self.checked..end] {
            self.checked = end;
            return Ok(end == self.expected.len());
        }
        self.check_different_bytes()
    }

    /// Finds the first wrong reply among bytes that are not those that must come. False while it has to become whole.
    #[cold]
    fn check_different_bytes(&self) -> Result<bool> {
        let (expected, _) = whole_replies(&self.expected);
        let came = &self.replies[..self.filled];
        // The replies before it are right, so they end at the same places.
        let is_wrong =
            |i: &usize| !came[expected.range(*i).start..].starts_with(&self.expected[expected.range(*i)]);
        let Some(index) = (0..expected.len()).find(is_wrong) else {
            return Err(Error::other("what is expected are no whole replies: the workload is wrong"));
        };
        let right = expected.range(index);
        let (whole, error) = whole_replies(came);
        if index < whole.len() {
            return Err(self.wrong_at(index, right, whole.range(index).len()));
        }
        let length = came.len() - right.start;
        if error.is_none() && length < SHOWN {
            return Ok(false);
        }
        Err(self.wrong_at(index, right, length.min(SHOWN)))
    }

    /// `expected` is where the right reply stands, `came` the length of what came in its place.
    fn wrong_at(&self, index: usize, expected: Range<usize>, came: usize) -> Error {
        let at = expected.start;
        let right = self.expected[expected].escape_ascii().to_string();
        wrong(self.request(index), right, self.replies[at..at + came].to_vec())
    }

    /// Finds whole replies and checks each.
    fn check_replies(&mut self) -> Result<bool> {
        let came = &self.replies[self.checked..self.filled];
        let parsed = self.parser.parse(came, &ReplyLimits::default(), &mut self.parsed);
        let mut checked = 0;
        for (i, &(step, key, counter)) in (0..self.parsed.len()).zip(&self.asked[self.answered..]) {
            let expect = &self.steps[step].expect;
            let reply = &came[self.parsed.range(i)];
            if !expect.allows(reply, key, counter) {
                let request = self.request(self.answered + i);
                return Err(wrong(request, expect.describe(key, counter), reply.to_vec()));
            }
            checked = self.parsed.range(i).end;
        }
        let missing = self.asked[self.answered..].get(self.parsed.len());
        if let (Some(&(step, key, counter)), Err(_)) = (missing, parsed) {
            let came = &came[checked..];
            let expected = self.steps[step].expect.describe(key, counter);
            let request = self.request(self.answered + self.parsed.len());
            return Err(wrong(request, expected, came[..came.len().min(SHOWN)].to_vec()));
        }
        self.checked += checked;
        self.answered = self.asked.len().min(self.answered + self.parsed.len());
        Ok(self.answered == self.asked.len())
    }

    /// A request of the batch under way, by its place in it.
    #[cold]
    fn request(&self, index: usize) -> Vec<u8> {
        // A request is an array, which could be a reply.
        let (requests, _) = whole_replies(&self.requests);
        if index < requests.len() { self.requests[requests.range(index)].to_vec() } else { Vec::new() }
    }

    /// Whether a batch is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.batch > 0
    }

    /// What is under way, for the message that nothing comes any more.
    pub(super) fn unanswered(&self) -> Option<WrongReply> {
        self.is_busy().then(|| WrongReply {
            sent: self.requests[..self.requests.len().min(SHOWN)].to_vec(),
            expected: format!("replies to {} requests", self.batch),
            came: self.replies[self.checked..self.filled].to_vec(),
        })
    }

    fn closed(&self) -> Error {
        let sent = self.requests[..self.requests.len().min(SHOWN)].to_vec();
        let expected = "a reply, but the server closed the connection".to_string();
        wrong(sent, expected, self.replies[self.checked..self.filled].to_vec())
    }
}

fn wrong(sent: Vec<u8>, expected: String, came: Vec<u8>) -> Error {
    Error::Reply(Box::new(WrongReply { sent, expected, came }))
}

/// The whole replies that some bytes begin with, and what is wrong with those that follow.
fn whole_replies(bytes: &[u8]) -> (Replies, Option<InvalidReply>) {
    let mut replies = Replies::new();
    let result = ReplyParser::new().parse(bytes, &ReplyLimits::default(), &mut replies);
    (replies, result.err())
}
