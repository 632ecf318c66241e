//! The requests that replication forbids.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::permit::Reason;
use crate::clients::Session;
use crate::replication::ReplicationView;
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandTable, Flags};

impl Engine {
    /// Returns why a failed save, or replication, forbids a request of a client or its script.
    #[inline(always)]
    pub(crate) fn refused_by_state(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> Option<Reason> {
        if !self.hooks.has(Hook::Replication)
            && !self.hooks.has(Hook::NotSaved)
            && !self.hooks.has(Hook::NotAppended)
        {
            return None;
        }
        let request =
            RuledRequest { commands: &self.commands, scripts: &self.scripts, session, command, args };
        let disk = match () {
            () if self.hooks.has(Hook::NotSaved) => Some(Reason::NotSaved),
            () => self.hooks.has(Hook::NotAppended).then_some(Reason::NotAppended),
        };
        request.refusal(self.replication(), disk)
    }

    #[inline(always)]
    pub(crate) fn is_ruled_by_replication(&self) -> bool {
        self.hooks.has(Hook::Replication)
    }
}

/// A request that the state of the server may forbid.
struct RuledRequest<'a> {
    commands: &'a CommandTable,
    scripts: &'a Scripts,
    session: &'a Session,
    command: &'a Command,
    args: Args<'a>,
}

impl RuledRequest<'_> {
    /// Returns why replication, or the disk (for the reason `disk`), forbids the request.
    #[cold]
    #[inline(never)]
    fn refusal(&self, replication: ReplicationView<'_>, disk: Option<Reason>) -> Option<Reason> {
        if self.session.is_master {
            return None;
        }
        let (writes, is_refused_replica) = (self.writes(), replication.is_read_only());
        // In a script, the error of a replica takes precedence.
        let is_told_first = !(is_refused_replica && self.scripts.is_running());
        if disk.is_some() && is_told_first && (writes || self.is_ping()) {
            return disk;
        }
        if writes {
            if is_refused_replica {
                return Some(Reason::ReadOnlyReplica);
            }
            if replication.lacks_replicas() {
                return Some(Reason::NotEnoughReplicas);
            }
        }
        (replication.has_stale_data() && self.lacks_stale()).then_some(Reason::MasterDown)
    }

    /// Whether the request is a client's PING, which tells whether the server is healthy.
    fn is_ping(&self) -> bool {
        self.command.name == "ping" && !self.scripts.is_running()
    }

    /// Whether the request writes; for a script, as its declared flags say.
    fn writes(&self) -> bool {
        self.any(|command, args| {
            let declared = self.scripts.declared_flags(command.spec.name, args);
            declared.map_or(command.has(Flags::WRITE), |flags| !flags.no_writes)
        })
    }

    /// Whether the request must not be answered from stale data.
    fn lacks_stale(&self) -> bool {
        self.any(|command, args| {
            let declared = self.scripts.declared_flags(command.spec.name, args);
            !declared.map_or(command.has(Flags::STALE), |flags| flags.allow_stale)
        })
    }

    /// Whether a property holds for the request, or for one queued for this EXEC.
    fn any(&self, is: impl Fn(&Command, Args<'_>) -> bool) -> bool {
        let queued = self.session.multi.as_ref().filter(|_| self.command.name == "exec");
        let queued = queued.map_or(&[][..], |multi| multi.queue());
        is(self.command, self.args)
            || queued.iter().any(|(id, request)| is(self.commands.get(*id), Args::new(&request.argv())))
    }
}
