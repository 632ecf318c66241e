//! Clients: their sessions, the tables that find the sessions, and their pending output.

mod buffers;
mod client_timers;
mod delivery;
mod leases;
mod login;
mod multi;
mod name;
mod outbox;
mod request;
mod session;
mod sessions;
mod slot;
mod subscribed;
mod subscriptions;
mod user_change;

pub use buffers::ClientBuffers;
pub(crate) use buffers::HeldState;
pub(crate) use client_timers::{ClientTimers, IdleEnd};
pub(crate) use delivery::{Delivery, OpenReply, ReplyDecision};
pub(crate) use login::{LoginControl, LoginEffect, LoginError, ServerFacts};
pub(crate) use multi::{Multi, RunningTransaction};
pub(crate) use name::check_client_name;
pub(crate) use outbox::Message;
pub use outbox::Outbox;
pub(crate) use request::Request;
pub use session::{Closing, Peer, Session};
pub use sessions::Sessions;
pub use slot::Slot;
pub(crate) use subscriptions::{SubscriptionKind, Subscriptions};
