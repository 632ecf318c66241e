//! The commands that a sentinel has besides SENTINEL, and its own handlers for some of them.

use crate::core::{Handler, PartHandler, ServerHandler};
use crate::sentinel::Sentinel;
use crate::sentinel_server::{SentinelOutcome, SentinelRequest};
use crate::server_commands::info;
use crate::server_commands::shutdown;
use crate::spec::{Args, CommandError, Spec};
use lockwheel_resp::Reply;

/// The commands that a sentinel shares with other servers.
const NAMES: &[&str] = &[
    "acl",
    "auth",
    "client",
    "command",
    "hello",
    "info",
    "ping",
    "psubscribe",
    "publish",
    "punsubscribe",
    "role",
    "shutdown",
    "subscribe",
    "unsubscribe",
];

pub(crate) const HANDLERS: &[(&str, Handler)] = &[
    ("info", Handler::Server(&ServerHandler::Info(info::info_of_sentinel))),
    ("publish", Handler::Part(PartHandler::Sentinel(publish))),
    ("role", Handler::Part(PartHandler::Sentinel(role))),
    ("shutdown", Handler::Part(PartHandler::Sentinel(shutdown))),
];

/// Whether a sentinel has a command. The clock commands are among them.
pub(crate) fn is_of_sentinel(spec: &Spec) -> bool {
    NAMES.contains(&spec.name) || spec.name.starts_with("clock.")
}

const ONLY_HELLO: &str = "ERR Only HELLO messages are accepted by Sentinel instances.";

/// Accepts the announcements of other sentinels; there are no subscribers.
fn publish(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    if &args[1] != b"__sentinel__:hello" {
        return Err(CommandError::text(ONLY_HELLO));
    }
    sentinel.hear(&args[2]);
    Ok(SentinelRequest::Count(1))
}

fn role(sentinel: &mut Sentinel, _: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    let masters = sentinel.master_ids();
    reply.array(2);
    reply.bulk(b"sentinel");
    reply.array(masters.len());
    masters.into_iter().for_each(|master| reply.bulk(sentinel.name_of(master).as_bytes()));
    Ok(SentinelRequest::Answered)
}

/// Shuts down a sentinel, which has nothing to save: its file is up to date.
fn shutdown(_: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    shutdown::check(args)?;
    Ok(SentinelRequest::End)
}
