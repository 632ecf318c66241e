//! The line of a client, as CLIENT LIST shows it.

use super::list::ClientList;
use crate::clients::{Closing, Session, Slot};
use crate::spec::Args;
use crate::tracking::{TrackedClient, TrackingMode, tracked};
use lockwheel_resp::{Protocol, allocation};
use lockwheel_store::time::Now;

impl ClientList<'_> {
    /// Appends a client's line of CLIENT LIST, with Redis 7.2's fields. Buffer fields map to ours if possible, else 0.
    pub(crate) fn describe(self, session: &Session, into: &mut Vec<u8>) {
        let executed = session.running.map_or(0, |running| running.exec_bytes);
        self.describe_with_arguments(session, self.waits.argument_bytes(session.id) + executed, into);
    }

    /// Appends the line of a client while the client of the slot `asking` is answered a request of these arguments.
    pub(crate) fn describe_to(self, asking: Slot, args: Args<'_>, session: &Session, into: &mut Vec<u8>) {
        if session.slot != asking || session.running.is_some() {
            return self.describe(session, into);
        }
        self.describe_with_arguments(session, args.all().iter().map(|arg| arg.len()).sum(), into);
    }

    fn describe_with_arguments(self, session: &Session, arguments: usize, into: &mut Vec<u8>) {
        let seconds = |since: Now| self.now.monotonic_us.saturating_sub(since.monotonic_us) / 1_000_000;
        let pending = session.delivery.pending();
        let unwritten = pending - session.delivery.out().len();
        let queued = session.multi.as_ref().map(|multi| (multi.queue().len(), multi.memory()));
        let queued = queued.or(session.running.map(|running| (running.commands, running.memory)));
        let multi_bytes = queued.map_or(0, |(_, memory)| memory) + session.watched_memory();
        let room = session.delivery.out().buffer_capacity();
        let (query, query_free) = session.delivery.buffers().query();
        let (taken, taken_bytes, taken_memory) = session.delivery.buffers().pieces();
        // Output in pieces corresponds to Redis' reply list; the rest is in the buffer.
        let (lacked, lacked_blocks) = self.replication.lacked(session.id);
        let list = taken + session.delivery.out().pieces() + lacked_blocks;
        let list_memory = taken_memory + session.delivery.out().piece_memory() + lacked;
        let buffered = pending.saturating_sub(taken_bytes + session.delivery.out().piece_bytes());
        // Shared pieces are no memory of the session's own, but part of what it needs.
        let shared = session.delivery.buffers().shared_bytes() + session.delivery.out().shared_bytes();
        let total = session.memory() + shared + lacked;
        let command = session.last_command.map_or("NULL", |command| &self.commands.get(command).name);
        let user = self.users.name(session.login);
        let resp = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
        let tracked = tracked(self.keyspace, session.id).filter(|client| client.is_on);
        let head = format!(
            "id={} addr={} laddr={} fd={} name=",
            session.id, session.peer.addr, session.peer.laddr, session.peer.fd
        );
        let body = format!(
            " age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} qbuf={query} qbuf-free={query_free} \
             argv-mem={arguments} multi-mem={multi_bytes} rbs={room} rbp={room} obl={buffered} oll={list} \
             omem={list_memory} tot-mem={total} events={} \
             cmd={command} user=",
            seconds(session.connected),
            seconds(session.last_active),
            self.client_flags(session, tracked),
            session.db,
            session.channels.len(),
            session.patterns.len(),
            session.shards.len(),
            queued.map_or(-1, |(commands, _)| commands as i64),
            if unwritten > 0 { "rw" } else { "r" },
        );
        let redirect = tracked.map_or(-1, |client| client.redirect as i64);
        let resp = format!(" redir={redirect} resp={resp} lib-name=");
        let (name, library, version) = (&*session.name, &*session.lib_name, &*session.lib_ver);
        let parts =
            [head.as_bytes(), name, body.as_bytes(), user, resp.as_bytes(), library, b" lib-ver=", version];
        parts.iter().for_each(|part| allocation::append(into, part));
        allocation::append(into, b"\n");
    }

    /// The letters of a client's state, in Redis' order; `N` when there is none.
    fn client_flags(self, session: &Session, tracked: Option<&TrackedClient>) -> String {
        let letters = [
            (session.is_monitor, 'O'),
            (session.is_replica, 'S'),
            (session.is_master, 'M'),
            (session.is_subscribed(), 'P'),
            (session.multi.is_some() || session.running.is_some(), 'x'),
            (session.blocked, 'b'),
            (tracked.is_some(), 't'),
            (tracked.is_some_and(|client| client.is_broken), 'R'),
            (tracked.is_some_and(|client| client.mode.contains(TrackingMode::BCAST)), 'B'),
            (session.watch_broken, 'd'),
            (session.closing == Some(Closing::AfterOutput), 'c'),
            (session.unblocked_in == self.batch && !session.blocked, 'u'),
            (session.peer.unix, 'U'),
            (self.cluster.is_some_and(|cluster| cluster.asker(session.id).read_only), 'r'),
            (session.no_evict, 'e'),
            (session.no_touch, 'T'),
        ];
        let flags: String = letters.into_iter().filter_map(|(is, letter)| is.then_some(letter)).collect();
        if flags.is_empty() { "N".to_owned() } else { flags }
    }
}
