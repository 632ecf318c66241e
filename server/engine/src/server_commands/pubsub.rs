//! PUBLISH, SUBSCRIBE, PUBSUB and related commands. The shard channels of a standalone server are separate, too.

use crate::clients::{SubscriptionKind, Subscriptions};
use crate::core::{ClientHandler, Handler};
use crate::locks::HistoryCause;
use crate::pubsub::{Audience, PubSub};
use crate::spec::{Args, ChannelSpec, Flags, KeyFlags, KeySpec, Outcome, Row, unknown_or_arity};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::glob;

const SUBSCRIBE_FLAGS: Flags =
    Flags::of(&[Flags::PUBSUB, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::WHILE_SUBSCRIBED]);

/// The positions of shard channels, which are hashed like keys.
const SHARD_CHANNELS: &[KeySpec] = &[KeySpec::range(1, -1, 1, &[KeyFlags::NOT_KEY])];

const SUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    join(its, SubscriptionKind::Channel, args, reply)
}));
const UNSUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    leave(its, SubscriptionKind::Channel, args, reply)
}));
const PSUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    join(its, SubscriptionKind::Pattern, args, reply)
}));
const PUNSUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    leave(its, SubscriptionKind::Pattern, args, reply)
}));
const SSUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    join(its, SubscriptionKind::Shard, args, reply)
}));
const SUNSUBSCRIBE: Handler = Handler::Client(&ClientHandler::Subscriptions(|its, args, reply| {
    leave(its, SubscriptionKind::Shard, args, reply)
}));

pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("publish", 3, Handler::Publish(Audience::Everyone))
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
    Row::new("subscribe", -2, SUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::from(1))
        .about("pubsub", "2.0.0", "O(N) where N is the number of channels to subscribe to.")
        .summary("Listens to channels.")
        .syntax("channel [channel ...]"),
    Row::new("unsubscribe", -1, UNSUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .about("pubsub", "2.0.0", "O(N) where N is the number of clients already subscribed to a channel.")
        .summary("Unsubscribes from channels; without arguments from all.")
        .syntax("[channel [channel ...]]"),
    Row::new("psubscribe", -2, PSUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::patterns_from(1))
        .about(
            "pubsub",
            "2.0.0",
            "O(N) where N is the number of patterns the client is already subscribed to.",
        )
        .summary("Listens to all channels that match patterns.")
        .syntax("(pattern: pattern) ..."),
    Row::new("punsubscribe", -1, PUNSUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .about(
            "pubsub",
            "2.0.0",
            "O(N+M) where N is the number of patterns the client is already subscribed and M is the number \
             of total patterns subscribed in the system (by any client).",
        )
        .summary("Unsubscribes from patterns; without arguments from all.")
        .syntax("[pattern [pattern ...]]"),
    Row::new("spublish", 3, Handler::Publish(Audience::Shard))
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
    Row::new("ssubscribe", -2, SSUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .channels(ChannelSpec::from(1))
        .keys(SHARD_CHANNELS)
        .about("pubsub", "7.0.0", "O(N) where N is the number of shard channels to subscribe to.")
        .summary("Listens to channels of shards.")
        .syntax("shardchannel [shardchannel ...]"),
    Row::new("sunsubscribe", -1, SUNSUBSCRIBE)
        .flags(&[SUBSCRIBE_FLAGS])
        .keys(SHARD_CHANNELS)
        .about(
            "pubsub",
            "7.0.0",
            "O(N) where N is the number of clients already subscribed to a shard channel.",
        )
        .summary("Unsubscribes from shard channels; without arguments from all.")
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
        .summary("Lists the channels that have subscribers.")
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
        .summary("Counts the patterns that have subscribers.")
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
        .summary("Lists the shard channels that have subscribers.")
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

/// Returns the word that reports a subscription, and the one that reports its end.
fn words(kind: SubscriptionKind) -> [&'static [u8]; 2] {
    match kind {
        SubscriptionKind::Channel => [b"subscribe", b"unsubscribe"],
        SubscriptionKind::Pattern => [b"psubscribe", b"punsubscribe"],
        SubscriptionKind::Shard => [b"ssubscribe", b"sunsubscribe"],
    }
}

/// Reports a client's number of subscriptions, even if the client has turned replies off.
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

fn join(
    its: &mut Subscriptions<'_>,
    kind: SubscriptionKind,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let [word, _] = words(kind);
    for &name in args.from(1) {
        its.begin(kind, name);
        confirm(reply, word, Some(name), its.count(kind));
    }
    Ok(())
}

fn leave(
    its: &mut Subscriptions<'_>,
    kind: SubscriptionKind,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let [_, word] = words(kind);
    let named: Vec<Box<[u8]>> = match args.len() {
        1 => its.names(kind),
        _ => args.from(1).iter().map(|&name| name.into()).collect(),
    };
    if named.is_empty() {
        confirm(reply, word, None, its.count(kind));
    }
    for name in named {
        its.end(kind, &name, HistoryCause::None);
        confirm(reply, word, Some(&name), its.count(kind));
    }
    Ok(())
}

fn channels(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    list(pubsub.with_prefix(b"").map(|(channel, _)| channel), args, reply)
}

fn shardchannels(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    list(pubsub.all_shards(), args, reply)
}

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

/// Replies with each channel and its number of subscribers, as a flat array in RESP3 too.
fn count_each(args: Args<'_>, subscribers: impl Fn(&[u8]) -> usize, reply: &mut dyn Reply) {
    let channels = args.from(2);
    reply.array(channels.len() * 2);
    for channel in channels {
        reply.bulk(channel);
        reply.integer(subscribers(channel) as i64);
    }
}
