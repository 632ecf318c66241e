//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use crate::clients::{Multi, Session};
use crate::core::{ClientHandler, Handler};
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Keyspace;

const FLAGS: Flags =
    Flags::of(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::ALLOW_BUSY]);

pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("multi", 1, Handler::Session(multi))
        .flags(&[FLAGS, Flags::UNQUEUED])
        .categories(&["transaction"])
        .about("transactions", "1.2.0", "O(1)")
        .summary("Begins a transaction: the commands that follow are queued.")
        .errors(&["ERR MULTI calls can not be nested"]),
    Row::new("exec", 1, Handler::Client(&ClientHandler::Exec))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::SKIP_SLOWLOG, Flags::UNQUEUED])
        .categories(&["transaction"])
        .about("transactions", "1.2.0", "Depends on commands in the transaction")
        .summary("Runs the queued commands as one.")
        .errors(&["ERR EXEC without MULTI", "EXECABORT Transaction discarded because of previous errors."]),
    Row::new("discard", 1, Handler::Client(&ClientHandler::Watching(discard)))
        .flags(&[FLAGS, Flags::UNQUEUED])
        .categories(&["transaction"])
        .about("transactions", "2.0.0", "O(N), when N is the number of queued commands")
        .summary("Drops the queued commands.")
        .errors(&["ERR DISCARD without MULTI"]),
    Row::new("watch", -2, Handler::Client(&ClientHandler::Watching(watch)))
        .flags(&[FLAGS, Flags::UNQUEUED])
        .categories(&["transaction"])
        .keys(&[KeySpec::range(1, -1, 1, &[KeyFlags::RO])])
        .about("transactions", "2.2.0", "O(1) for every key.")
        .summary("Makes the next transaction run only if the keys do not change before it.")
        .syntax("key [key ...]")
        .errors(&["ERR WATCH inside MULTI is not allowed"]),
    Row::new("unwatch", 1, Handler::Client(&ClientHandler::Watching(unwatch)))
        .flags(&[FLAGS])
        .categories(&["transaction"])
        .about("transactions", "2.2.0", "O(1)")
        .summary("Forgets the watched keys."),
];

fn multi(session: &mut Session, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if session.multi.is_some() {
        return Err(CommandError::text("ERR MULTI calls can not be nested"));
    }
    session.multi = Some(Multi::new(session.delivery.buffers()));
    reply.ok();
    Ok(())
}

fn discard(session: &mut Session, keyspace: &mut Keyspace, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if session.multi.take().is_none() {
        return Err(CommandError::text("ERR DISCARD without MULTI"));
    }
    session.unwatch(keyspace);
    reply.ok();
    Ok(())
}

fn watch(session: &mut Session, keyspace: &mut Keyspace, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if session.multi.is_some() {
        return Err(CommandError::text("ERR WATCH inside MULTI is not allowed"));
    }
    for &key in args.from(1) {
        let place = (session.db, Box::from(key));
        if !session.watched.contains(&place) {
            keyspace.watch(session.db, key, session.id);
            session.watch(place.0, key);
        }
    }
    reply.ok();
    Ok(())
}

fn unwatch(session: &mut Session, keyspace: &mut Keyspace, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    session.unwatch(keyspace);
    reply.ok();
    Ok(())
}
