//! Queries of a sentinel's state.

use super::master::find;
use crate::sentinel::{InstanceFields, Sentinel};
use crate::sentinel_server::{SentinelOutcome, SentinelRequest};
use crate::spec::Args;
use lockwheel_resp::Reply;

fn write_fields(fields: &InstanceFields, reply: &mut dyn Reply) {
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
}

fn write_all(all: &[InstanceFields], reply: &mut dyn Reply) {
    reply.array(all.len());
    all.iter().for_each(|fields| write_fields(fields, reply));
}

pub(super) fn masters(sentinel: &mut Sentinel, _: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    let all = sentinel.master_ids().into_iter().map(|id| sentinel.describe_master(id));
    write_all(&all.collect::<Vec<_>>(), reply);
    Ok(SentinelRequest::Answered)
}

pub(super) fn master(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    write_fields(&sentinel.describe_master(find(sentinel, &args[2])?), reply);
    Ok(SentinelRequest::Answered)
}

pub(super) fn replicas(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    write_all(&sentinel.describe_replicas(find(sentinel, &args[2])?), reply);
    Ok(SentinelRequest::Answered)
}

pub(super) fn sentinels(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    write_all(&sentinel.describe_peers(find(sentinel, &args[2])?), reply);
    Ok(SentinelRequest::Answered)
}

pub(super) fn address(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    match sentinel.find(&args[2]).and_then(|master| sentinel.address_of(master)) {
        Some((host, port)) => {
            reply.array(2);
            reply.bulk(host.as_bytes());
            reply.bulk(port.to_string().as_bytes());
        }
        None => reply.null_array(),
    }
    Ok(SentinelRequest::Answered)
}

pub(super) fn my_id(sentinel: &mut Sentinel, _: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    reply.bulk(sentinel.id().as_bytes());
    Ok(SentinelRequest::Answered)
}

/// Replies with an empty array, since there are no scripts.
pub(super) fn pending_scripts(_: &mut Sentinel, _: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
    reply.array(0);
    Ok(SentinelRequest::Answered)
}

pub(super) fn info_cache(sentinel: &mut Sentinel, args: Args<'_>, reply: &mut dyn Reply) -> SentinelOutcome {
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
    Ok(SentinelRequest::Answered)
}
