//! Output of clients beside the replies to their own requests, and the limits of what they leave unread.

use crate::acl::Users;
use crate::clients::{ClientTimers, Closing, Delivery, Message, OpenReply, ReplyDecision, Session, Slot};
use crate::config::{Config, OutputLimit};
use crate::faults::Faults;
use crate::replication::Replication;
use lockwheel_resp::{Protocol, Reply, allocation};
use lockwheel_store::keyspace::EventValue;

/// The size in bytes from which output is counted as it grows. Smaller output is counted when it is taken.
const COUNTED: usize = 16 * 1024;
/// The bytes that a replica may leave unread beside the backlog: the reply line, and the stream written meanwhile.
const BESIDE_BACKLOG: usize = 64 * 1024;

/// The fate of a client after something has been written for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum OutputEnd {
    /// The client keeps up, or is sent nothing any more.
    Fine,
    /// There was no memory for the output: the client is disconnected.
    CutOff,
    /// The client has too much unread output: it is disconnected, and the output is dropped.
    OverLimit,
    /// A request of a replica has caused a reply, which would be a gap in its stream: it is disconnected.
    Refused,
}

/// The output of clients, with the parts that limit it. The engine follows each [`OutputEnd`].
pub(crate) struct ClientOutput<'e> {
    pub(crate) timers: ClientTimers<'e>,
    /// The injected faults, which may have lost a client's connection.
    pub(crate) faults: &'e Faults,
    pub(crate) users: &'e Users,
    pub(crate) config: &'e Config,
    /// The replicas, which may lack more than their own output.
    pub(crate) replication: &'e Replication,
    /// The present instant of the system's monotonic clock, in milliseconds.
    pub(crate) system_ms: i64,
}

impl ClientOutput<'_> {
    /// Answers the request that a session has been waiting with, unless it wants no reply, and wakes its connection.
    pub(crate) fn answer(&mut self, slot: Slot, write: impl FnOnce(&mut dyn Reply)) -> OutputEnd {
        let Some(session) = self.receiver(slot) else { return OutputEnd::Fine };
        let protocol = session.protocol;
        match allocation::contain(|| session.delivery.answer(protocol, write)) {
            Ok(ReplyDecision::Send) => self.end_push(slot),
            Ok(ReplyDecision::Drop) => {
                self.timers.sessions.wake(slot);
                OutputEnd::Fine
            }
            Ok(ReplyDecision::Refuse) => OutputEnd::Refused,
            // A part of the reply may be lost, and the client that is running a command is a different one.
            Err(_) => OutputEnd::CutOff,
        }
    }

    /// Sends a message to clients and wakes their connections. Stops at the first client that is to be disconnected;
    /// the caller disconnects it, and calls again for the others.
    pub(crate) fn send(
        &mut self,
        ids: &mut impl Iterator<Item = u64>,
        message: &mut Message<'_>,
    ) -> Option<(Slot, OutputEnd)> {
        for id in ids {
            let Some(slot) = self.timers.sessions.find(id) else { continue };
            let Some(session) = self.receiver(slot) else { continue };
            let protocol = session.protocol;
            let end = match allocation::contain(|| session.delivery.push_message(message, protocol)) {
                Ok(()) => self.end_push(slot),
                // The reader is too slow; it loses its connection rather than a message.
                Err(_) => OutputEnd::CutOff,
            };
            if end != OutputEnd::Fine {
                return Some((slot, end));
            }
        }
        None
    }

    /// Pushes an event of a lock to a client that speaks RESP3, and wakes its connection. The limit of subscribers
    /// holds for all unread pushes of this kind together.
    pub(crate) fn push_event(&mut self, slot: Slot, kind: &str, fields: &[(&str, EventValue)]) -> OutputEnd {
        let limit = self.config.output_limit(true).hard;
        let is_resp3 = |session: &&mut Session| session.protocol == Protocol::Resp3;
        let Some(session) = self.receiver(slot).filter(is_resp3) else { return OutputEnd::Fine };
        let before = session.delivery.pending();
        let write = |reply: &mut dyn Reply| write_event(kind, fields, reply);
        if allocation::contain(|| session.delivery.push(Protocol::Resp3, write)).is_err() {
            return OutputEnd::CutOff;
        }
        // Output that was unread before the first of these pushes is a reply.
        session.pushed_bytes = if before == 0 { 0 } else { session.pushed_bytes };
        session.pushed_bytes += session.delivery.pending().saturating_sub(before);
        let is_over = limit > 0 && session.pushed_bytes >= limit;
        if is_over {
            self.timers.sessions.wake(slot);
            return OutputEnd::OverLimit;
        }
        self.end_push(slot)
    }

    pub(crate) fn push(&mut self, slot: Slot, push: impl FnOnce(&mut Delivery)) -> OutputEnd {
        let session = self.timers.sessions.get_mut(slot);
        if !session.takes_pushes() || self.faults.is_lost(session) {
            return OutputEnd::Fine;
        }
        match allocation::contain(|| push(&mut session.delivery)) {
            Ok(()) => self.end_push(slot),
            Err(_) => OutputEnd::CutOff,
        }
    }

    /// Ends a reply to a client that need not be the one that is running a command.
    pub(crate) fn end_reply(&mut self, slot: Slot, reply: OpenReply, is_left_open: bool) -> OutputEnd {
        if reply.is_refused() {
            return OutputEnd::Refused;
        }
        let delivery = &mut self.timers.sessions.get_mut(slot).delivery;
        match allocation::contain(|| delivery.end(reply, is_left_open)) {
            Ok(()) => OutputEnd::Fine,
            // There is no memory for the output behind the reply.
            Err(_) => OutputEnd::CutOff,
        }
    }

    /// Returns the session of a client, unless it is sent nothing any more. One that is being disconnected gets
    /// nothing, so that the output of one command is bounded by the limits of its receivers.
    fn receiver(&mut self, slot: Slot) -> Option<&mut Session> {
        let session = self.timers.sessions.get_mut(slot);
        let is_sent = session.closing != Some(Closing::Now) && !self.faults.is_lost(session);
        is_sent.then_some(session)
    }

    fn end_push(&mut self, slot: Slot) -> OutputEnd {
        let end = self.check(slot);
        self.timers.sessions.wake(slot);
        end
    }

    /// Checks the unread output of a client against its limit: that of a subscriber, a monitor or a replica, or of a
    /// client that is not authenticated.
    pub(crate) fn check(&mut self, slot: Slot) -> OutputEnd {
        let is_fine = self.timers.sessions.get_mut(slot).keeps_up()
            || has_little_output(self.timers.sessions.get(slot), self.users, self.config);
        if is_fine { OutputEnd::Fine } else { self.check_much(slot) }
    }

    /// Does the same for a client that may be over a limit, if it is not being closed already.
    pub(crate) fn check_much(&mut self, slot: Slot) -> OutputEnd {
        let session = self.timers.sessions.get_mut(slot);
        let pending = self.replication.unsent(session);
        if pending >= COUNTED {
            session.delivery.count();
        }
        if session.closing == Some(Closing::Now) {
            session.over_soft_since = None;
            return OutputEnd::Fine;
        }
        let limit = match self.config.output_limit(session.is_subscribed()) {
            _ if session.is_replica => replica_limit(self.replication, self.config, session.id, pending),
            // In Redis, a monitor is a normal client without a limit, and could fill the memory.
            OutputLimit { hard: 0, soft: 0, .. } if session.is_monitor => self.config.output_limit(true),
            limit => limit,
        };
        let over_hard = (limit.hard > 0 && pending >= limit.hard) || !session.is_authenticated(self.users);
        let over_soft = limit.soft > 0 && pending >= limit.soft;
        let since = over_soft.then(|| session.over_soft_since.unwrap_or(self.system_ms));
        session.over_soft_since = since;
        let soft_ms = limit.soft_seconds * 1000;
        if over_hard || since.is_some_and(|since| self.system_ms - since > soft_ms) {
            return OutputEnd::OverLimit;
        }
        if let Some(since) = since {
            self.timers.watch_output(slot, since + soft_ms);
        }
        OutputEnd::Fine
    }
}

/// Whether a client is surely below its limit: authenticated, with only few unread replies, which have no limit.
#[inline]
pub(crate) fn has_little_output(session: &Session, users: &Users, config: &Config) -> bool {
    session.is_authenticated(users)
        && session.delivery.pending() < COUNTED
        && session.is_ordinary()
        && config.output_limit(false).is_none()
}

fn write_event(kind: &str, fields: &[(&str, EventValue)], reply: &mut dyn Reply) {
    reply.push(2);
    reply.bulk(kind.as_bytes());
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk(name.as_bytes());
        match value {
            EventValue::Text(text) => reply.bulk(text),
            EventValue::Number(number) => reply.integer(*number),
        }
    }
}

/// Returns the limits of unread output for a replica, not counting the snapshot. As in Redis, a hard limit below the
/// size of the backlog is raised to that, with room for [`BESIDE_BACKLOG`].
fn replica_limit(replication: &Replication, config: &Config, session: u64, pending: usize) -> OutputLimit {
    let snapshot = replication.unread_snapshot(session, pending);
    let limit = config.client_output_buffer_limit.replica;
    let backlog = usize::try_from(config.replication.backlog_size).unwrap_or(usize::MAX);
    // A partial resync may send the whole backlog at once.
    let resync = backlog.saturating_add(BESIDE_BACKLOG);
    let hard = if limit.hard == 0 { 0 } else { limit.hard.max(resync) };
    let beside = |bytes: usize| if bytes == 0 { 0 } else { bytes.saturating_add(snapshot) };
    OutputLimit { hard: beside(hard), soft: beside(limit.soft), ..limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::{Login, User};
    use crate::clients::{Peer, Sessions};
    use crate::clock::Timers;
    use lockwheel_store::keyspace::Keyspace;
    use lockwheel_store::memory::MemoryAccount;
    use lockwheel_store::time::Now;

    /// The parts around the output of clients.
    struct Room {
        sessions: Sessions,
        timers: Timers,
        keyspace: Keyspace,
        faults: Faults,
        users: Users,
        config: Config,
        replication: Replication,
        account: MemoryAccount,
    }

    impl Room {
        fn new() -> Self {
            let mut keyspace = Keyspace::new(1, 7);
            Room {
                sessions: Sessions::default(),
                timers: Timers::default(),
                replication: Replication::new(keyspace.rng()),
                keyspace,
                faults: Faults::new(7),
                users: Users::new(User::new(User::DEFAULT, true), []),
                config: Config::default(),
                account: MemoryAccount::default(),
            }
        }

        fn connect(&mut self, protocol: Protocol) -> Slot {
            let (id, account) = (self.sessions.next_id(), &self.account.clients);
            let slot = self.sessions.add(id, |slot| {
                Session::new(id, slot, Peer::default(), Login::Server, Now::default(), account)
            });
            self.sessions.get_mut(slot).protocol = protocol;
            slot
        }

        /// The output at this instant of the system's clock.
        fn output(&mut self, system_ms: i64) -> ClientOutput<'_> {
            let timers = ClientTimers {
                sessions: &mut self.sessions,
                timers: &mut self.timers,
                keyspace: &mut self.keyspace,
                timeout_s: 0,
                now: Now::default(),
            };
            let (faults, users, config) = (&self.faults, &self.users, &self.config);
            ClientOutput { timers, faults, users, config, replication: &self.replication, system_ms }
        }
    }

    fn text(len: usize) -> impl Fn(&mut dyn Reply) {
        move |reply| reply.bulk(&vec![b'x'; len])
    }

    #[test]
    fn a_message_skips_a_client_over_its_limit() {
        let mut room = Room::new();
        let slots = [(); 3].map(|()| room.connect(Protocol::Resp2));
        room.sessions.get_mut(slots[1]).is_monitor = true;
        room.config.client_output_buffer_limit.pubsub.hard = 5000;
        let (account, mut ids) = (room.account.messages.clone(), [1, 2, 3, 9].into_iter());
        let write = text(6000);
        let mut message = Message::new(&account, 6000, 4, &write);
        let first = room.output(0).send(&mut ids, &mut message);
        assert_eq!(first, Some((slots[1], OutputEnd::OverLimit)));
        assert_eq!(room.output(0).send(&mut ids, &mut message), None);
        let woken: Vec<u64> = std::iter::from_fn(|| room.sessions.next_woken()).collect();
        assert_eq!(woken, [1, 2, 3]);
    }

    #[test]
    fn a_client_may_exceed_the_soft_limit_for_its_time() {
        let mut room = Room::new();
        let slot = room.connect(Protocol::Resp3);
        let limit = &mut room.config.client_output_buffer_limit.normal;
        (limit.soft, limit.soft_seconds) = (5000, 2);
        let push = |delivery: &mut Delivery| delivery.push(Protocol::Resp3, text(6000));
        assert_eq!(room.output(1000).push(slot, push), OutputEnd::Fine);
        assert!(room.sessions.get(slot).output_timer.is_some());
        assert_eq!(room.output(3000).check(slot), OutputEnd::Fine);
        assert_eq!(room.output(3001).check(slot), OutputEnd::OverLimit);
    }

    #[test]
    fn events_are_pushed_over_resp3_up_to_the_pubsub_limit() {
        let mut room = Room::new();
        let [old, new] = [Protocol::Resp2, Protocol::Resp3].map(|protocol| room.connect(protocol));
        room.config.client_output_buffer_limit.pubsub.hard = 60;
        let fields = [("number", EventValue::Number(7))];
        assert_eq!(room.output(0).push_event(old, "kind", &fields), OutputEnd::Fine);
        assert_eq!(room.sessions.get(old).delivery.pending(), 0);
        assert_eq!(room.output(0).push_event(new, "kind", &fields), OutputEnd::Fine);
        assert_eq!(room.output(0).push_event(new, "kind", &fields), OutputEnd::OverLimit);
    }

    #[test]
    fn a_closing_client_gets_no_output() {
        let mut room = Room::new();
        let slot = room.connect(Protocol::Resp2);
        room.sessions.get_mut(slot).close(Closing::Now);
        assert_eq!(room.output(0).answer(slot, text(5)), OutputEnd::Fine);
        assert_eq!((room.sessions.get(slot).delivery.pending(), room.sessions.next_woken()), (0, None));
    }
}
