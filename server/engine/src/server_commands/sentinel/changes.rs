//! What a sentinel is told to do, and asked by others.

use super::master::{NOT_TEXT, find, is_saved};
use crate::core::{Call, Engine};
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::{Reply, number};

pub(super) fn check_quorum(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let master = find(engine, &args[2])?;
    let Some(quorum) = engine.with_sentinel(|sentinel| sentinel.quorum_of(master)) else { return Ok(()) };
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
    Ok(())
}

pub(super) fn failover(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let master = find(engine, &args[2])?;
    let begun = engine.with_sentinel(|sentinel| sentinel.force_failover(master));
    begun.unwrap_or(Ok(())).map_err(CommandError::text)?;
    reply.ok();
    Ok(())
}

pub(super) fn flush(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.save_sentinel();
    is_saved(engine)?;
    reply.ok();
    Ok(())
}

pub(super) fn is_master_down(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let port = args.int(3)?;
    let epoch = args.int(4)?.unsigned_abs();
    let (ip, candidate) = (String::from_utf8_lossy(&args[2]), String::from_utf8_lossy(&args[5]));
    let verdict = engine.with_sentinel(|sentinel| sentinel.is_master_down(&ip, port, epoch, &candidate));
    let Some(verdict) = verdict else { return Ok(()) };
    reply.array(3);
    reply.integer(i64::from(verdict.is_down));
    reply.bulk(verdict.leader.as_bytes());
    reply.integer(verdict.leader_epoch as i64);
    Ok(())
}

pub(super) fn monitor(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let number = |at: usize, error| number::parse_i64(&args[at]).ok_or(CommandError::text(error));
    let quorum = number(5, "ERR Invalid quorum")?;
    let port = number(4, "ERR Invalid port")?;
    let text = |at: usize| std::str::from_utf8(&args[at]).map_err(|_| CommandError::text(NOT_TEXT));
    let (name, host) = (text(2)?, String::from_utf8_lossy(&args[3]));
    let done = engine.with_sentinel(|sentinel| sentinel.monitor(name, &host, port, quorum));
    done.unwrap_or(Ok(())).map_err(|why| CommandError::new(format!("ERR {why}")))?;
    is_saved(engine)?;
    reply.ok();
    Ok(())
}

pub(super) fn remove(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let master = find(engine, &args[2])?;
    engine.with_sentinel(|sentinel| sentinel.remove_master(master));
    is_saved(engine)?;
    reply.ok();
    Ok(())
}

pub(super) fn reset(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let count = engine.with_sentinel(|sentinel| sentinel.reset_matching(&args[2]));
    reply.integer(count.unwrap_or(0) as i64);
    Ok(())
}
