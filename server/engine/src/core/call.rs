//! The session that runs a command, and the origin of the call.

use crate::clients::{Session, Slot};
use crate::spec::Args;
use lockwheel_store::keyspace::{Actor, CalledBy, ScriptInputs, Watched};
use std::num::NonZeroU64;

/// The origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client has sent the command.
    Client,
    /// EXEC runs the command.
    Transaction,
    /// A script calls the command.
    Script,
}

/// The session that runs a command, and the origin of the call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The session.
    pub slot: Slot,
    /// The id of the session.
    pub session: u64,
    /// The selected database.
    pub db: usize,
    /// The origin of the call; for a script, its keys and arguments.
    pub called_by: CalledBy<'a>,
}

impl<'a> Call<'a> {
    /// Creates the call for a request that the client of a session has sent.
    #[inline]
    pub(crate) fn by(session: &Session) -> Self {
        let called_by = CalledBy::Client;
        Call { slot: session.slot, session: session.id, db: session.db, called_by }
    }

    /// Returns the call for a command of the transaction that this call runs, with its watched keys.
    pub(crate) fn of_transaction(self, watched: &'a Watched) -> Self {
        Call { called_by: CalledBy::Transaction(watched), ..self }
    }

    /// Returns the call for a command of the script that this call runs.
    pub(crate) fn of_script(self, inputs: &'a ScriptInputs<'a>) -> Self {
        Call { called_by: CalledBy::Script(inputs), ..self }
    }

    /// Returns the actor for changes of the keyspace.
    #[inline]
    pub(super) fn actor(self, args: Args<'a>) -> Actor<'a> {
        let session = NonZeroU64::new(self.session);
        Actor { session, called_by: self.called_by, command: args.all() }
    }

    #[inline]
    pub(crate) fn origin(self) -> Origin {
        match self.called_by {
            CalledBy::Client | CalledBy::Engine => Origin::Client,
            CalledBy::Transaction(_) => Origin::Transaction,
            CalledBy::Script(_) => Origin::Script,
        }
    }
}
