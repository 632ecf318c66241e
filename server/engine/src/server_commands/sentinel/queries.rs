//! What a sentinel knows.

use super::master::find;
use crate::core::{Call, Engine};
use crate::sentinel::{Fields, Sentinel};
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;

fn write_fields(fields: &Fields, reply: &mut dyn Reply) {
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
}

fn write_all(all: &[Fields], reply: &mut dyn Reply) {
    reply.array(all.len());
    all.iter().for_each(|fields| write_fields(fields, reply));
}

/// Asks the sentinel about the master that a request names.
fn about<T>(
    engine: &mut Engine,
    name: &[u8],
    ask: fn(&Sentinel, u64) -> T,
) -> Result<Option<T>, CommandError> {
    let master = find(engine, name)?;
    Ok(engine.with_sentinel(|sentinel| ask(sentinel, master)))
}

pub(super) fn masters(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let all = engine.with_sentinel(|sentinel| {
        sentinel.master_ids().into_iter().map(|id| sentinel.describe_master(id)).collect::<Vec<_>>()
    });
    write_all(&all.unwrap_or_default(), reply);
    Ok(())
}

pub(super) fn master(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let fields = about(engine, &args[2], Sentinel::describe_master)?;
    write_fields(&fields.unwrap_or_default(), reply);
    Ok(())
}

pub(super) fn replicas(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let all = about(engine, &args[2], Sentinel::describe_replicas)?;
    write_all(&all.unwrap_or_default(), reply);
    Ok(())
}

pub(super) fn sentinels(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let all = about(engine, &args[2], Sentinel::describe_peers)?;
    write_all(&all.unwrap_or_default(), reply);
    Ok(())
}

pub(super) fn address(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let found = engine
        .with_sentinel(|sentinel| sentinel.find(&args[2]).and_then(|master| sentinel.address_of(master)));
    match found.flatten() {
        Some((host, port)) => {
            reply.array(2);
            reply.bulk(host.as_bytes());
            reply.bulk(port.to_string().as_bytes());
        }
        None => reply.null_array(),
    }
    Ok(())
}

pub(super) fn my_id(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let id = engine.with_sentinel(|sentinel| sentinel.id().to_owned());
    reply.bulk(id.unwrap_or_default().as_bytes());
    Ok(())
}

/// There are no scripts.
pub(super) fn pending_scripts(_: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(0);
    Ok(())
}

pub(super) fn info_cache(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.with_sentinel(|sentinel| {
        let mut masters: Vec<u64> = args.from(2).iter().filter_map(|name| sentinel.find(name)).collect();
        masters.sort_unstable();
        masters.dedup();
        reply.array(masters.len() * 2);
        for master in masters {
            reply.bulk(sentinel.name_of(master).as_bytes());
            let cached = sentinel.info_cache(master);
            reply.array(cached.len());
            for (age_ms, info) in cached {
                reply.array(2);
                reply.integer(age_ms);
                match info {
                    Some(info) => reply.bulk(info),
                    None => reply.null(),
                }
            }
        }
    });
    Ok(())
}
