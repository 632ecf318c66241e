//! The order in which deadlines were made.

/// The position of a deadline among all deadlines on either clock: of two at one instant, the one made earlier fires
/// first. The number wraps around: orders compare correctly within 2³¹ deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order(u32);

impl Order {
    /// Whether this one was made before `other`.
    pub fn is_before(self, other: Order) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// A number that wraps around, for code that only stores it.
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn of(number: u32) -> Order {
        Order(number)
    }

    /// The order of the next deadline.
    pub(super) fn next(self) -> Order {
        Order(self.0.wrapping_add(1))
    }
}
