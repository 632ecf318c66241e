//! CLIENT TRACKING and its related subcommands.

use super::client_rows::row;
use crate::clients::Session;
use crate::core::{ClientHandler, Handler};
use crate::spec::{Args, CommandError, Outcome, Row, errors};
use crate::tracking::{Caching, Tracking, TrackingMode, TrackingRequest};
use lockwheel_resp::Reply;

const NOT_TRACKING: &str = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or \
                            OPTOUT mode enabled";
const NOT_OPTIN: &str = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
const NOT_OPTOUT: &str = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
const TWO_REDIRECTS: &str = "ERR A client can only redirect to a single other client";
const NO_SUCH_CLIENT: &str = "ERR The client ID you want redirect to does not exist";

pub(super) const CACHING: Row<Handler> =
    row("caching", 3, Handler::Client(&ClientHandler::Tracking(caching)))
        .about("connection", "6.0.0", "O(1)")
        .summary("Sets whether the keys of the next request are tracked.")
        .help(&[
            "CACHING (YES|NO)",
            "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
        ])
        .syntax("(mode: YES | NO)")
        .errors(&[NOT_TRACKING, NOT_OPTIN, NOT_OPTOUT, "ERR syntax error"]);

pub(super) const GETREDIR: Row<Handler> =
    row("getredir", 2, Handler::Client(&ClientHandler::Tracking(getredir)))
        .about("connection", "6.0.0", "O(1)")
        .summary("Returns the id of the client to which invalidation messages are redirected.")
        .help(&["GETREDIR", "    Return the client ID we are redirecting to when tracking is enabled."])
        .help_after("caching");

pub(super) const TRACKING: Row<Handler> = row("tracking", -3, Handler::Client(&ClientHandler::Tracking(tracking)))
    .about("connection", "6.0.0", "O(1). Some options may introduce additional complexity.")
    .summary("Enables or disables invalidation messages for keys that the client has read.")
    .help(&[
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Control server assisted client side caching.",
    ])
    .help_after("unblock")
    .syntax(
        "(status: ON | OFF) [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
    )
    .errors(&[
        TWO_REDIRECTS,
        NO_SUCH_CLIENT,
        "ERR value is not an integer or out of range",
        "ERR PREFIX option requires BCAST mode to be enabled",
        "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it \
         with a different mode.",
        "ERR OPTIN and OPTOUT are not compatible with BCAST",
        "ERR You can't specify both OPTIN mode and OPTOUT mode",
        "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it \
         with a different mode.",
        "ERR Prefix 'prefix' overlaps with an existing prefix 'prefix'. Prefixes for a single client must not overlap.",
        "ERR Prefix 'prefix' overlaps with another provided prefix 'prefix'. Prefixes for a single client must not \
         overlap.",
        "ERR syntax error",
    ]);

pub(super) const TRACKINGINFO: Row<Handler> =
    row("trackinginfo", 2, Handler::Client(&ClientHandler::Tracking(trackinginfo)))
        .about("connection", "6.2.0", "O(1)")
        .summary("Tells how the client tracks keys.")
        .help(&["TRACKINGINFO", "    Report tracking status for the current connection."])
        .help_after("tracking");

fn tracking(
    tracking: &mut Tracking<'_>,
    session: &Session,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let (mut mode, mut redirect, mut prefixes) = (TrackingMode::default(), 0, Vec::new());
    let mut at = 3;
    while at < args.len() {
        let value = args.get(at + 1);
        if args.is(at, "redirect") && value.is_some() {
            if redirect != 0 {
                return Err(CommandError::text(TWO_REDIRECTS));
            }
            redirect = existing_client(tracking, args.int(at + 1)?)?;
            at += 1;
        } else if let (true, Some(prefix)) = (args.is(at, "prefix"), value) {
            prefixes.push(prefix);
            at += 1;
        } else {
            mode |= option(args, at)?;
        }
        at += 1;
    }
    if args.is(2, "on") {
        tracking.track(session.slot, TrackingRequest { mode, redirect, prefixes: &prefixes })?;
    } else if args.is(2, "off") {
        tracking.untrack(session.slot);
    } else {
        return Err(errors::SYNTAX);
    }
    reply.ok();
    Ok(())
}

fn option(args: Args<'_>, at: usize) -> Result<TrackingMode, CommandError> {
    let options = [
        ("bcast", TrackingMode::BCAST),
        ("optin", TrackingMode::OPTIN),
        ("optout", TrackingMode::OPTOUT),
        ("noloop", TrackingMode::NOLOOP),
    ];
    let found = options.into_iter().find(|(name, _)| args.is(at, name));
    found.map(|(_, mode)| mode).ok_or(errors::SYNTAX)
}

fn existing_client(tracking: &Tracking<'_>, id: i64) -> Result<u64, CommandError> {
    let found = u64::try_from(id).ok().filter(|&id| tracking.has_client(id));
    found.ok_or(CommandError::text(NO_SUCH_CLIENT))
}

fn caching(tracking: &mut Tracking<'_>, session: &Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let client = tracking.active(session.id);
    let mode = client.ok_or(CommandError::text(NOT_TRACKING))?.mode;
    let (wanted, refusal) = match (args.is(2, "yes"), args.is(2, "no")) {
        (true, _) => (TrackingMode::OPTIN, NOT_OPTIN),
        (_, true) => (TrackingMode::OPTOUT, NOT_OPTOUT),
        _ => return Err(errors::SYNTAX),
    };
    if !mode.contains(wanted) {
        return Err(CommandError::text(refusal));
    }
    tracking.set_caching(session.slot, Caching::Said);
    reply.ok();
    Ok(())
}

fn getredir(tracking: &mut Tracking<'_>, session: &Session, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let client = tracking.active(session.id);
    reply.integer(client.map_or(-1, |client| client.redirect as i64));
    Ok(())
}

fn trackinginfo(
    tracking: &mut Tracking<'_>,
    session: &Session,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let client = tracking.active(session.id);
    let has = |mode| client.is_some_and(|client| client.mode.contains(mode));
    let is_said = client.is_some_and(|client| client.caching == Caching::Said);
    let flags = [
        (client.is_none(), "off"),
        (client.is_some(), "on"),
        (has(TrackingMode::BCAST), "bcast"),
        (has(TrackingMode::OPTIN), "optin"),
        (has(TrackingMode::OPTIN) && is_said, "caching-yes"),
        (has(TrackingMode::OPTOUT), "optout"),
        (has(TrackingMode::OPTOUT) && is_said, "caching-no"),
        (has(TrackingMode::NOLOOP), "noloop"),
        (client.is_some_and(|client| client.is_broken), "broken_redirect"),
    ];
    let flags: Vec<&str> = flags.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(client.map_or(-1, |client| client.redirect as i64));
    reply.bulk(b"prefixes");
    let prefixes = client.map(|client| &client.prefixes);
    reply.array(prefixes.map_or(0, |prefixes| prefixes.len()));
    prefixes.into_iter().flatten().for_each(|prefix| reply.bulk(prefix));
    Ok(())
}
