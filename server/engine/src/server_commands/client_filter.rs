//! The filters of CLIENT KILL and CLIENT LIST, and the line of a client.

use crate::clients::{Closing, Multi, Session, User};
use crate::core::Engine;
use crate::spec::{Args, CommandError, errors, quotable};
use lockwheel_resp::Protocol;

/// The types of clients, as CLIENT LIST TYPE names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientType {
    Normal,
    Pubsub,
    /// The other end of a replication: there is none.
    Replication,
}

impl ClientType {
    fn of(session: &Session) -> Self {
        if session.is_subscribed() { ClientType::Pubsub } else { ClientType::Normal }
    }

    fn parse(name: &[u8]) -> Result<Self, CommandError> {
        match &*name.to_ascii_lowercase() {
            b"normal" => Ok(ClientType::Normal),
            b"pubsub" => Ok(ClientType::Pubsub),
            b"master" | b"slave" | b"replica" => Ok(ClientType::Replication),
            _ => Err(CommandError::new([b"ERR Unknown client type '", quotable(name), b"'"].concat())),
        }
    }
}

/// A filter of clients: all conditions must hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    id: Option<u64>,
    kind: Option<ClientType>,
    addr: Option<String>,
    laddr: Option<String>,
    /// Excludes the calling client.
    pub(super) skip_me: bool,
}

impl Filter {
    /// The clients of a type.
    pub(super) fn of_type(name: &[u8]) -> Result<Self, CommandError> {
        Ok(Filter { kind: Some(ClientType::parse(name)?), ..Filter::default() })
    }

    /// The client that has this address.
    pub(super) fn of_address(addr: &[u8]) -> Self {
        Filter { addr: Some(text(addr)), ..Filter::default() }
    }

    /// CLIENT KILL's options. The last of each kind counts.
    pub(super) fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut filter = Filter { skip_me: true, ..Filter::default() };
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            filter.option(args, at, value)?;
        }
        Ok(filter)
    }

    fn option(&mut self, args: Args<'_>, at: usize, value: &[u8]) -> Result<(), CommandError> {
        if args.is(at, "id") {
            let id = args.int(at + 1).ok().filter(|&id| id > 0);
            let id = id.ok_or(CommandError::text("ERR client-id should be greater than 0"))?;
            self.id = Some(id.unsigned_abs());
        } else if args.is(at, "type") {
            self.kind = Some(ClientType::parse(value)?);
        } else if args.is(at, "addr") {
            self.addr = Some(text(value));
        } else if args.is(at, "laddr") {
            self.laddr = Some(text(value));
        } else if args.is(at, "user") {
            // The default user is the only one, and every client is that user.
            if User::named(value).is_none() {
                return Err(CommandError::new([b"ERR No such user '", quotable(value), b"'"].concat()));
            }
        } else if args.is(at, "skipme") {
            self.skip_me = match &*value.to_ascii_lowercase() {
                b"yes" => true,
                b"no" => false,
                _ => return Err(errors::SYNTAX),
            };
        } else {
            return Err(errors::SYNTAX);
        }
        Ok(())
    }

    /// Whether a client passes the filter, SKIPME apart.
    pub(super) fn matches(&self, session: &Session) -> bool {
        self.id.is_none_or(|id| id == session.id)
            && self.kind.is_none_or(|kind| kind == ClientType::of(session))
            && self.addr.as_ref().is_none_or(|addr| *addr == session.peer.addr)
            && self.laddr.as_ref().is_none_or(|laddr| *laddr == session.peer.laddr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Engine {
    /// Appends a client's line of CLIENT LIST, with the fields of Redis 7.2 in their order.
    ///
    /// Redis buffer fields map to ours where possible, else 0.
    pub(super) fn describe_client(&self, session: &Session, into: &mut Vec<u8>) {
        let seconds = |since: crate::time::Now| {
            self.time.now.monotonic_us.saturating_sub(since.monotonic_us) / 1_000_000
        };
        let pending = session.delivery.pending();
        let unwritten = pending - session.delivery.out().len();
        let multi = session.multi.as_ref();
        let multi_bytes = multi.map_or(0, Multi::memory) + session.watched_memory();
        let parked = self.parked.memory(session.id);
        let room = session.delivery.out().buffer_capacity();
        let (query, query_free) = session.delivery.buffers().query();
        let (taken, taken_bytes, taken_memory) = session.delivery.buffers().pieces();
        // Output in pieces corresponds to Redis' reply list; the rest is in the buffer.
        let list = taken + session.delivery.out().pieces();
        let list_memory = taken_memory + session.delivery.out().piece_memory();
        let buffered = pending.saturating_sub(taken_bytes + session.delivery.out().piece_bytes());
        let total = session.memory();
        let command = session.last_command.map_or("NULL", |command| &self.commands.get(command).name);
        // A client that has not authenticated is listed as the default user.
        let user = session.user.unwrap_or_default().name();
        let resp = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
        let head = format!(
            "id={} addr={} laddr={} fd={} name=",
            session.id, session.peer.addr, session.peer.laddr, session.peer.fd
        );
        let body = format!(
            " age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={} qbuf={query} qbuf-free={query_free} \
             argv-mem={parked} multi-mem={multi_bytes} rbs={room} rbp={room} obl={buffered} oll={list} \
             omem={list_memory} tot-mem={total} events={} \
             cmd={command} user={user} redir=-1 resp={resp} lib-name=",
            seconds(session.connected),
            seconds(session.last_active),
            client_flags(session),
            session.db,
            session.channels.len(),
            session.patterns.len(),
            session.shards.len(),
            multi.map_or(-1, |multi| multi.queue().len() as i64),
            if unwritten > 0 { "rw" } else { "r" },
        );
        let (name, library, version) = (&*session.name, &*session.lib_name, &*session.lib_ver);
        into.extend([head.as_bytes(), name, body.as_bytes(), library, b" lib-ver=", version, b"\n"].concat());
    }
}

/// The letters of a client's state, in Redis' order; `N` when there is none.
fn client_flags(session: &Session) -> String {
    let letters = [
        (session.is_subscribed(), 'P'),
        (session.multi.is_some(), 'x'),
        (session.blocked, 'b'),
        (session.watch_broken, 'd'),
        (session.closing == Some(Closing::AfterOutput), 'c'),
        (session.peer.unix, 'U'),
        (session.no_evict, 'e'),
        (session.no_touch, 'T'),
    ];
    let flags: String = letters.into_iter().filter_map(|(is, letter)| is.then_some(letter)).collect();
    if flags.is_empty() { "N".to_owned() } else { flags }
}
