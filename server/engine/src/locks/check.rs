//! `LOCK.CHECK` and `LOCK.ASSERT`: check whether a lock is still held by the grant of a token.

use super::{ownership, records};
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    Symbol, grammar,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

pub(super) const ROWS: &[Row<DataHandler>] = &[
    row("lock.check", check)
        .flags(&[Flags::READONLY, Flags::FAST])
        .summary("Returns whether the grant with this token holds a lock.")
        .reply("An integer: 1 if the grant with this token holds the lock, else 0.")
        .example(&[
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "LOCK.CHECK order:42 1",
            "CLOCK.ADVANCE 10000",
            "LOCK.CHECK order:42 1",
        ])
        .help(&[
            "LOCK.CHECK <key> <token>",
            "    Return 1 if the grant with this token holds the lock, else 0.",
        ])
        .help_after("lock.renew")
        .errors(&["ERR value is not an integer or out of range: *"]),
    row("lock.assert", assert)
        .flags(&[Flags::READONLY, Flags::FAST, Flags::PRECONDITION])
        .summary("Fails unless the grant with this token holds the lock; EXEC checks it before any command.")
        .reply("OK.")
        .example(&[
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "LOCK.ASSERT order:42 1",
            "CLOCK.ADVANCE 10000",
            "LOCK.ASSERT order:42 1",
        ])
        .help(&[
            "LOCK.ASSERT <key> <token>",
            "    Fail unless the grant with this token holds the lock. Inside MULTI, EXEC then runs no",
            "    command. A script ends with the error, unless it uses redis.pcall.",
        ])
        .help_after("lock.check")
        .errors(&["ERR value is not an integer or out of range: *", "STALE token *"]),
];

const CHECK: &CommandGrammar = grammar!("key token");
const TOKEN: Symbol = CHECK.symbol("token");

const KEYS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

const fn row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, 3, handler)
        .categories(&["lock"])
        .keys(KEYS)
        .about("lock", "7.2.0", "O(N), N the holders")
        .grammar(CHECK)
}

/// Whether a key is held by the grant of this token. O(n), n the holders.
fn is_current(tx: &Tx<'_>, key: &[u8], token: i64) -> bool {
    u64::try_from(token).is_ok_and(|token| records::has_grant(tx, key, token))
}

fn token(args: Args<'_>) -> Result<i64, CommandError> {
    let parsed: ParsedArgs<'_> = CHECK.parse(args)?;
    Ok(parsed.integer(TOKEN)?.unwrap_or(0))
}

fn check(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let token = token(args)?;
    reply.integer(i64::from(is_current(tx, &args[1], token)));
    Ok(())
}

fn assert(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let token = token(args)?;
    if !is_current(tx, &args[1], token) {
        return Err(ownership::stale(token, records::current_token(tx, &args[1])));
    }
    reply.ok();
    Ok(())
}
