//! SAVE, BGSAVE, LASTSAVE and BGREWRITEAOF.

mod loading;
mod staged;

pub(super) use loading::{DataLoader, LoadMode};
pub(super) use staged::log_header;

use crate::core::{Handler, PartHandler};
use crate::persistence::{SaveRequest, SavesView};
use crate::spec::{Args, CommandError, Flags, Row, errors};
use lockwheel_resp::Reply;

const SAVES: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::NO_ASYNC_LOADING]);

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
        .summary("Rewrites the append-only file in the background, so that it has the present data alone."),
    Row::new("lastsave", 1, Handler::Part(PartHandler::Saves(lastsave)))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "1.0.0", "O(1)")
        .summary("When the data was last saved, or else when the server started: a Unix time in seconds.")
        .tips(&["nondeterministic_output"]),
];

const IN_PROGRESS: &str = "ERR Background save already in progress";
const REWRITE_IN_PROGRESS: &str = "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE \
                                   SCHEDULE in order to schedule a BGSAVE whenever possible.";
const ALREADY_REWRITING: &str = "ERR Background append only file rewriting already in progress";

fn save(
    SavesView { saves, .. }: SavesView<'_>,
    _: Args<'_>,
    _: &mut dyn Reply,
) -> Result<SaveRequest, CommandError> {
    if saves.is_saving() {
        return Err(CommandError::text(IN_PROGRESS));
    }
    saves.saves += 1;
    Ok(SaveRequest::AtOnce)
}

/// Begins a background save; in a transaction, once that has ended.
fn bgsave(view: SavesView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Result<SaveRequest, CommandError> {
    if args.len() > 2 || (args.len() == 2 && !args.is(1, "schedule")) {
        return Err(errors::SYNTAX);
    }
    if view.saves.is_saving() {
        return Err(CommandError::text(IN_PROGRESS));
    }
    if view.is_in_transaction || (view.saves.is_rewriting() && args.len() == 2) {
        reply.status(b"Background saving scheduled");
        Ok(SaveRequest::Scheduled)
    } else if view.saves.is_rewriting() {
        Err(CommandError::text(REWRITE_IN_PROGRESS))
    } else {
        reply.status(b"Background saving started");
        Ok(SaveRequest::InBackground)
    }
}

fn bgrewriteaof(view: SavesView<'_>, _: Args<'_>, _: &mut dyn Reply) -> Result<SaveRequest, CommandError> {
    if view.saves.is_rewriting() {
        return Err(CommandError::text(ALREADY_REWRITING));
    }
    Ok(SaveRequest::Rewrite { is_later: view.is_in_transaction || view.saves.background.is_some() })
}

fn lastsave(view: SavesView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Result<SaveRequest, CommandError> {
    let saved_ms = view.saves.saved_ms.unwrap_or(view.started_ms);
    reply.integer(saved_ms / 1000);
    Ok(SaveRequest::Nothing)
}
