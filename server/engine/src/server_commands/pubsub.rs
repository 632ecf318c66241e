//! PUBLISH, SUBSCRIBE and its relatives, those of channels of shards too, PUBSUB.
//!
//! A server by itself is the one shard there is, but channels of shards are apart from the others.

use crate::clients::{Session, Subscribed};
use crate::core::{Call, Engine, Handler};
use crate::locks::{HistoryCause, HistoryEvent};
use crate::pubsub::PubSub;
use crate::spec::{Args, ChannelSpec, Flags, KeyFlags, KeySpec, Outcome, Row, unknown_or_arity};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::glob;

const SUBSCRIBE_FLAGS: Flags =
    Flags::of(&[Flags::PUBSUB, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::WHILE_SUBSCRIBED]);

/// Channels of shards are found as keys are.
const SHARD_CHANNELS: &[KeySpec] = &[KeySpec::range(1, -1, 1, &[KeyFlags::NOT_KEY])];

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("publish", 3, Handler::Engine(publish))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::MAY_REPLICATE])
        .channels(ChannelSpec::one(1))
        .about(
            "pubsub",
            "2.0.0",
            "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total \
             number of subscribed patterns (by any client).",
        )
        .summary("Sends a message to a channel.")
        .syntax("channel message"),
    Row::new("subscribe", -2, Handler::Engine(subscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::from(1))
        .about("pubsub", "2.0.0", "O(N) where N is the number of channels to subscribe to.")
        .summary("Listens to channels.")
        .syntax("channel [channel ...]"),
    Row::new("unsubscribe", -1, Handler::Engine(unsubscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .about("pubsub", "2.0.0", "O(N) where N is the number of clients already subscribed to a channel.")
        .summary("Stops listening to channels, without any named to all.")
        .syntax("[channel [channel ...]]"),
    Row::new("psubscribe", -2, Handler::Engine(psubscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::patterns_from(1))
        .about(
            "pubsub",
            "2.0.0",
            "O(N) where N is the number of patterns the client is already subscribed to.",
        )
        .summary("Listens to all channels that match patterns.")
        .syntax("(pattern: pattern) ..."),
    Row::new("punsubscribe", -1, Handler::Engine(punsubscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .about(
            "pubsub",
            "2.0.0",
            "O(N+M) where N is the number of patterns the client is already subscribed and M is the number \
             of total patterns subscribed in the system (by any client).",
        )
        .summary("Stops listening to patterns, without any named to all.")
        .syntax("[pattern [pattern ...]]"),
    Row::new("spublish", 3, Handler::Engine(spublish))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::MAY_REPLICATE])
        .channels(ChannelSpec::one(1))
        .keys(&[KeySpec::one(1, &[KeyFlags::NOT_KEY])])
        .about(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of clients subscribed to the receiving shard channel.",
        )
        .summary("Sends a message to a channel of a shard.")
        .syntax("shardchannel message"),
    Row::new("ssubscribe", -2, Handler::Engine(ssubscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::from(1))
        .keys(SHARD_CHANNELS)
        .about("pubsub", "7.0.0", "O(N) where N is the number of shard channels to subscribe to.")
        .summary("Listens to channels of shards.")
        .syntax("shardchannel [shardchannel ...]"),
    Row::new("sunsubscribe", -1, Handler::Engine(sunsubscribe))
        .flags(&[SUBSCRIBE_FLAGS])
        .keys(SHARD_CHANNELS)
        .about(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of clients already subscribed to a shard channel.",
        )
        .summary("Stops listening to channels of shards, without any named to all.")
        .syntax("[shardchannel [shardchannel ...]]"),
    Row::container("pubsub", -2, PUBSUB)
        .about("pubsub", "2.8.0", "Depends on subcommand.")
        .summary("Tells who listens to what."),
];

const PUBSUB: &[Row<Handler>] = &[
    Row::new("channels", -2, Handler::PubSub(channels))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
        .about(
            "pubsub",
            "2.8.0",
            "O(N) where N is the number of active channels, and assuming constant time pattern matching \
             (relatively short channels and patterns)",
        )
        .summary("Lists the channels that somebody listens to.")
        .help(&[
            "CHANNELS [<pattern>]",
            "    Return the currently active channels matching a <pattern> (default: '*').",
        ])
        .syntax("[pattern]")
        .errors(&["ERR unknown subcommand or wrong number of arguments for *"]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("pubsub", "6.2.0", "O(1)")
        .summary("Explains the subcommands."),
    Row::new("numpat", 2, Handler::PubSub(numpat))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
        .about("pubsub", "2.8.0", "O(1)")
        .summary("Counts the patterns that somebody listens to.")
        .help(&["NUMPAT", "    Return number of subscriptions to patterns."]),
    Row::new("numsub", -2, Handler::PubSub(numsub))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
        .about(
            "pubsub",
            "2.8.0",
            "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
        )
        .summary("Counts the subscribers of channels.")
        .help(&[
            "NUMSUB [<channel> ...]",
            "    Return the number of subscribers for the specified channels, excluding",
            "    pattern subscriptions(default: no channels).",
        ])
        .syntax("[channel [channel ...]]"),
    Row::new("shardchannels", -2, Handler::PubSub(shardchannels))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
        .about(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of active shard channels, and assuming constant time pattern matching \
             (relatively short shard channels).",
        )
        .summary("Lists the channels of shards that somebody listens to.")
        .help(&[
            "SHARDCHANNELS [<pattern>]",
            "    Return the currently active shard level channels matching a <pattern> (default: '*').",
        ])
        .syntax("[pattern]")
        .errors(&["ERR unknown subcommand or wrong number of arguments for *"]),
    Row::new("shardnumsub", -2, Handler::PubSub(shardnumsub))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE])
        .about(
            "pubsub",
            "7.0.0",
            "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
        )
        .summary("Counts the subscribers of channels of shards.")
        .help(&[
            "SHARDNUMSUB [<shardchannel> ...]",
            "    Return the number of subscribers for the specified shard level channel(s)",
        ])
        .syntax("[shardchannel [shardchannel ...]]"),
];

fn publish(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let receivers = engine.pubsub.receivers(&args[1]);
    if receivers > 0 {
        engine.send_to_subscribers(&args[1], &args[2]);
    }
    pass_on(engine, call, args, false);
    reply.integer(receivers as i64);
    Ok(())
}

fn spublish(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let receivers = engine.pubsub.shard_subscribers(&args[1]);
    if receivers > 0 {
        engine.send_to_shard(&args[1], &args[2]);
    }
    pass_on(engine, call, args, true);
    reply.integer(receivers as i64);
    Ok(())
}

/// Lets the subscribers of other servers hear a message: of all nodes of a cluster, replicas among them, or else of
/// replicas, by the stream.
fn pass_on(engine: &mut Engine, call: Call<'_>, args: Args<'_>, is_shard: bool) {
    if engine.is_node() {
        engine.publish_to_nodes(&args[1], &args[2], is_shard);
    } else {
        engine.replicate_request(args.all(), call.session);
    }
}

/// What a client can subscribe to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Channel,
    Pattern,
    Shard,
}

impl Kind {
    /// The word that reports a subscription, and the one that reports its end.
    fn words(self) -> [&'static [u8]; 2] {
        match self {
            Kind::Channel => [b"subscribe", b"unsubscribe"],
            Kind::Pattern => [b"psubscribe", b"punsubscribe"],
            Kind::Shard => [b"ssubscribe", b"sunsubscribe"],
        }
    }

    /// The names of this kind that a client is subscribed to.
    fn names(self, session: &mut Session) -> &mut Subscribed {
        match self {
            Kind::Channel => &mut session.channels,
            Kind::Pattern => &mut session.patterns,
            Kind::Shard => &mut session.shards,
        }
    }

    /// How many subscriptions a client is told that it has: channels of shards are counted by themselves.
    fn count(self, session: &Session) -> usize {
        match self {
            Kind::Channel | Kind::Pattern => session.subscriptions(),
            Kind::Shard => session.shards.len(),
        }
    }

    fn join(self, pubsub: &mut PubSub, name: &[u8], id: u64) {
        match self {
            Kind::Channel => pubsub.subscribe(name, id),
            Kind::Pattern => pubsub.subscribe_pattern(name, id),
            Kind::Shard => pubsub.subscribe_shard(name, id),
        }
    }

    fn leave(self, pubsub: &mut PubSub, name: &[u8], id: u64) {
        match self {
            Kind::Channel => pubsub.unsubscribe(name, id),
            Kind::Pattern => pubsub.unsubscribe_pattern(name, id),
            Kind::Shard => pubsub.unsubscribe_shard(name, id),
        }
    }
}

/// Reports a client's number of subscriptions, even to one that wants no replies.
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

fn subscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    join(engine, call, Kind::Channel, args, reply)
}

fn psubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    join(engine, call, Kind::Pattern, args, reply)
}

fn ssubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    join(engine, call, Kind::Shard, args, reply)
}

fn join(engine: &mut Engine, call: Call<'_>, kind: Kind, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let [word, _] = kind.words();
    for &name in args.from(1) {
        let session = engine.sessions.get_mut(call.slot);
        if kind.names(session).insert(name) {
            kind.join(&mut engine.pubsub, name, session.id);
            note(engine, call, kind, name, HistoryEvent::Queued);
        }
        confirm(reply, word, Some(name), kind.count(engine.sessions.get_mut(call.slot)));
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

/// Who listens to a lock's channel waits for the lock as Redisson does.
fn note(engine: &mut Engine, call: Call<'_>, kind: Kind, name: &[u8], event: HistoryEvent) {
    if !matches!(kind, Kind::Pattern) {
        engine.history().subscription(call.slot, name, (event, HistoryCause::None));
    }
}

fn unsubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    leave(engine, call, Kind::Channel, args, reply)
}

fn punsubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    leave(engine, call, Kind::Pattern, args, reply)
}

fn sunsubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    leave(engine, call, Kind::Shard, args, reply)
}

fn leave(engine: &mut Engine, call: Call<'_>, kind: Kind, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let [_, word] = kind.words();
    let session = engine.sessions.get_mut(call.slot);
    let named: Vec<Box<[u8]>> = match args.len() {
        1 => kind.names(session).iter().cloned().collect(),
        _ => args.from(1).iter().map(|&name| name.into()).collect(),
    };
    if named.is_empty() {
        confirm(reply, word, None, kind.count(session));
    }
    for name in named {
        let session = engine.sessions.get_mut(call.slot);
        if kind.names(session).remove(&name) {
            kind.leave(&mut engine.pubsub, &name, session.id);
            note(engine, call, kind, &name, HistoryEvent::LeftQueue);
        }
        confirm(reply, word, Some(&name), kind.count(engine.sessions.get_mut(call.slot)));
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

fn channels(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    list(pubsub.with_prefix(b"").map(|(channel, _)| channel), args, reply)
}

fn shardchannels(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    list(pubsub.all_shards(), args, reply)
}

/// Answers the channels that match the pattern, if there is one.
fn list<'a>(channels: impl Iterator<Item = &'a [u8]>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 3 {
        return Err(unknown_or_arity(args));
    }
    let pattern = args.get(2);
    let listed = |channel: &&[u8]| pattern.is_none_or(|pattern| glob::matches(pattern, channel, false));
    let channels: Vec<&[u8]> = channels.filter(listed).collect();
    reply.array(channels.len());
    channels.iter().for_each(|channel| reply.bulk(channel));
    Ok(())
}

fn numpat(pubsub: &PubSub, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(pubsub.patterns() as i64);
    Ok(())
}

fn numsub(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    count_each(args, |channel| pubsub.subscribers(channel), reply);
    Ok(())
}

fn shardnumsub(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    count_each(args, |channel| pubsub.shard_subscribers(channel), reply);
    Ok(())
}

/// Answers each channel with its subscribers, flat in RESP3 too.
fn count_each(args: Args<'_>, subscribers: impl Fn(&[u8]) -> usize, reply: &mut dyn Reply) {
    let channels = args.from(2);
    reply.array(channels.len() * 2);
    for channel in channels {
        reply.bulk(channel);
        reply.integer(subscribers(channel) as i64);
    }
}
