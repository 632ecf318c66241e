//! Calls of handlers with access to one part of the engine. The rest of the engine follows the changes.

use super::call::{Call, Origin};
use super::dispatch::end_or_wait;
use super::engine::{Engine, LibraryControl, LibraryDone, LibraryHandler};
use super::part_handler::PartHandler;
use super::replication::deliver_propagated;
use crate::acl::AclView;
use crate::persistence::SavesView;
use crate::propagation::Receivers;
use crate::spec::{Args, Outcome, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;
use std::num::NonZeroU64;

impl Engine {
    /// Calls the handler of a part and applies its effects. Its wait goes into `waits`.
    #[cold]
    #[inline(never)]
    pub(super) fn run_on_part(
        &mut self,
        handler: PartHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
        waits: &mut Option<Box<Wait<Retry>>>,
    ) -> Outcome {
        deliver_propagated(self);
        match handler {
            PartHandler::Pauses(run) => {
                let rule = self.timeout_rule();
                run(&mut self.pauses, rule, args, reply)?;
                self.follow_pauses();
            }
            PartHandler::Users(run) => {
                let (users, setting) = (&self.users, self.config.rule_setting(&self.commands));
                let (login, has_file) = (self.sessions.get(call.slot).login, !self.config.aclfile.is_empty());
                let effect = run(AclView { users, setting, login, has_file }, args, reply)?;
                self.change_users(effect, call.slot, reply)?;
            }
            PartHandler::Instant(run) => {
                let goes_on = call.origin() == Origin::Script && self.scripts.control().is_slow();
                let now = match goes_on {
                    true => self.clock.read(self.environment.now(&self.clock)),
                    false => self.clock.now(),
                };
                run(now, args, reply)?;
            }
            PartHandler::AclLog(run) => run(&mut self.observers.acl_log, self.clock.now(), args, reply)?,
            PartHandler::Random(run) => run(self.keyspace.rng(), args, reply)?,
            PartHandler::Replication(run) => {
                let request = run(self.replication(), self.sessions.get(call.slot), args, reply)?;
                self.run_replication_request(request, call, args, reply)?;
            }
            PartHandler::Replconf(run) => {
                let session = self.sessions.get_mut(call.slot);
                if let Some(has) = run(&mut self.replication, session, args, reply)? {
                    self.change_replication(|control| control.acknowledge(call.session, has));
                }
            }
            PartHandler::ReplicaWait(parse) => {
                let wait = parse(self.replication(), call.session, self.timeout_rule(), args)?;
                end_or_wait(call, self.await_replicas(call, wait, reply), reply, waits)?;
            }
            PartHandler::State(parse) => {
                end_or_wait(call, self.await_state(parse, call, args, reply)?, reply, waits)?;
            }
            PartHandler::Faults(run) => {
                end_or_wait(call, self.run_on_faults(run, call, args, reply)?, reply, waits)?;
            }
            PartHandler::Latency(run) => {
                let now_s = self.environment.now(&self.clock).wall_second();
                run(self.observers.latency_view(&self.commands, &self.config, now_s), args, reply)?;
            }
            PartHandler::Saves(run) => {
                let (saves, started_ms) = (&mut self.persistence, self.clock.started().wall_ms());
                let is_in_transaction = call.origin() == Origin::Transaction;
                let request = run(SavesView { saves, started_ms, is_in_transaction }, args, reply)?;
                self.run_save_request(request, reply)?;
            }
            PartHandler::Cluster(run) => self.run_on_cluster(run, call, args, reply)?,
            PartHandler::Sentinel(run) => self.run_on_sentinel(run, args, reply)?,
            PartHandler::Shutdown(parse) => {
                debug_assert_eq!(call.origin(), Origin::Client, "it is refused elsewhere");
                end_or_wait(call, self.run_shutdown(parse(args)?, reply)?, reply, waits)?;
            }
        }
        Ok(())
    }

    /// Calls a handler on function libraries. Replicas run the request that it returns.
    #[cold]
    #[inline(never)]
    pub(super) fn run_on_libraries(
        &mut self,
        run: LibraryHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let control = LibraryControl {
            environment: &self.environment,
            clock: &self.clock,
            feeds_replicas: self.replication().feeds_replicas() || self.append_only.is_appending(),
            scripts: &mut self.scripts,
        };
        let LibraryDone::Changed { replaced, loaded } = run(control, args, reply)? else { return Ok(()) };
        // Replicas come before the reply, for which there may be no memory.
        let mut words = args.all().to_vec();
        if let Some((at, word)) = &replaced {
            words[*at] = word;
        }
        self.replicate_request(call.db, (&words, Receivers::ALL), NonZeroU64::new(call.session));
        match loaded {
            Some(name) => reply.bulk(&name),
            None => reply.ok(),
        }
        Ok(())
    }
}
