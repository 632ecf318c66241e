//! One connection: parses its input, runs whole batches on the engine, keeps unwritten output.

use super::busy::{self, Job, WhileBusy};
use super::client_limit::ClientGuard;
use super::contain::contained;
use super::input::{Input, with_first_request};
use super::messages::{Answer, LoopMessage};
use super::new_connection::{NewConnection, NewSession};
use super::session_status::SessionStatus;
use super::shared::{Busy, Notices, Shared};
use super::socket::Socket;
use super::traffic::LoopTraffic;
use super::turn::{EngineAccess, Turn};
use super::write_buffer::WriteBuffer;
use lockwheel_engine::clients::{Closing, Outbox, Slot};
use lockwheel_engine::core::Progress;
use lockwheel_engine::faults::Link;
use lockwheel_engine::statistics::ConnectionEvent;
use lockwheel_engine::{Engine, busy_error};
use lockwheel_resp::{Protocol, ProtocolError, Reply};
use parking_lot::MutexGuard;
use std::io::{self, Read};
use std::sync::Arc;

/// The bytes of replies that are written before the next batch runs, so that neither side's buffers fill up.
const FULL: usize = 64 * 1024;
/// The number of requests whose keys are fetched together.
const BATCH: usize = 64;
/// The total length of requests, in bytes, from which each may take long to parse.
const LONG_INPUT: usize = 256 * 1024;
/// The number of requests from which a batch fetches its own keys; smaller batches are fetched together.
const MANY: usize = 4;
/// The number of bytes to peek at while reading is held; a request that may pass a partition is shorter.
const PEEKED: usize = 64;

/// The next step for a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing to do until the socket is ready again.
    Wait,
    /// The connection may have requests to run, once the other sockets have been read.
    Run,
    /// The connection may have requests to run, and more to read.
    RunAndRead,
    /// The connection has output to write, or must be closed.
    Write,
}

pub(super) struct Connection {
    pub(super) socket: Arc<Socket>,
    pub(super) slot: Slot,
    pub(super) id: u64,
    pub(super) key: usize,
    traffic: Arc<LoopTraffic>,
    /// Whether the peer may have closed the connection. Reading then continues until EOF.
    pub(super) ends: bool,
    input: Input,
    /// Whether input was read and has not been run yet.
    unrun: bool,
    output: WriteBuffer,
    notices: Notices,
    status: SessionStatus,
    /// Whether a request of an open transaction was refused because a script was slow. EXEC must fail then.
    refused: bool,
    /// Whether the session has output that was not taken because the socket is full.
    output_left: bool,
    /// Whether the thread of the slow script still has to answer the last request. Later requests wait.
    asked: bool,
    /// Whether reading was held for a while, so that input may have arrived unnoticed.
    was_held: bool,
    _guard: ClientGuard,
}

impl Connection {
    pub(super) fn new(connection: NewConnection, session: NewSession, traffic: Arc<LoopTraffic>) -> Self {
        let mut connection = Connection {
            socket: Arc::new(connection.stream),
            slot: session.slot,
            id: session.id,
            key: 0,
            traffic,
            ends: false,
            input: Input::new(session.buffers.clone()),
            unrun: false,
            output: WriteBuffer::new(session.buffers),
            notices: Notices::default(),
            status: session.status,
            refused: false,
            output_left: false,
            asked: false,
            was_held: false,
            _guard: connection.guard,
        };
        connection.learn(session.status);
        connection
    }

    /// Reads at most one buffer of input; fails if the client is gone. Requests run when all sockets are read: system
    /// calls in between would evict the engine from the caches.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Next> {
        if self.status.closing.is_some() {
            return Ok(Next::Write);
        }
        if self.status.link.holds_input && !self.next_gets_through() {
            return Ok(Next::Wait);
        }
        let read = match (&*self.socket).read(buffer) {
            // Requests that were read before EOF are answered first.
            Ok(0) if self.unrun => return Ok(Next::RunAndRead),
            Ok(0) => {
                // Outstanding replies go out: the client may have closed only its half of the connection.
                self.write_output()?;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.ends = false;
                return Ok(Next::Wait);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Next::RunAndRead),
            Err(error) => return Err(error),
        };
        self.traffic.has_read(read);
        if !self.status.link.is_lost {
            self.input.append(&buffer[..read]).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.unrun = true;
        }
        // A read that leaves room in the buffer has emptied the socket; more input makes it ready again.
        let may_have_more = read == buffer.len() || self.ends || self.socket.may_have_more();
        Ok(if may_have_more { Next::RunAndRead } else { Next::Run })
    }

    /// Whether the next request passes a partition. Part of the request may have been read already. Reads nothing.
    #[cold]
    fn next_gets_through(&self) -> bool {
        let begun = self.input.bytes();
        if begun.len() > PEEKED || self.status.blocked || self.asked {
            return false;
        }
        let mut bytes = [0; 2 * PEEKED];
        bytes[..begun.len()].copy_from_slice(begun);
        self.socket.peek(&mut bytes[begun.len()..]).is_ok_and(|count| {
            let bytes = &bytes[..begun.len() + count];
            with_first_request(bytes, |argv| self.status.link.carries(argv)).unwrap_or(false)
        })
    }

    /// Whether read input must be held. `requests` complete ones are at its front; `None` after a protocol error.
    fn keeps_back(&self, requests: Option<usize>) -> bool {
        let link = self.status.link;
        link.holds_input
            && match requests {
                Some(0) => false,
                Some(_) => !self.input.with_arguments(0, |argv| link.carries(argv)),
                None => true,
            }
    }

    /// Runs the complete requests, as far as the session allows. Fails if a limit is exceeded or the socket broken.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>) -> io::Result<Next> {
        self.unrun = false;
        self.input.record_len();
        let mut has_run = false;
        while self.may_run() && self.input.len() > 0 && !turn.shared.shutdown.is_requested() {
            let parsed = self.input.parse();
            if self.keeps_back(parsed.as_ref().ok().copied()) {
                // The request runs when the hold is over, even if the client has closed meanwhile.
                self.unrun = true;
                break;
            }
            match parsed {
                Ok(0) => {
                    if !has_run {
                        self.input.count_partial_read();
                    }
                    break;
                }
                Ok(_) => has_run = true,
                Err(error) => {
                    self.protocol_error(&error, turn);
                    break;
                }
            }
            let ran = self.run_batch(turn);
            if ran > 0 {
                self.input.drop_requests(ran);
            }
            if self.output.len() > FULL {
                turn.shared.log.flush();
                self.write_output()?;
            }
        }
        if self.status.link.is_lost && self.input.len() > 0 {
            self.input.clear();
        }
        self.input.record_len();
        if self.input.len() > self.status.query_buffer_limit {
            tracing::warn!(id = self.id, "closing a client that exceeded client-query-buffer-limit");
            turn.defer(Job::count(ConnectionEvent::QueryLimit));
            return Err(io::Error::other("client-query-buffer-limit"));
        }
        Ok(Next::Write)
    }

    /// Accepts the answer of the slow script's thread and continues.
    pub(super) fn answered(&mut self, turn: &mut Turn<'_>, answer: Answer) -> io::Result<Next> {
        self.asked = false;
        self.accept_answer(answer);
        self.run(turn)
    }

    fn may_run(&self) -> bool {
        !self.status.blocked && self.status.closing.is_none() && !self.asked && !self.status.link.is_lost
    }

    /// Runs the parsed requests as far as possible. Returns the number that ran; 0 if nothing more is to be read.
    fn run_batch(&mut self, turn: &mut Turn<'_>) -> usize {
        let engine = match &mut turn.access {
            EngineAccess::Lent(_) => {
                self.run_while_busy(turn);
                return 1;
            }
            EngineAccess::Lock => turn.shared.engine(turn.index),
        };
        match engine {
            Ok(engine) => {
                let ran = self.run_with(turn.shared, engine);
                turn.pass_on(&mut self.notices);
                ran
            }
            Err(Busy) => {
                self.run_while_busy(turn);
                1
            }
        }
    }

    fn run_with(&mut self, shared: &Shared, mut engine: MutexGuard<'_, Engine>) -> usize {
        shared.begin(&mut engine);
        if engine.link(self.slot) != self.status.link {
            return self.follow_link(shared, engine);
        }
        if std::mem::take(&mut self.refused) {
            engine.sessions_mut().refuse_transaction(self.slot);
        }
        let ran = contained("a command", || self.run_requests(shared, &mut engine));
        if ran.is_none() {
            contained("the end of a command", || engine.recover(self.slot));
        }
        self.learn(SessionStatus::of(&engine, self.slot));
        if ran.is_none() {
            self.close();
        }
        self.take_output(&mut engine);
        shared.unlock(engine, &mut self.notices);
        ran.unwrap_or(self.input.requests())
    }

    /// Adopts a link that has changed since the connection last looked. No request has run; the caller begins again.
    #[cold]
    fn follow_link(&mut self, shared: &Shared, mut engine: MutexGuard<'_, Engine>) -> usize {
        self.refresh(&mut engine);
        shared.unlock(engine, &mut self.notices);
        0
    }

    fn run_requests(&mut self, shared: &Shared, engine: &mut Engine) -> usize {
        let requests = if self.status.link.holds_input { 1 } else { self.input.requests() };
        engine.announce_input(self.input.len());
        let mut ran = 0;
        let mut progress = Progress::Continue;
        while ran < requests && progress == Progress::Continue {
            if ran > 0 && (engine.is_stale() || self.input.len() > LONG_INPUT) {
                if shared.shutdown.is_requested() || engine.sessions().get(self.slot).has_much_output() {
                    break;
                }
                if !shared.is_fresh(engine) {
                    shared.read_time(engine);
                }
            }
            if ran % BATCH == 0 && requests >= MANY {
                self.prefetch(engine, ran);
                engine.prefetch().fetch();
            }
            progress = self.input.with_arguments(ran, |argv| engine.execute(self.slot, argv));
            ran += 1;
        }
        ran
    }

    fn prefetch(&self, engine: &mut Engine, from: usize) {
        if engine.prefetch().is_large(self.slot) {
            for i in from..self.input.requests().min(from + BATCH) {
                self.input.with_arguments(i, |argv| engine.prefetch().note(self.slot, argv));
            }
        }
    }

    /// Fetches the keys of the requests that are about to run, unless the batch is large enough to fetch its own keys.
    pub(super) fn prefetch_few(&mut self, engine: &mut Engine) {
        // A protocol error is answered when it is reached.
        let may_run = self.may_run() && !self.status.link.holds_input;
        if may_run && matches!(self.input.parse(), Ok(1..MANY)) {
            self.prefetch(engine, 0);
        }
    }

    /// Reads the session's new status, and takes pushed output unless the socket is full.
    pub(super) fn refresh(&mut self, engine: &mut Engine) {
        self.was_held |= self.status.link.holds_input;
        self.learn(SessionStatus::of(engine, self.slot));
        // Messages wait for a client that does not read.
        if self.output.is_stuck() {
            self.output_left = true;
            engine.sessions_mut().acknowledge_wake(self.slot);
        } else {
            self.take_output(engine);
        }
    }

    /// Adopts a changed link without asking the engine. A link says what may be read and written.
    pub(super) fn relink(&mut self, link: Link) {
        self.was_held |= self.status.link.holds_input;
        self.status.link = link;
        self.output.hold(link.holds_output);
    }

    /// Takes all output of the session. None stays there, since replies given without the engine must come later.
    fn take_output(&mut self, engine: &mut Engine) {
        self.output_left = false;
        self.output.extend(|waiting| engine.take_output(self.slot, waiting));
    }

    fn learn(&mut self, status: SessionStatus) {
        // A protocol error closes the connection, whatever the session says.
        let closing = status.closing.or(self.status.closing);
        self.status = SessionStatus { closing, ..status };
        self.output.hold(status.link.holds_output);
        self.refused &= status.in_transaction;
        self.input.limits.unauthenticated = !status.is_authenticated;
        self.input.limits.max_bulk = status.max_bulk;
    }

    /// Whether input may have arrived while reading was held, and can be read now.
    pub(super) fn take_unread(&mut self) -> bool {
        self.was_held
            && (!self.status.link.holds_input || self.next_gets_through())
            && std::mem::take(&mut self.was_held)
    }

    /// Takes the requests behind a request that was blocked at the last check. It may have ended since. If a fault
    /// holds it, they follow it even if the client has gone.
    pub(super) fn take_unrun(&mut self) -> Vec<Vec<Vec<u8>>> {
        if self.status.blocked { self.input.take_requests() } else { Vec::new() }
    }

    /// Makes the end of the connection a reset, if a fault demands that.
    pub(super) fn prepare_end(&self) {
        if self.status.resets {
            self.socket.reset_at_close();
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.status.closing.is_some()
    }

    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty() || self.socket.has_unsent()
    }

    /// Whether the session has output that had to wait and can be taken now.
    pub(super) fn may_take_output(&self) -> bool {
        self.output_left && !self.output.is_stuck()
    }

    fn write_output(&mut self) -> io::Result<()> {
        let before = self.output.len();
        self.output.write(&mut &*self.socket)?;
        if before > 0 {
            self.traffic.has_written(before - self.output.len());
        }
        Ok(())
    }

    /// Writes what the socket takes. Returns false if the connection must now be closed, perhaps after its output.
    pub(super) fn write(&mut self) -> io::Result<bool> {
        self.write_output()?;
        Ok(match self.status.closing {
            Some(Closing::Now) => false,
            Some(Closing::AfterOutput) => self.has_output() || self.output_left,
            None => true,
        })
    }

    /// Answers the first request while a slow script runs, with the engine that it lends or through its thread.
    fn run_while_busy(&mut self, turn: &mut Turn<'_>) {
        let (shared, status) = (turn.shared, self.status);
        let running = shared.script.kind();
        let answer =
            |argv: &[&[u8]]| busy::answer(&shared.table, argv, (status, shared.is_loading()), running);
        // Only the engine knows which replies a client does not want.
        let asks = status.muted || !shared.is_open();
        let way = if asks { WhileBusy::Queue } else { self.input.with_arguments(0, answer) };
        match (way, &mut turn.access) {
            (WhileBusy::Refuse(command), _) => {
                self.refused = status.in_transaction;
                shared.refuse(command);
                self.reply(|writer| writer.error(busy_error(running).as_bytes()));
            }
            (WhileBusy::Queue, EngineAccess::Lent(engine)) => {
                let refused = std::mem::take(&mut self.refused);
                let answer = self.input.with_arguments(0, |argv| execute(engine, self.slot, refused, argv));
                self.accept_answer(answer);
            }
            (WhileBusy::Queue, EngineAccess::Lock) => self.ask(turn),
        }
    }

    fn reply(&mut self, write: impl FnOnce(&mut dyn Reply)) {
        self.output.extend(|waiting| waiting.reply(Protocol::Resp2, write));
    }

    fn accept_answer(&mut self, mut answer: Answer) {
        self.learn(answer.status);
        self.output.extend(|waiting| waiting.append(&mut answer.out));
    }

    /// Passes a request to the thread of the slow script.
    fn ask(&mut self, turn: &Turn<'_>) {
        let request: Vec<Vec<u8>> = self.input.arguments(0).iter().map(|arg| arg.to_vec()).collect();
        let (slot, key, id) = (self.slot, self.key, self.id);
        let (index, answering) = (turn.index, turn.shared.clone());
        // If the script has ended before the request runs, an open transaction fails because of the refusal.
        let refused = std::mem::take(&mut self.refused);
        self.asked = true;
        turn.defer(Job::of(slot, move |engine| {
            let argv: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            let answer =
                contained("a command", || execute(engine, slot, refused, &argv)).unwrap_or_else(|| {
                    engine.recover(slot);
                    Answer { status: SessionStatus::of(engine, slot), out: Outbox::default() }
                });
            answering.inbox(index).post(LoopMessage::Answered { key, id, answer });
        }));
    }

    fn protocol_error(&mut self, error: &ProtocolError, turn: &mut Turn<'_>) {
        match &mut turn.access {
            EngineAccess::Lent(engine) => engine.count_connection_event(ConnectionEvent::ProtocolError),
            EngineAccess::Lock => turn.defer(Job::count(ConnectionEvent::ProtocolError)),
        }
        if !self.status.muted {
            self.reply(|writer| error.reply(writer));
        }
        self.status.closing = Some(Closing::AfterOutput);
    }

    /// Closes the connection once its output has been written, unless it must close at once.
    fn close(&mut self) {
        self.status.closing.get_or_insert(Closing::AfterOutput);
    }
}

/// Runs a request on its session within a slow script. `refused`: the transaction had a refused request.
fn execute(engine: &mut Engine, slot: Slot, refused: bool, argv: &[&[u8]]) -> Answer {
    if refused {
        engine.sessions_mut().refuse_transaction(slot);
    }
    // The effect of a stop shows in the session, or comes from [`Engine::poll_output`].
    let _shown = engine.execute(slot, argv);
    let mut out = Outbox::default();
    engine.take_output(slot, &mut out);
    Answer { status: SessionStatus::of(engine, slot), out }
}
