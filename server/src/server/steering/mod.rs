//! What a test steers beside the clock and the locks: states that it waits for, and faults.

mod action;
mod faults;
mod reply;
mod report;
mod until;
mod words;

pub use action::{Action, Clients, Match};
pub use faults::{Direction, Faults, GrantNumbers, Rule};
pub use reply::{Refused, Reply};
pub use until::{NotInTime, Until};
