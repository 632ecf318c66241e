//! The history of locks: their events, in order, in a ring of bounded size, and the formats in which replies show them.
//!
//! It is filled while `lock-history` is yes. It subscribes to the ledger, which notices new holds and the ends of
//! holds. The engine reports the running request, the waiters, and what tests do to clocks and connections. All other
//! code that needs an entry calls `records::record`.

mod entries;
mod entry;
mod filter;
pub(super) mod format;
mod merged;
mod names;
mod places;
mod recorder;
mod ring;
mod sections;
mod stamps;
mod times;

pub(crate) use entry::{Cause, Event, Mode};
pub(super) use entry::{Entry, OVERWRITES};
pub(crate) use filter::Filter;
pub(super) use merged::Merging;
pub(super) use names::{Name, Names, shown};
pub(super) use recorder::History;
pub(crate) use recorder::{By, Happening, Request};
pub(super) use ring::Ring;
pub(super) use sections::Sections;
pub use stamps::StampSource;
