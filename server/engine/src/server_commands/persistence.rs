//! SAVE, BGSAVE, BGREWRITEAOF and LASTSAVE, on a server that keeps nothing but in memory.
//!
//! There is no file to write: a save is done as soon as it is asked for. Clients that save, or that wait until LASTSAVE
//! has moved, go on.

use crate::core::{Call, Engine, Handler, Origin};
use crate::spec::{Args, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

const SAVES: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("save", 1, Handler::Engine(save))
        .flags(&[SAVES, Flags::NO_MULTI])
        .about("server", "1.0.0", "O(N) where N is the total number of keys in all databases")
        .summary("Saves what the server keeps on disk: nothing. Notes the time."),
    Row::new("bgsave", -1, Handler::Engine(bgsave))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary("Saves in the background what the server keeps on disk: nothing. Notes the time.")
        .history(&[("3.2.2", "Added the `SCHEDULE` option.")])
        .syntax("[SCHEDULE@3.2.2]")
        .errors(&["ERR syntax error"]),
    Row::new("bgrewriteaof", 1, Handler::Engine(bgrewriteaof))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary("Rewrites the append-only file, of which there is none."),
    Row::new("lastsave", 1, Handler::Engine(lastsave))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "1.0.0", "O(1)")
        .summary(
            "When SAVE or BGSAVE was last called, or else when the server started: a Unix time in seconds.",
        )
        .tips(&["nondeterministic_output"]),
];

/// Everything that is on disk is up to date from now on.
fn saved(engine: &mut Engine) {
    engine.observers.stats.last_save_ms = Some(engine.time.now.wall_ms());
    engine.keyspace.counters.dirty = 0;
}

fn save(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    saved(engine);
    reply.ok();
    Ok(())
}

fn bgsave(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 2 || (args.len() == 2 && !args.is(1, "schedule")) {
        return Err(errors::SYNTAX);
    }
    saved(engine);
    reply.status(match call.origin() {
        Origin::Transaction => b"Background saving scheduled",
        _ => b"Background saving started",
    });
    Ok(())
}

fn bgrewriteaof(_: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.status(match call.origin() {
        Origin::Transaction => b"Background append only file rewriting scheduled",
        _ => b"Background append only file rewriting started",
    });
    Ok(())
}

fn lastsave(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let saved_ms = engine.observers.stats.last_save_ms.unwrap_or(engine.time.started.wall_ms());
    reply.integer(saved_ms / 1000);
    Ok(())
}
