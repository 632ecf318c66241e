//! The stream of a master: its snapshot is loaded, its requests are run.

use super::super::append_only::append_streamed;
use super::super::engine::Engine;
use super::disk;
use crate::clients::Slot;
use crate::finally::finally;
use crate::outbound::{OutboundEvent, OutboundId};
use crate::propagation::Annotation;
use crate::replication::{LinkStep, ReplicaLink, ReplicationId, is_streamed, to_be_run};
use crate::spec::Args;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Handles an event of the connection to the master.
    pub(in crate::core) fn master_link(&mut self, id: OutboundId, event: OutboundEvent<'_>) {
        let Some(slot) = self.change_replication(|control| control.hear(id)) else { return };
        if let OutboundEvent::Closed { reason } = event {
            return self.change_replication(|control| control.link_closed(reason));
        }
        if catch_unwind(AssertUnwindSafe(|| self.follow_link(event))).is_err() {
            self.change_replication(|control| control.miss_change());
            self.recover(slot);
        }
        self.change_replication(|control| control.flush_link());
        self.commit();
    }

    fn follow_link(&mut self, event: OutboundEvent<'_>) {
        match (self.following.as_mut(), event) {
            (Some(following), OutboundEvent::Opened) => following.opened(),
            (Some(following), OutboundEvent::Received(bytes)) => following.received(bytes),
            _ => {}
        }
        while let Some(step) = self.following.as_mut().and_then(ReplicaLink::next_step) {
            match step {
                LinkStep::TakenOn => self.change_replication(|control| control.end_failover()),
                LinkStep::GoOn(id) => {
                    self.change_replication(|control| control.rename_history(id));
                    self.change_replication(|control| control.go_on_with_stream());
                }
                LinkStep::Load { file, id, offset } => self.take_snapshot(&file, (id, offset)),
                LinkStep::Run(words) if disk::ends_server(self, &words) => return,
                LinkStep::Run(words) => self.run_streamed(&words),
                LinkStep::Down(why) => return self.change_replication(|control| control.link_down(&why)),
            }
        }
    }

    /// Loads a complete snapshot in place of the data, or nothing.
    fn take_snapshot(&mut self, file: &[u8], (id, offset): (ReplicationId, i64)) {
        tracing::info!("MASTER <-> REPLICA sync: Flushing old data");
        tracing::info!("MASTER <-> REPLICA sync: Loading DB in memory");
        match self.as_another_did(|engine| engine.data_loader().replace(file)) {
            Ok(selected) => {
                self.change_replication(|control| control.cut_replicas());
                self.change_replication(|control| control.loaded(selected, (id, offset)));
                self.change_append_only(|control| control.begin_anew());
            }
            Err(why) => {
                let why = format!("Failed trying to load the MASTER synchronization DB from disk: {why}");
                self.change_replication(|control| control.link_down(&why));
            }
        }
    }

    /// Runs a request of the stream, if not empty, and passes it on unchanged.
    fn run_streamed(&mut self, words: &[Vec<u8>]) {
        let Some(slot) = self.following.as_ref().map(ReplicaLink::slot) else { return };
        if let Some(Annotation::LastGrant(number)) = Annotation::of_request(words) {
            self.keyspace.numbers_go_on_after(number);
        } else if let Some(name) = words.first().filter(|name| !Annotation::is_request(name)) {
            let argv = to_be_run(words);
            if is_streamed(&self.commands, Args::new(&argv)) {
                let db = self.sessions.get(slot).db;
                self.run_as_master(slot, &argv);
                append_streamed(self, slot, db, &argv);
            } else {
                tracing::warn!(
                    "The replication stream contains a command that is not a change: {}",
                    name.escape_ascii()
                );
            }
        }
        self.change_replication(|control| control.pass_on_stream());
    }

    /// Runs a request of the master, which alone makes keys expire.
    fn run_as_master(&mut self, slot: Slot, argv: &[&[u8]]) {
        let hidden = self.keyspace.set_expiry_backlog(None);
        // As in Redis, this server's limits do not hold for its master.
        let max_string = std::mem::replace(&mut self.keyspace.max_string, i64::MAX as usize);
        finally(
            self,
            |engine| engine.as_another_did(|engine| engine.execute_request(slot, argv)),
            |engine| {
                engine.keyspace.set_expiry_backlog(hidden);
                engine.keyspace.max_string = max_string;
            },
        );
        if self.following.as_ref().is_some_and(ReplicaLink::lacks_change) {
            self.change_replication(|control| control.miss_change());
        }
    }
}
