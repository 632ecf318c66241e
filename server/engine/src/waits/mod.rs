//! Waits: the requests that wait for keys, for states of the server, or for time.
//!
//! The module does not know the engine. [`Waits`] owns the requests and the counts that they wait for. A handler of
//! `AWAIT.*` sees a [`StateView`] and answers with a [`StateWait`], which the conductor in [`core`](crate::core)
//! carries out. [`WaitControl`] begins and ends waits with the parts that these affect.

mod control;
mod count_waits;
mod deadlocks;
mod key_service;
mod recent_requests;
mod redirected;
mod state;
mod state_counts;
mod state_wait;
mod tickets;

pub(crate) use control::{Undone, WaitControl};
pub(crate) use count_waits::CountOf;
pub(crate) use key_service::KeyService;
pub(crate) use state::{Blocked, Retry, StateAttempt, StateView, Waits};
pub(crate) use state_counts::StateOf;
pub(crate) use state_wait::{StateHandler, StateWait};
pub(crate) use tickets::{MAX_TICKETS, TOO_MANY_TICKETS, TicketEnd};
