//! The clients as CLIENT LIST shows them, and what CLIENT asks to be done to others.
//!
//! The room does not know the engine. A handler sees a [`ClientList`] and answers with a [`ClientEffect`], which the
//! conductor in [`core`](crate::core) applies.

mod effect;
mod line;
mod list;

pub(crate) use effect::{ClientEffect, ClientListHandler};
pub(crate) use list::ClientList;
