//! The session of a client: the engine's state for one connection.

use super::buffers::ClientBuffers;
use super::delivery::{Delivery, ReplyDecision};
use super::multi::{Multi, RunningTransaction};
use super::slot::Slot;
use super::subscribed::Subscribed;
use crate::acl::{Login, Users};
use crate::clock::TimerKey;
use crate::persistence::Content;
use crate::spec::CommandId;
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::{Keyspace, Watched};
use lockwheel_store::memory::{ClientBytes, block, vec_heap_bytes};
use lockwheel_store::time::Now;
use std::net::SocketAddr;

/// The origin of a client, as CLIENT LIST shows it.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// The address of the client: `ip:port`, or `path:0` of a unix socket.
    pub addr: String,
    /// The address that the client connected to.
    pub laddr: String,
    /// The descriptor of the client's socket, or 0.
    pub fd: i32,
    /// Whether the client connected through a unix socket.
    pub unix: bool,
    /// Whether the client is another server of this process.
    pub in_process: bool,
}

impl Peer {
    /// Whether the client is on this machine: it connected through a unix socket or the loopback interface.
    pub fn is_local(&self) -> bool {
        self.unix || self.addr.parse().is_ok_and(|addr: SocketAddr| addr.ip().to_canonical().is_loopback())
    }
}

/// The options that a replica has asked for by REPLCONF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplicaWishes {
    /// Whether the replica wants only a snapshot, and no stream after it.
    pub(crate) snapshot_only: bool,
    /// The part of the data that the replica wants.
    pub(crate) content: Content,
}

/// The most bytes of replies that a client may leave unread before it authenticates.
const MAX_UNAUTHENTICATED_BYTES: usize = 1024;

/// The state of one client.
#[derive(Debug)]
pub struct Session {
    /// The number of the client, as CLIENT ID returns it. It is never used again.
    pub id: u64,
    /// The slot of the session.
    pub slot: Slot,
    /// The origin of the client.
    pub peer: Peer,
    /// The selected database.
    pub db: usize,
    /// The protocol of the replies.
    pub protocol: Protocol,
    /// The login with which the client makes requests.
    pub login: Login,
    /// The name, set by CLIENT SETNAME.
    pub name: Box<[u8]>,
    /// The library's name, set by CLIENT SETINFO LIB-NAME.
    pub lib_name: Box<[u8]>,
    /// The library's version, set by CLIENT SETINFO LIB-VER.
    pub lib_ver: Box<[u8]>,
    /// Whether CLIENT NO-EVICT is on.
    pub no_evict: bool,
    /// Whether CLIENT NO-TOUCH is on.
    pub no_touch: bool,
    /// Whether the client runs MONITOR, and is shown every call.
    pub(crate) is_monitor: bool,
    /// Whether the client is a replica, which is sent the stream of changes.
    pub(crate) is_replica: bool,
    /// Whether the client is this server's master, which sends the stream.
    pub(crate) is_master: bool,
    pub(crate) replica: ReplicaWishes,
    pub(crate) connected: Now,
    /// The instant at which the client last sent something, or was answered after a wait.
    pub(crate) last_active: Now,
    /// The timer that closes the connection after too long an idle time.
    pub(crate) idle_timer: Option<TimerKey>,
    pub(crate) lease_timer: Option<TimerKey>,
    /// Bytes of unread output at the last idle check.
    pub(crate) unread_when_idle: usize,
    /// The number of partial reads at the last idle check.
    pub(crate) partial_reads_when_idle: usize,
    pub(crate) last_command: Option<CommandId>,
    pub(crate) multi: Option<Multi>,
    pub(crate) running: Option<RunningTransaction>,
    /// The watched keys, each with its database.
    pub(crate) watched: Vec<(usize, Box<[u8]>)>,
    /// The counted bytes of memory of the watched keys.
    watched_memory: usize,
    /// Whether a watched key has changed.
    pub(crate) watch_broken: bool,
    pub(crate) channels: Subscribed,
    pub(crate) patterns: Subscribed,
    /// The shard channels.
    pub(crate) shards: Subscribed,
    /// The counted bytes of memory of the three sets of subscriptions.
    subscribed_memory: usize,
    /// Whether the client is blocked; its request is parked.
    pub(crate) blocked: bool,
    /// The batch in which the client's last wait ended. 0: no wait has ended.
    pub(crate) unblocked_in: u64,
    /// The way in which the connection is to be closed. `None`: it stays open.
    pub(crate) closing: Option<Closing>,
    /// Whether the connection is reset instead of closed in order.
    pub(crate) resets: bool,
    pub(crate) delivery: Delivery,
    /// The instant at which the output passed the soft limit, in real milliseconds.
    pub(crate) over_soft_since: Option<i64>,
    /// Bytes of pushes about locks since the client last read all output.
    pub(crate) pushed_bytes: usize,
    /// The timer that checks whether the output has been over the soft limit for too long.
    pub(crate) output_timer: Option<TimerKey>,
    /// Whether the session is already queued to be woken.
    pub(crate) woken: bool,
    /// Whether the history omits the client: it was turned away, or cut off when the server was reset.
    pub(crate) is_unrecorded: bool,
}

/// The way in which a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// After its output has been written.
    AfterOutput,
    /// At once.
    Now,
}

impl Session {
    /// Whether the session runs the requests of a file that is being loaded.
    pub(crate) fn loads_file(&self) -> bool {
        self.is_master && self.is_unrecorded
    }

    /// Whether the client accepts pushes.
    pub(crate) fn takes_pushes(&self) -> bool {
        self.protocol == Protocol::Resp3 && self.closing.is_none() && !self.is_replica
    }

    /// Whether the client has logged in, or needs no login.
    #[inline]
    pub fn is_authenticated(&self, users: &Users) -> bool {
        users.are_satisfied_by(self.login)
    }

    pub(crate) fn new(
        id: u64,
        slot: Slot,
        peer: Peer,
        login: Login,
        now: Now,
        account: &ClientBytes,
    ) -> Self {
        Session {
            id,
            slot,
            peer,
            db: 0,
            protocol: Protocol::Resp2,
            login,
            name: Box::default(),
            lib_name: Box::default(),
            replica: ReplicaWishes::default(),
            lib_ver: Box::default(),
            no_evict: false,
            no_touch: false,
            is_monitor: false,
            is_replica: false,
            is_master: false,
            connected: now,
            last_active: now,
            idle_timer: None,
            lease_timer: None,
            unread_when_idle: 0,
            partial_reads_when_idle: 0,
            last_command: None,
            multi: None,
            running: None,
            watched: Vec::new(),
            watched_memory: 0,
            watch_broken: false,
            channels: Subscribed::default(),
            patterns: Subscribed::default(),
            shards: Subscribed::default(),
            subscribed_memory: 0,
            blocked: false,
            unblocked_in: 0,
            closing: None,
            resets: false,
            delivery: Delivery::new(account),
            over_soft_since: None,
            pushed_bytes: 0,
            output_timer: None,
            woken: false,
            is_unrecorded: false,
        }
    }

    /// Bytes of memory of a session itself, including the counters of its buffers.
    pub(crate) const OWN_MEMORY: usize =
        block(size_of::<Session>()) + block(size_of::<ClientBuffers>() + 2 * size_of::<usize>());

    /// Bytes of memory of the session and its buffers, without shared messages. O(1).
    pub(crate) fn memory(&self) -> usize {
        Session::OWN_MEMORY + self.delivery.buffers().memory()
    }

    /// The part of [`Session::memory`] that counts towards `maxmemory-clients`, in bytes. O(1).
    pub(crate) fn limited_memory(&self) -> usize {
        Session::OWN_MEMORY + self.delivery.buffers().limited()
    }

    /// The number of channels and patterns that the client is subscribed to.
    #[inline]
    pub fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether the client has any subscription, including shard channels.
    #[inline]
    pub fn is_subscribed(&self) -> bool {
        self.subscriptions() + self.shards.len() > 0
    }

    /// Adds a watched key. O(1).
    pub(crate) fn watch(&mut self, db: usize, key: &[u8]) {
        let before = vec_heap_bytes(&self.watched);
        self.watched.push((db, key.into()));
        let memory = self.watched_memory + block(key.len()) + vec_heap_bytes(&self.watched) - before;
        self.count_watched(memory);
    }

    /// Resets the session, as RESET does: this login, database 0, RESP2, and no transaction.
    pub(crate) fn begin_anew(&mut self, login: Login) {
        self.multi = None;
        self.db = 0;
        self.protocol = Protocol::Resp2;
        self.login = login;
        self.delivery.mode.reset();
        self.no_evict = false;
        self.no_touch = false;
    }

    /// Removes all watched keys and the mark that one has changed. Returns the keys. O(n log watchers).
    pub(crate) fn unwatch(&mut self, keyspace: &mut Keyspace) -> Watched {
        self.watch_broken = false;
        if !self.watched.is_empty() {
            self.count_watched(0);
        }
        for (db, key) in &self.watched {
            keyspace.unwatch(*db, key, self.id);
        }
        Watched(std::mem::take(&mut self.watched))
    }

    fn count_watched(&mut self, memory: usize) {
        self.delivery.buffers().change_state(self.watched_memory, memory);
        self.watched_memory = memory;
    }

    /// Bytes of memory of the watched keys. O(1).
    pub(crate) fn watched_memory(&self) -> usize {
        self.watched_memory
    }

    /// Updates the account with the memory of all subscriptions, after one has changed. O(1).
    pub(crate) fn count_subscriptions(&mut self) {
        let memory = self.channels.memory() + self.patterns.memory() + self.shards.memory();
        self.delivery.buffers().change_state(self.subscribed_memory, memory);
        self.subscribed_memory = memory;
    }

    /// Whether the unread output is so little that any client, authenticated or not, may have it: it is over no limit
    /// then. False for a replica over its soft limit, which may count more than its own output.
    #[inline]
    pub(crate) fn keeps_up(&mut self) -> bool {
        let is_little = self.delivery.pending() <= MAX_UNAUTHENTICATED_BYTES;
        if is_little && self.over_soft_since.is_some() {
            if self.is_replica {
                return false;
            }
            self.over_soft_since = None;
        }
        is_little
    }

    /// Whether the client gets only replies, and is over no limit.
    pub(crate) fn is_ordinary(&self) -> bool {
        !self.is_replica && !self.is_monitor && !self.is_subscribed() && self.over_soft_since.is_none()
    }

    /// Whether the output must be written before the next request runs.
    pub fn has_much_output(&self) -> bool {
        /// The size of the output, in bytes.
        const MUCH: usize = 256 * 1024;
        self.delivery.out().len() > MUCH
    }

    /// Whether the client waits for a key or a state.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether the client is between MULTI and EXEC.
    pub fn is_in_transaction(&self) -> bool {
        self.multi.is_some()
    }

    /// Whether the client has asked for no reply to the present request.
    pub fn is_muted(&self) -> bool {
        self.delivery.mode.verdict() == ReplyDecision::Drop
    }

    /// Returns the way in which the connection is to be closed now, if any. A connection that closes after its output
    /// stays open while a reply is held back, because that reply is part of the output.
    pub fn closing(&self) -> Option<Closing> {
        self.closing.filter(|how| *how == Closing::Now || !self.delivery.is_replying())
    }

    /// Whether the connection is reset when it closes. Output that the client has not received is then lost.
    pub fn resets(&self) -> bool {
        self.resets
    }

    /// Asks for the connection to be closed; `Now` overrides `AfterOutput`.
    pub(crate) fn close(&mut self, how: Closing) {
        if self.closing != Some(Closing::Now) {
            self.closing = Some(how);
        }
    }
}
