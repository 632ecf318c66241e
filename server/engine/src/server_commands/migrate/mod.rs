//! MIGRATE: moves keys to another server.
//!
//! The engine is held during the exchange, as in Redis. So no other request sees a key that is only partly here or
//! there: otherwise a key that changes meanwhile would exist twice, a lock with two holders. A target that does not
//! answer, such as this server itself, blocks all clients up to the request's time limit.
//!
//! A connection lasts as long as the request. Redis keeps it for some seconds, and if it turns out to be closed, tries
//! once more without knowing whether the first attempt has run.

mod errors;
mod migration;
mod transfer;

use crate::core::{Handler, Host, NotConnected, ServerHandler, TargetAddress};
use crate::spec::{Args, Begin, CommandError, Find, Flags, Key, KeyFlags, KeySpec, Outcome, Row};
use errors::{CONNECTING, READING, SEPARATE_KEYS, WRITING};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use migration::{KEY, Migration, OPTIONS, arguments_of};

const MOVED: KeyFlags = KeyFlags::of(&[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]);

pub(super) const ROWS: &[Row<Handler>] = &[Row::new("migrate", -6, Handler::Server(&ServerHandler::Hosted(migrate)))
    .flags(&[Flags::WRITE, Flags::MOVABLEKEYS])
    .categories(&["keyspace", "dangerous"])
    .keys(&[
        KeySpec::one(KEY, &[MOVED]),
        KeySpec {
            flags: MOVED.union(KeyFlags::INCOMPLETE),
            notes: "",
            begin: Begin::Keyword("KEYS", -2),
            find: Find::Range { last: -1, step: 1, limit: 0 },
        },
    ])
    .key_finder(find_keys)
    .secrets(secrets)
    .about(
        "generic",
        "2.6.0",
        "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. See \
         the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is \
         performed.",
    )
    .summary("Moves keys to another server.")
    .history(&[
        ("3.0.0", "Added the `COPY` and `REPLACE` options."),
        ("3.0.6", "Added the `KEYS` option."),
        ("4.0.7", "Added the `AUTH` option."),
        ("6.0.0", "Added the `AUTH2` option."),
    ])
    .syntax(
        "host port (key_or_empty_string: key | \"\") destination-db timeout:integer [COPY@3.0.0] [REPLACE@3.0.0] \
         [authentication: [AUTH password@4.0.7] | [AUTH2 (username_password@6.0.0: username password)]] \
         [KEYS key@3.0.6 [key ...]]",
    )
    .tips(&["nondeterministic_output"])
    .errors(&[
        "ERR syntax error",
        "ERR value is not an integer or out of range",
        SEPARATE_KEYS,
        CONNECTING,
        WRITING,
        READING,
        "ERR Target instance replied with error: *",
    ])];

/// Returns the single key, or those after KEYS, perhaps none. Both forms together are an error and yield no keys.
fn find_keys(args: Args<'_>) -> Vec<Key> {
    let mut at = OPTIONS;
    while at < args.len() {
        if args.is(at, "keys") {
            let behind = if args[KEY].is_empty() { at + 1..args.len() } else { 0..0 };
            return behind.map(|position| (position, MOVED)).collect();
        }
        at += 1 + arguments_of(args, at).unwrap_or(0);
    }
    args.get(KEY).map(|_| (KEY, MOVED)).into_iter().collect()
}

/// Returns the positions of the arguments of AUTH and AUTH2.
fn secrets(args: Args<'_>) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), OPTIONS);
    while at < args.len() && !args.is(at, "keys") {
        let count = arguments_of(args, at).unwrap_or(0);
        found.extend((at + 1..=at + count).filter(|secret| *secret < args.len()));
        at += 1 + count;
    }
    found
}

fn migrate(tx: &mut Tx<'_>, host: Option<&dyn Host>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let request = Migration::parse(args)?;
    let keys: Vec<&[u8]> = request.keys.iter().copied().filter(|key| tx.get(key).is_some()).collect();
    if keys.is_empty() {
        reply.status(b"NOKEY");
        return Ok(());
    }
    let Migration { host: name, port, timeout, .. } = request;
    let address = port.map(|port| TargetAddress { host: name, port, timeout });
    let connected =
        host.zip(address).ok_or(NotConnected::Unreachable).and_then(|(host, at)| host.connect(at));
    // Redis only notices a refused connection when it writes.
    let mut target = connected.map_err(|failure| match failure {
        NotConnected::Unreachable => CommandError::text(CONNECTING),
        NotConnected::Refused => CommandError::text(WRITING),
    })?;
    transfer::transfer(tx, &request, &keys, &mut *target)?;
    reply.ok();
    Ok(())
}
