//! Calls of handlers that see one part of the engine: the rest follows what they have changed.

use super::call::{Call, Origin};
use super::dispatch::not_yet;
use super::engine::{Engine, Retry};
use super::part_handler::PartHandler;
use crate::acl::AclView;
use crate::spec::{Args, Flow, Outcome, Wait};
use crate::tracking::{Limit, Tracking};
use lockwheel_resp::Reply;

impl Engine {
    /// Calls the handler of a part, and follows what it has changed. What it waits for goes into `waits`.
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
        match handler {
            PartHandler::Pauses(run) => {
                let rule = self.timeout_rule();
                run(&mut self.pauses, rule, args, reply)?;
                self.follow_pauses();
            }
            PartHandler::Users(run) => {
                let view = AclView {
                    users: &self.users,
                    setting: self.config.rule_setting(&self.commands),
                    login: self.sessions.get(call.slot).login,
                    has_file: !self.config.aclfile.is_empty(),
                };
                let effect = run(view, args, reply)?;
                self.change_users(effect, call.slot, reply)?;
            }
            PartHandler::AclLog(run) => {
                run(&mut self.observers.acl_log, self.clock.now(), args, reply)?;
            }
            PartHandler::Random(run) => run(self.keyspace.rng(), args, reply)?,
            PartHandler::Tracking(run) => {
                let limit = Limit::new(self.config.tracking_table_max_keys);
                let session = self.sessions.get(call.slot);
                let mut tracking = Tracking::new(&mut self.keyspace, &self.sessions, limit, self.start.seed);
                run(&mut tracking, session, args, reply)?;
                self.follow_tracking();
            }
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
                if let Flow::NotYet(wait) = self.await_replicas(call, wait, reply) {
                    not_yet(call, *wait, reply, waits);
                }
            }
            PartHandler::Faults(run) => {
                if let Flow::NotYet(wait) = self.run_on_faults(run, call, args, reply)? {
                    not_yet(call, *wait, reply, waits);
                }
            }
            PartHandler::Cluster(run) => self.run_on_cluster(run, call, args, reply)?,
            PartHandler::Shutdown(parse) => {
                let request = parse(args)?;
                debug_assert_eq!(call.origin(), Origin::Client, "it is refused elsewhere");
                if let Flow::NotYet(wait) = self.run_shutdown(request, reply)? {
                    not_yet(call, *wait, reply, waits);
                }
            }
        }
        Ok(())
    }
}
