//! The engine without I/O: sessions, the order of checks before a command, scripts, publish/subscribe, time.
//!
//! [`Engine`] is a plain struct. Bytes, the time and the seed come from outside; replies, wake-ups and the next
//! deadline are asked for. It is single-threaded by type, so that every command, script and transaction takes effect at
//! one instant, and the same inputs give the same bytes out.

mod blocking;
mod client;
mod client_filter;
mod clock;
mod command;
mod command_info;
mod commit;
pub mod config;
mod connection;
mod dispatch;
mod foresee;
mod host;
mod info;
mod locks;
mod names;
mod outbox;
mod process;
mod pubsub;
mod request;
mod scripts;
mod server;
mod session;
mod sessions;
mod stats;
mod table;
mod transactions;
mod turning;
mod waits;

pub use clock::Wake;
pub use dispatch::{BUSY, Progress};
pub use host::Host;
pub use outbox::Outbox;
pub use process::{Process, Usage};
pub use scripts::kill_error;
pub(crate) use server::ends_unsaved;
pub use session::{Closing, Peer, Session};
pub use sessions::Slot;
pub use table::{Command, CommandId, CommandTable, Handler};

use crate::keyspace::{Garbage, Keyspace, Order};
use crate::table::{Row, help};
use crate::time::{Clock, Now, TimerId, Wheel};
use config::Config;
use lockwheel_scripting::{KillError, Runtime, ScriptControl};
use pubsub::PubSub;
use sessions::Sessions;
use stats::Stats;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The version of Redis whose answers are given.
pub const REDIS_VERSION: &str = "7.2.7";

/// The work of requests that take some tenths of a millisecond at the most.
const MUCH_WORK: usize = 64;

/// The rows of this room, a slice a file.
const ROWS: &[&[Row<Handler>]] = &[
    client::ROWS,
    command::ROWS,
    connection::ROWS,
    info::ROWS,
    locks::ROWS,
    pubsub::ROWS,
    scripts::ROWS,
    server::ROWS,
    transactions::ROWS,
    turning::ROWS,
    waits::ROWS,
];

/// How a command came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client sent it.
    Client,
    /// EXEC runs it.
    Transaction,
    /// A script calls it.
    Script,
}

/// Who runs a command, and how.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The session.
    pub slot: Slot,
    /// How it came to run.
    pub origin: Origin,
}

/// A whole server but for its sockets.
pub struct Engine {
    /// The parameters in force.
    pub config: Config,
    /// All databases.
    pub keyspace: Keyspace,
    /// Every command.
    pub table: Arc<CommandTable>,
    /// The clients.
    pub(crate) sessions: Sessions,
    pub(crate) pubsub: PubSub,
    pub(crate) stats: Stats,
    /// The two hands that a test turns.
    pub(crate) clock: Clock,
    /// The instant of the current batch, as the hands show it.
    pub(crate) now: Now,
    /// The same instant by the system's clocks.
    pub(crate) system: Now,
    /// The system's instant at the start.
    pub(crate) started: Now,
    /// Deadlines of blocked clients on the monotonic hand, and in real time.
    timeouts: Wheel<Waiting>,
    real_timeouts: Wheel<Waiting>,
    /// Clients that wait for a state of the server that no key stands for.
    watching_state: Vec<u64>,
    /// The interpreter; taken out while a script runs.
    scripts: Option<Box<Runtime>>,
    control: Arc<ScriptControl>,
    host: Option<Arc<dyn Host>>,
    /// Sessions that have output or news which their own requests did not cause.
    woken: Vec<u64>,
    /// An estimate of what was done since the instant was read, in requests that take the least.
    work: usize,
    /// What the connection of the running command is to do instead of going on.
    pending_progress: Option<Progress>,
    process: Process,
    run_id: String,
    replication_id: String,
}

/// What a timer of a blocked client stands for.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// The client.
    id: u64,
    /// When it began to wait, among all deadlines.
    order: Order,
}

/// The timer of a blocked client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timeout {
    Monotonic(TimerId),
    Real(TimerId),
}

impl Engine {
    /// An engine with these parameters at this instant of the system's clocks. `seed` decides every random choice.
    pub fn new(config: Config, seed: u64, system: Now) -> Self {
        let clock = config.clock(system);
        let now = clock.read(system);
        let control = Arc::new(ScriptControl::new());
        let mut keyspace = Keyspace::new(config.databases, seed);
        config.apply_to(&mut keyspace);
        let (run_id, replication_id) = (hex_id(keyspace.rng()), hex_id(keyspace.rng()));
        let table = CommandTable::new(&config.renames);
        let table = Arc::new(table.expect("names are checked when they are loaded"));
        let stats = Stats::new(table.iter_all().len());
        Engine {
            keyspace,
            sessions: Sessions::default(),
            pubsub: PubSub::default(),
            stats,
            table,
            clock,
            now,
            system,
            started: system,
            timeouts: Wheel::new(),
            real_timeouts: Wheel::new(),
            watching_state: Vec::new(),
            scripts: Some(Box::new(scripts::runtime(&config, seed, &control))),
            control,
            host: None,
            woken: Vec::new(),
            work: 0,
            pending_progress: None,
            config,
            process: Process::default(),
            run_id,
            replication_id,
        }
    }

    /// What other threads may see of a running script, and how they stop it.
    pub fn control(&self) -> &Arc<ScriptControl> {
        &self.control
    }

    /// What INFO tells of the process around the engine.
    pub fn set_process(&mut self, process: Process) {
        self.process = process;
    }

    /// A client was turned away, because there are too many.
    pub fn reject_connection(&mut self) {
        self.stats.rejected_connections += 1;
        self.stats.answered_error(b"ERR max number of clients reached");
    }

    /// So many requests of a command were answered `BUSY` while a script was slow.
    pub fn refused_as_busy(&mut self, command: CommandId, count: u64) {
        (0..count).for_each(|_| self.stats.rejected(Some(command), BUSY.as_bytes()));
    }

    /// A client was answered an error of the protocol, for what is no request.
    pub fn count_protocol_error(&mut self) {
        self.stats.answered_error(b"ERR Protocol error");
    }

    /// SCRIPT KILL was answered while the engine was with the script.
    pub fn count_kill(&mut self, command: CommandId, killed: Result<(), KillError>) {
        self.stats.called(command);
        if let Err(error) = killed {
            self.stats.failed(command, kill_error(error).as_bytes());
        }
    }

    /// Begins a batch at an instant of the system's clocks: fires what is due, or a piece of it when it is much.
    pub fn begin(&mut self, system: Now) {
        self.keyspace.drop_garbage();
        self.system = system;
        self.now = self.clock.read(system);
        self.work = 0;
        self.fire_piece();
    }

    /// Goes on with a batch at a later instant. What has come due since is hidden, and fires when the next one begins.
    pub fn go_on_at(&mut self, system: Now) {
        self.system = system;
        self.now = self.clock.read(system);
        self.hide_due();
    }

    /// Whether what was run since the last time, or since the batch began, may have taken long: then the instant is to
    /// be read again. Told by an estimate, since to read the clock for each request would take a tenth of its time.
    #[inline]
    pub fn has_worked(&mut self) -> bool {
        let much = self.work >= MUCH_WORK;
        if much {
            self.work = 0;
        }
        much
    }

    /// What the last batch has left to be freed, if it is much: to be dropped by another thread, after the engine's
    /// lock. What is not taken is freed when the next batch begins.
    pub fn take_garbage(&mut self) -> Option<Garbage> {
        self.keyspace.take_garbage()
    }

    /// A new client. The slot is its handle until [`Engine::disconnect`].
    pub fn connect(&mut self, peer: Peer) -> Slot {
        self.connect_as(self.sessions.next_id(), peer)
    }

    /// A new client with a number that no other has had. Who accepts connections knows their order.
    pub fn connect_as(&mut self, id: u64, peer: Peer) -> Slot {
        self.stats.connections_received += 1;
        let authenticated = self.config.requirepass.is_empty();
        self.sessions.add(id, |slot| Session::new(id, slot, peer, authenticated, self.system))
    }

    /// Whether the client of this slot is there: what was left to be done for one that is gone is not done for the
    /// next in its place.
    pub fn is_connected(&self, slot: Slot) -> bool {
        self.sessions.is_connected(slot)
    }

    /// Goes on after a command of this client has panicked: the client is cut off, and what the command has caused so
    /// far takes its course.
    pub fn recover(&mut self, slot: Slot) {
        self.pending_progress = None;
        let session = self.sessions.get_mut(slot);
        session.replying = false;
        self.cut_off(slot);
        self.commit();
    }

    /// The client is gone: everything that was its own goes too.
    pub fn disconnect(&mut self, slot: Slot) {
        self.unblock(slot);
        self.unwatch(slot);
        self.unsubscribe_all(slot);
        self.sessions.remove(slot);
        self.commit();
    }

    /// Forgets a client whose [`Engine::disconnect`] has panicked.
    pub fn forget(&mut self, slot: Slot) {
        self.sessions.remove(slot);
    }

    /// Takes the output of a session, behind what `into` holds and has not been written yet.
    pub fn take_output(&mut self, slot: Slot, into: &mut Outbox) {
        let session = self.sessions.get_mut(slot);
        into.append(&mut session.out);
        session.unwritten.store(into.len(), Ordering::Relaxed);
        session.woken = false;
    }

    /// The connection has heard that there is news, and will come back for the output.
    pub fn heard(&mut self, slot: Slot) {
        self.sessions.get_mut(slot).woken = false;
    }

    /// Where the connection says how many bytes of what it has taken are not yet written.
    pub fn unwritten(&self, slot: Slot) -> Arc<AtomicUsize> {
        self.sessions.get(slot).unwritten.clone()
    }

    /// Takes the ids of the sessions that have output or news which their own requests did not cause.
    pub fn take_woken(&mut self, into: &mut Vec<u64>) {
        into.append(&mut self.woken);
    }

    /// The system's instant at which the batch began, or was read again.
    pub fn system(&self) -> Now {
        self.system
    }

    /// The session in a slot.
    pub fn session(&self, slot: Slot) -> &Session {
        self.sessions.get(slot)
    }
}

/// Forty random hexadecimal digits, as INFO's `run_id`.
fn hex_id(rng: &mut crate::keyspace::Rng) -> String {
    (0..40).map(|_| char::from_digit(rng.below(16) as u32, 16).unwrap_or('0')).collect()
}
