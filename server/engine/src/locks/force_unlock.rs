//! `LOCK.FORCEUNLOCK`: takes a lock from its holders.

use super::delays;
use super::held::OwnerHold;
use super::ledger::ReleaseCause;
use super::records;
use super::redisson::{self, DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use super::release;
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    errors, grammar, symbols,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Hash, Value};

const FORCE_UNLOCK: &CommandGrammar = grammar!("key [TOKEN token | OWNER owner] [REASON text]");

symbols!(FORCE_UNLOCK: TOKEN, OWNER, REASON);

/// The maximum number of bytes of a reason, which is sent to each holder's connection.
const MAX_REASON_BYTES: usize = 4096;

const REASON_TOO_LONG: CommandError = CommandError::text("ERR REASON is longer than 4096 bytes");

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.forceunlock", -2, force_unlock as DataHandler)
    .flags(&[Flags::WRITE])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
    .about("lock", "7.2.0", "O(N), N the holders")
    .summary("Takes a lock away from all its holders, or from the holder with this token or name.")
    .reply("An integer: the number of holders that have lost the lock.")
    .options(&[&[
        ("TOKEN token", "Takes the lock only from the holder with this token."),
        ("OWNER owner", "Takes the lock only from this owner."),
        ("REASON text", "A text for the holders, which get it by a push: up to 4096 bytes."),
    ]])
    .example(&[
        "LOCK.ACQUIRE order:42 alice PX 10000",
        "LOCK.FORCEUNLOCK order:42 REASON \"host 7 is down\"",
        "LOCK.RELEASE order:42 alice",
    ])
    .help(&[
        "LOCK.FORCEUNLOCK <key> [TOKEN <token>|OWNER <owner>] [REASON <text>]",
        "    Take a lock away from its holders, or from the holder with this token or name. Return how many",
        "    have lost it. Without TOKEN and OWNER, a running DELAY ends too. REASON: a text for the",
        "    holders, at most 4096 bytes.",
    ])
    .help_after("lock.renew")
    .grammar(FORCE_UNLOCK)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is not an integer or out of range: *",
        "ERR REASON is longer than 4096 bytes",
    ])];

/// The holds that are taken.
enum Evicted<'a> {
    All,
    Grant(i64),
    Owner(&'a [u8]),
}

impl<'a> Evicted<'a> {
    fn of(options: &ParsedArgs<'a>) -> Result<Self, CommandError> {
        if let Some(owner) = options.value(OWNER) {
            return Ok(Evicted::Owner(owner));
        }
        Ok(options.integer(TOKEN)?.map_or(Evicted::All, Evicted::Grant))
    }

    fn has(&self, tx: &Tx<'_>, key: &[u8], field: &[u8]) -> bool {
        match self {
            Evicted::All => true,
            Evicted::Owner(owner) => {
                field == *owner || field.strip_suffix(WRITE_SUFFIX).is_some_and(|name| name == *owner)
            }
            Evicted::Grant(token) => {
                let grant = records::token(tx, key, field);
                grant.is_some_and(|grant| i64::try_from(grant) == Ok(*token))
            }
        }
    }
}

fn force_unlock(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options = FORCE_UNLOCK.parse(args)?;
    let (evicted, reason) = (Evicted::of(&options)?, options.value(REASON));
    if reason.is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        return Err(REASON_TOO_LONG);
    }
    let (holders, has_mode) = match tx.get(key) {
        None => (Vec::new(), false),
        Some(Value::Hash(hash)) => (holders(hash), hash.contains(MODE_FIELD)),
        Some(Value::Str(text)) if *text.text() == *DELAY_FIELD => (Vec::new(), false),
        Some(Value::Str(text)) => (vec![(Box::from(&*text.text()), 1)], false),
        Some(_) => return Err(errors::WRONG_TYPE),
    };
    let holders: Vec<_> = holders.into_iter().filter(|(field, _)| evicted.has(tx, key, field)).collect();
    let evict_all = |tx: &mut Tx<'_>| {
        holders.iter().try_for_each(|(field, holds)| {
            let is_text = matches!(tx.peek(key), Some(Value::Str(_)));
            release::leave(tx, key, &OwnerHold { field, holds: *holds, has_mode, is_text }, 0)
        })
    };
    if matches!(evicted, Evicted::All) {
        delays::end(tx, key);
    }
    records::because(tx, reason, |tx| records::ending_as(tx, ReleaseCause::Forced, evict_all))?;
    reply.integer(holders.len() as i64);
    Ok(())
}

fn holders(hash: &Hash) -> Vec<(Box<[u8]>, i64)> {
    let count = |owner: &[u8]| hash.get(owner).and_then(number::parse_i64).unwrap_or(1);
    redisson::owners(hash).map(|owner| (owner.into(), count(owner))).collect()
}
