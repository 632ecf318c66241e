//! PUBLISH, SUBSCRIBE and its relatives, PUBSUB.

use crate::core::{Call, Engine, Handler};
use crate::keyspace::glob;
use crate::pubsub::PubSub;
use crate::spec::{Args, Flags, Outcome, Row, unknown_or_arity};
use lockwheel_resp::Reply;

const SUBSCRIBE_FLAGS: Flags =
    Flags::of(&[Flags::PUBSUB, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::WHILE_SUBSCRIBED]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("publish", 3, Handler::Engine(publish))
        .flags(&[Flags::PUBSUB, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::MAY_REPLICATE])
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
];

fn publish(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let receivers = engine.pubsub.receivers(&args[1]);
    if receivers > 0 {
        engine.send_to_subscribers(&args[1], &args[2]);
    }
    reply.integer(receivers as i64);
    Ok(())
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
    for &channel in args.from(1) {
        let session = engine.sessions.get_mut(call.slot);
        if session.channels.insert(channel) {
            engine.pubsub.subscribe(channel, session.id);
        }
        confirm(reply, b"subscribe", Some(channel), session.subscriptions());
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

fn psubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    for &pattern in args.from(1) {
        let session = engine.sessions.get_mut(call.slot);
        if session.patterns.insert(pattern) {
            engine.pubsub.subscribe_pattern(pattern, session.id);
        }
        confirm(reply, b"psubscribe", Some(pattern), session.subscriptions());
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

fn unsubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
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
            engine.pubsub.unsubscribe(&channel, id);
        }
        confirm(reply, b"unsubscribe", Some(&channel), session.subscriptions());
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

fn punsubscribe(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
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
            engine.pubsub.unsubscribe_pattern(&pattern, id);
        }
        confirm(reply, b"punsubscribe", Some(&pattern), engine.session(call.slot).subscriptions());
    }
    engine.subscriptions_changed(call.slot);
    Ok(())
}

fn channels(pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 3 {
        return Err(unknown_or_arity(args));
    }
    let pattern = args.get(2);
    let channels = pubsub.with_prefix(b"").map(|(channel, _)| channel);
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
    let channels = args.from(2);
    // Flat in RESP3 too.
    reply.array(channels.len() * 2);
    for channel in channels {
        reply.bulk(channel);
        reply.integer(pubsub.subscribers(channel) as i64);
    }
    Ok(())
}
