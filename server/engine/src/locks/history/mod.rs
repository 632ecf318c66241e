//! The history of locks: what happened to them, in order, in a ring of bounded size; and how replies show it.
//!
//! It is filled while `lock-history` is yes. It subscribes to the ledger, which notices who comes to hold a lock and
//! how holds end; the engine tells which request runs, who waits, and what tests do to clocks and connections.
//! Everything else that wants an entry calls `records::record`.

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
