//! Test control beside the clock and the locks: waits for states, faults, the history of locks.

mod action;
mod clock;
mod faults;
mod history;
mod node_faults;
mod reply;
mod report;
mod until;
mod verify;
mod words;

pub use action::{Action, Clients, Match};
pub use clock::{Clock, ClockInfo, Deadline, Turn, TurnedTo};
pub use faults::{Direction, Faults, GrantNumbers, Rule};
pub use history::{Entries, Entry, Filter, History};
pub use reply::{Refused, Reply};
pub use until::{NotInTime, Until};
pub use verify::{Finding, Level, Verdict};
