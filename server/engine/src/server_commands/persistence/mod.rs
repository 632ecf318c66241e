//! SAVE, BGSAVE and LASTSAVE, and BGREWRITEAOF, which has no effect.

mod loading;
mod staged;

pub(super) use loading::{DataLoader, LoadMode};
pub(super) use staged::log_header;

use crate::core::{Handler, PartHandler};
use crate::persistence::{Persistence, SaveRequest, SavesView};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

const SAVES: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("save", 1, Handler::Part(PartHandler::Saves(save)))
        .flags(&[SAVES, Flags::NO_MULTI])
        .about("server", "1.0.0", "O(N) where N is the total number of keys in all databases")
        .summary("Writes all keys and libraries into the configured file. Other clients wait.")
        .errors(&[IN_PROGRESS, "ERR"]),
    Row::new("bgsave", -1, Handler::Part(PartHandler::Saves(bgsave)))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary("Writes a snapshot of all keys and libraries into the configured file, in the background.")
        .history(&[("3.2.2", "Added the `SCHEDULE` option.")])
        .syntax("[SCHEDULE@3.2.2]")
        .errors(&["ERR syntax error", IN_PROGRESS]),
    Row::new("bgrewriteaof", 1, Handler::Part(PartHandler::Saves(bgrewriteaof)))
        .flags(&[SAVES])
        .about("server", "1.0.0", "O(1)")
        .summary("Rewrites the append-only file, of which there is none."),
    Row::new("lastsave", 1, Handler::Part(PartHandler::Saves(lastsave)))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "1.0.0", "O(1)")
        .summary("When the data was last saved, or else when the server started: a Unix time in seconds.")
        .tips(&["nondeterministic_output"]),
];

const IN_PROGRESS: &str = "ERR Background save already in progress";

fn save(
    SavesView { saves, .. }: SavesView<'_>,
    _: Args<'_>,
    _: &mut dyn Reply,
) -> Result<SaveRequest, CommandError> {
    check_none_runs(saves)?;
    saves.saves += 1;
    Ok(SaveRequest::AtOnce)
}

/// Begins a background save; in a transaction, once that has ended.
fn bgsave(view: SavesView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<SaveRequest, CommandError> {
    if args.len() > 2 || (args.len() == 2 && !args.is(1, "schedule")) {
        return Err(errors::SYNTAX);
    }
    check_none_runs(view.saves)?;
    if view.is_in_transaction {
        reply.status(b"Background saving scheduled");
        Ok(SaveRequest::Scheduled)
    } else {
        reply.status(b"Background saving started");
        Ok(SaveRequest::InBackground)
    }
}

/// Refuses a save while a background save runs.
fn check_none_runs(saves: &Persistence) -> Outcome {
    if saves.background.is_some() { Err(CommandError::text(IN_PROGRESS)) } else { Ok(()) }
}

fn bgrewriteaof(
    view: SavesView<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<SaveRequest, CommandError> {
    reply.status(match view.is_in_transaction {
        true => &b"Background append only file rewriting scheduled"[..],
        false => b"Background append only file rewriting started",
    });
    Ok(SaveRequest::Nothing)
}

fn lastsave(view: SavesView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Result<SaveRequest, CommandError> {
    let saved_ms = view.saves.saved_ms.unwrap_or(view.started_ms);
    reply.integer(saved_ms / 1000);
    Ok(SaveRequest::Nothing)
}
