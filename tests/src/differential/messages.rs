//! The delivery of messages: subscriptions and messages on two connections, compared frame by frame.

use crate::client::{Client, Protocol};
use crate::differences;
use crate::ours;
use crate::pair::typed;
use crate::redis_server::{Kind, RealServer};
use crate::reply::Reply;
use crate::rng::Rng;

/// Connections to each server.
const SESSIONS: usize = 3;

/// The end mark of a connection's frames, answered by PING.
const MARKER: &[u8] = b"(that is all)";

/// The words of a random line; one or more channels or patterns follow.
const COMMANDS: &[&str] = &[
    "SUBSCRIBE",
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "PUBLISH",
    "PUBLISH",
    "PUBLISH",
    "EVAL \"return redis.call('publish', ARGV[1], ARGV[2])\" 0",
    "SSUBSCRIBE",
    "SUNSUBSCRIBE",
    "SPUBLISH",
    "EVAL \"return redis.call('spublish', ARGV[1], ARGV[2])\" 0",
    "PUBSUB SHARDNUMSUB",
    "PUBSUB SHARDCHANNELS",
    "PUBSUB NUMSUB",
    "PUBSUB NUMPAT",
    "PUBSUB CHANNELS",
    "PING",
    "ECHO",
    "RESET",
];
const CHANNELS: &[&str] = &["c1", "c2", "news.x", "news.y", ""];
const PATTERNS: &[&str] = &["*", "c?", "news.*", "c[12]", "none", "news.x"];

/// Sends random lines of subscribing and publishing to a real server and to ours, and requires that every connection
/// receives the same frames. If the real server is not installed, does nothing and says so.
///
/// # Panics
/// Panics at the first difference, with the lines before it.
#[track_caller]
pub fn compare_messages(kind: Kind, protocol: Protocol, seed: u64, lines: usize) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let ours = ours::server();
    let mut rng = Rng::new(seed);
    let mut servers =
        [real.addr(), ours.addr()].map(|addr| [(); SESSIONS].map(|()| Client::connect_with(addr, protocol)));
    let mut sent = String::new();
    for _ in 0..lines {
        let session = rng.below(SESSIONS);
        let arguments = line(&mut rng);
        sent.push_str(&format!("{session}> {}\n", typed(&arguments)));
        let told = servers.each_mut().map(|clients| received_frames(kind, clients, session, &arguments));
        let [real, ours] =
            told.map(|frames| if leaves_all(&arguments) { in_any_order(frames) } else { frames });
        assert!(real == ours, "{protocol:?}, seed {seed}\n{sent} real: {real:?}\n ours: {ours:?}");
        if arguments[0] == b"RESET" && protocol == Protocol::Resp3 {
            servers.iter_mut().for_each(|clients| drop(clients[session].line("HELLO 3")));
        }
    }
}

fn line(rng: &mut Rng) -> Vec<Vec<u8>> {
    let command = *rng.pick(COMMANDS);
    let mut words = crate::client::split(command);
    let channel = |rng: &mut Rng| rng.pick(CHANNELS).as_bytes().to_vec();
    match command {
        "SUBSCRIBE" | "UNSUBSCRIBE" | "PUBSUB NUMSUB" | "SSUBSCRIBE" | "SUNSUBSCRIBE"
        | "PUBSUB SHARDNUMSUB" => {
            (0..rng.below(4)).for_each(|_| words.push(channel(rng)));
        }
        "PSUBSCRIBE" | "PUNSUBSCRIBE" => {
            (0..rng.below(4)).for_each(|_| words.push(rng.pick(PATTERNS).as_bytes().to_vec()));
        }
        "PUBSUB NUMPAT" | "PUBSUB CHANNELS" | "PUBSUB SHARDCHANNELS" | "RESET" => {}
        "PING" | "ECHO" => words.push(b"x".to_vec()),
        _ => words.extend([channel(rng), format!("m{}", rng.below(100)).into_bytes()]),
    }
    words
}

/// Returns the frames that each connection receives because of a command of one of them.
fn received_frames(
    kind: Kind,
    clients: &mut [Client; SESSIONS],
    session: usize,
    arguments: &[Vec<u8>],
) -> Vec<Vec<Reply>> {
    clients[session].send(arguments);
    if arguments[0] == b"RESET" {
        // Until the command is answered, the connection speaks its previous protocol.
        let reply = clients[session].read_reply();
        clients[session].set_protocol(Protocol::Resp2);
        return vec![vec![reply]];
    }
    let mut all = Vec::new();
    // The sender is read first: when it has its answer, everybody's messages are on their way.
    for index in (session..SESSIONS).chain(0..session) {
        all.push(until_marker(&mut clients[index]));
    }
    // The marker stays the last.
    if let [frames @ .., _] = all[0].as_mut_slice() {
        differences::own_messages_last(kind, frames);
    }
    all
}

fn until_marker(client: &mut Client) -> Vec<Reply> {
    client.send(&[b"PING".as_slice(), MARKER]);
    let mut frames = Vec::new();
    loop {
        let frame = client.read_frame();
        let is_marker = match &frame {
            Reply::Bulk(text) => text == MARKER,
            Reply::Array(items) => items.last().and_then(Reply::as_bytes) == Some(MARKER),
            _ => false,
        };
        if is_marker {
            // The form of the answer shows whether the connection counts as a subscriber.
            frames.push(frame);
            sort_patterns(&mut frames);
            return frames;
        }
        frames.push(frame);
    }
}

/// A message may match several patterns; their order is not promised.
fn sort_patterns(frames: &mut [Reply]) {
    let kind = |frame: &Reply| match frame {
        Reply::Array(items) | Reply::Push(items) => items.first().cloned(),
        _ => None,
    };
    for run in frames.chunk_by_mut(|a, b| kind(a) == kind(b)) {
        if kind(&run[0]).and_then(|kind| kind.as_bytes().map(<[u8]>::to_vec)).as_deref() == Some(b"pmessage")
        {
            run.sort_by_cached_key(Reply::to_string);
        }
    }
}

fn is_confirmation(items: &[Reply]) -> bool {
    let kind = items.first().and_then(Reply::as_bytes).unwrap_or_default();
    items.len() == 3 && kind.ends_with(b"unsubscribe")
}

/// Whether a command's answers come in an order that Redis does not promise.
fn leaves_all(arguments: &[Vec<u8>]) -> bool {
    matches!(arguments, [name] if name.ends_with(b"UNSUBSCRIBE"))
        || matches!(arguments, [name, sub] if name == b"PUBSUB" && sub.ends_with(b"CHANNELS"))
}

/// Sorts the names in the sender's frames; the counts stay in their place.
fn in_any_order(mut told: Vec<Vec<Reply>>) -> Vec<Vec<Reply>> {
    let Some(frames) = told.first_mut() else { return told };
    let mut names = Vec::new();
    for frame in frames.iter_mut() {
        match frame {
            Reply::Array(items) | Reply::Push(items) if is_confirmation(items) => {
                names.push(std::mem::replace(&mut items[1], Reply::Null).to_string());
            }
            other => *other = other.clone().sorted(),
        }
    }
    names.sort();
    frames.extend(names.into_iter().map(|name| Reply::Bulk(name.into_bytes())));
    told
}
