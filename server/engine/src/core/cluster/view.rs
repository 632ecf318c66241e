//! The view of a node: its beginning, and the effects of its changes, in [`Engine::cluster_changed`].

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::SubscriptionKind;
use crate::cluster::{Cluster, ClusterPlan, Gossip, SlotKeys, load, slot_of};
use crate::config::system_reason;
use crate::locks::HistoryCause;
use lockwheel_resp::Reply;

impl Engine {
    /// Becomes a cluster node if the configuration says so, after the initial keys are read. O(keys + slots).
    ///
    /// # Errors
    /// Returns why the view file is refused, with the invalid line, in lines as Redis logs them.
    pub fn begin_as_node(&mut self) -> Result<(), String> {
        if !self.config.cluster.enabled {
            return Ok(());
        }
        let (file, wall_ms) = (&self.config.cluster.config_file, self.clock.now().wall_ms());
        let loaded = load(
            file,
            |path| self.environment.files(&self.config).claim(path),
            |path| self.environment.files(&self.config).read(path),
            wall_ms,
        )?;
        let mut cluster = Box::new(Cluster::begin(loaded, self.keyspace.rng()));
        SlotKeys::index(&mut self.keyspace, self.clock.now());
        if (1..self.keyspace.databases()).any(|db| self.keyspace.sizes(db).0 > 0) {
            return Err(
                "You can't have keys in a DB different than DB 0 when in Cluster mode. Exiting.".to_owned()
            );
        }
        if let Some(keys) = SlotKeys::in_keyspace(&self.keyspace) {
            cluster.take_slots_of_keys(keys);
        }
        cluster.announce(&self.config);
        cluster.begins_here();
        self.hooks.set(Hook::Cluster, true);
        self.cluster = Some(cluster);
        self.cluster_changed();
        Ok(())
    }

    /// Uses the cluster of a plan from now on, also after [`Engine::reset`]. `me` is this node's index in the plan,
    /// from 0. Other nodes receive nothing before [`Engine::contact_nodes`].
    pub fn join_cluster(&mut self, plan: &ClusterPlan, me: usize) {
        let seed = self.keyspace.rng().next_u64();
        if let Some(cluster) = &mut self.cluster {
            **cluster = Cluster::new(plan.view(me), seed);
        }
    }

    /// Contacts the other known nodes, and follows the master.
    pub fn contact_nodes(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.announce(&self.config);
        }
        self.cluster_changed();
    }

    /// Sends the other nodes the state of this node, including that its data are complete.
    pub fn tell_nodes(&mut self) {
        self.with_gossip(Gossip::tell_all);
    }

    /// Forgets what other nodes have told, and resets the view. Returns the cluster before.
    pub(in super::super) fn begin_view_anew(&mut self) -> Option<Cluster> {
        self.with_gossip(Gossip::end);
        let cluster = self.cluster.as_deref_mut()?;
        let seed = self.keyspace.rng().next_u64();
        Some(cluster.begin_anew(seed, self.clock.monotonic_timers(&mut self.keyspace)))
    }

    /// Returns to the first view, since another node of the process was reset and would lose its role to later views.
    /// Data stay, except keys of slots that are other nodes' again.
    pub(crate) fn return_to_first_view(&mut self) {
        // Messages of nodes not heard before are among the held ones.
        self.change_faults(|control, _| {
            control.faults.drop_held_of_servers(control.sessions, &mut control.step);
        });
        let Some(before) = self.begin_view_anew() else { return };
        if let Some(cluster) = &mut self.cluster {
            cluster.keep_words_of_clients(before);
        }
        self.cluster_changed();
        let keys = SlotKeys::in_keyspace(&self.keyspace);
        if let Some((cluster, keys)) = self.cluster.as_deref().zip(keys) {
            let foreign = cluster.foreign_slots(keys);
            SlotKeys::delete(&mut self.keyspace, &foreign, self.clock.now());
        }
        self.commit();
    }

    /// Applies a change of the view: saves it, decides whether the cluster serves requests, and notifies clients of
    /// lost shard channels or keys. Replication and connections follow. O(slots + waiting clients).
    pub(crate) fn cluster_changed(&mut self) {
        self.view_changed();
        self.with_gossip(Gossip::sync);
    }

    /// Applies a change of the view, except to the connections to other nodes.
    pub(super) fn view_changed(&mut self) {
        let Some(abandoned) = self.cluster.as_deref_mut().map(Cluster::refresh) else { return };
        let (cluster, files) = (self.cluster.as_deref(), self.environment.files(&self.config));
        let path = &self.config.cluster.config_file;
        let saved = cluster.map_or(Ok(()), |cluster| cluster.save(path, |bytes| files.note(path, bytes)));
        if let Err(error) = saved {
            tracing::warn!("Could not save the cluster config: {}", system_reason(&error));
        }
        if !abandoned.is_empty() {
            self.end_channels(&abandoned);
        }
        self.redirect_waiting();
        self.follow_master_of_view();
    }

    /// Follows the master that the view names, or no master.
    pub(in super::super) fn follow_master_of_view(&mut self) {
        let view = self.cluster.as_deref().map(Cluster::view);
        if self.following.is_some() && view.is_some_and(|view| !view.me().is_replica()) {
            self.unfollow_master();
        }
        let following = self.following.as_ref();
        let master = self.cluster.as_deref().and_then(|cluster| cluster.master_to_follow(following));
        if let Some((ip, port)) = master {
            self.follow_master(ip, port);
        }
    }

    /// Ends the subscriptions of channels in these slots, with a message to each subscriber.
    fn end_channels(&mut self, slots: &[u16]) {
        let all = self.pubsub.all_shards().filter(|channel| slots.contains(&slot_of(channel)));
        let channels: Vec<Box<[u8]>> = all.map(Box::from).collect();
        for channel in channels {
            let ids: Vec<u64> = self.pubsub.listening_to_shard(&channel).collect();
            for slot in ids.into_iter().filter_map(|id| self.sessions.find(id)).collect::<Vec<_>>() {
                let (id, left) = self.change_subscriptions(slot, |its| {
                    its.end(SubscriptionKind::Shard, &channel, HistoryCause::Migrated);
                    (its.session.id, its.count(SubscriptionKind::Shard))
                });
                self.send_to(&[id], channel.len(), &|reply: &mut dyn Reply| {
                    reply.push(3);
                    reply.bulk(b"sunsubscribe");
                    reply.bulk(&channel);
                    reply.integer(left as i64);
                });
            }
        }
    }
}
