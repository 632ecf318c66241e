//! Client-side caching: clients are notified of changes to the keys that they have read.

use super::call::Call;
use super::engine::Engine;
use super::hooks::Hook;
use crate::clients::Slot;
use crate::spec::{Args, CommandId};
use crate::tracking::{Invalidation, Recipient, Tracker, Tracking, TrackingLimit, write_broken_redirect};
use lockwheel_resp::Reply;
use std::collections::BTreeMap;

impl Engine {
    /// Returns the tracking of keys, for changes that need no [`Engine::change_tracking`].
    pub(crate) fn tracking(&mut self) -> Tracking<'_> {
        let limit = TrackingLimit::new(self.config.tracking_table_max_keys);
        Tracking::new(&mut self.keyspace, &self.sessions, limit, self.start.seed)
    }

    /// Changes the keys that clients track, or their CLIENT CACHING state, and applies the effects.
    pub(crate) fn change_tracking<T>(&mut self, change: impl FnOnce(&mut Tracking<'_>) -> T) -> T {
        let done = change(&mut self.tracking());
        let tracker = self.keyspace.subscriber::<Tracker>();
        let is_used = tracker.is_some_and(|tracker| !tracker.is_unused());
        if self.observers.remembers_keys != is_used {
            self.observers.remember_keys(is_used);
        }
        self.hooks.set(Hook::Caching, tracker.is_some_and(Tracker::has_caching));
        if tracker.is_some_and(Tracker::is_full) {
            self.hooks.set(Hook::NextBatch, true);
        }
        done
    }

    /// Ends the CLIENT CACHING state of an ended request.
    #[cold]
    pub(super) fn end_caching(&mut self, slot: Slot, request: Args<'_>) {
        let commands = self.commands.clone();
        self.change_tracking(|tracking| tracking.end_caching(slot, &commands, request));
    }

    /// Tracks the keys that an ended or waiting command has read, if its client wants that.
    pub(super) fn remember_keys(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>) {
        let command = self.commands.get(command).clone();
        if self.tracking().remember((call.session, call.called_by), &command, args) {
            self.hooks.set(Hook::NextBatch, true);
        }
    }

    /// Notifies clients that a key has changed, or that all keys are gone.
    pub(super) fn invalidate(&mut self, clients: &[u64], key: Option<&[u8]>) {
        let clients = self.tracking().notified_now(clients, key);
        self.send_invalidation(&clients, &Invalidation::of(key));
    }

    /// Notifies each client, or the one to which it redirects. A message may disconnect that client; those that
    /// redirected to it are then notified, too. O(clients).
    fn send_invalidation(&mut self, clients: &[u64], invalidation: &Invalidation<'_>) {
        let tell_broken = |engine: &mut Self, id: u64, redirect: u64| {
            engine.send_to(&[id], 0, &|reply: &mut dyn Reply| write_broken_redirect(redirect, reply));
        };
        let (mut receivers, mut told) = (Vec::with_capacity(clients.len()), Vec::new());
        for &id in clients {
            match self.tracking().recipient(id) {
                Recipient::Receiver(receiver) => receivers.push((receiver, id)),
                Recipient::Broken(redirect) => {
                    tell_broken(self, id, redirect);
                    told.push(id);
                }
                Recipient::Nobody => {}
            }
        }
        let mut redirecting: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        if !told.is_empty() {
            receivers.iter().for_each(|&(receiver, id)| redirecting.entry(receiver).or_default().push(id));
        }
        while let Some(broken) = told.pop() {
            for id in redirecting.remove(&broken).unwrap_or_default() {
                if let Recipient::Broken(redirect) = self.tracking().recipient(id) {
                    tell_broken(self, id, redirect);
                    told.push(id);
                }
            }
        }
        let receivers: Vec<u64> = receivers.into_iter().map(|(receiver, _)| receiver).collect();
        let write = |reply: &mut dyn Reply| invalidation.write(reply);
        self.send_to(&receivers, invalidation.len(), &write);
    }

    /// Notifies clients of changed keys with their prefixes.
    #[cold]
    pub(super) fn broadcast_changes(&mut self) {
        self.hooks.set(Hook::Broadcast, false);
        for broadcast in self.tracking().take_broadcasts() {
            for (clients, except_by) in &broadcast.audiences {
                if let Some(invalidation) = Invalidation::of_changed(&broadcast.keys, *except_by) {
                    self.send_invalidation(clients, &invalidation);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::clients::{Closing, Outbox, Peer};
    use crate::config::Config;
    use crate::core::Engine;
    use lockwheel_store::time::Now;

    #[test]
    fn a_client_learns_that_its_redirection_breaks_while_it_is_to_be_notified() {
        let mut engine = Engine::new(Config::default(), 7, Now::default());
        let [writer, first, second, gone] = [(); 4].map(|()| engine.connect(Peer::default()));
        let id = |engine: &Engine, slot| engine.sessions().get(slot).id.to_string().into_bytes();
        let (second_id, gone_id) = (id(&engine, second), id(&engine, gone));
        engine.execute(writer, &[b"CONFIG", b"SET", b"client-output-buffer-limit", b"normal 4000 0 0"]);
        for (slot, target) in [(first, &second_id), (second, &gone_id)] {
            engine.execute(slot, &[b"HELLO", b"3"]);
            engine.execute(slot, &[b"CLIENT", b"TRACKING", b"ON", b"REDIRECT", target]);
            engine.execute(slot, &[b"GET", b"key"]);
            engine.take_output(slot, &mut Outbox::default());
            engine.sessions().buffers(slot).set_unwritten(0);
        }
        engine.disconnect(gone);
        // The next message exceeds the limit of the second client.
        engine.execute(second, &[b"ECHO", &[b'x'; 3980]]);
        assert_eq!(engine.sessions().get(second).closing(), None);
        engine.execute(writer, &[b"SET", b"key", b"value"]);
        assert_eq!(engine.sessions().get(second).closing(), Some(Closing::Now));
        let mut output = Outbox::default();
        engine.take_output(first, &mut output);
        let told = String::from_utf8_lossy(output.bytes()).into_owned();
        let target = String::from_utf8_lossy(&second_id).into_owned();
        assert_eq!(told, format!(">2\r\n$21\r\ntracking-redir-broken\r\n:{target}\r\n"));
    }
}
