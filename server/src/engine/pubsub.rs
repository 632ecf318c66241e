//! Publish/subscribe: who listens to which channel and pattern, and the commands for it.

use super::client::unknown_or_arity;
use super::outbox::Message;
use super::sessions::Slot;
use super::table::Handler;
use super::{Call, Engine};
use crate::keyspace::glob;
use crate::locks::{Channels, Subscriber};
use crate::table::{Args, Flow, Outcome, Row, flags};
use lockwheel_resp::Reply;
use std::collections::{BTreeMap, BTreeSet};

/// The subscribers of channels and patterns. Ordered, so that deliveries are the same in every run.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    channels: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
    patterns: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
}

impl PubSub {
    /// How many subscriptions a message to the channel reaches, patterns counted each.
    pub(crate) fn receivers(&self, channel: &[u8]) -> usize {
        self.subscribers(channel) + self.matching(channel).map(|(_, ids)| ids.len()).sum::<usize>()
    }

    /// How many channels have subscribers.
    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// How many patterns have subscribers.
    pub(crate) fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// Subscribers of the channel itself.
    pub(crate) fn subscribers(&self, channel: &[u8]) -> usize {
        self.channels.get(channel).map_or(0, BTreeSet::len)
    }

    /// Clients that wait for a key the way Redisson does: subscribed to the channels that its name stands in, or to
    /// patterns that these match.
    pub(crate) fn waiting_for(&self, key: &[u8]) -> BTreeSet<Subscriber> {
        let Channels { all, fair } = Channels::of(key);
        let of_waiters = self.channels.range(Box::from(&*fair)..);
        let of_waiters: Vec<_> = of_waiters.take_while(|(channel, _)| channel.starts_with(&fair)).collect();
        let named = of_waiters.iter().flat_map(|(channel, ids)| {
            let owner = Some(Box::from(&channel[fair.len()..]));
            ids.iter().map(move |&client| Subscriber { client, owner: owner.clone() })
        });
        let listened: Vec<&[u8]> = all.iter().map(Vec::as_slice).chain([&*fair]).collect();
        let by_channel = all.iter().filter_map(|channel| self.channels.get(&**channel));
        let by_pattern = self.patterns.iter().filter(|(pattern, _)| {
            let mut heard = listened.iter().copied().chain(of_waiters.iter().map(|(channel, _)| &***channel));
            heard.any(|channel| glob::matches(pattern, channel, false))
        });
        let unnamed = by_channel.chain(by_pattern.map(|(_, ids)| ids)).flatten();
        named.chain(unnamed.map(|&client| Subscriber { client, owner: None })).collect()
    }

    fn matching(&self, channel: &[u8]) -> impl Iterator<Item = (&[u8], &BTreeSet<u64>)> {
        let matching = self.patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel, false));
        matching.map(|(pattern, ids)| (&**pattern, ids))
    }
}

impl Engine {
    /// Hands a message to everyone who listens: subscribers of the channel first, then of patterns.
    pub(super) fn send_to_subscribers(&mut self, channel: &[u8], message: &[u8]) {
        let direct: Vec<u64> = self.pubsub.channels.get(channel).into_iter().flatten().copied().collect();
        let matching: Vec<(Box<[u8]>, Vec<u64>)> = self
            .pubsub
            .matching(channel)
            .map(|(text, ids)| (text.into(), ids.iter().copied().collect()))
            .collect();
        let len = channel.len() + message.len();
        self.send_to(&direct, len, &|reply: &mut dyn Reply| {
            reply.push(3);
            reply.bulk(b"message");
            reply.bulk(channel);
            reply.bulk(message);
        });
        for (pattern, ids) in matching {
            self.send_to(&ids, len + pattern.len(), &|reply: &mut dyn Reply| {
                reply.push(4);
                reply.bulk(b"pmessage");
                reply.bulk(&pattern);
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
    }

    /// Sends a message with texts of `len` bytes in all to some sessions.
    fn send_to(&mut self, ids: &[u64], len: usize, write: &dyn Fn(&mut dyn Reply)) {
        let mut message = Message::new(len, ids.len(), write);
        for &id in ids {
            if let Some(slot) = self.sessions.find(id) {
                self.send_message(slot, &mut message);
            }
        }
    }

    /// Ends all subscriptions of a session, silently.
    pub(super) fn unsubscribe_all(&mut self, slot: Slot) {
        let session = self.sessions.get_mut(slot);
        let channels = std::mem::take(&mut session.channels);
        let patterns = std::mem::take(&mut session.patterns);
        let id = session.id;
        channels.iter().for_each(|channel| leave(&mut self.pubsub.channels, channel, id));
        patterns.iter().for_each(|pattern| leave(&mut self.pubsub.patterns, pattern, id));
        self.note_audience();
    }

    /// Lets those who would send messages know whether there is anybody to receive them.
    fn note_audience(&mut self) {
        self.keyspace.audience = !(self.pubsub.channels.is_empty() && self.pubsub.patterns.is_empty());
    }
}

fn leave(channels: &mut BTreeMap<Box<[u8]>, BTreeSet<u64>>, channel: &[u8], id: u64) {
    if let Some(ids) = channels.get_mut(channel) {
        ids.remove(&id);
        if ids.is_empty() {
            channels.remove(channel);
        }
    }
}

const SUBSCRIBE_FLAGS: u32 =
    flags::PUBSUB | flags::NOSCRIPT | flags::LOADING | flags::STALE | flags::WHILE_SUBSCRIBED;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("publish", 3, Handler::Engine(publish))
        .flags(flags::PUBSUB | flags::LOADING | flags::STALE | flags::FAST | flags::MAY_REPLICATE)
        .about("pubsub", "2.0.0", "O(N+M), N the subscribers of the channel and M all patterns subscribed to")
        .summary("Sends a message to a channel.")
        .syntax("channel message"),
    Row::new("subscribe", -2, Handler::Engine(subscribe))
        .flags(SUBSCRIBE_FLAGS)
        .about("pubsub", "2.0.0", "O(N), N the channels")
        .summary("Listens to channels.")
        .syntax("channel [channel ...]"),
    Row::new("unsubscribe", -1, Handler::Engine(unsubscribe))
        .flags(SUBSCRIBE_FLAGS)
        .about("pubsub", "2.0.0", "O(N), N the channels")
        .summary("Stops listening to channels, without any named to all.")
        .syntax("[channel [channel ...]]"),
    Row::new("psubscribe", -2, Handler::Engine(psubscribe))
        .flags(SUBSCRIBE_FLAGS)
        .about("pubsub", "2.0.0", "O(N), N the patterns")
        .summary("Listens to all channels that match patterns.")
        .syntax("pattern [pattern ...]"),
    Row::new("punsubscribe", -1, Handler::Engine(punsubscribe))
        .flags(SUBSCRIBE_FLAGS)
        .about("pubsub", "2.0.0", "O(N), N the patterns")
        .summary("Stops listening to patterns, without any named to all.")
        .syntax("[pattern [pattern ...]]"),
    Row::container("pubsub", -2, PUBSUB)
        .about("pubsub", "2.8.0", "Depends on the subcommand.")
        .summary("Tells who listens to what."),
];

const PUBSUB: &[Row<Handler>] = &[
    Row::new("channels", -2, Handler::Engine(pubsub_channels))
        .flags(flags::PUBSUB | flags::LOADING | flags::STALE)
        .about("pubsub", "2.8.0", "O(N), N the channels")
        .summary("Lists the channels that somebody listens to.")
        .syntax("[pattern]")
        .errors(&["ERR unknown subcommand or wrong number of arguments for *"]),
    Row::new("help", 2, Handler::Engine(pubsub_help))
        .flags(flags::LOADING | flags::STALE)
        .about("pubsub", "6.2.0", "O(1)")
        .summary("Explains the subcommands."),
    Row::new("numpat", 2, Handler::Engine(pubsub_numpat))
        .flags(flags::PUBSUB | flags::LOADING | flags::STALE)
        .about("pubsub", "2.8.0", "O(1)")
        .summary("Counts the patterns that somebody listens to."),
    Row::new("numsub", -2, Handler::Engine(pubsub_numsub))
        .flags(flags::PUBSUB | flags::LOADING | flags::STALE)
        .about("pubsub", "2.8.0", "O(N), N the channels")
        .summary("Counts the subscribers of channels.")
        .syntax("[channel [channel ...]]"),
];

fn publish(engine: &mut Engine, _: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let receivers = engine.pubsub.receivers(&args[1]);
    if receivers > 0 {
        engine.send_to_subscribers(&args[1], &args[2]);
    }
    reply.integer(receivers as i64);
    Ok(Flow::Done)
}

/// Says what a client is subscribed to now, even one that wants no replies.
fn confirm(reply: &mut dyn Reply, what: &[u8], name: Option<&[u8]>, count: usize) {
    let muted = reply.mute(false);
    reply.push(3);
    reply.bulk(what);
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.integer(count as i64);
    reply.mute(muted);
}

fn subscribe(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for &channel in args.from(1) {
        let session = engine.sessions.get_mut(call.slot);
        if session.channels.insert(channel.into()) {
            engine.pubsub.channels.entry(channel.into()).or_default().insert(session.id);
        }
        confirm(reply, b"subscribe", Some(channel), session.subscriptions());
    }
    engine.note_audience();
    Ok(Flow::Done)
}

fn psubscribe(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for &pattern in args.from(1) {
        let session = engine.sessions.get_mut(call.slot);
        if session.patterns.insert(pattern.into()) {
            engine.pubsub.patterns.entry(pattern.into()).or_default().insert(session.id);
        }
        confirm(reply, b"psubscribe", Some(pattern), session.subscriptions());
    }
    engine.note_audience();
    Ok(Flow::Done)
}

fn unsubscribe(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let session = engine.sessions.get_mut(call.slot);
    let id = session.id;
    let named: Vec<Box<[u8]>> = match args.len() {
        1 => session.channels.iter().cloned().collect(),
        _ => args.from(1).iter().map(|&channel| channel.into()).collect(),
    };
    if named.is_empty() {
        confirm(reply, b"unsubscribe", None, session.subscriptions());
    }
    for channel in named {
        let session = engine.sessions.get_mut(call.slot);
        if session.channels.remove(&channel) {
            leave(&mut engine.pubsub.channels, &channel, id);
        }
        confirm(reply, b"unsubscribe", Some(&channel), session.subscriptions());
    }
    engine.note_audience();
    Ok(Flow::Done)
}

fn punsubscribe(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let session = engine.sessions.get_mut(call.slot);
    let id = session.id;
    let named: Vec<Box<[u8]>> = match args.len() {
        1 => session.patterns.iter().cloned().collect(),
        _ => args.from(1).iter().map(|&pattern| pattern.into()).collect(),
    };
    if named.is_empty() {
        confirm(reply, b"punsubscribe", None, session.subscriptions());
    }
    for pattern in named {
        if engine.sessions.get_mut(call.slot).patterns.remove(&pattern) {
            leave(&mut engine.pubsub.patterns, &pattern, id);
        }
        confirm(reply, b"punsubscribe", Some(&pattern), engine.session(call.slot).subscriptions());
    }
    engine.note_audience();
    Ok(Flow::Done)
}

fn pubsub_channels(engine: &mut Engine, _: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 3 {
        return Err(unknown_or_arity(args));
    }
    let pattern = args.get(2);
    let channels = engine.pubsub.channels.keys().map(|channel| &**channel);
    let listed = |channel: &&[u8]| pattern.is_none_or(|pattern| glob::matches(pattern, channel, false));
    let channels: Vec<&[u8]> = channels.filter(listed).collect();
    reply.array(channels.len());
    channels.iter().for_each(|channel| reply.bulk(channel));
    Ok(Flow::Done)
}

fn pubsub_numpat(engine: &mut Engine, _: Call, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(engine.pubsub.patterns.len() as i64);
    Ok(Flow::Done)
}

fn pubsub_numsub(engine: &mut Engine, _: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let channels = args.from(2);
    // Flat in RESP3 too.
    reply.array(channels.len() * 2);
    for channel in channels {
        reply.bulk(channel);
        reply.integer(engine.pubsub.subscribers(channel) as i64);
    }
    Ok(Flow::Done)
}

fn pubsub_help(_: &mut Engine, _: Call, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    super::help::write("PUBSUB", HELP, reply);
    Ok(Flow::Done)
}

const HELP: &[&str] = &[
    "CHANNELS [<pattern>]",
    "    Return the currently active channels matching a <pattern> (default: '*').",
    "NUMPAT",
    "    Return number of subscriptions to patterns.",
    "NUMSUB [<channel> ...]",
    "    Return the number of subscribers for the specified channels, excluding",
    "    pattern subscriptions(default: no channels).",
];
