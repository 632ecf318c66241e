//! Client-side caching on a request's way: keys that are read are remembered, and clients are told what has changed.

use super::call::Call;
use super::engine::Engine;
use super::hooks::Hook;
use crate::clients::{Closing, Slot};
use crate::keyspace::CalledBy;
use crate::spec::{Args, CommandError, CommandId, Flags};
use crate::tracking::{
    Caching, ChangedKeys, HeldNews, Limit, Overlap, TrackedClient, Tracker, TrackingMode, find_overlap,
};
use lockwheel_resp::{Protocol, Reply};

/// The channel on which a client in RESP2 is told for another one.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// The most keys that are forgotten at once when the table is over its limit; the next batches go on.
const PIECE: usize = 1000;

/// What CLIENT TRACKING ON asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackingRequest<'a> {
    pub(crate) mode: TrackingMode,
    pub(crate) redirect: u64,
    pub(crate) prefixes: &'a [&'a [u8]],
}

/// What a client is told: names of keys, or that all are gone.
enum News<'a> {
    All,
    Keys(Vec<&'a [u8]>),
}

impl News<'_> {
    fn len(&self) -> usize {
        const AROUND: usize = 16;
        match self {
            News::All => AROUND,
            News::Keys(keys) => keys.iter().map(|key| key.len() + AROUND).sum(),
        }
    }

    fn write(&self, reply: &mut dyn Reply) {
        if reply.protocol() == Protocol::Resp3 {
            reply.push(2);
            reply.bulk(b"invalidate");
        } else {
            reply.array(3);
            reply.bulk(b"message");
            reply.bulk(CHANNEL);
        }
        match self {
            News::All => reply.null(),
            News::Keys(keys) => {
                reply.array(keys.len());
                keys.iter().for_each(|key| reply.bulk(key));
            }
        }
    }
}

impl Engine {
    /// Who has read which keys, if any client has asked for that.
    pub(crate) fn tracker(&self) -> Option<&Tracker> {
        self.keyspace.subscriber()
    }

    /// What is known of how a client tracks keys, if it does or has.
    pub(crate) fn tracked(&self, id: u64) -> Option<&TrackedClient> {
        self.tracker()?.client(id)
    }

    /// The bound of the table, by the parameters in force.
    fn tracking_limit(&self) -> Limit {
        Limit::new(self.config.tracking_table_max_keys)
    }

    /// A client tracks keys from now on.
    ///
    /// # Errors
    /// What it asks for contradicts itself, or what it has asked for before.
    pub(crate) fn track(&mut self, slot: Slot, request: TrackingRequest<'_>) -> Result<(), CommandError> {
        let id = self.session(slot).id;
        check(self.tracked(id), &request)?;
        if self.tracker().is_none() {
            let tracker = Tracker::new(self.tracking_limit(), self.start.seed);
            self.keyspace.subscribe(Box::new(tracker));
        }
        self.change_tracked(slot, |tracker| {
            tracker.turn_on(id, request.mode, request.redirect, request.prefixes);
        });
        Ok(())
    }

    /// A client no longer tracks keys.
    pub(crate) fn untrack(&mut self, slot: Slot) {
        let id = self.session(slot).id;
        self.change_tracked(slot, |tracker| tracker.turn_off(id));
    }

    /// A client that may have tracked keys is gone.
    pub(super) fn leave_tracking(&mut self, slot: Slot) {
        let id = self.session(slot).id;
        if self.tracked(id).is_some() {
            self.change_tracked(slot, |tracker| tracker.leave(id));
        }
    }

    /// Changes how a client tracks keys, and what that takes of its memory.
    fn change_tracked(&mut self, slot: Slot, change: impl FnOnce(&mut Tracker)) {
        let session = self.sessions.get(slot);
        let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() else { return };
        let of = |tracker: &Tracker| tracker.client(session.id).map_or(0, TrackedClient::memory);
        let before = of(tracker);
        change(tracker);
        session.delivery.buffers().change_state(before, of(tracker));
        self.tracking_changed();
    }

    /// Who tracks has changed: sees to what depends on there being any.
    fn tracking_changed(&mut self) {
        self.keyspace.renew_interests();
        let is_used = self.tracker().is_some_and(|tracker| !tracker.is_unused());
        self.observers.remember_keys(is_used);
        self.caching_changed();
    }

    /// `tracking-table-max-keys` may have another value.
    pub(super) fn tracking_limit_changed(&mut self) {
        let limit = self.tracking_limit();
        if let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() {
            tracker.set_limit(limit);
            self.bound_tracking();
        }
    }

    /// CLIENT CACHING: says something about the next request of a client, or no longer does.
    pub(crate) fn set_caching(&mut self, slot: Slot, caching: Caching) {
        let id = self.session(slot).id;
        if let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() {
            tracker.set_caching(id, caching);
            self.caching_changed();
        }
    }

    fn caching_changed(&mut self) {
        let caching = self.tracker().is_some_and(Tracker::has_caching);
        self.hooks.set(Hook::Caching, caching);
    }

    /// A request has ended: what CLIENT CACHING has said is over, but for a transaction that is still queued. Other
    /// subcommands of CLIENT leave it too, as in Redis.
    #[inline]
    pub(super) fn end_caching(&mut self, slot: Slot, args: Args<'_>) {
        if self.hooks.has(Hook::Caching) {
            self.end_what_was_said(slot, args);
        }
    }

    #[cold]
    fn end_what_was_said(&mut self, slot: Slot, args: Args<'_>) {
        if !self.sessions.is_connected(slot) {
            return;
        }
        let command = self.commands.resolve(args);
        let is_client = command.is_some_and(|command| command.name.starts_with("client|"));
        let stays = self.session(slot).multi.is_some() || is_client;
        if !stays {
            self.set_caching(slot, Caching::Unsaid);
        }
    }

    /// A command has run, or has begun to wait: remembers the keys that it has read, if its client tracks them. What a
    /// script reads counts for the keys that it was called with.
    pub(super) fn remember_keys(&mut self, call: Call<'_>, command: CommandId, args: Args<'_>) {
        let command = self.commands.get(command).clone();
        if !command.has(Flags::READONLY)
            || command.has(Flags::PUBSUB)
            || command.spec.categories.contains(&"scripting")
        {
            return;
        }
        let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() else { return };
        if !tracker.remembers(call.session) {
            return;
        }
        match call.called_by {
            CalledBy::Script(inputs) => {
                inputs.keys.iter().for_each(|key| tracker.remember(call.session, key));
            }
            _ => {
                let positions = command.key_positions(args);
                positions.into_iter().for_each(|at| tracker.remember(call.session, &args[at]));
            }
        }
        self.bound_tracking();
    }

    /// Forgets keys while the table is over its limit, and tells who has read them; a piece of it when that is much.
    fn bound_tracking(&mut self) {
        let mut forgotten = Vec::new();
        let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() else { return };
        for _ in 0..PIECE {
            if !tracker.is_full() {
                break;
            }
            forgotten.extend(tracker.forget_one());
        }
        if tracker.is_full() {
            self.hooks.set(Hook::NextBatch, true);
        }
        forgotten.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
    }

    /// The beginning of a batch has more to do than its requests: goes on with what was too much for one, and with the
    /// requests of clients that are no longer paused.
    #[cold]
    pub(super) fn begin_more(&mut self) {
        self.hooks.set(Hook::NextBatch, false);
        self.bound_tracking();
        self.resume_paused();
        self.commit();
    }

    /// Tells clients that a key has changed, or that all are gone.
    pub(super) fn invalidate(&mut self, sessions: &[u64], key: Option<&[u8]>) {
        let tracker = self.keyspace.subscriber_itself::<Tracker>();
        let later = tracker.and_then(|tracker| tracker.hold_key(sessions, key));
        let now = sessions.iter().filter(|id| Some(**id) != later);
        let receivers = now.filter_map(|&id| self.receiver_of(id)).collect::<Vec<_>>();
        let news = key.map_or(News::All, |key| News::Keys(vec![key]));
        self.send_to(&receivers, news.len(), &|reply: &mut dyn Reply| news.write(reply));
    }

    /// What this client is to be told of keys is held until its request has been answered. Gives what was held before,
    /// for [`Engine::tell_held_news`].
    pub(super) fn hold_news(&mut self, slot: Slot) -> Option<HeldNews> {
        let client = self.session(slot).id;
        let tracker = self.keyspace.subscriber_itself::<Tracker>()?;
        tracker.hold(Some(HeldNews { client, keys: Vec::new() }))
    }

    /// Tells what was held.
    pub(super) fn tell_held_news(&mut self, before: Option<HeldNews>) {
        let tracker = self.keyspace.subscriber_itself::<Tracker>();
        let Some(held) = tracker.and_then(|tracker| tracker.hold(before)) else { return };
        for key in &held.keys {
            self.invalidate(&[held.client], key.as_deref());
        }
    }

    /// A panic has ended a request: what was held for its client is not told.
    pub(super) fn forget_held_news(&mut self) {
        let tracker = self.keyspace.subscriber_itself::<Tracker>();
        tracker.and_then(|tracker| tracker.hold(None));
    }

    /// Tells clients of the keys with their prefixes that have changed.
    #[cold]
    pub(super) fn broadcast_changes(&mut self) {
        self.hooks.set(Hook::Broadcast, false);
        let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() else { return };
        for (keys, listeners) in tracker.take_changed() {
            let is_selective = |id: &u64| {
                let mode = self.tracked(*id).map(|client| client.mode);
                mode.is_some_and(|mode| mode.contains(TrackingMode::NOLOOP))
            };
            let (selective, others): (Vec<u64>, Vec<u64>) = listeners.into_iter().partition(is_selective);
            self.broadcast(&keys, &others, None);
            selective.iter().for_each(|&id| self.broadcast(&keys, &[id], Some(id)));
        }
    }

    /// Tells some clients of keys, but for those that one of them has changed last.
    fn broadcast(&mut self, keys: &ChangedKeys, sessions: &[u64], except_by: Option<u64>) {
        let is_news = |by: &Option<u64>| except_by.is_none() || *by != except_by;
        let keys: Vec<&[u8]> = keys.iter().filter(|(_, by)| is_news(by)).map(|(key, _)| &**key).collect();
        if keys.is_empty() || sessions.is_empty() {
            return;
        }
        let receivers = sessions.iter().filter_map(|&id| self.receiver_of(id)).collect::<Vec<_>>();
        let news = News::Keys(keys);
        self.send_to(&receivers, news.len(), &|reply: &mut dyn Reply| news.write(reply));
    }

    /// Who is told for a client: itself or the one that it redirects to, if that one can be told. A client whose
    /// redirection is broken is told so.
    fn receiver_of(&mut self, id: u64) -> Option<u64> {
        let redirect = self.tracked(id)?.redirect;
        if redirect == 0 {
            let session = self.session(self.sessions.find(id)?);
            return (session.protocol == Protocol::Resp3).then_some(id);
        }
        let target = self.sessions.find(redirect).map(|slot| self.session(slot));
        let Some(target) = target.filter(|target| target.closing != Some(Closing::Now)) else {
            self.tell_broken(id, redirect);
            return None;
        };
        (target.protocol == Protocol::Resp3 || target.is_subscribed()).then_some(redirect)
    }

    fn tell_broken(&mut self, id: u64, redirect: u64) {
        let tracker = self.keyspace.subscriber_itself::<Tracker>();
        if let Some(client) = tracker.and_then(|tracker| tracker.client_mut(id)) {
            client.is_broken = true;
        }
        let is_told = self.sessions.find(id).map(|slot| self.session(slot));
        if is_told.is_some_and(|session| session.protocol == Protocol::Resp3) {
            self.send_to(&[id], 0, &|reply: &mut dyn Reply| {
                reply.push(2);
                reply.bulk(b"tracking-redir-broken");
                reply.integer(redirect as i64);
            });
        }
    }

    /// No key is known to any client any more: who tracks keys is told so.
    pub(crate) fn forget_tracked_keys(&mut self) {
        let effect = self.keyspace.subscriber_itself::<Tracker>().and_then(Tracker::forget_all);
        effect.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
    }

    /// Everything begins anew: clients that stay go on tracking, and are told that all keys are gone.
    pub(super) fn take_tracker(&mut self) -> Option<Tracker> {
        self.keyspace.subscriber_itself::<Tracker>().map(Tracker::take)
    }

    /// The other half of that.
    pub(super) fn put_tracker(&mut self, tracker: Option<Tracker>) {
        let Some(mut tracker) = tracker.filter(|tracker| !tracker.is_unused()) else { return };
        let effect = tracker.forget_all();
        self.keyspace.subscribe(Box::new(tracker));
        effect.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
        self.tracking_limit_changed();
        self.tracking_changed();
    }
}

/// Whether a client that tracks keys like this, or not at all, may ask for this.
fn check(client: Option<&TrackedClient>, request: &TrackingRequest<'_>) -> Result<(), CommandError> {
    let fails = |text| Err(CommandError::text(text));
    let (new, old) = (request.mode, client.map_or(TrackingMode::default(), |client| client.mode));
    let (either, is_bcast) =
        (TrackingMode::OPTIN.union(TrackingMode::OPTOUT), new.contains(TrackingMode::BCAST));
    if !is_bcast && !request.prefixes.is_empty() {
        return fails("ERR PREFIX option requires BCAST mode to be enabled");
    }
    if client.is_some_and(|client| client.is_on) && is_bcast != old.contains(TrackingMode::BCAST) {
        return fails(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it \
             with a different mode.",
        );
    }
    if is_bcast && new.intersects(either) {
        return fails("ERR OPTIN and OPTOUT are not compatible with BCAST");
    }
    if new.contains(either) {
        return fails("ERR You can't specify both OPTIN mode and OPTOUT mode");
    }
    if (new.union(old)).contains(either) {
        return fails(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it \
             with a different mode.",
        );
    }
    let none = std::collections::BTreeSet::new();
    let existing = client.map_or(&none, |client| &client.prefixes);
    let Some(overlap) = find_overlap(existing, request.prefixes).filter(|_| is_bcast) else { return Ok(()) };
    let (new, kind, other) = match overlap {
        Overlap::Existing(new, other) => (new, "an existing", other),
        Overlap::Provided(new, other) => (new, "another provided", other),
    };
    let kind = format!("' overlaps with {kind} prefix '");
    let end = b"'. Prefixes for a single client must not overlap.";
    Err(CommandError::new([b"ERR Prefix '", new, kind.as_bytes(), other, end].concat()))
}
