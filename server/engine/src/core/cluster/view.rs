//! The view of a node: its beginning, and what follows a change of it, in [`Engine::cluster_changed`].

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::SubscriptionKind;
use crate::cluster::{Cluster, ClusterPlan, Gossip, SlotKeys, load, slot_of};
use crate::config::system_reason;
use crate::locks::HistoryCause;
use lockwheel_resp::Reply;

impl Engine {
    /// Becomes a node of a cluster, if the configuration says so: after the keys of the start have been read.
    /// O(keys + slots).
    ///
    /// # Errors
    /// Why the file of the view is refused, in lines as Redis logs them, with the line that is wrong.
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

    /// Knows from now on, and after [`Engine::reset`], the cluster that a plan says, of which this is the node at a
    /// place, from 0. Nothing is said to the others before [`Engine::contact_nodes`].
    pub fn join_cluster(&mut self, plan: &ClusterPlan, me: usize) {
        let seed = self.keyspace.rng().next_u64();
        if let Some(cluster) = &mut self.cluster {
            **cluster = Cluster::new(plan.view(me), seed);
        }
    }

    /// Makes the acquaintance of the other nodes that it knows of, and follows its master.
    pub fn contact_nodes(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            cluster.announce(&self.config);
        }
        self.cluster_changed();
    }

    /// Tells the other nodes how this one is, also that its data are complete.
    pub fn tell_nodes(&mut self) {
        self.with_gossip(Gossip::tell_all);
    }

    /// Forgets what was heard of other nodes, and what became of the view. Returns the state before.
    pub(in super::super) fn begin_view_anew(&mut self) -> Option<Cluster> {
        self.with_gossip(Gossip::end);
        let cluster = self.cluster.as_deref_mut()?;
        let seed = self.keyspace.rng().next_u64();
        Some(cluster.begin_anew(seed, self.clock.monotonic_timers(&mut self.keyspace)))
    }

    /// The view is as at the start, since another node of the process has begun anew: what nodes with later views
    /// told that one would take its part from it. Data stay, but for keys of slots that are another's again.
    pub(crate) fn return_to_first_view(&mut self) {
        // Among them are messages of nodes that were not heard before.
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

    /// Follows a change of the view: whether the cluster serves requests is found out, the view is saved, clients that
    /// listen to channels of slots that are gone, or wait for their keys, are told, and replication and the connections
    /// to other nodes follow. O(slots + waiting clients).
    pub(crate) fn cluster_changed(&mut self) {
        self.view_changed();
        self.with_gossip(Gossip::sync);
    }

    /// Does the same, but for the connections to other nodes.
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

    /// Follows the master that the view names, or nobody.
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

    /// Ends the subscriptions of channels of these slots, and says so.
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
