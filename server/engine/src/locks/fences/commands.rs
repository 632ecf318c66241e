//! `LOCK.FENCE`, `LOCK.FENCEINFO` and `LOCK.FENCERESET`: a resource that checks tokens, for tests that lack one.

use super::super::history::{Event, Happening};
use super::super::records;
use super::highest::Fences;
use super::resource::{Resource, TokenSource};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, Outcome, ParsedArgs, Row, Symbol, grammar,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

const FENCE: &CommandGrammar = grammar!("resource token:1..");
const TOKEN: Symbol = FENCE.symbol("token");
const RESOURCE: &CommandGrammar = grammar!("[resource]");
const NAME: Symbol = RESOURCE.symbol("resource");

const NOT_POSITIVE: CommandError = CommandError::text("ERR token should be greater than 0");

pub(in crate::locks) const ROWS: &[Row<DataHandler>] = &[
    row("lock.fence", 3, fence)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .about("lock", "7.2.0", "O(log N), N the resources")
        .summary("Presents a token to a resource, which refuses the token if it has seen a higher one.")
        .reply("OK if the resource accepts the token.")
        .example(&["LOCK.FENCE disk 7", "LOCK.FENCE disk 6"])
        .help(&[
            "LOCK.FENCE <resource> <token>",
            "    Present a token to a resource. Return OK, or STALE if the resource has seen a higher token.",
            "    The tokens that a resource has seen are no keys, and FLUSHALL keeps them. All resources use",
            "    at most 4 MiB; the least recently used resource is forgotten first.",
        ])
        .help_after("lock.assert")
        .grammar(FENCE)
        .errors(&[
            "ERR value is not an integer or out of range: *",
            "ERR token should be greater than 0: *",
            "ERR the names of the resource and its lock are too long: a resource takes at most 4194304 bytes",
            "STALE token * is below *",
        ]),
    row("lock.fenceinfo", -1, fence_info)
        .flags(&[Flags::READONLY])
        .about("lock", "7.2.0", "O(log N) of one, O(N) of all, N the resources")
        .summary("Returns the highest token that a resource has seen, or those of all resources.")
        .reply(
            "A map of the resource: `highest`, the highest token; `source` of the tokens, or \
             null; `accepted` and `refused`, the numbers of tokens. Null for an unknown resource. \
             Without a name, a map of all resources.",
        )
        .example(&["LOCK.FENCE disk 7", "LOCK.FENCE disk 6", "LOCK.FENCEINFO disk", "LOCK.FENCEINFO tape"])
        .help(&[
            "LOCK.FENCEINFO [<resource>]",
            "    Return the highest token that a resource has seen, the source of its tokens, and how many",
            "    tokens it has accepted and refused. Without a name, return this for all resources.",
        ])
        .help_after("lock.fence")
        .grammar(RESOURCE)
        .errors(&["ERR syntax error: *"]),
    row("lock.fencereset", -1, fence_reset)
        .flags(&[Flags::WRITE])
        .about("lock", "7.2.0", "O(log N) of one, O(N) of all, N the resources")
        .summary("Forgets the tokens that a resource has seen, or those of all resources.")
        .reply("An integer: the number of forgotten resources.")
        .example(&["LOCK.FENCE disk 7", "LOCK.FENCERESET disk", "LOCK.FENCE disk 6"])
        .help(&[
            "LOCK.FENCERESET [<resource>]",
            "    Forget the tokens of one resource, or of all. Return the number of resources.",
        ])
        .help_after("lock.fenceinfo")
        .grammar(RESOURCE)
        .errors(&["ERR syntax error: *"]),
];

const fn row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler).categories(&["lock"])
}

fn fence(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let parsed: ParsedArgs<'_> = FENCE.parse(args)?;
    let token = parsed.integer_or(TOKEN, NOT_POSITIVE)?.unwrap_or(1);
    let shown = Fences::of_mut(tx).show(&args[1], token);
    let event = if shown.is_ok() { Event::Fenced } else { Event::FenceRefused };
    let write = Happening::new(event, &args[1], b"");
    records::record(tx, Happening { grant: token.unsigned_abs(), ..write });
    shown?;
    reply.ok();
    Ok(())
}

fn name(args: Args<'_>) -> Result<Option<&[u8]>, CommandError> {
    let parsed: ParsedArgs<'_> = RESOURCE.parse(args)?;
    Ok(parsed.value(NAME))
}

fn fence_info(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let fences = Fences::of(tx);
    match name(args)? {
        Some(name) => match fences.get(name) {
            Some(resource) => write(resource, reply),
            None => reply.null(),
        },
        None => {
            let all = fences.iter();
            reply.map(all.len());
            for (name, resource) in all {
                reply.bulk(name);
                write(resource, reply);
            }
        }
    }
    Ok(())
}

fn write(resource: &Resource, reply: &mut dyn Reply) {
    reply.map(4);
    reply.bulk(b"highest");
    reply.integer(resource.highest);
    reply.bulk(b"source");
    match resource.source.as_ref().map(TokenSource::name) {
        Some(source) => reply.bulk(source.as_bytes()),
        None => reply.null(),
    }
    for (name, count) in [("accepted", resource.accepted), ("refused", resource.refused)] {
        reply.bulk(name.as_bytes());
        reply.integer(count as i64);
    }
}

fn fence_reset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let name = name(args)?;
    reply.integer(Fences::of_mut(tx).forget(name) as i64);
    Ok(())
}
