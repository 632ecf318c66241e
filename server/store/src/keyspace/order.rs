//! The order in which deadlines were made.

/// When a deadline was made, among all deadlines on either clock: of two at one instant, the earlier made fires first.
///
/// It wraps around; two compare correctly as long as fewer than 2³¹ were made between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order(u32);

impl Order {
    /// Whether this one was made before `other`.
    pub fn is_before(self, other: Order) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// As a number that wraps around, for those who keep it without knowing what it is.
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// The order of that number.
    pub(super) fn of(number: u32) -> Order {
        Order(number)
    }

    /// The order of a deadline that is made next.
    pub(super) fn next(self) -> Order {
        Order(self.0.wrapping_add(1))
    }
}
