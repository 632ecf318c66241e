//! The filters of CLIENT KILL and CLIENT LIST.

use crate::acl::{UserId, Users};
use crate::clients::Session;
use crate::spec::{Args, CommandError, errors, quotable};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientType {
    Normal,
    Pubsub,
    Master,
    Replica,
}

impl ClientType {
    fn of(session: &Session) -> Self {
        match session {
            session if session.is_master => ClientType::Master,
            session if session.is_replica => ClientType::Replica,
            session if session.is_subscribed() => ClientType::Pubsub,
            _ => ClientType::Normal,
        }
    }

    fn parse(name: &[u8]) -> Result<Self, CommandError> {
        match &*name.to_ascii_lowercase() {
            b"normal" => Ok(ClientType::Normal),
            b"pubsub" => Ok(ClientType::Pubsub),
            b"master" => Ok(ClientType::Master),
            b"slave" | b"replica" => Ok(ClientType::Replica),
            _ => Err(CommandError::new([b"ERR Unknown client type '", quotable(name), b"'"].concat())),
        }
    }
}

/// A filter of clients: all conditions must hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// The id of the only client that can pass.
    pub(super) id: Option<u64>,
    kind: Option<ClientType>,
    addr: Option<String>,
    laddr: Option<String>,
    user: Option<UserId>,
    /// Excludes the calling client.
    pub(super) skip_me: bool,
}

impl Filter {
    pub(super) fn of_type(name: &[u8]) -> Result<Self, CommandError> {
        Ok(Filter { kind: Some(ClientType::parse(name)?), ..Filter::default() })
    }

    pub(super) fn of_address(addr: &[u8]) -> Self {
        Filter { addr: Some(text(addr)), ..Filter::default() }
    }

    /// Parses the options of CLIENT KILL. The last option of each kind counts.
    pub(super) fn parse(args: Args<'_>, users: &Users) -> Result<Self, CommandError> {
        let mut filter = Filter { skip_me: true, ..Filter::default() };
        for at in (2..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            filter.option(args, at, value, users)?;
        }
        Ok(filter)
    }

    fn option(&mut self, args: Args<'_>, at: usize, value: &[u8], users: &Users) -> Result<(), CommandError> {
        if args.is(at, "id") {
            let id = args.int(at + 1).ok().filter(|&id| id > 0);
            let id = id.ok_or(CommandError::text("ERR client-id should be greater than 0"))?;
            self.id = Some(id.unsigned_abs());
        } else if args.is(at, "type") {
            self.kind = Some(ClientType::parse(value)?);
        } else if args.is(at, "addr") {
            self.addr = Some(text(value));
        } else if args.is(at, "laddr") {
            self.laddr = Some(text(value));
        } else if args.is(at, "user") {
            let unknown = || CommandError::new([b"ERR No such user '", quotable(value), b"'"].concat());
            self.user = Some(users.find(value).ok_or_else(unknown)?);
        } else if args.is(at, "skipme") {
            self.skip_me = match &*value.to_ascii_lowercase() {
                b"yes" => true,
                b"no" => false,
                _ => return Err(errors::SYNTAX),
            };
        } else {
            return Err(errors::SYNTAX);
        }
        Ok(())
    }

    /// Whether a client passes the filter, ignoring SKIPME.
    pub(super) fn matches(&self, session: &Session) -> bool {
        self.id.is_none_or(|id| id == session.id)
            && self.kind.is_none_or(|kind| kind == ClientType::of(session))
            && self.addr.as_ref().is_none_or(|addr| *addr == session.peer.addr)
            && self.user.is_none_or(|user| session.login.acts_as(user))
            && self.laddr.as_ref().is_none_or(|laddr| *laddr == session.peer.laddr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
