//! `LOCK.FORCEUNLOCK`: takes a lock from its holders.

use super::delays;
use super::held::Held;
use super::ledger::{self, ReleaseCause};
use super::redisson::{self, DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use super::release;
use crate::keyspace::Tx;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use crate::values::{Hash, Value};
use lockwheel_resp::{Reply, number};

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.forceunlock", -2, force_unlock as DataHandler)
    .flags(&[Flags::WRITE])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])])
    .about("lock", "7.2.0", "O(N), N the holders")
    .summary("Takes a lock from its holders, or from the one with this token or name.")
    .help(&[
        "LOCK.FORCEUNLOCK <key> [TOKEN <token>|OWNER <owner>] [REASON <text>]",
        "    Take a lock from its holders, or from the one with this token or name; how many have lost it. Without",
        "    either, a DELAY that runs ends too.",
    ])
    .help_after("lock.renew")
    .syntax("key [TOKEN token | OWNER owner] [REASON text]")
    .errors(&["ERR syntax error: *", "ERR value is not an integer or out of range: *"])];

/// Whose holds are taken.
enum Evicted<'a> {
    All,
    Grant(i64),
    Owner(&'a [u8]),
}

impl<'a> Evicted<'a> {
    /// Also the reason, for the holders.
    fn parse(args: Args<'a>) -> Result<(Self, Option<&'a [u8]>), CommandError> {
        let (mut evicted, mut reason) = (None, None);
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            let is_again = if args.is(at, "token") {
                evicted.replace(Evicted::Grant(args.int(at + 1)?)).is_some()
            } else if args.is(at, "owner") {
                evicted.replace(Evicted::Owner(value)).is_some()
            } else {
                !args.is(at, "reason") || reason.replace(value).is_some()
            };
            if is_again {
                return Err(errors::SYNTAX);
            }
        }
        Ok((evicted.unwrap_or(Evicted::All), reason))
    }

    fn has(&self, tx: &Tx<'_>, key: &[u8], field: &[u8]) -> bool {
        match self {
            Evicted::All => true,
            Evicted::Owner(owner) => {
                field == *owner || field.strip_suffix(WRITE_SUFFIX).is_some_and(|name| name == *owner)
            }
            Evicted::Grant(token) => {
                let grant = ledger::token(tx, key, field);
                grant.is_some_and(|grant| i64::try_from(grant) == Ok(*token))
            }
        }
    }
}

fn force_unlock(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let (evicted, reason) = Evicted::parse(args)?;
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
            release::leave(tx, key, &Held { field, holds: *holds, has_mode, is_text }, 0)
        })
    };
    if matches!(evicted, Evicted::All) {
        delays::end(tx, key);
    }
    ledger::because(tx, reason, |tx| ledger::ending_as(tx, ReleaseCause::Forced, evict_all))?;
    reply.integer(holders.len() as i64);
    Ok(())
}

/// The fields of holders, with their hold counts.
fn holders(hash: &Hash) -> Vec<(Box<[u8]>, i64)> {
    let count = |owner: &[u8]| hash.get(owner).and_then(number::parse_i64).unwrap_or(1);
    redisson::owners(hash).map(|owner| (owner.into(), count(owner))).collect()
}
