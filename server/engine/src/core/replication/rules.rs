//! What replication forbids, and what of the engine depends on being a replica.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::permit::Reason;
use crate::clients::Session;
use crate::spec::{Args, Command, Flags};

impl Engine {
    /// Whether this server is a replica, or no longer, or parameters of replication have changed.
    pub(in crate::core) fn replication_rules_changed(&mut self) {
        let is_replica = self.following.is_some();
        let parameters = &self.config.replication;
        self.hooks.set(Hook::Replication, is_replica || parameters.min_to_write > 0);
        self.replication.keep(self.backlog_size());
        self.pause_expiry_if_needed();
    }

    /// Why what was not saved, or replication, forbids a request: of a client, or of a script of one.
    #[inline(always)]
    pub(crate) fn refused_by_state(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> Option<Reason> {
        let is_ruled = self.hooks.has(Hook::Replication) || self.hooks.has(Hook::NotSaved);
        if is_ruled { self.refused_by_rules(session, command, args) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn refused_by_rules(&self, session: &Session, command: &Command, args: Args<'_>) -> Option<Reason> {
        if session.is_master {
            return None;
        }
        let (is_replica, read_only) = (self.following.is_some(), self.config.replication.read_only);
        let is_refused_replica = is_replica && read_only;
        let writes =
            self.any_of(session, command, args, |engine, command, args| engine.writes(command, args));
        // A script is told first that it runs on a replica.
        let is_told_first = !(is_refused_replica && self.scripts.is_running());
        if self.hooks.has(Hook::NotSaved) && is_told_first && (writes || self.is_ping(command)) {
            return Some(Reason::NotSaved);
        }
        if writes {
            if is_refused_replica {
                return Some(Reason::ReadOnlyReplica);
            }
            if !is_replica && !self.has_good_replicas() {
                return Some(Reason::NotEnoughReplicas);
            }
        }
        let lacks_stale =
            || self.any_of(session, command, args, |engine, command, args| engine.lacks_stale(command, args));
        (self.has_stale_data() && lacks_stale()).then_some(Reason::MasterDown)
    }

    /// Whether it is a client's PING, whose answer tells whether the server does all that it should.
    fn is_ping(&self, command: &Command) -> bool {
        command.name == "ping" && !self.scripts.is_running()
    }

    /// Whether replication may forbid anything.
    #[inline(always)]
    pub(crate) fn is_ruled_by_replication(&self) -> bool {
        self.hooks.has(Hook::Replication)
    }

    /// Whether what there is may be old, and is not to be answered.
    pub(crate) fn has_stale_data(&self) -> bool {
        let is_down = self.following.as_ref().is_some_and(|following| !following.is_connected());
        is_down && !self.config.replication.serve_stale_data
    }

    /// Whether there are as many good replicas as writes need.
    pub(crate) fn has_good_replicas(&self) -> bool {
        let parameters = &self.config.replication;
        parameters.min_to_write <= 0
            || parameters.min_max_lag <= 0
            || self.good_replicas() >= parameters.min_to_write.unsigned_abs() as usize
    }

    /// How many replicas were heard recently.
    pub(crate) fn good_replicas(&self) -> usize {
        self.replication.good(self.config.replication.min_max_lag, self.link_clocks())
    }

    /// Whether a command writes: for a script that declares its flags, they say.
    fn writes(&self, command: &Command, args: Args<'_>) -> bool {
        let declared = self.scripts.declared_flags(command.spec.name, args);
        declared.map_or(command.has(Flags::WRITE), |flags| !flags.no_writes)
    }

    /// Whether a command may not be answered from what may be old.
    fn lacks_stale(&self, command: &Command, args: Args<'_>) -> bool {
        let declared = self.scripts.declared_flags(command.spec.name, args);
        !declared.map_or(command.has(Flags::STALE), |flags| flags.allow_stale)
    }

    /// Whether this holds of a request; of EXEC, if it does of what is queued.
    fn any_of(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
        is: impl Fn(&Self, &Command, Args<'_>) -> bool,
    ) -> bool {
        let queued = session.multi.as_ref().filter(|_| command.name == "exec");
        let queued = queued.map_or(&[][..], |multi| multi.queue());
        is(self, command, args)
            || queued.iter().any(|(id, request)| is(self, self.commands.get(*id), Args::new(&request.argv())))
    }
}
