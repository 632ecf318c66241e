//! The parameters of masters and of the sentinel, its periods, and simulated failures.

use super::master::find;
use crate::sentinel::{Sentinel, SetOptionError};
use crate::sentinel_server::{SentinelOutcome, SentinelRequest};
use crate::spec::{Args, CommandError, quotable};
use lockwheel_resp::{Reply, number};

const DENIED: &str = "ERR Reconfiguration of scripts path is denied for security reasons. Check the \
                      deny-scripts-reconfig configuration directive in your Sentinel configuration";
const NO_SCRIPT: &str = "ERR Notification script seems non existing or non executable";
const NO_CLIENT_SCRIPT: &str = "ERR Client reconfiguration script seems non existing or non executable";
const CONFIG_FORM: &str = "ERR Only SENTINEL CONFIG GET <option> / SET <option> <value> are supported.";

fn quoting(parts: &[&[u8]]) -> CommandError {
    CommandError::new(parts.concat())
}

pub(super) fn set(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    let master = find(sentinel, &args[2])?;
    let words = args.from(3);
    let word = |at: usize| quotable(words[at]);
    sentinel.set(master, words).map_err(|error| match error {
        SetOptionError::Unknown(option) => {
            quoting(&[b"ERR Unknown option or number of arguments for SENTINEL SET '", word(option), b"'"])
        }
        SetOptionError::Invalid { option, at } => {
            quoting(&[b"ERR Invalid argument '", word(at), b"' for SENTINEL SET '", word(option), b"'"])
        }
        SetOptionError::Denied => CommandError::text(DENIED),
        SetOptionError::Script { client: false } => CommandError::text(NO_SCRIPT),
        SetOptionError::Script { client: true } => CommandError::text(NO_CLIENT_SCRIPT),
    })?;
    Ok(SentinelRequest::Saved)
}

pub(super) fn config(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    if args.is(2, "set") && args.len() == 5 {
        let (name, value) = (&args[3], &args[4]);
        return match sentinel.set_own(name, value) {
            None => Err(quoting(&[b"ERR Invalid argument '", quotable(name), b"' to SENTINEL CONFIG SET"])),
            Some(false) => {
                let (name, value) = (quotable(name), quotable(value));
                Err(quoting(&[b"ERR Invalid value '", value, b"' to SENTINEL CONFIG SET '", name, b"'"]))
            }
            Some(true) => Ok(SentinelRequest::Announced),
        };
    }
    if args.is(2, "get") && args.len() == 4 {
        let found = sentinel.own_parameters(&args[3]);
        reply.map(found.len());
        for (name, value) in found {
            reply.bulk(name.as_bytes());
            reply.bulk(&value);
        }
        return Ok(SentinelRequest::Answered);
    }
    Err(CommandError::text(CONFIG_FORM))
}

pub(super) fn debug(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    let periods = sentinel.periods_mut();
    if args.len() == 2 {
        let all = periods.all();
        reply.map(all.len());
        for (name, ms) in all {
            reply.bulk(name.as_bytes());
            reply.bulk(ms.to_string().as_bytes());
        }
        return Ok(SentinelRequest::Answered);
    }
    let mut changed = periods.clone();
    for pair in args.from(2).chunks(2) {
        let name = quotable(pair[0]);
        let period = changed.named(pair[0]).zip(pair.get(1));
        let Some((period, value)) = period else {
            let text = b"ERR Unknown option or number of arguments for SENTINEL DEBUG '";
            return Err(quoting(&[text, name, b"'"]));
        };
        let ms = number::parse_i64(value).filter(|ms| *ms > 0);
        let invalid =
            || quoting(&[b"ERR Invalid argument '", quotable(value), b"' for SENTINEL DEBUG '", name, b"'"]);
        *period = ms.ok_or_else(invalid)?;
    }
    *periods = changed;
    Ok(SentinelRequest::Done)
}

pub(super) fn simulate_failure(
    sentinel: &mut Sentinel,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> SentinelOutcome {
    let mut failures = sentinel.failures();
    for word in args.from(2) {
        match &*word.to_ascii_lowercase() {
            b"crash-after-election" => failures.after_election = true,
            b"crash-after-promotion" => failures.after_promotion = true,
            b"help" => {
                reply.array(2);
                reply.bulk(b"crash-after-election");
                reply.bulk(b"crash-after-promotion");
                return Ok(SentinelRequest::Answered);
            }
            _ => return Err(CommandError::text("ERR Unknown failure simulation specified")),
        }
    }
    sentinel.simulate(failures);
    Ok(SentinelRequest::Done)
}
