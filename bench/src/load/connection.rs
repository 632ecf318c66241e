//! One connection: its current batch, and the check of its replies.

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

/// The room for replies beyond the expected ones, in bytes, so that an error reply arrives whole.
const SPARE: usize = 1024;
/// The number of further bytes that a message shows of an incomplete reply.
const SHOWN: usize = 300;

/// A connection of a generator.
pub(super) struct Connection {
    socket: TcpStream,
    /// The number of the connection among those of all generators.
    number: u64,
    steps: Vec<Step>,
    /// Whether every reply is known exactly. Whole batches are then compared as they arrive.
    exact: bool,
    chooser: Chooser,
    pipeline: usize,
    /// The next step, with the key and the counter of its turn.
    step: usize,
    key: u64,
    counter: u64,
    /// The current batch as on the wire, the number of its bytes written so far, and the number of its requests.
    requests: Vec<u8>,
    written: usize,
    batch: usize,
    /// The expected bytes if they are exact, or else the requests sent: step, key, counter.
    expected: Vec<u8>,
    asked: Vec<(usize, u64, u64)>,
    answered: usize,
    /// The received bytes: the buffer, the number of bytes in it, and the number of bytes found right.
    replies: Vec<u8>,
    filled: usize,
    checked: usize,
    /// The parser that finds the ends of replies, if not all are known exactly.
    parser: ReplyParser,
    parsed: Replies,
    /// The time at which the batch was sent, or should have been sent.
    pub(super) since: Instant,
    /// The times at which the batches that wait for this connection should have been sent.
    pub(super) due: VecDeque<Instant>,
}

impl Connection {
    /// Opens a connection. Blocks until the server accepts it.
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

    /// Prepares a run. No batch is in progress.
    pub(super) fn begin(&mut self, plan: &Plan<'_>, connections: u64) {
        self.steps = plan.steps.iter().map(|step| step.for_connection(self.number)).collect();
        self.exact = self.steps.iter().all(|step| matches!(step.expect, Expect::Exact(_)));
        self.chooser = Chooser::new(plan.order, plan.keys, self.number, connections, plan.seed);
        self.pipeline = plan.pipeline;
        self.counter = plan.counter;
        self.step = 0;
        self.due.clear();
    }

    /// Returns the counter of the last turn.
    pub(super) fn counter(&self) -> u64 {
        self.counter
    }

    /// Sends the next batch and returns the number of its requests; 0 if there is no batch. If the run `ends`, only
    /// sends requests that complete the turn, so that no lock stays held.
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

    /// Writes the rest of the batch, as far as the socket takes it.
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

    /// Reads and checks replies. Returns the number of the batch's requests if the batch is complete now.
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
                        // A short read has emptied the socket. Later bytes cause a new readiness event.
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::io("read from a server")(source)),
            }
        }
    }

    /// Whether all replies of the batch have arrived.
    fn check(&mut self) -> Result<bool> {
        let whole = if self.exact { self.check_bytes()? } else { self.check_replies()? };
        if whole && self.filled > self.checked {
            let came = self.replies[self.checked..self.filled].to_vec();
            return Err(wrong(Vec::new(), "nothing: every request is answered".to_string(), came));
        }
        Ok(whole)
    }

    /// Compares the replies with the expected bytes.
    fn check_bytes(&mut self) -> Result<bool> {
        let end = self.filled.min(self.expected.len());
        if self.replies[self.checked..end] == self.expected[self.checked..end] {
            self.checked = end;
            return Ok(end == self.expected.len());
        }
        self.check_different_bytes()
    }

    /// Finds the first wrong reply in bytes that differ from the expected ones. Returns false while that reply is
    /// incomplete.
    #[cold]
    fn check_different_bytes(&self) -> Result<bool> {
        let (expected, _) = whole_replies(&self.expected);
        let came = &self.replies[..self.filled];
        // The replies before it are right, so they end at the same positions.
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

    /// Returns the error for a wrong reply. `expected` is the range of the right reply, `came` the length of the
    /// received one.
    fn wrong_at(&self, index: usize, expected: Range<usize>, came: usize) -> Error {
        let at = expected.start;
        let right = self.expected[expected].escape_ascii().to_string();
        wrong(self.request(index), right, self.replies[at..at + came].to_vec())
    }

    /// Finds complete replies and checks each.
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

    /// Returns a request of the current batch, by its index.
    #[cold]
    fn request(&self, index: usize) -> Vec<u8> {
        // A request is an array, so the reply parser can read it.
        let (requests, _) = whole_replies(&self.requests);
        if index < requests.len() { self.requests[requests.range(index)].to_vec() } else { Vec::new() }
    }

    /// Whether a batch is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.batch > 0
    }

    /// Describes the current batch, for the message that no more replies arrive.
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

/// Parses the complete replies at the front of some bytes, and returns the error in the bytes after them.
fn whole_replies(bytes: &[u8]) -> (Replies, Option<InvalidReply>) {
    let mut replies = Replies::new();
    let result = ReplyParser::new().parse(bytes, &ReplyLimits::default(), &mut replies);
    (replies, result.err())
}
