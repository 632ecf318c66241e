//! Faults of servers that share a process: one is killed and comes back, is promoted, or follows another.

use super::super::engine::Engine;
use super::acted::MAX_NAMED_KEYS;
use crate::clients::{Closing, Session};
use crate::cluster::Gossip;
use crate::faults::DataFate;
use crate::locks::Grants;
use crate::persistence::KeyDumps;

impl Engine {
    /// Ends as a process does that is killed: connections are gone, but for that of `caller`, which is closed when it
    /// has been answered. So are keys, scripts and functions, unless they are kept. Nobody is let in before this
    /// instant of the monotonic clock.
    pub(crate) fn go_down(&mut self, until_ms: i64, caller: Option<u64>, data: DataFate) {
        let knows_history = data == DataFate::Kept && self.replication().knows_its_history();
        self.end_replication();
        self.with_gossip(Gossip::end);
        self.cluster.iter_mut().for_each(|cluster| cluster.forget_links());
        self.change_faults(|control, _| {
            let is_spared = |session: &Session| caller == Some(session.id);
            control.faults.cut(control.sessions, is_spared, &mut control.step);
        });
        self.outbound.forget_all();
        // Replicas were not told what its last script has changed.
        let has_kept_history = knows_history && !self.faults.outage.is_dying();
        if !has_kept_history {
            self.change_replication(|control| control.forget_history());
        }
        if data == DataFate::Lost {
            self.environment.identity.reset(self.keyspace.rng());
            self.lose_data(None, true);
        }
        self.change_faults(|control, _| {
            control.faults.outage.kill(until_ms, caller, has_kept_history, &mut control.step);
        });
        self.commit();
    }

    /// While a script runs: it is killed before the [`go_down`](Self::go_down) that waits for its end, and what it has
    /// changed goes nowhere, as of a process that is killed, nor does its answer. Whether there is one, which the
    /// caller ends.
    pub fn die_ahead(&mut self) -> bool {
        let caller = self.sessions.slots().find(|slot| self.runs_script_of(*slot));
        if let Some(slot) = caller {
            self.faults.outage.announce_kill();
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
        self.change_faults(|control, _| control.end_outage());
        if let Some((host, port)) = self.config.replication.master_address() {
            match self.faults.outage.has_kept_history() {
                true => self.follow_master(host, port),
                false => self.follow(host, port, false),
            }
        }
        self.follow_master_of_view();
        self.with_gossip(Gossip::sync);
        let now_ms = self.clock.now().monotonic_ms();
        if let Some(sentinel) = &mut self.sentinel {
            sentinel.begin_anew(&self.config, now_ms);
            self.begin_as_sentinel();
        }
    }

    /// Returns the numbers of grants, and the holds that other servers have granted.
    pub(crate) fn grants(&mut self) -> Grants<'_> {
        Grants::new(&mut self.keyspace, self.clock.now())
    }

    /// Returns the keys with their values as in a dump.
    pub(crate) fn key_dumps(&mut self) -> KeyDumps<'_> {
        KeyDumps::new(&mut self.keyspace, self.clock.now())
    }

    /// Writes into the history of locks, while it is on, that the replica at this place had not been told of what is
    /// behind an offset of the stream.
    pub(crate) fn note_lost_writes(&mut self, replica: usize, offset: i64) {
        if self.config.lock_history {
            let (keys, is_all) = self.replication.keys_written_since(offset, &self.commands, MAX_NAMED_KEYS);
            self.history().lost_keys(replica, keys, is_all);
        }
    }
}
