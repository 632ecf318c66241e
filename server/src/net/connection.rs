//! One connection: reads, parses, runs whole batches under the lock, writes once.

use super::busy::{self, Answer};
use super::output::Output;
use super::shared::{Busy, Seat, Shared};
use crate::engine::{BUSY, Closing, Engine, Peer, Progress, Slot, kill_error};
use bytes::{Buf, BytesMut};
use lockwheel_resp::{Batch, Limits, Parser, ProtocolError, Reply, Writer};
use smallvec::SmallVec;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};

/// Free room for each read.
const READ: usize = 16 * 1024;
/// How long a connection is silent before the system asks whether its client is still there: the
/// default of Redis' `tcp-keepalive`, which is not read yet.
const KEEP_ALIVE: Duration = Duration::from_secs(300);
/// A read buffer that has grown beyond this is given back once it is empty.
const KEEP: usize = 64 * 1024;
/// Requests run at one instant: a longer pipeline reads the clock again.
const BATCH: usize = 64;

struct Connection {
    shared: Arc<Shared>,
    stream: TcpStream,
    slot: Slot,
    id: u64,
    news: Arc<Notify>,
    input: BytesMut,
    parser: Parser,
    batch: Batch,
    limits: Limits,
    query_buffer_limit: usize,
    output: Output,
    woken: Vec<u64>,
    /// The session waits for a key: what has been read stays unread.
    blocked: bool,
    authenticated: bool,
    closing: Option<Closing>,
    /// A request was refused because a script was slow; an open transaction must not run without it.
    refused: bool,
    /// The session has output that could not be taken yet, because earlier output is still being written.
    news_left: bool,
    /// The answer that the slow script's thread will give to the request at the head of the input.
    queued: Option<oneshot::Receiver<(News, Vec<u8>, Progress)>>,
}

/// What a connection must know of its session after something was run or has happened.
struct News {
    blocked: bool,
    closing: Option<Closing>,
    authenticated: bool,
    max_bulk: usize,
    query_buffer_limit: usize,
}

impl News {
    fn of(engine: &Engine, slot: Slot) -> Self {
        let session = engine.session(slot);
        News {
            blocked: session.is_blocked(),
            closing: session.closing(),
            authenticated: session.authenticated,
            max_bulk: engine.config.proto_max_bulk_len,
            query_buffer_limit: engine.config.client_query_buffer_limit,
        }
    }
}

/// Serves a connection until either side closes it or the server ends. It keeps its seat as long.
pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream, _seat: Seat) {
    let Ok(Some(mut connection)) = Connection::open(shared.clone(), stream).await else { return };
    tokio::select! {
        result = connection.run() => if let Err(error) = result {
            tracing::debug!(id = connection.id, %error, "connection ended");
        },
        () = shared.ended() => {}
    }
    connection.close();
}

impl Connection {
    async fn open(shared: Arc<Shared>, stream: TcpStream) -> io::Result<Option<Self>> {
        stream.set_nodelay(true)?;
        keep_alive(&stream)?;
        let peer = Peer {
            addr: stream.peer_addr()?.to_string(),
            laddr: stream.local_addr()?.to_string(),
            fd: raw_fd(&stream),
        };
        let opened = shared.on_sessions(|engine| {
            let slot = engine.connect(peer);
            (slot, engine.session(slot).id, News::of(engine, slot), engine.unwritten(slot))
        });
        let Some((slot, id, news, unwritten)) = opened.await else { return Ok(None) };
        let waker = Arc::new(Notify::new());
        shared.wakers.insert(id, waker.clone());
        let mut connection = Connection {
            shared,
            stream,
            slot,
            id,
            news: waker,
            input: BytesMut::new(),
            parser: Parser::new(),
            batch: Batch::new(),
            limits: Limits::default(),
            query_buffer_limit: usize::MAX,
            output: Output::new(unwritten),
            woken: Vec::new(),
            blocked: false,
            authenticated: false,
            closing: None,
            refused: false,
            news_left: false,
            queued: None,
        };
        connection.learn(news);
        Ok(Some(connection))
    }

    fn close(self) {
        self.shared.wakers.remove(&self.id);
        let slot = self.slot;
        self.shared.on_sessions_later(move |engine| engine.disconnect(slot));
    }

    async fn run(&mut self) -> io::Result<()> {
        loop {
            self.output.write(&self.stream)?;
            if self.news_left && self.output.is_empty() {
                self.news().await?;
            }
            match self.closing {
                Some(Closing::Now) => return Ok(()),
                Some(Closing::AfterOutput) if self.output.is_empty() => return Ok(()),
                _ => {}
            }
            let writing = !self.output.is_empty();
            let reading = self.closing.is_none();
            let queued = self.queued.as_mut();
            tokio::select! {
                biased;
                ready = self.stream.readable(), if reading => {
                    ready?;
                    if !self.read()? {
                        return Ok(());
                    }
                    self.work()?;
                }
                ready = self.stream.writable(), if writing => ready?,
                () = self.news.notified() => self.news().await?,
                answer = async { queued.expect("polled only when there is one").await }, if queued.is_some() => {
                    self.queued = None;
                    if let Ok((news, out, progress)) = answer {
                        self.learn(news);
                        self.output.bytes.extend(out);
                        self.go_on(progress);
                    }
                    self.work()?;
                }
            }
        }
    }

    /// Reads what is there; false when the client has closed.
    fn read(&mut self) -> io::Result<bool> {
        self.input.reserve(READ);
        match self.stream.try_read_buf(&mut self.input) {
            Ok(0) => Ok(false),
            Ok(_) if self.input.len() > self.query_buffer_limit => {
                tracing::warn!(id = self.id, "closing a client that passed client-query-buffer-limit");
                Ok(false)
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Runs the requests that have been read, as far as the session may go.
    fn work(&mut self) -> io::Result<()> {
        while !self.blocked && self.closing.is_none() && self.queued.is_none() && !self.input.is_empty() {
            self.batch.clear();
            let parsed = self.parser.parse(&self.input, &self.limits, &mut self.batch);
            if self.batch.is_empty() {
                self.input.advance(self.batch.consumed());
                if let Err(error) = parsed {
                    self.protocol_error(&error);
                }
                break;
            }
            let progress = self.run_batch();
            // Large pipelines are answered as they go, so that neither side's buffers fill up.
            self.output.write(&self.stream)?;
            self.go_on(progress);
        }
        if self.input.is_empty() && self.input.capacity() > KEEP {
            self.input = BytesMut::new();
        }
        Ok(())
    }

    /// Runs the batch under the lock, as far as it goes, and drops it from the input.
    fn run_batch(&mut self) -> Progress {
        let shared = self.shared.clone();
        let mut engine = match shared.engine() {
            Ok(engine) => engine,
            Err(Busy) => return self.run_while_busy(),
        };
        let running = shared.batches.begin();
        let mut ran = 0;
        let mut progress = Progress::Continue;
        while ran < self.batch.len() && progress == Progress::Continue {
            if ran % BATCH == 0 {
                engine.begin(shared.clock.now());
                if std::mem::take(&mut self.refused) {
                    engine.refuse_transaction(self.slot);
                }
            }
            let argv: SmallVec<[&[u8]; 16]> = self.batch.arguments(ran, &self.input).collect();
            progress = engine.execute(self.slot, &argv);
            ran += 1;
        }
        if let Progress::Sleep(us) = progress {
            // DEBUG SLEEP stops the whole server: the lock stays taken.
            shared.sleep(Duration::from_micros(us));
            progress = Progress::Continue;
        }
        drop(running);
        self.learn(News::of(&engine, self.slot));
        self.news_left = !self.output.is_empty();
        if !self.news_left {
            engine.take_output(self.slot, &mut self.output.bytes);
        }
        shared.settle(&mut engine, &mut self.woken);
        drop(engine);
        self.wake_others();
        self.forget(ran);
        progress
    }

    fn learn(&mut self, news: News) {
        self.blocked = news.blocked;
        self.closing = news.closing;
        self.authenticated = news.authenticated;
        self.limits.unauthenticated = !news.authenticated;
        self.limits.max_bulk = news.max_bulk;
        self.query_buffer_limit = news.query_buffer_limit;
    }

    fn wake_others(&mut self) {
        self.shared.wake(&self.woken);
        self.woken.clear();
    }

    /// Drops the first `ran` requests of the batch from the input.
    fn forget(&mut self, ran: usize) {
        if ran == self.batch.len() {
            self.input.advance(self.batch.consumed());
        } else {
            self.input.advance(self.batch.consumed_by(ran - 1));
            self.parser.reset();
        }
    }

    /// The session has output or news that its own requests did not cause.
    async fn news(&mut self) -> io::Result<()> {
        self.output.write(&self.stream)?;
        // A client that does not read has its next output wait; but what else is new it is told at once.
        let takes = self.output.is_empty();
        let (slot, mut buffer) = (self.slot, std::mem::take(&mut self.output.bytes));
        let looked = self.shared.on_sessions(move |engine| {
            match takes {
                true => engine.take_output(slot, &mut buffer),
                false => engine.heard(slot),
            }
            (News::of(engine, slot), buffer)
        });
        if let Some((news, buffer)) = looked.await {
            self.learn(news);
            self.output.bytes = buffer;
        }
        self.news_left = !takes;
        if takes {
            self.output.write(&self.stream)?;
        }
        self.work()
    }

    /// Answers the first request of the batch without the engine.
    fn run_while_busy(&mut self) -> Progress {
        let argv: SmallVec<[&[u8]; 16]> = self.batch.arguments(0, &self.input).collect();
        let mut progress = Progress::Continue;
        let mut writer = Writer::new(&mut self.output.bytes, Default::default());
        match busy::answer(&self.shared.table, &argv, self.authenticated) {
            Answer::Kill => match self.shared.control.kill() {
                Ok(()) => writer.ok(),
                Err(error) => writer.error(kill_error(error).as_bytes()),
            },
            Answer::Shutdown => progress = Progress::Shutdown,
            Answer::Refuse => {
                writer.error(BUSY.as_bytes());
                self.refused = true;
            }
            Answer::Queue => {
                let request: Vec<Vec<u8>> = argv.iter().map(|arg| arg.to_vec()).collect();
                let (done, answer) = oneshot::channel();
                let slot = self.slot;
                self.shared.push_job(Box::new(move |engine| {
                    let argv: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
                    let progress = engine.execute(slot, &argv);
                    let mut out = Vec::new();
                    engine.take_output(slot, &mut out);
                    // A connection that is gone meanwhile needs no answer.
                    let answer = (News::of(engine, slot), out, progress);
                    Box::new(move || drop(done.send(answer)))
                }));
                self.queued = Some(answer);
            }
        }
        drop(argv);
        self.forget(1);
        progress
    }

    fn go_on(&mut self, progress: Progress) {
        match progress {
            Progress::Continue | Progress::Sleep(_) => {}
            Progress::Blocked => self.blocked = true,
            Progress::Close => self.closing = Some(self.closing.unwrap_or(Closing::AfterOutput)),
            Progress::Shutdown => self.shared.end(),
        }
    }

    fn protocol_error(&mut self, error: &ProtocolError) {
        let text = format!("ERR {error}");
        Writer::new(&mut self.output.bytes, Default::default()).error(text.as_bytes());
        self.closing = Some(Closing::AfterOutput);
    }
}

/// Finds out about clients that are gone without a word.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE))
}

#[cfg(unix)]
fn raw_fd(stream: &TcpStream) -> i32 {
    use std::os::fd::AsRawFd;
    stream.as_raw_fd()
}

#[cfg(not(unix))]
fn raw_fd(_: &TcpStream) -> i32 {
    0
}
