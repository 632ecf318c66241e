//! Faults of servers that share a process: one is killed and comes back, is promoted, or follows another.

use super::super::engine::Engine;
use super::super::progress::Stop;
use super::failover::dumped;
use crate::clients::{Closing, Session, Slot};
use crate::faults::DataFate;
use crate::faults::{Group, Link, Partition};
use crate::locks::{self, Happening, HistoryEvent, MergedHistory};
use crate::member::Promotion;
use crate::replication::Replication;
use crate::sentinel::SentinelLine;
use crate::spec::{Args, CommandError};
use lockwheel_resp::{Batch, RequestLimits, RequestParser};
use lockwheel_store::time::Mode;
use lockwheel_store::values::Value;

/// The most keys that an entry of the history names.
const NAMED_MAX: usize = 100;

/// A key: its database, its name, and its value as in a dump.
pub(crate) type DumpedKey = (usize, Vec<u8>, Vec<u8>);

/// What a master has told a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// It was not its master.
    Nothing,
    /// Its history up to this offset.
    UpTo(i64),
    /// Not even the beginning: what the replica has is of another history.
    OfAnother,
}

impl Engine {
    /// Ends as a process does that is killed: connections are gone, but for that of `caller`, which is closed when it
    /// has been answered. So are keys, scripts and functions, unless they are kept. Nobody is let in before this
    /// instant of the monotonic clock.
    pub(crate) fn go_down(&mut self, until_ms: i64, caller: Option<u64>, data: DataFate) {
        let knows_history = data == DataFate::Kept && self.replication().knows_its_history();
        self.end_replication();
        self.leave_nodes();
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            let id = self.sessions.get(slot).id;
            if caller == Some(id) {
                continue;
            }
            if self.faults.orphans.contains_key(&id) {
                self.unblock(slot);
                self.disconnect(slot);
            } else if self.sessions.get(slot).closing != Some(Closing::Now) || self.faults.is_dying {
                self.cut_off(slot);
            }
        }
        self.outbound.forget_all();
        // Replicas were not told what its last script has changed.
        let has_kept_history = knows_history && !self.faults.is_dying;
        if !has_kept_history {
            self.forget_data_history();
        }
        if data == DataFate::Lost {
            self.lose_data();
        }
        self.faults.has_kept_history = has_kept_history;
        (self.faults.down_until_ms, self.faults.is_dying) = (Some(until_ms), false);
        self.faults.killed_its_own = caller;
        self.follow_doors();
        self.commit();
    }

    /// Loses all that the process had but its configuration.
    fn lose_data(&mut self) {
        self.keyspace.end_lag();
        self.environment.identity.reset(self.keyspace.rng());
        let now = self.clock.now();
        self.as_another_did(|engine| {
            locks::failing_over(&mut engine.keyspace, |keyspace| {
                keyspace.tx(0, now).flush_all();
            });
        });
        let seed = self.start.seed;
        self.scripts.reset(&self.config, seed);
    }

    /// Nothing is known of the history that the data were of: a master is asked for all of it.
    pub(in crate::core) fn forget_data_history(&mut self) {
        self.replication = Replication::new(self.keyspace.rng());
        self.replication_begins_anew();
    }

    /// While a script runs: it is killed before the [`go_down`](Self::go_down) that waits for its end, and what it has
    /// changed goes nowhere, as of a process that is killed, nor does its answer. Whether there is one, which the
    /// caller ends.
    pub fn die_ahead(&mut self) -> bool {
        let caller = self.sessions.slots().find(|slot| self.runs_script_of(*slot));
        if let Some(slot) = caller {
            self.faults.is_dying = true;
            let session = self.sessions.get_mut(slot);
            session.delivery.cut();
            session.close(Closing::Now);
        }
        caller.is_some()
    }

    /// Comes back as a process that begins: in the role that it had.
    pub(crate) fn come_up(&mut self) {
        self.begin_again();
        self.commit();
    }

    /// Does the same within a command.
    pub(super) fn begin_again(&mut self) {
        self.faults.down_until_ms = None;
        self.follow_doors();
        if let Some((host, port)) = self.config.replication.master_address() {
            match self.faults.has_kept_history {
                true => self.follow_master(host, port),
                false => self.follow(host, port, false),
            }
        }
        self.follow_view();
        self.begin_sentinel_anew();
    }

    /// Ends for good, as nobody is left who could bring it back.
    pub(crate) fn end_while_down(&mut self) {
        self.stop = Some(Stop::Shutdown);
    }

    /// Whether it was killed and has not come back.
    pub(crate) fn was_killed(&self) -> bool {
        self.faults.down_until_ms.is_some()
    }

    /// When it comes back, by the monotonic clock, if it does so by itself.
    pub(crate) fn comes_up_at(&self) -> Option<i64> {
        self.faults.down_until_ms.filter(|until_ms| *until_ms != i64::MAX)
    }

    /// Whether its clock runs by itself.
    pub(crate) fn clock_runs(&self) -> bool {
        self.clock.mode() == Mode::Real
    }

    /// Whether it may come back now.
    pub(crate) fn may_come_up(&self) -> bool {
        self.was_killed() && !self.is_down()
    }

    /// A sentinel that begins knows what its configuration says.
    fn begin_sentinel_anew(&mut self) {
        let lines = self.sentinel_lines();
        let lines = lines.into_iter().map(|(name, values, _)| {
            let words = std::iter::once(name.as_bytes().to_vec()).chain(values).collect();
            SentinelLine { number: 0, text: name.to_owned(), words }
        });
        let lines: Vec<SentinelLine> = lines.collect();
        let now_ms = self.clock.now().monotonic_ms();
        let Some(watching) = &mut self.sentinel else { return };
        watching.begin_anew(&lines, now_ms, (self.config.shown_port(), &self.config.requirepass));
        self.begin_as_sentinel();
    }

    /// The numbers of grants go on behind this one.
    pub(crate) fn grants_go_on_after(&mut self, last: u64) {
        locks::numbers_go_on_after(&mut self.keyspace.tx(0, self.clock.now()), last);
    }

    /// The numbers of grants begin anew.
    pub(crate) fn grants_begin_anew(&mut self) {
        locks::restart_numbers(&mut self.keyspace.tx(0, self.clock.now()));
    }

    /// The number of the last grant.
    pub(crate) fn last_grant(&mut self) -> u64 {
        locks::last_number(&mut self.keyspace.tx(0, self.clock.now()))
    }

    /// What its keys hold by grants of other servers is held by these here, too: it takes over.
    pub(crate) fn inherit_holds(&mut self, history: &MergedHistory) {
        locks::inherit_holds(&mut self.keyspace, history, self.clock.now());
    }

    /// The same of keys that MIGRATE has brought.
    pub(crate) fn receive_holds(&mut self, history: &MergedHistory) {
        locks::receive_holds(&mut self.keyspace, history, self.clock.now());
    }

    /// All clients are cut but this one, those that are exempt from faults, and these, which are no clients.
    pub(crate) fn cut_clients(&mut self, but: u64, links: &[Slot]) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            let session = self.sessions.get(slot);
            let id = session.id;
            let is_client = !session.is_master && !links.contains(&slot) && id != but;
            if is_client && !self.faults.exempt.contains(&id) && session.closing != Some(Closing::Now) {
                self.cut_off(slot);
            }
        }
    }

    /// Where the master is that it follows; when it was killed, the one that it follows when it comes back.
    pub(crate) fn followed(&self) -> Option<(&str, u16)> {
        if self.was_killed() {
            let [host, port] = &self.config.replication.master[..] else { return None };
            return Some((host, port.parse().ok()?));
        }
        self.following.as_ref().map(|following| (following.host(), following.port()))
    }

    /// It follows this master when it comes back.
    pub(crate) fn follows_when_up(&mut self, host: &str, port: u16) {
        self.config.replication.master = vec![host.to_owned(), port.to_string()];
    }

    /// How far it is in the history of a master's data, if that is what it has.
    pub(crate) fn offset_in_history_of(&self, master: &Engine) -> Option<i64> {
        let is_follower = self.following.is_some() && master.replication().feeds_replicas();
        (is_follower && self.replication.id() == master.replication.id()).then_some(self.replication.offset())
    }

    /// Whether it was the master of a replica that has just become one.
    pub(crate) fn has_fed(&self, promotion: &Promotion) -> Fed {
        // Who hands its part over by FAILOVER follows already.
        if !self.replication().feeds_replicas() && !self.replication.fails_over() {
            return Fed::Nothing;
        }
        match self.replication.knows(promotion.id, promotion.offset) {
            true => Fed::UpTo(promotion.offset),
            false => Fed::OfAnother,
        }
    }

    /// Each key with its bytes in a dump. O(all keys and values).
    pub(crate) fn dumped_keys(&mut self) -> Vec<DumpedKey> {
        let mut all = Vec::new();
        for db in 0..self.keyspace.databases() {
            let tx = self.keyspace.tx(db, self.clock.now());
            let mut cursor = 0;
            loop {
                let see = &mut |key: &[u8], value: &Value| all.push((db, key.to_vec(), dumped(value)));
                cursor = tx.scan(cursor, 1000, see);
                if cursor == 0 {
                    break;
                }
            }
        }
        all
    }

    /// Whether it has a key with this value.
    pub(crate) fn has_dumped(&mut self, (db, key, value): &DumpedKey) -> bool {
        self.keyspace.tx(*db, self.clock.now()).peek(key).is_some_and(|its| dumped(its) == *value)
    }

    /// The first keys of what its stream has behind an offset, as many as an entry of the history names, each once; and
    /// whether that is all.
    fn written_since(&self, offset: i64) -> (Vec<Vec<u8>>, bool) {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let Some(bytes) = self.replication.stream_since(offset + 1) else { return (keys, false) };
        let (mut parser, mut batch, limits) = (RequestParser::new(), Batch::new(), RequestLimits::default());
        let mut at = 0;
        while at < bytes.len() && keys.len() <= NAMED_MAX {
            let parsed = parser.parse(&bytes[at..], &limits, &mut batch);
            for request in 0..batch.len() {
                batch.with_arguments(request, &bytes[at..], |argv| {
                    for key in self.keys_of_request(argv) {
                        if !keys.contains(&key) {
                            keys.push(key);
                        }
                    }
                });
            }
            at += batch.consumed();
            if parsed.is_err() || batch.consumed() == 0 {
                break;
            }
        }
        let is_all = keys.len() <= NAMED_MAX;
        keys.truncate(NAMED_MAX);
        (keys, is_all)
    }

    fn keys_of_request(&self, argv: &[&[u8]]) -> Vec<Vec<u8>> {
        let args = Args::new(argv);
        let Some(command) = self.commands.resolve(args) else { return Vec::new() };
        super::subject::keys_of(command, args).into_iter().map(<[u8]>::to_vec).collect()
    }

    /// Writes into the history of locks, while it is on, that the replica at this place had not been told of what is
    /// behind an offset of the stream.
    pub(crate) fn note_lost_writes(&mut self, replica: usize, offset: i64) {
        if !self.config.lock_history {
            return;
        }
        let (keys, is_all) = self.written_since(offset);
        self.note_lost_keys(replica, keys, is_all);
    }

    /// The same of these keys, of which the replica had not been told; `is_all`: there are no more. Of more than an
    /// entry names the first.
    pub(crate) fn note_lost_keys(&mut self, replica: usize, mut keys: Vec<Vec<u8>>, is_all: bool) {
        let is_all = is_all && keys.len() <= NAMED_MAX;
        keys.truncate(NAMED_MAX);
        if !self.config.lock_history || (keys.is_empty() && is_all) {
            return;
        }
        let mut text = format!("LOST {replica} ").into_bytes();
        text.extend_from_slice(&keys.join(&b' '));
        if !is_all {
            text.extend_from_slice(b" ...");
        }
        let what =
            Happening { client: Some(0), text: &text, ..Happening::new(HistoryEvent::Fault, b"", b"") };
        locks::happened(&mut self.keyspace, self.clock.now(), what);
    }

    /// Cuts the server off from its clients but `spared`, and but those that are exempt; how many they are now.
    ///
    /// # Errors
    /// When there are too many partitions.
    pub(crate) fn part_from_clients(
        &mut self,
        link: Link,
        spared: u64,
        links: &[Slot],
    ) -> Result<usize, CommandError> {
        let is_client = |session: &&Session| {
            let id = session.id;
            !session.is_master && id != spared && !self.faults.exempt.contains(&id)
        };
        let members =
            self.sessions.live().filter(is_client).filter(|session| !links.contains(&session.slot)).count();
        self.part(Partition { group: Group::All, link, spared })?;
        Ok(members)
    }
}
