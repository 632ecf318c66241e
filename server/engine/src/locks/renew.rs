//! `LOCK.RENEW`: sets the leases of locks that an owner holds, as Redisson's watchdog does.

use super::events::announce;
use super::key_changes;
use super::layouts::read_write::{self, Hands};
use super::layouts::{Standing, plain, text};
use super::options;
use super::ownership;
use super::records;
use super::redisson::write_field;
use super::sessions;
use super::warnings::lint;
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, Symbol, errors,
    grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{EventValue, Tx};

const RENEW: &CommandGrammar =
    grammar!("numkeys key [key ...] owner (EX seconds:1.. | PX milliseconds:1..) [GT] [TOKEN token]");
const OWNER: Symbol = RENEW.symbol("owner");

symbols!(RENEW: EX, PX, GT, TOKEN);

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("lock.renew", -6, renew as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST, Flags::MOVABLEKEYS])
    .categories(&["lock"])
    .keys(&[KeySpec::counted(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N), N the keys")
    .summary("Sets the leases of locks that an owner holds; with GT only extends them.")
    .reply(
        "An array of integers: for each key, 1 if the lease was set, and 0 if the owner does \
         not hold the lock or GT keeps the lease.",
    )
    .options(&[&[
        ("EX seconds", "The lease, counted from now."),
        ("PX milliseconds", "The lease in milliseconds, counted from now."),
        ("GT", "Sets the lease only if it becomes longer."),
        ("TOKEN token", "Renews only a hold with this token."),
    ]])
    .example(&[
        "LOCK.ACQUIRE order:42 alice PX 10000",
        "LOCK.RENEW 2 order:42 order:43 alice PX 20000",
        "PTTL order:42",
        "LOCK.RENEW 1 order:42 alice PX 5000 GT",
    ])
    .help(&[
        "LOCK.RENEW <numkeys> <key> [<key> ...] <owner> EX <seconds>|PX <milliseconds> [GT] \
             [TOKEN <token>]",
        "    Set the leases of locks that the owner holds. GT only extends them. TOKEN: only that grant's.",
    ])
    .help_after("lock.release")
    .grammar(RENEW)
    .errors(&[
        "ERR syntax error: *",
        "ERR numkeys should be greater than 0: *",
        "ERR value is not an integer or out of range: *",
        "ERR invalid expire time in 'lock.renew' command: *",
        "ERR invalid owner: *",
        "STALE token *",
    ])];

#[derive(Clone, Copy)]
enum Lease {
    /// No lease: the owner does not hold the lock.
    None,
    Key,
    ReadWrite(Hands),
}

/// Returns the lease of an owner's hold, which must be by the grant of this token.
fn lease(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], token: Option<i64>) -> Result<Lease, CommandError> {
    let (lease, is_writer) = if let Some(is_mine) = text::holds(tx, key, owner) {
        (if is_mine { Lease::Key } else { Lease::None }, false)
    } else if read_write::is_one(tx, key) {
        match read_write::hands(tx, key, owner)? {
            Some(hands) if hands.reads > 0 || hands.writes > 0 => (Lease::ReadWrite(hands), hands.writes > 0),
            _ => (Lease::None, false),
        }
    } else {
        let is_mine = matches!(plain::standing(tx, key, owner)?, Standing::Mine(_));
        (if is_mine { Lease::Key } else { Lease::None }, false)
    };
    if let Some(token) = token.filter(|_| !matches!(lease, Lease::None)) {
        let field = if is_writer { write_field(owner) } else { owner.to_vec() };
        ownership::check_token(tx, key, &field, token)?;
    }
    Ok(lease)
}

/// Sets the lease, or only makes it longer. Returns whether it was set.
fn set(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    lease: Lease,
    (deadline, only_longer): (i64, bool),
) -> Result<bool, CommandError> {
    match lease {
        Lease::None => Ok(false),
        Lease::ReadWrite(hands) => read_write::renew(tx, key, owner, hands, (deadline, only_longer)),
        Lease::Key if only_longer && tx.deadline(key).is_none_or(|current| current >= deadline) => Ok(false),
        Lease::Key => {
            key_changes::set_deadline(tx, key, deadline);
            Ok(true)
        }
    }
}

fn renew(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = RENEW.parse(args)?;
    let keys = options::keys_before(&options, OWNER);
    let owner = ownership::check_owner(&args[2 + keys])?;
    let lease_ms = options::lease_ms(tx, &options, &[(EX, 1000), (PX, 1)], "lock.renew")?;
    let lease_ms = lease_ms.ok_or(errors::SYNTAX)?;
    let token = options.integer(TOKEN)?;
    let keys = &args.from(2)[..keys];
    // Every key is checked before any is changed: an error changes nothing.
    let leases =
        keys.iter().map(|key| lease(tx, key, owner, token)).collect::<Result<Vec<Lease>, CommandError>>()?;
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    reply.array(keys.len());
    for (key, lease) in keys.iter().zip(leases) {
        if matches!(lease, Lease::None) && records::last_loss(tx, key, owner).is_some() {
            lint(tx, key, owner, "renewal-after-loss");
        }
        let is_set = set(tx, key, owner, lease, (deadline, options.has(GT)))?;
        if is_set {
            let mut lease_ms = lease_ms;
            for field in [owner, &write_field(owner)] {
                if let Some(grant) = records::grant(tx, key, field) {
                    sessions::uphold(tx, grant.number);
                    lease_ms = sessions::longest_ms(tx, grant.number).unwrap_or(0).max(lease_ms);
                }
            }
            records::renewed(tx, key, owner);
            announce(tx, key, "renewed", || {
                vec![("owner", EventValue::Text(owner.into())), ("ttl", EventValue::Number(lease_ms))]
            });
        }
        reply.integer(i64::from(is_set));
    }
    Ok(())
}
