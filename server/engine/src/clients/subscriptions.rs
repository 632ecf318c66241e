//! The subscriptions of a client, kept consistent in its session, in the subscribers of channels, and in the history.

use super::session::Session;
use super::subscribed::Subscribed;
use crate::locks::{self, Happening, HistoryCause, HistoryEvent};
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionKind {
    /// A channel.
    Channel,
    /// All channels that match a pattern.
    Pattern,
    Shard,
}

pub(crate) struct Subscriptions<'e> {
    pub(crate) session: &'e mut Session,
    pub(crate) pubsub: &'e mut PubSub,
    /// The keys, with the history of locks.
    pub(crate) keyspace: &'e mut Keyspace,
    pub(crate) has_history: bool,
    pub(crate) now: Now,
}

impl Subscriptions<'_> {
    pub(crate) fn names(&self, kind: SubscriptionKind) -> Vec<Box<[u8]>> {
        let names = match kind {
            SubscriptionKind::Channel => &self.session.channels,
            SubscriptionKind::Pattern => &self.session.patterns,
            SubscriptionKind::Shard => &self.session.shards,
        };
        names.iter().cloned().collect()
    }

    /// Returns the number of subscriptions that a confirmation of this kind shows: shard channels count apart.
    pub(crate) fn count(&self, kind: SubscriptionKind) -> usize {
        match kind {
            SubscriptionKind::Channel | SubscriptionKind::Pattern => self.session.subscriptions(),
            SubscriptionKind::Shard => self.session.shards.len(),
        }
    }

    /// Begins a subscription, unless it exists.
    pub(crate) fn begin(&mut self, kind: SubscriptionKind, name: &[u8]) {
        if !self.named(kind).insert(name) {
            return;
        }
        let id = self.session.id;
        match kind {
            SubscriptionKind::Channel => self.pubsub.subscribe(name, id),
            SubscriptionKind::Pattern => self.pubsub.subscribe_pattern(name, id),
            SubscriptionKind::Shard => self.pubsub.subscribe_shard(name, id),
        }
        self.note(kind, name, (HistoryEvent::Queued, HistoryCause::None));
    }

    /// Ends a subscription, if it exists. The history records this cause.
    pub(crate) fn end(&mut self, kind: SubscriptionKind, name: &[u8], cause: HistoryCause) {
        if self.named(kind).remove(name) {
            self.forget(kind, name, cause);
        }
    }

    /// Ends all subscriptions. The history records this cause.
    pub(crate) fn end_all(&mut self, cause: HistoryCause) {
        for kind in [SubscriptionKind::Channel, SubscriptionKind::Pattern, SubscriptionKind::Shard] {
            let names = std::mem::take(self.named(kind));
            names.iter().for_each(|name| self.forget(kind, name, cause));
        }
    }

    fn named(&mut self, kind: SubscriptionKind) -> &mut Subscribed {
        match kind {
            SubscriptionKind::Channel => &mut self.session.channels,
            SubscriptionKind::Pattern => &mut self.session.patterns,
            SubscriptionKind::Shard => &mut self.session.shards,
        }
    }

    fn forget(&mut self, kind: SubscriptionKind, name: &[u8], cause: HistoryCause) {
        let id = self.session.id;
        match kind {
            SubscriptionKind::Channel => self.pubsub.unsubscribe(name, id),
            SubscriptionKind::Pattern => self.pubsub.unsubscribe_pattern(name, id),
            SubscriptionKind::Shard => self.pubsub.unsubscribe_shard(name, id),
        }
        self.note(kind, name, (HistoryEvent::LeftQueue, cause));
    }

    /// Records in the history that the client listens, or no longer, to a lock's channel, as Redisson's waiters do.
    fn note(&mut self, kind: SubscriptionKind, channel: &[u8], (event, cause): (HistoryEvent, HistoryCause)) {
        if self.has_history
            && kind != SubscriptionKind::Pattern
            && let Some((key, owner)) = locks::lock_of_channel(channel)
        {
            let what = Happening {
                db: self.session.db,
                client: Some(self.session.id),
                native: Some(false),
                cause,
                ..Happening::new(event, key, owner.unwrap_or_default())
            };
            locks::happened(self.keyspace, self.now, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::Login;
    use crate::clients::{Peer, Sessions};
    use lockwheel_store::memory::ClientBytes;

    #[test]
    fn subscriptions_are_recorded_at_the_session_and_the_channel() {
        let (mut sessions, mut pubsub, mut keyspace) =
            (Sessions::default(), PubSub::new(locks::waiter_of_channel), Keyspace::new(1, 7));
        let (now, account) = (Now::default(), ClientBytes::default());
        let slot =
            sessions.add(1, |slot| Session::new(1, slot, Peer::default(), Login::Server, now, &account));
        let mut its = Subscriptions {
            session: sessions.get_mut(slot),
            pubsub: &mut pubsub,
            keyspace: &mut keyspace,
            has_history: false,
            now,
        };
        its.begin(SubscriptionKind::Channel, b"c");
        its.begin(SubscriptionKind::Channel, b"c");
        its.begin(SubscriptionKind::Pattern, b"p*");
        its.begin(SubscriptionKind::Shard, b"s");
        assert_eq!((its.count(SubscriptionKind::Pattern), its.count(SubscriptionKind::Shard)), (2, 1));
        assert_eq!((its.pubsub.subscribers(b"c"), its.pubsub.shard_subscribers(b"s")), (1, 1));
        its.end(SubscriptionKind::Channel, b"c", HistoryCause::None);
        its.end(SubscriptionKind::Channel, b"c", HistoryCause::None);
        assert_eq!(its.names(SubscriptionKind::Pattern), [Box::from(&b"p*"[..])]);
        assert_eq!(its.pubsub.channels(), 0);
        its.end_all(HistoryCause::Disconnected);
        assert_eq!((its.count(SubscriptionKind::Channel), its.count(SubscriptionKind::Shard)), (0, 0));
        assert_eq!(its.pubsub.subscriptions(), 0);
    }
}
