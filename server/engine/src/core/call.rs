//! The session that runs a command, and how the command came to run.

use crate::clients::{Session, Slot};
use crate::spec::Args;
use lockwheel_store::keyspace::{Actor, CalledBy, ScriptInputs, Watched};
use std::num::NonZeroU64;

/// How a command came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client sent it.
    Client,
    /// EXEC runs it.
    Transaction,
    /// A script calls it.
    Script,
}

/// The session that runs a command, and how.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The session.
    pub slot: Slot,
    /// Its number.
    pub session: u64,
    /// The database that it has selected.
    pub db: usize,
    /// How the command came to run; for a script, its keys and arguments.
    pub called_by: CalledBy<'a>,
}

impl<'a> Call<'a> {
    /// A call by a session, for a request that its client has sent.
    #[inline]
    pub(crate) fn by(session: &Session) -> Self {
        let called_by = CalledBy::Client;
        Call { slot: session.slot, session: session.id, db: session.db, called_by }
    }

    /// The calls of the transaction that this call runs, which depends on these keys.
    pub(crate) fn of_transaction(self, watched: &'a Watched) -> Self {
        Call { called_by: CalledBy::Transaction(watched), ..self }
    }

    /// The calls of a script that this call runs, with these keys and arguments.
    pub(crate) fn of_script(self, inputs: &'a ScriptInputs<'a>) -> Self {
        Call { called_by: CalledBy::Script(inputs), ..self }
    }

    /// The actor, as the keyspace sees it.
    #[inline]
    pub(super) fn actor(self, args: Args<'a>) -> Actor<'a> {
        let session = NonZeroU64::new(self.session);
        Actor { session, called_by: self.called_by, command: args.all() }
    }

    /// How the command came to run.
    #[inline]
    pub(crate) fn origin(self) -> Origin {
        match self.called_by {
            CalledBy::Client | CalledBy::Engine => Origin::Client,
            CalledBy::Transaction(_) => Origin::Transaction,
            CalledBy::Script(_) => Origin::Script,
        }
    }
}
