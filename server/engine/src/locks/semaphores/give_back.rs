//! The permits that an owner gives back: the holds concerned, and their permits.

use super::holds::{HoldKey, Id};
use super::{account, ids};
use crate::spec::CommandError;
use lockwheel_store::keyspace::Tx;

const NOT_HELD: CommandError = CommandError::text("NOTHELD this owner does not hold that many permits");

#[derive(Debug, Default)]
pub(super) struct GiveBack {
    /// Holds that end.
    pub(super) whole: Vec<HoldKey>,
    /// A hold that stays with fewer permits, and the number that it loses.
    pub(super) part: Option<(HoldKey, i64)>,
    pub(super) ids: Vec<Id>,
    pub(super) permits: i64,
    /// The number of these permits that nobody held.
    pub(super) added: i64,
}

impl GiveBack {
    /// Chooses permits of an owner, oldest holds first. `force` adds missing permits, or else it fails.
    pub(super) fn count(
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        permits: i64,
        force: bool,
    ) -> Result<Self, CommandError> {
        let holds = account(tx, key, |account| {
            account.holds.of(owner).map(|(place, hold)| (place.clone(), hold.clone())).collect::<Vec<_>>()
        });
        let mut given = GiveBack { permits, ..GiveBack::default() };
        let (mut missing, over_ms) = (permits, tx.over_until_ms());
        for (place, hold) in holds.unwrap_or_default() {
            if missing == 0 {
                break;
            }
            if let Some(id) = hold.id {
                // A permit whose lease has ended belongs to nobody, though it has not been taken back yet.
                if ids::deadline_ms(tx, key, &id)?.is_none_or(|deadline| deadline <= over_ms) {
                    continue;
                }
                given.ids.push(id);
            }
            if hold.permits > missing {
                given.part = Some((place, missing));
                missing = 0;
            } else {
                given.whole.push(place);
                missing -= hold.permits;
            }
        }
        given.added = missing;
        if missing > 0 && !force { Err(NOT_HELD) } else { Ok(given) }
    }

    /// Chooses the permits with these ids, which are proof enough unless a permit is known to be another's; `force`
    /// allows that, too. Fails if a permit is not out, has ended, or is another's.
    pub(super) fn ids(
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        wanted: &[Id],
        force: bool,
    ) -> Result<Self, CommandError> {
        let mut given = GiveBack::default();
        let over_ms = tx.over_until_ms();
        for id in wanted {
            let is_out = ids::deadline_ms(tx, key, id)?.is_some_and(|deadline| deadline > over_ms);
            let place = account(tx, key, |account| account.holds.of_id(id).cloned()).flatten();
            let is_others = place.as_ref().is_some_and(|(holder, _)| **holder != *owner);
            if !is_out || given.ids.contains(id) || (is_others && !force) {
                return Err(NOT_HELD);
            }
            given.ids.push(*id);
            given.whole.extend(place);
        }
        given.permits = wanted.len() as i64;
        Ok(given)
    }
}
