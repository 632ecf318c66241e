//! The number of a grant, beside the entry of the key that is held: six bytes for a lock.

/// A hold that was taken before the server's eyes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its number, above every earlier one of this server; of a native hold it is the token.
    pub number: u64,
    /// Whether a native command took it.
    pub native: bool,
}

/// The grant of a key's only hold; or a mark that it has several, which are kept elsewhere.
///
/// 47 bits of a number last for four years of a million grants a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GrantSlot([u8; 6]);

impl GrantSlot {
    /// Several holds.
    pub(super) const SEVERAL: Self = GrantSlot([0; 6]);

    pub(super) fn of(grant: Grant) -> Self {
        let bits = grant.number << 1 | u64::from(grant.native);
        let [a, b, c, d, e, f, ..] = bits.to_le_bytes();
        GrantSlot([a, b, c, d, e, f])
    }

    /// The grant; `None` when there are several.
    pub(super) fn grant(self) -> Option<Grant> {
        let [a, b, c, d, e, f] = self.0;
        let bits = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        (bits >> 1 > 0).then_some(Grant { number: bits >> 1, native: bits & 1 == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_gives_back_what_was_put_in() {
        for grant in [(1, true), (1, false), (300, true), ((1 << 47) - 1, false)] {
            let grant = Grant { number: grant.0, native: grant.1 };
            assert_eq!(GrantSlot::of(grant).grant(), Some(grant));
        }
        assert_eq!(GrantSlot::SEVERAL.grant(), None);
    }
}
