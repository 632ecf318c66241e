//! What ZADD and GEOADD may do to a member.

use crate::spec::{Args, CommandError, errors};
use lockwheel_store::keyspace::Edit;
use lockwheel_store::values::ZSet;

/// What may be done to a member.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct Policy {
    /// Add, but never change an existing one.
    pub(in crate::commands) nx: bool,
    /// Change, but add none.
    pub(in crate::commands) xx: bool,
    /// Change to a greater score only.
    gt: bool,
    /// Change to a lower score only.
    lt: bool,
    /// Add the score to the existing one.
    pub(super) incr: bool,
}

/// What was done to a member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    /// The policy left it as it was.
    Refused,
    /// It is new.
    Added(f64),
    /// It has another score.
    Updated(f64),
    /// It already had this score.
    Same(f64),
}

impl Policy {
    /// Gives a member a score, or adds that to its own.
    ///
    /// # Errors
    /// The sum is not a number.
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

    /// Whether its parts go together.
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

/// The options of ZADD and GEOADD.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct AddOptions {
    pub(in crate::commands) policy: Policy,
    /// Whether members that have changed are counted too.
    pub(in crate::commands) ch: bool,
}

impl AddOptions {
    /// Reads the option in argument `at`, one that both have; whether it is one.
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

    /// The same of an option that ZADD alone has.
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
