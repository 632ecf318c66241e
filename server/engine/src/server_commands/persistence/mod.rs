//! SAVE, BGSAVE, LASTSAVE; and BGREWRITEAOF, of which nothing comes.

mod loading;
mod staged;

pub(super) use loading::LoadMode;
pub(super) use staged::log_header;

use crate::core::{Call, Engine, Handler, NotSaved, Origin};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

const SAVES: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("save", 1, Handler::Engine(save))
        .flags(&[SAVES, Flags::NO_MULTI])
        .about("server", "1.0.0", "O(N) where N is the total number of keys in all databases")
        .summary("Writes all keys and libraries into the file of the configuration. Others wait.")
        .errors(&[IN_PROGRESS, "ERR"]),
    Row::new("bgsave", -1, Handler::Engine(bgsave))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary(
            "Writes all keys and libraries, as they are now, into the file of the configuration while others go on.",
        )
        .history(&[("3.2.2", "Added the `SCHEDULE` option.")])
        .syntax("[SCHEDULE@3.2.2]")
        .errors(&["ERR syntax error", IN_PROGRESS]),
    Row::new("bgrewriteaof", 1, Handler::Engine(bgrewriteaof))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary("Rewrites the append-only file, of which there is none."),
    Row::new("lastsave", 1, Handler::Engine(lastsave))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "1.0.0", "O(1)")
        .summary(
            "When the data was last saved, or else when the server started: a Unix time in seconds.",
        )
        .tips(&["nondeterministic_output"]),
];

const IN_PROGRESS: &str = "ERR Background save already in progress";

fn save(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if engine.persistence.background.is_some() {
        return Err(CommandError::text(IN_PROGRESS));
    }
    engine.persistence.saves += 1;
    engine.save().map_err(|NotSaved| CommandError::text("ERR"))?;
    reply.ok();
    Ok(())
}

/// In a transaction it begins when that has ended.
fn bgsave(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 2 || (args.len() == 2 && !args.is(1, "schedule")) {
        return Err(errors::SYNTAX);
    }
    if engine.persistence.background.is_some() {
        return Err(CommandError::text(IN_PROGRESS));
    }
    if call.origin() == Origin::Transaction {
        engine.schedule_background_save();
        reply.status(b"Background saving scheduled");
    } else {
        engine.begin_background_save();
        reply.status(b"Background saving started");
    }
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
    let saved_ms = engine.persistence.saved_ms.unwrap_or(engine.clock().started().wall_ms());
    reply.integer(saved_ms / 1000);
    Ok(())
}
