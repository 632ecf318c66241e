//! One connection: parses what has been read, runs whole batches with the engine, keeps what is to be written.

use super::busy::{self, Job, WhileBusy};
use super::contain::contained;
use super::event_loop::{EngineAccess, EventLoop};
use super::inbox::{Answer, LoopMessage, NewConnection, NewSession};
use super::input::Input;
use super::output::Output;
use super::shared::{Busy, Seat, Shared};
use super::socket::Socket;
use lockwheel_engine::clients::{Closing, Outbox, Slot, User};
use lockwheel_engine::core::Progress;
use lockwheel_engine::spec::errors;
use lockwheel_engine::{Engine, kill_error};
use lockwheel_resp::{Protocol, ProtocolError, Reply};
use parking_lot::MutexGuard;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

/// Replies beyond this are written before the next batch runs, so that neither side's buffers fill up.
const FULL: usize = 64 * 1024;
/// Requests whose keys are fetched together.
const BATCH: usize = 64;
/// Requests that are longer together may each take long to go through.
const LONG_INPUT: usize = 256 * 1024;
/// From so many requests on, a batch fetches its own keys; fewer are fetched with those of other connections.
const MANY: usize = 4;

/// What is to be done with a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing, until it is ready again.
    Wait,
    /// It may have requests to run, once the other sockets have been read.
    Run,
    /// The same, and there may be more to read.
    RunAndRead,
    /// It has something to write, or is to be closed.
    Write,
}

/// What a connection must know of its session after something was run or has happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionStatus {
    blocked: bool,
    closing: Option<Closing>,
    user: Option<User>,
    in_transaction: bool,
    /// The client has asked not to be sent the next reply, or any.
    muted: bool,
    max_bulk: usize,
    query_buffer_limit: usize,
}

impl SessionStatus {
    pub(super) fn of(engine: &Engine, slot: Slot) -> Self {
        let session = engine.session(slot);
        SessionStatus {
            blocked: session.is_blocked(),
            closing: session.closing(),
            user: session.user,
            in_transaction: session.is_in_transaction(),
            muted: session.is_muted(),
            max_bulk: engine.config.proto_max_bulk_len,
            query_buffer_limit: engine.config.client_query_buffer_limit,
        }
    }
}

/// A connection of one loop.
pub(super) struct Connection {
    pub(super) socket: Arc<Socket>,
    pub(super) slot: Slot,
    pub(super) id: u64,
    /// Its place in the loop.
    pub(super) key: usize,
    /// The client's end may be closed, or broken: reading goes on until that shows.
    pub(super) ends: bool,
    input: Input,
    /// Something was read, and its turn to run has not come yet.
    unrun: bool,
    query_buffer_limit: usize,
    output: Output,
    woken: Vec<u64>,
    /// The session waits for a key: what has been read stays unread.
    blocked: bool,
    user: Option<User>,
    in_transaction: bool,
    /// The client has asked not to be sent the next reply, or any.
    muted: bool,
    closing: Option<Closing>,
    /// A request of an open transaction was refused because a script was slow: it must not run without it.
    refused: bool,
    /// The session has output that was not taken, because the socket refuses earlier output.
    status_left: bool,
    /// The slow script's thread is to answer the last request; later ones wait.
    asked: bool,
    _seat: Seat,
}

impl Connection {
    pub(super) fn new(connection: NewConnection, session: NewSession) -> Self {
        let mut connection = Connection {
            socket: Arc::new(connection.stream),
            slot: session.slot,
            id: session.id,
            key: 0,
            ends: false,
            input: Input::new(session.buffers.clone()),
            unrun: false,
            query_buffer_limit: usize::MAX,
            output: Output::new(session.buffers),
            woken: Vec::new(),
            blocked: false,
            user: None,
            in_transaction: false,
            muted: false,
            closing: None,
            refused: false,
            status_left: false,
            asked: false,
            _seat: connection.seat,
        };
        connection.learn(session.status);
        connection
    }

    /// Reads what is there, at most a buffer full. What it asks for is run when all sockets have been read: without
    /// the system in between, which would push the engine out of the caches.
    ///
    /// # Errors
    /// When the client is gone.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Next> {
        if self.closing.is_some() {
            return Ok(Next::Write);
        }
        let read = match (&*self.socket).read(buffer) {
            // What was read before it is answered first.
            Ok(0) if self.unrun => return Ok(Next::RunAndRead),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.ends = false;
                return Ok(Next::Wait);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Next::RunAndRead),
            Err(error) => return Err(error),
        };
        self.input.append(&buffer[..read]);
        self.unrun = true;
        // A read that leaves room has taken all there is; more makes the socket ready again.
        Ok(if read == buffer.len() || self.ends { Next::RunAndRead } else { Next::Run })
    }

    /// Runs the complete requests of the input, as far as the session may go.
    ///
    /// # Errors
    /// When the client has sent more than it may, or its socket is broken.
    pub(super) fn run(&mut self, at: &EventLoop, access: &mut EngineAccess<'_>) -> io::Result<Next> {
        self.unrun = false;
        self.input.tell();
        while self.may_run() && self.input.len() > 0 && !at.shared().is_ending() {
            match self.input.parse() {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    self.protocol_error(&error, at.shared(), access);
                    break;
                }
            }
            let (ran, progress) = self.run_batch(at, access);
            self.input.drop_requests(ran);
            if self.output.len() > FULL {
                self.output.write(&mut &*self.socket)?;
            }
            self.go_on(at.shared(), progress);
        }
        self.input.tell();
        if self.input.len() > self.query_buffer_limit {
            tracing::warn!(id = self.id, "closing a client that passed client-query-buffer-limit");
            return Err(io::Error::other("client-query-buffer-limit"));
        }
        Ok(Next::Write)
    }

    /// The slow script's thread has answered.
    pub(super) fn answered(
        &mut self,
        at: &EventLoop,
        access: &mut EngineAccess<'_>,
        answer: Answer,
    ) -> io::Result<Next> {
        self.asked = false;
        self.learn(answer.status);
        self.answer(answer.out);
        self.go_on(at.shared(), answer.progress);
        self.run(at, access)
    }

    fn may_run(&self) -> bool {
        !self.blocked && self.closing.is_none() && !self.asked
    }

    /// Runs the requests that have been parsed, as far as they go. How many those were.
    fn run_batch(&mut self, at: &EventLoop, access: &mut EngineAccess<'_>) -> (usize, Progress) {
        let done = match access {
            EngineAccess::Lent(engine) => (1, self.run_while_busy(at, Some(engine))),
            EngineAccess::Lock => match at.shared().engine(at.index()) {
                Ok(engine) => self.run_with(at.shared(), engine),
                Err(Busy) => (1, self.run_while_busy(at, None)),
            },
        };
        at.tell(&mut self.woken);
        done
    }

    /// How many requests were run, with the engine in hand.
    fn run_with(&mut self, shared: &Shared, mut engine: MutexGuard<'_, Engine>) -> (usize, Progress) {
        shared.begin(&mut engine);
        if std::mem::take(&mut self.refused) {
            engine.refuse_transaction(self.slot);
        }
        let ran = contained("a command", || self.run_requests(shared, &mut engine));
        if ran.is_none() {
            contained("the end of a command", || engine.recover(self.slot));
        }
        let (ran, mut progress) = ran.unwrap_or((self.input.requests(), Progress::Close));
        if let Progress::Sleep(us) = progress {
            // DEBUG SLEEP stops the whole server: the lock stays taken.
            shared.sleep(Duration::from_micros(us));
            progress = Progress::Continue;
        }
        self.learn(SessionStatus::of(&engine, self.slot));
        self.take_output(&mut engine);
        shared.let_go(engine, &mut self.woken);
        (ran, progress)
    }

    fn run_requests(&mut self, shared: &Shared, engine: &mut Engine) -> (usize, Progress) {
        let requests = self.input.requests();
        let mut ran = 0;
        let mut progress = Progress::Continue;
        while ran < requests && progress == Progress::Continue {
            if ran > 0 && (engine.is_stale() || self.input.len() > LONG_INPUT) {
                if shared.is_ending() || engine.session(self.slot).has_much_output() {
                    break;
                }
                if !shared.is_fresh(engine) {
                    shared.read_time(engine);
                }
            }
            if ran % BATCH == 0 && requests >= MANY {
                self.prefetch(engine, ran);
                engine.fetch();
            }
            progress = self.input.with_arguments(ran, |argv| engine.execute(self.slot, argv));
            ran += 1;
        }
        (ran, progress)
    }

    /// Notes what the next requests will touch.
    fn prefetch(&self, engine: &mut Engine, from: usize) {
        if engine.is_large(self.slot) {
            for i in from..self.input.requests().min(from + BATCH) {
                self.input.with_arguments(i, |argv| engine.prefetch(self.slot, argv));
            }
        }
    }

    /// Notes what the requests will touch that are about to run, unless they are so many that they see to it
    /// themselves.
    pub(super) fn prefetch_few(&mut self, engine: &mut Engine) {
        // An error is answered when its turn comes.
        if self.may_run() && matches!(self.input.parse(), Ok(1..MANY)) {
            self.prefetch(engine, 0);
        }
    }

    /// Learns what is new of the session, and takes what others have sent to it unless the socket refuses earlier
    /// output.
    pub(super) fn take_status(&mut self, engine: &mut Engine) {
        self.learn(SessionStatus::of(engine, self.slot));
        // A client that does not read has messages wait; but what else is new it is told at once.
        if self.output.is_stuck() {
            self.status_left = true;
            engine.acknowledge_wake(self.slot);
        } else {
            self.take_output(engine);
        }
    }

    /// Takes all output of the session. Replies to its own requests never stay there, lest what is answered without the
    /// engine comes before them.
    fn take_output(&mut self, engine: &mut Engine) {
        self.status_left = false;
        self.output.extend(|waiting| engine.take_output(self.slot, waiting));
    }

    fn learn(&mut self, status: SessionStatus) {
        self.blocked = status.blocked;
        // An error of the protocol closes the connection whatever the session says.
        self.closing = status.closing.or(self.closing);
        self.refused &= status.in_transaction;
        self.in_transaction = status.in_transaction;
        self.muted = status.muted;
        self.user = status.user;
        self.input.limits.unauthenticated = status.user.is_none();
        self.input.limits.max_bulk = status.max_bulk;
        self.query_buffer_limit = status.query_buffer_limit;
    }

    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether the session has output that had to wait, and need not any more.
    pub(super) fn has_held_status(&self) -> bool {
        self.status_left && !self.output.is_stuck()
    }

    /// Writes as much as the socket takes now; false when that was the last, and the connection is to be closed.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        self.output.write(&mut &*self.socket)?;
        Ok(match self.closing {
            Some(Closing::Now) => false,
            Some(Closing::AfterOutput) => self.has_output() || self.status_left,
            None => true,
        })
    }

    /// Answers the first request while a slow script runs: itself, or with the engine that the script
    /// lends, or by that script's thread.
    fn run_while_busy(&mut self, at: &EventLoop, lent: Option<&mut Engine>) -> Progress {
        let shared = at.shared();
        let refusal = self
            .input
            .with_arguments(0, |argv| busy::answer(&shared.table, argv, self.user, self.in_transaction));
        match (refusal, lent) {
            // Who wants no replies has the engine leave them out.
            (refusal, Some(engine)) if self.muted || refusal == WhileBusy::Queue => {
                let refused = std::mem::take(&mut self.refused);
                let answer = self.input.with_arguments(0, |argv| execute(engine, self.slot, refused, argv));
                self.learn(answer.status);
                self.answer(answer.out);
                return answer.progress;
            }
            (refusal, None) if self.muted || refusal == WhileBusy::Queue => self.ask(at),
            (WhileBusy::Shutdown, _) => return Progress::Shutdown,
            (WhileBusy::Kill(command), lent) => {
                let killed = shared.control.kill();
                match lent {
                    Some(engine) => engine.count_kill(command, killed),
                    None => shared.leave(Job::new(move |engine| engine.count_kill(command, killed))),
                }
                match killed {
                    Ok(()) => self.reply(|writer| writer.ok()),
                    Err(error) => self.reply(|writer| writer.error(kill_error(error).as_bytes())),
                }
            }
            (WhileBusy::Refuse(command), _) => {
                self.refused = self.in_transaction;
                shared.refuse(command);
                self.reply(|writer| writer.error(errors::BUSY.as_bytes()));
            }
            (WhileBusy::Queue, _) => {}
        }
        Progress::Continue
    }

    /// Puts a reply behind the output that was taken.
    fn reply(&mut self, write: impl FnOnce(&mut dyn Reply)) {
        self.output.extend(|waiting| waiting.reply(Protocol::Resp2, write));
    }

    fn answer(&mut self, mut answer: Outbox) {
        self.output.extend(|waiting| waiting.append(&mut answer));
    }

    /// Lets the slow script's thread run a request.
    fn ask(&mut self, at: &EventLoop) {
        let request: Vec<Vec<u8>> = self.input.arguments(0).iter().map(|arg| arg.to_vec()).collect();
        let (shared, index): (Arc<Shared>, _) = (at.shared().clone(), at.index());
        let (slot, key, id) = (self.slot, self.key, self.id);
        // The script may have ended when it runs: an open transaction must not run without what was refused.
        let refused = std::mem::take(&mut self.refused);
        self.asked = true;
        at.shared().leave(Job::of(slot, move |engine| {
            let argv: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            let answer =
                contained("a command", || execute(engine, slot, refused, &argv)).unwrap_or_else(|| {
                    engine.recover(slot);
                    Answer {
                        status: SessionStatus::of(engine, slot),
                        out: Outbox::default(),
                        progress: Progress::Close,
                    }
                });
            shared.inbox(index).post(LoopMessage::Answered { key, id, answer });
        }));
    }

    fn go_on(&mut self, shared: &Shared, progress: Progress) {
        match progress {
            Progress::Continue | Progress::Sleep(_) => {}
            Progress::Blocked => self.blocked = true,
            Progress::Close => self.closing = Some(self.closing.unwrap_or(Closing::AfterOutput)),
            Progress::Shutdown => shared.end(),
        }
    }

    fn protocol_error(&mut self, error: &ProtocolError, shared: &Shared, access: &mut EngineAccess<'_>) {
        match access {
            EngineAccess::Lent(engine) => engine.count_protocol_error(),
            EngineAccess::Lock => shared.leave(Job::new(Engine::count_protocol_error)),
        }
        if !self.muted {
            self.reply(|writer| error.reply(writer));
        }
        self.closing = Some(Closing::AfterOutput);
    }
}

/// Runs a request that only touches its session, from within a slow script. `refused`: another of its transaction was.
fn execute(engine: &mut Engine, slot: Slot, refused: bool, argv: &[&[u8]]) -> Answer {
    if refused {
        engine.refuse_transaction(slot);
    }
    let progress = engine.execute(slot, argv);
    let mut out = Outbox::default();
    engine.take_output(slot, &mut out);
    Answer { status: SessionStatus::of(engine, slot), out, progress }
}
