//! The routing of requests by clients, transactions and scripts, and by clients that have waited.

use super::route::{Asks, Redirect, route, route_waiting};
use super::state::Cluster;
use crate::clients::{Multi, Session};
use crate::config::Config;
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandError, CommandTable, Flags};
use lockwheel_store::keyspace::Keyspace;

/// The error of a script that names keys of several slots without having declared it.
const CROSS_SLOT_SCRIPT: &str = "ERR Script attempted to access keys that do not hash to the same slot";

/// The parts of an engine that decide where a request belongs.
#[derive(Clone, Copy)]
pub(crate) struct RequestRouter<'e> {
    pub(crate) cluster: &'e Cluster,
    pub(crate) config: &'e Config,
    pub(crate) commands: &'e CommandTable,
    /// The interpreter, which knows the flags that scripts declare.
    pub(crate) scripts: &'e Scripts,
    pub(crate) keyspace: &'e Keyspace,
}

impl RequestRouter<'_> {
    /// Returns the redirect for a request that this node does not run. A master's requests are always run.
    #[cold]
    #[inline(never)]
    pub(crate) fn redirect(self, session: &Session, command: &Command, args: Args<'_>) -> Option<Redirect> {
        match &session.multi {
            _ if session.is_master => None,
            Some(multi) if command.name == "exec" => self.route_transaction(session, multi).err(),
            _ if command.spec.is_routed() => self.route_request(session.id, command, args).err(),
            _ => None,
        }
    }

    /// Returns the slot of the keys that a request names, if it names any.
    pub(crate) fn slot_of_request(self, session: u64, args: Args<'_>) -> Option<u16> {
        self.route_request(session, self.commands.resolve(args)?, args).ok()?
    }

    /// Returns the reason that a script may not call a command. `slot` is the slot of the keys that the script has
    /// declared or named so far. It is absent if the script may use several slots.
    #[cold]
    #[inline(never)]
    pub(crate) fn deny_call(
        self,
        session: u64,
        command: &Command,
        args: Args<'_>,
        slot: Option<&mut Option<u16>>,
    ) -> Option<&'static str> {
        if !command.spec.is_routed() {
            return None;
        }
        let found = match self.route_request(session, command, args) {
            Ok(found) => found?,
            Err(redirect) => return Some(redirect.text_for_script()),
        };
        let slot = slot?;
        (*slot.get_or_insert(found) != found).then_some(CROSS_SLOT_SCRIPT)
    }

    /// Routes a request that was admitted, so that ASKING does not matter, and has waited; or returns a `Redirect`.
    pub(crate) fn route_again(
        self,
        session: u64,
        command: &Command,
        args: Args<'_>,
    ) -> Result<Option<u16>, Redirect> {
        self.route_as(session, command, args, true)
    }

    /// Returns the redirect for a client that waits for a key whose slot this node does not own any more.
    pub(crate) fn redirect_waiting(self, session: u64, command: &Command, key: &[u8]) -> Option<Redirect> {
        let read_only = self.cluster.asker(session).read_only && !command.has(Flags::WRITE);
        route_waiting(self.cluster.view(), key, read_only).err()
    }

    #[cold]
    pub(crate) fn error(self, redirect: Redirect) -> CommandError {
        CommandError::new(redirect.text(|to| self.cluster.endpoint(self.config, to)))
    }

    fn route_request(self, session: u64, command: &Command, args: Args<'_>) -> Result<Option<u16>, Redirect> {
        self.route_as(session, command, args, command.has(Flags::ASKING))
    }

    fn route_as(
        self,
        session: u64,
        command: &Command,
        args: Args<'_>,
        is_asking: bool,
    ) -> Result<Option<u16>, Redirect> {
        let keys: Vec<&[u8]> =
            command.spec.find_routed(args).into_iter().filter_map(|position| args.get(position)).collect();
        let declared = self.scripts.declared_flags(command.spec.name, args);
        let asks = Asks {
            keys: &keys,
            of_channels: command.has(Flags::PUBSUB),
            writes: declared.map_or(command.has(Flags::WRITE), |flags| !flags.no_writes),
            runs_writes: false,
            migrates: command.name == "migrate",
            ..Asks::default()
        };
        self.route(session, asks, is_asking)
    }

    fn route_transaction(self, session: &Session, multi: &Multi) -> Result<Option<u16>, Redirect> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut writes = false;
        for (command, request) in multi.queue() {
            let command = self.commands.get(*command);
            writes |= command.has(Flags::WRITE);
            let argv = request.argv();
            let found = command.spec.find_routed(Args::new(&argv));
            keys.extend(found.into_iter().filter_map(|position| argv.get(position).map(|key| key.to_vec())));
        }
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.route(session.id, Asks { keys: &keys, runs_writes: writes, ..Asks::default() }, false)
    }

    fn route(self, session: u64, mut asks: Asks<'_>, is_asking: bool) -> Result<Option<u16>, Redirect> {
        asks.asker = self.cluster.asker(session);
        asks.asker.asking |= is_asking;
        route(self.cluster.view(), asks, |key| self.keyspace.has_key(0, key))
    }
}
