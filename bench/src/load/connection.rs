//! One connection: its batch under way, and the check of what comes back.

use super::check::{Expect, Frame, frame};
use super::keys::Chooser;
use super::{Plan, Step};
use crate::error::{Error, Result, WrongReply};
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
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
        let whole = if self.exact { self.check_bytes()? } else { self.check_frames()? };
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
        // Something is wrong: which reply? Those before it are right, so the frames of both agree.
        let (mut at, mut index) = (0, 0);
        loop {
            let Frame::Whole(length) = frame(&self.expected[at..]) else {
                let text = "a reply that is no frame is expected: the workload is wrong";
                return Err(Error::other(text));
            };
            let came = &self.replies[at..self.filled];
            if came.starts_with(&self.expected[at..at + length]) {
                at += length;
                index += 1;
                continue;
            }
            return match frame(came) {
                Frame::Part if came.len() < SHOWN => Ok(false),
                Frame::Part | Frame::Broken => Err(self.wrong_at(index, at, came.len().min(SHOWN), length)),
                Frame::Whole(whole) => Err(self.wrong_at(index, at, whole, length)),
            };
        }
    }

    fn wrong_at(&self, index: usize, at: usize, came: usize, expected: usize) -> Error {
        let right = self.expected[at..at + expected].escape_ascii().to_string();
        wrong(self.request(index), right, self.replies[at..at + came].to_vec())
    }

    /// Finds whole replies and checks each.
    fn check_frames(&mut self) -> Result<bool> {
        while self.answered < self.asked.len() {
            let came = &self.replies[self.checked..self.filled];
            let (step, key, counter) = self.asked[self.answered];
            let expect = &self.steps[step].expect;
            match frame(came) {
                Frame::Part => return Ok(false),
                Frame::Whole(length) if expect.allows(&came[..length], key, counter) => {
                    self.checked += length;
                    self.answered += 1;
                }
                Frame::Whole(length) => {
                    let came = came[..length].to_vec();
                    return Err(wrong(self.request(self.answered), expect.describe(key, counter), came));
                }
                Frame::Broken => {
                    let came = came[..came.len().min(SHOWN)].to_vec();
                    return Err(wrong(self.request(self.answered), expect.describe(key, counter), came));
                }
            }
        }
        Ok(true)
    }

    /// A request of the batch under way, by its place in it.
    fn request(&self, index: usize) -> Vec<u8> {
        let mut at = 0;
        for _ in 0..index {
            let Frame::Whole(length) = frame(&self.requests[at..]) else { return Vec::new() };
            at += length;
        }
        match frame(&self.requests[at..]) {
            Frame::Whole(length) => self.requests[at..at + length].to_vec(),
            _ => Vec::new(),
        }
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
