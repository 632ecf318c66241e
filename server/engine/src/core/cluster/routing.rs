//! Where the request of a client, a transaction or a script belongs.

use super::super::engine::Engine;
use crate::clients::{Multi, Session, Slot};
use crate::cluster::{Asks, Redirect, route};
use crate::spec::{Args, Command, CommandId, Flags};
use lockwheel_resp::Reply;

/// A script that names keys of several slots, though it has not said that it would.
const CROSS_SLOT_SCRIPT: &str = "ERR Script attempted to access keys that do not hash to the same slot";

impl Engine {
    /// Why a client's request is not run by this node of a cluster.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn redirect(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> Option<Redirect> {
        // What a master tells its replica is obeyed.
        self.cluster.as_ref().filter(|_| !session.is_master)?;
        match &session.multi {
            Some(multi) if command.name == "exec" => self.route_transaction(session, multi).err(),
            _ if command.spec.is_routed() => self.route_request(session.id, command, args).err(),
            _ => None,
        }
    }

    fn route_request(
        &self,
        session: u64,
        command: &Command,
        args: Args<'_>,
    ) -> Result<Option<u16>, Redirect> {
        self.route_as(session, command, args, command.has(Flags::ASKING))
    }

    fn route_as(
        &self,
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

    /// Where a request belongs that was let in, and has waited: its client's ASKING was for it.
    pub(super) fn route_again(
        &self,
        session: u64,
        command: &Command,
        args: Args<'_>,
    ) -> Result<Option<u16>, Redirect> {
        self.route_as(session, command, args, true)
    }

    /// All keys of a transaction belong together.
    fn route_transaction(&self, session: &Session, multi: &Multi) -> Result<Option<u16>, Redirect> {
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

    fn route(&self, session: u64, mut asks: Asks<'_>, is_asking: bool) -> Result<Option<u16>, Redirect> {
        let Some(cluster) = &self.cluster else { return Ok(None) };
        asks.asker = cluster.asker(session);
        asks.asker.asking |= is_asking;
        route(&cluster.view, asks, |key| self.keyspace.has_key(0, key))
    }

    /// Why a script may not call a command. `slot` is that of the script's keys, or of those that it has named so far,
    /// unless it may use several.
    #[cold]
    #[inline(never)]
    pub(crate) fn deny_script_in_cluster(
        &self,
        client: Slot,
        command: &Command,
        args: Args<'_>,
        slot: Option<&mut Option<u16>>,
    ) -> Option<&'static str> {
        if !command.spec.is_routed() {
            return None;
        }
        let found = match self.route_request(self.session(client).id, command, args) {
            Ok(found) => found?,
            Err(redirect) => return Some(redirect.text_for_script()),
        };
        let slot = slot?;
        (*slot.get_or_insert(found) != found).then_some(CROSS_SLOT_SCRIPT)
    }

    /// Answers a command that a script may not call.
    #[cold]
    pub(crate) fn refuse_script_in_cluster(
        &mut self,
        command: CommandId,
        error: &'static str,
        reply: &mut dyn Reply,
    ) {
        self.observers.stats.rejected(Some(command), error.as_bytes());
        reply.error(error.as_bytes());
    }

    /// The slot of the keys that a request names, if it names any.
    pub(crate) fn slot_of_request(&self, client: Slot, args: Args<'_>) -> Option<u16> {
        let command = self.commands.resolve(args)?;
        self.route_request(self.session(client).id, command, args).ok()?
    }

    /// A request has run: ASKING was said for it, unless it was ASKING itself, or a transaction is open.
    #[cold]
    pub(in super::super) fn end_asking(&mut self, client: Slot, args: Args<'_>) {
        if !self.sessions.is_connected(client) || args.is(0, "asking") {
            return;
        }
        let session = self.sessions.get(client);
        if session.multi.is_none()
            && let Some(cluster) = &mut self.cluster
        {
            cluster.set_asking(session.id, false);
        }
    }

    /// A client has gone.
    pub(crate) fn leave_cluster(&mut self, session: u64) {
        if let Some(cluster) = &mut self.cluster {
            cluster.set_asking(session, false);
            cluster.set_read_only(session, false);
            cluster.gossip.forget_session(session);
        }
    }
}
