//! The clients as CLIENT LIST shows them, and what CLIENT asks to be done to others. A handler sees a [`ClientList`]
//! and answers with a [`ClientEffect`], which [`core`](crate::core) applies.

mod effect;
mod line;
mod list;

pub(crate) use effect::{ClientEffect, ClientListHandler};
pub(crate) use list::ClientList;
