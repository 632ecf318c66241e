//! Commands that change a sentinel, and queries by other sentinels.

use super::master::{NOT_TEXT, find};
use crate::sentinel::Sentinel;
use crate::sentinel_server::{SentinelOutcome, SentinelRequest};
use crate::spec::{Args, CommandError};
use lockwheel_resp::{Reply, number};

pub(super) fn check_quorum(
    sentinel: &mut Sentinel,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> SentinelOutcome {
    let master = find(sentinel, &args[2])?;
    let quorum = sentinel.quorum_of(master);
    let usable = quorum.usable;
    let lacks = [
        (quorum.lacks_quorum, "Not enough available Sentinels to reach the specified quorum for this master"),
        (
            quorum.lacks_majority,
            "Not enough available Sentinels to reach the majority and authorize a failover",
        ),
    ];
    let lacks: Vec<&str> = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, text)| text).collect();
    if !lacks.is_empty() {
        let text = format!("NOQUORUM {usable} usable Sentinels. {}", lacks.join(". "));
        return Err(CommandError::new(text));
    }
    let text = format!("OK {usable} usable Sentinels. Quorum and failover authorization can be reached");
    reply.status(text.as_bytes());
    Ok(SentinelRequest::Answered)
}

pub(super) fn failover(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    let master = find(sentinel, &args[2])?;
    sentinel.force_failover(master).map_err(CommandError::text)?;
    Ok(SentinelRequest::Done)
}

pub(super) fn flush(_: &mut Sentinel, _: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    Ok(SentinelRequest::Flush)
}

pub(super) fn is_master_down(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    let port = args.int(3)?;
    let epoch = args.int(4)?.unsigned_abs();
    let (ip, candidate) = (String::from_utf8_lossy(&args[2]), String::from_utf8_lossy(&args[5]));
    Ok(SentinelRequest::Verdict(sentinel.is_master_down(&ip, port, epoch, &candidate)))
}

pub(super) fn monitor(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    let number = |at: usize, error| number::parse_i64(&args[at]).ok_or(CommandError::text(error));
    let quorum = number(5, "ERR Invalid quorum")?;
    let port = number(4, "ERR Invalid port")?;
    let text = |at: usize| std::str::from_utf8(&args[at]).map_err(|_| CommandError::text(NOT_TEXT));
    let (name, host) = (text(2)?, String::from_utf8_lossy(&args[3]));
    sentinel.monitor(name, &host, port, quorum).map_err(|why| CommandError::new(format!("ERR {why}")))?;
    Ok(SentinelRequest::Saved)
}

pub(super) fn remove(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    let master = find(sentinel, &args[2])?;
    sentinel.remove_master(master);
    Ok(SentinelRequest::Saved)
}

pub(super) fn reset(sentinel: &mut Sentinel, args: Args<'_>, _: &mut dyn Reply) -> SentinelOutcome {
    Ok(SentinelRequest::Count(sentinel.reset_matching(&args[2]) as i64))
}
