//! The changes that ZADD and GEOADD may make to a member.

use crate::spec::{Args, CommandError, errors};
use lockwheel_store::keyspace::Edit;
use lockwheel_store::values::ZSet;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct Policy {
    /// Members may be added, but not changed.
    pub(in crate::commands) nx: bool,
    /// Members may be changed, but not added.
    pub(in crate::commands) xx: bool,
    /// A score may only become greater.
    gt: bool,
    /// A score may only become lower.
    lt: bool,
    /// The given score is added to the existing one.
    pub(super) incr: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// The policy did not allow a change.
    Refused,
    /// The member is new.
    Added(f64),
    /// The member has another score now.
    Updated(f64),
    /// The member already had this score.
    Same(f64),
}

impl Policy {
    /// Gives a member a score, or adds it to its own. Fails if the sum is not a number.
    pub(super) fn put(
        self,
        set: &mut Edit<'_, ZSet>,
        member: &[u8],
        score: f64,
    ) -> Result<Fate, CommandError> {
        let Policy { nx, xx, gt, lt, incr } = self;
        let mut score = score;
        if nx || xx || gt || lt || incr {
            match set.value.score(member) {
                None if xx => return Ok(Fate::Refused),
                None => {}
                Some(_) if nx => return Ok(Fate::Refused),
                Some(old) => {
                    score += if incr { old } else { 0.0 };
                    if score.is_nan() {
                        return Err(errors::SCORE_IS_NAN);
                    }
                    if (gt && score <= old) || (lt && score >= old) {
                        return Ok(Fate::Refused);
                    }
                }
            }
        }
        Ok(match set.value.insert(member, score, set.encodings) {
            None => Fate::Added(score),
            Some(old) if old == score => Fate::Same(score),
            Some(_) => Fate::Updated(score),
        })
    }

    pub(super) fn check(self) -> Result<(), CommandError> {
        let Policy { nx, xx, gt, lt, .. } = self;
        if nx && xx {
            return Err(errors::XX_AND_NX);
        }
        if (nx && (gt || lt)) || (gt && lt) {
            return Err(errors::GT_LT_OR_NX);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct AddOptions {
    pub(in crate::commands) policy: Policy,
    /// Whether changed members are counted too.
    pub(in crate::commands) ch: bool,
}

impl AddOptions {
    /// Reads argument `at` as an option of both commands. Returns whether it is one.
    pub(in crate::commands) fn read_common(&mut self, args: Args<'_>, at: usize) -> bool {
        if args.is(at, "nx") {
            self.policy.nx = true;
        } else if args.is(at, "xx") {
            self.policy.xx = true;
        } else if args.is(at, "ch") {
            self.ch = true;
        } else {
            return false;
        }
        true
    }

    /// Reads argument `at` as an option that only ZADD has. Returns whether it is one.
    pub(super) fn read_zadd(&mut self, args: Args<'_>, at: usize) -> bool {
        if args.is(at, "gt") {
            self.policy.gt = true;
        } else if args.is(at, "lt") {
            self.policy.lt = true;
        } else if args.is(at, "incr") {
            self.policy.incr = true;
        } else {
            return false;
        }
        true
    }
}
