//! Grants: an owner comes to hold a lock, or to hold it once more, whatever the layout.

use super::super::fences::{Fences, TokenSource};
use super::super::layouts::{Layout, Standing};
use super::super::ledger::ReleaseCause;
use super::super::lock_session::HELD_LOCK;
use super::super::records::{self, Acquired};
use super::super::session_leases::SessionLease;
use super::super::sessions;
use super::super::warnings;
use super::counter;
use super::options::AcquireOptions;
use crate::spec::CommandError;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

/// A grant, as reported to the owner.
#[derive(Debug)]
pub(in crate::locks) struct Granted {
    pub(in crate::locks) token: u64,
    pub(in crate::locks) holds: i64,
    /// The time that the hold lasts, in milliseconds.
    pub(in crate::locks) ttl_ms: i64,
    /// The end of the last hold before this one, unless it has been forgotten.
    pub(in crate::locks) predecessor: Option<ReleaseCause>,
}

/// Gives an owner the lock that it asks for, or one hold more. `None`: others hold the lock, or it is free and the
/// request `yields` to others that are to be served before. Fails, without a change, if the owner may not have the
/// lock, or if the key holds something else.
pub(in crate::locks) fn grant(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    options: &AcquireOptions,
    yields: bool,
) -> Result<Option<Granted>, CommandError> {
    let layout = options.layout;
    let field = layout.field(owner);
    let (mut holds, mut again, mut source, mut counter) = (0, false, None, None);
    let admit = |tx: &mut Tx<'_>, standing| {
        (holds, again) = match standing {
            Standing::Others => return Ok(None),
            Standing::Free if yields => return Ok(None),
            Standing::Free => (0, false),
            Standing::Mine(holds) => (holds, true),
        };
        holds = options.limit.another(holds, again)?;
        if let Some(resource) = &options.fence {
            let of_token = token_source(tx, (key, &field), holds, options);
            Fences::check(tx, resource, [of_token.clone()])?;
            source = Some(of_token);
        }
        // An owner that writes may have no shared hold yet.
        if options.fenced && holds <= 1 {
            counter = Some(counter::next(tx, key)?);
        }
        Ok(Some(holds))
    };
    let Some(at) = layout.hold(tx, key, owner, options.lease_ms, admit)? else { return Ok(None) };
    if again && let Some(grant) = records::grant(tx, key, &field) {
        if !options.session {
            sessions::add_holds(tx, grant.number, 1);
        }
        sessions::uphold(tx, grant.number);
        warnings::lease_set(tx, key);
    }
    let Acquired { grant, token, predecessor } = records::acquired(tx, at, key, &field, holds > 1);
    if counter.is_some() || options.describes() {
        records::describe(tx, grant, options.detail(counter));
    }
    let token = counter.unwrap_or(token);
    if options.session {
        lease_to_session(tx, grant, key, &field, options);
    }
    if let (Some(resource), Some(source)) = (&options.fence, source) {
        Fences::raise(tx, resource, token as i64, source);
    }
    let ttl_ms = if again { ttl_again(tx, key, grant, options) } else { options.lease_ms };
    Ok(Some(Granted { token, holds, ttl_ms, predecessor }))
}

/// Returns the source of the token of an owner with `holds` holds. A further hold keeps the token of the earlier ones.
fn token_source(
    tx: &Tx<'_>,
    (key, field): (&[u8], &[u8]),
    holds: i64,
    options: &AcquireOptions,
) -> TokenSource {
    let is_counted = if holds > 1 { records::is_fenced(tx, key, field) } else { options.fenced };
    if is_counted { TokenSource::Counter((tx.db(), key.into())) } else { TokenSource::Sequence }
}

/// Checks that the resource of `FENCE` takes the tokens of all these locks, which their owner may have.
pub(super) fn check_fence(
    tx: &mut Tx<'_>,
    keys: &[&[u8]],
    owner: &[u8],
    options: &AcquireOptions,
) -> Result<(), CommandError> {
    let Some(resource) = &options.fence else { return Ok(()) };
    let field = options.layout.field(owner);
    let mut sources = Vec::with_capacity(keys.len());
    for key in keys {
        let holds = match options.layout.standing(tx, key, owner)? {
            Standing::Mine(holds) => holds.saturating_add(1),
            Standing::Free | Standing::Others => 1,
        };
        sources.push(token_source(tx, (key, &field), holds, options));
    }
    Fences::check(tx, resource, sources)
}

/// Returns the lease of an earlier hold. A connection may lease it for longer; a writer's lease never gets shorter.
fn ttl_again(tx: &Tx<'_>, key: &[u8], grant: u64, options: &AcquireOptions) -> i64 {
    let of_session = sessions::longest_ms(tx, grant);
    let of_lock = tx.deadline(key).filter(|_| options.layout == Layout::Exclusive);
    let of_lock = of_lock.map(|deadline| deadline - tx.now().wall_ms());
    of_session.into_iter().chain(of_lock).fold(options.lease_ms, i64::max)
}

/// Makes the hold last as long as the connection that has asked for it.
fn lease_to_session(tx: &mut Tx<'_>, grant: u64, key: &[u8], field: &[u8], options: &AcquireOptions) {
    let Some(session) = tx.client() else { return };
    let &AcquireOptions { lease_ms, ping_ms, .. } = options;
    let (db, key, holder, kind) = (tx.db(), key.into(), field.into(), &HELD_LOCK);
    sessions::begin(tx, grant, SessionLease { session, db, key, holder, holds: 1, lease_ms, ping_ms, kind });
}

impl Granted {
    /// Writes the reply of a grant, with the time that the request has waited.
    pub(in crate::locks) fn write(&self, waited_ms: u64, reply: &mut dyn Reply) {
        reply.map(5);
        field(reply, "token", self.token as i64);
        field(reply, "holds", self.holds);
        field(reply, "ttl", self.ttl_ms);
        field(reply, "waited", waited_ms as i64);
        reply.bulk(b"predecessor");
        reply.bulk(self.predecessor.map_or("none", ReleaseCause::name).as_bytes());
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
