//! Effects of commands on clients.

use super::list::ClientList;
use crate::clients::Slot;
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientEffect {
    /// The command is answered, and asks for nothing.
    None,
    /// Disconnects clients, in this order; the caller, and one whose own advance has caused this, after their replies.
    Kill(Vec<Slot>),
    /// Ends the wait of a client by its timeout, or an error. The reply says whether the client was waiting.
    Unblock { client: u64, with_error: bool },
}

/// The handler of a command on clients; the slot is that of its own client.
pub(crate) type ClientListHandler =
    fn(ClientList<'_>, Slot, Args<'_>, &mut dyn Reply) -> Result<ClientEffect, CommandError>;
