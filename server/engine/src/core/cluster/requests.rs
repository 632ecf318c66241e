//! Requests in a cluster: their routing, and commands on the cluster itself.

use super::super::call::{Call, Origin};
use super::super::engine::Engine;
use crate::cluster::{
    ClusterControl, ClusterHandler, ClusterReport, ClusterRequest, DISABLED, Gossip, RequestRouter, SlotKeys,
    Speaker,
};
use crate::config::system_reason;
use crate::locks::HistoryCause;
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Returns the router of requests, if the server is a cluster node.
    pub(crate) fn router(&self) -> Option<RequestRouter<'_>> {
        let cluster = self.cluster.as_deref()?;
        let (commands, scripts, keyspace) = (&*self.commands, &self.scripts, &self.keyspace);
        Some(RequestRouter { cluster, config: &self.config, commands, scripts, keyspace })
    }

    /// Redirects clients that wait for a key whose slot has left. If the node is about to follow a master, all waits
    /// end anyway, with another error.
    pub(super) fn redirect_waiting(&mut self) {
        let Some(router) = self.router() else { return };
        if router.cluster.master_to_follow(self.following.as_ref()).is_some() {
            return;
        }
        let redirected = self.waits.redirected(router);
        for (id, error) in redirected {
            self.cancel_wait(id, &error, HistoryCause::Unblocked);
        }
    }

    /// Runs a command on the cluster and applies its request. Fails also without a cluster, or if a save fails.
    pub(in super::super) fn run_on_cluster(
        &mut self,
        handler: ClusterHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let cluster = self.cluster.as_deref_mut().ok_or(DISABLED)?;
        let (config, now) = (&self.config, self.clock.now());
        match handler {
            ClusterHandler::Report(run) => {
                let report = ClusterReport {
                    cluster,
                    config,
                    keys: SlotKeys::in_keyspace(&self.keyspace),
                    commands: &self.commands,
                    offset: self.replication.offset().max(0).unsigned_abs(),
                    now,
                };
                run(report, args, reply)
            }
            ClusterHandler::Change(run) => {
                let mut control = ClusterControl {
                    cluster,
                    config,
                    keyspace: &mut self.keyspace,
                    sessions: &self.sessions,
                    member: &mut self.member,
                    session: call.session,
                    is_of_script: call.origin() == Origin::Script,
                    now,
                };
                let request = run(&mut control, args)?;
                self.follow_cluster_request(request, call.session, reply)
            }
        }
    }

    fn follow_cluster_request(
        &mut self,
        request: ClusterRequest,
        session: u64,
        reply: &mut dyn Reply,
    ) -> Outcome {
        match request {
            ClusterRequest::Done => {}
            ClusterRequest::ViewChanged => self.cluster_changed(),
            ClusterRequest::ViewChangedTo(status) => {
                self.cluster_changed();
                reply.status(status.as_bytes());
                return Ok(());
            }
            ClusterRequest::SlotArrived => {
                self.cluster_changed();
                self.with_gossip(Gossip::tell_all);
            }
            ClusterRequest::Replicate(master) => {
                self.with_gossip(|gossip, view| gossip.become_replica_of(view, master));
                self.with_gossip(Gossip::tell_all);
            }
            ClusterRequest::FailOver { takes_over: true, .. } => {
                self.with_gossip(Gossip::seize);
            }
            ClusterRequest::FailOver { forced, .. } => {
                self.with_gossip(|gossip, view| gossip.begin_manual(view, forced));
            }
            ClusterRequest::Reset(name) => {
                self.with_gossip(Gossip::end);
                self.cluster.iter_mut().for_each(|cluster| cluster.view_mut().reset(name));
                self.cluster_changed();
            }
            ClusterRequest::Save => {
                let (cluster, path) = (self.cluster.as_deref(), &self.config.cluster.config_file);
                let saved = cluster.map_or(Ok(()), |cluster| {
                    cluster.save(path, |bytes| self.environment.files(&self.config).note(path, bytes))
                });
                saved.map_err(|error| {
                    let why = system_reason(&error);
                    CommandError::new(format!("ERR error saving the cluster node config: {why}"))
                })?;
            }
            ClusterRequest::Hear { message, ip } => {
                let speaker = Speaker { session, ip: &ip };
                let answer = self.with_gossip(|gossip, view| gossip.hear_request(view, *message, speaker));
                match answer.flatten() {
                    Some(answer) => reply.bulk(&answer.write()),
                    None => reply.null(),
                }
                return Ok(());
            }
        }
        reply.ok();
        Ok(())
    }
}
