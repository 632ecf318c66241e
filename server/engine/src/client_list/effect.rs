//! Effects of commands on clients.

use super::list::ClientList;
use crate::clients::Slot;
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;

/// The effect that a command on clients asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientEffect {
    /// The command is answered, and asks for nothing.
    None,
    /// Disconnects clients, in this order: at once, or the caller and a client whose own advance of the clock has
    /// brought this about after their replies.
    Kill(Vec<Slot>),
    /// Ends the wait of a client as if it had timed out, or with an error. The command is answered whether the client
    /// was waiting.
    Unblock { client: u64, with_error: bool },
}

/// The handler of a command on clients; the slot is that of its own client.
pub(crate) type ClientListHandler =
    fn(ClientList<'_>, Slot, Args<'_>, &mut dyn Reply) -> Result<ClientEffect, CommandError>;
