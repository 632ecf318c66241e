//! What the engine knows of a client.

use super::buffers::ClientBuffers;
use super::delivery::{Delivery, Verdict};
use super::multi::{Multi, RunningTransaction};
use super::slot::Slot;
use super::subscribed::Subscribed;
use crate::acl::{Login, Users};
use crate::clock::TimerKey;
use crate::persistence::Content;
use crate::spec::CommandId;
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::{Keyspace, Watched};
use lockwheel_store::memory::{ClientBytes, block, of_vec};
use lockwheel_store::time::Now;
use std::net::SocketAddr;

/// Where a client comes from, as CLIENT LIST shows it.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Its address: `ip:port`, or `path:0` of a unix socket.
    pub addr: String,
    /// The address it connected to.
    pub laddr: String,
    /// The number of its socket, or 0.
    pub fd: i32,
    /// Whether it came by a unix socket.
    pub unix: bool,
    /// Whether it is another server of this process.
    pub in_process: bool,
}

impl Peer {
    /// Whether it is on this machine: it came by a unix socket or from the loopback interface.
    pub fn is_local(&self) -> bool {
        self.unix || self.addr.parse().is_ok_and(|addr: SocketAddr| addr.ip().to_canonical().is_loopback())
    }
}

/// What a client that says that it is a replica wants (REPLCONF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplicaWishes {
    /// A snapshot, and nothing after it.
    pub(crate) snapshot_only: bool,
    /// What of the data.
    pub(crate) content: Content,
}

/// The most bytes of replies that a client may leave unread before it has authenticated.
const UNAUTHENTICATED_MAX: usize = 1024;

/// One client.
#[derive(Debug)]
pub struct Session {
    /// Its number, as CLIENT ID gives it; never given again.
    pub id: u64,
    /// Where it is kept.
    pub slot: Slot,
    /// Where it comes from.
    pub peer: Peer,
    /// The selected database.
    pub db: usize,
    /// The protocol of its replies.
    pub protocol: Protocol,
    /// As whom it makes requests.
    pub login: Login,
    /// CLIENT SETNAME's.
    pub name: Box<[u8]>,
    /// CLIENT SETINFO's LIB-NAME.
    pub lib_name: Box<[u8]>,
    /// CLIENT SETINFO's LIB-VER.
    pub lib_ver: Box<[u8]>,
    /// CLIENT NO-EVICT.
    pub no_evict: bool,
    /// CLIENT NO-TOUCH.
    pub no_touch: bool,
    /// It is shown every call: MONITOR.
    pub(crate) is_monitor: bool,
    /// It is a replica: it is sent the stream of changes.
    pub(crate) is_replica: bool,
    /// It is this server's master: it sends the stream.
    pub(crate) is_master: bool,
    /// What it has asked for as a replica.
    pub(crate) replica: ReplicaWishes,
    /// When it connected.
    pub(crate) connected: Now,
    /// When it last sent something, or was answered after a wait.
    pub(crate) last_active: Now,
    /// Closes it when it has been idle for too long.
    pub(crate) idle_timer: Option<TimerKey>,
    /// Renews its leases.
    pub(crate) lease_timer: Option<TimerKey>,
    /// How much unread output it had at the last idle check.
    pub(crate) unread_when_idle: usize,
    /// How often it had sent a part of a request when it was last looked at for being idle.
    pub(crate) partial_reads_when_idle: usize,
    pub(crate) last_command: Option<CommandId>,
    pub(crate) multi: Option<Multi>,
    /// The transaction that the client's EXEC is running.
    pub(crate) running: Option<RunningTransaction>,
    /// The keys it watches.
    pub(crate) watched: Vec<(usize, Box<[u8]>)>,
    /// Bytes of memory of their names and places that are counted.
    watched_memory: usize,
    /// A watched key has changed.
    pub(crate) watch_broken: bool,
    pub(crate) channels: Subscribed,
    pub(crate) patterns: Subscribed,
    /// Channels of shards.
    pub(crate) shards: Subscribed,
    /// Bytes of memory of all three that are counted.
    subscribed_memory: usize,
    /// It waits; its request is parked.
    pub(crate) blocked: bool,
    /// The batch in which its last wait ended; 0: none has.
    pub(crate) unblocked_in: u64,
    /// The connection is to be closed: once its output is written, or at once.
    pub(crate) closing: Option<Closing>,
    /// Whether the connection is reset, rather than closed, when it is to be closed.
    pub(crate) resets: bool,
    /// Its output.
    pub(crate) delivery: Delivery,
    /// When the output passed the soft limit, in real milliseconds.
    pub(crate) over_soft_since: Option<i64>,
    /// Bytes of pushes about locks since all output was read last.
    pub(crate) pushed_bytes: usize,
    /// The timer that checks whether it has been over the soft limit for too long.
    pub(crate) output_timer: Option<TimerKey>,
    /// It is already queued to be woken.
    pub(crate) woken: bool,
    /// Whether the history leaves it out: it was turned away, or cut off when the server began anew.
    pub(crate) is_unrecorded: bool,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// After its output has been written.
    AfterOutput,
    /// At once.
    Now,
}

impl Session {
    /// Whether its client can be pushed something.
    pub(crate) fn takes_pushes(&self) -> bool {
        self.protocol == Protocol::Resp3 && self.closing.is_none() && !self.is_replica
    }

    /// Whether the client has logged in, or needs not.
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

    /// Bytes of memory of a session itself, with the counters of its buffers.
    pub(crate) const OWN_MEMORY: usize =
        block(size_of::<Session>()) + block(size_of::<ClientBuffers>() + 2 * size_of::<usize>());

    /// Bytes of memory of the session and of all that is its own, but for messages that it shares. O(1).
    pub(crate) fn memory(&self) -> usize {
        Session::OWN_MEMORY + self.delivery.buffers().memory()
    }

    /// The bytes of these that count towards `maxmemory-clients`. O(1).
    pub(crate) fn limited_memory(&self) -> usize {
        Session::OWN_MEMORY + self.delivery.buffers().limited()
    }

    /// How many channels and patterns it is subscribed to.
    #[inline]
    pub fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    /// Whether it is subscribed to anything, a channel of a shard too.
    #[inline]
    pub fn is_subscribed(&self) -> bool {
        self.subscriptions() + self.shards.len() > 0
    }

    /// Watches one more key. O(1).
    pub(crate) fn watch(&mut self, db: usize, key: &[u8]) {
        let before = of_vec(&self.watched);
        self.watched.push((db, key.into()));
        let memory = self.watched_memory + block(key.len()) + of_vec(&self.watched) - before;
        self.count_watched(memory);
    }

    /// Begins anew, as RESET says: with this login, in database 0, on RESP2, without a transaction.
    pub(crate) fn begin_anew(&mut self, login: Login) {
        self.multi = None;
        self.db = 0;
        self.protocol = Protocol::Resp2;
        self.login = login;
        self.delivery.mode.reset();
        self.no_evict = false;
        self.no_touch = false;
    }

    /// Forgets the watched keys, and that one has changed. Returns the keys. O(n log watchers).
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

    /// Bytes of memory of the keys that it watches. O(1).
    pub(crate) fn watched_memory(&self) -> usize {
        self.watched_memory
    }

    /// Counts what its channels and patterns take, after one has changed. O(1).
    pub(crate) fn count_subscriptions(&mut self) {
        let memory = self.channels.memory() + self.patterns.memory() + self.shards.memory();
        self.delivery.buffers().change_state(self.subscribed_memory, memory);
        self.subscribed_memory = memory;
    }

    /// Whether it has left no more unread than anybody may, authenticated or not; then it is over no limit. A replica
    /// over its soft limit may lack more than its own output.
    #[inline]
    pub(crate) fn keeps_up(&mut self) -> bool {
        let is_little = self.delivery.pending() <= UNAUTHENTICATED_MAX;
        if is_little && self.over_soft_since.is_some() {
            if self.is_replica {
                return false;
            }
            self.over_soft_since = None;
        }
        is_little
    }

    /// Whether it gets nothing but replies, and is over no limit.
    pub(crate) fn is_ordinary(&self) -> bool {
        !self.is_replica && !self.is_monitor && !self.is_subscribed() && self.over_soft_since.is_none()
    }

    /// Whether its replies are to be written before more are made.
    pub fn has_much_output(&self) -> bool {
        /// Bytes.
        const MUCH: usize = 256 * 1024;
        self.delivery.out().len() > MUCH
    }

    /// Whether it waits for a key or a state.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Whether it is between MULTI and EXEC.
    pub fn is_in_transaction(&self) -> bool {
        self.multi.is_some()
    }

    /// Whether it has asked for no reply to the present request.
    pub fn is_muted(&self) -> bool {
        self.delivery.mode.verdict() == Verdict::Drop
    }

    /// Returns how its connection is to be closed, if it is. One that closes after its output stays open while a reply
    /// is held back, which belongs to that.
    pub fn closing(&self) -> Option<Closing> {
        self.closing.filter(|how| *how == Closing::Now || !self.delivery.is_replying())
    }

    /// Whether its connection is then reset: what the client has not received is lost.
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
