//! A node of a cluster: its view is begun with and kept in a file, requests are sent where they belong, and what
//! follows a change of the view happens in one place, [`Engine::cluster_changed`].

mod beginning;
mod following;
mod gossiping;
mod routing;

use super::cluster_state::Cluster;
use super::engine::Engine;
use crate::clients::Session;
use crate::cluster::{Redirect, SlotKeys};
use crate::spec::CommandError;

const DISABLED: &str = "ERR This instance has cluster support disabled";

impl Engine {
    /// What it knows of its cluster.
    ///
    /// # Errors
    /// It is a node of none.
    pub(crate) fn cluster(&self) -> Result<&Cluster, CommandError> {
        self.cluster.as_deref().ok_or(CommandError::text(DISABLED))
    }

    /// The same, to be changed: [`Engine::cluster_changed`] follows.
    ///
    /// # Errors
    /// It is a node of none.
    pub(crate) fn cluster_mut(&mut self) -> Result<&mut Cluster, CommandError> {
        self.cluster.as_deref_mut().ok_or(CommandError::text(DISABLED))
    }

    /// Whether a client has said READONLY.
    pub(super) fn reads_from_replica(&self, session: &Session) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| cluster.asker(session.id).read_only)
    }

    /// Which keys are in which slot.
    pub(crate) fn slot_keys(&self) -> Option<&SlotKeys> {
        self.keyspace.subscriber()
    }

    /// How many keys a slot has here.
    pub(crate) fn keys_in_slot(&self, slot: u16) -> usize {
        self.slot_keys().map_or(0, |keys| keys.of(slot).len())
    }

    /// What a client is answered whose request is not run here.
    #[cold]
    pub(super) fn redirect_error(&self, redirect: Redirect) -> CommandError {
        let endpoint = |to| self.cluster.as_ref().map(|cluster| cluster.endpoint(&self.config, to));
        CommandError::new(redirect.text(|to| endpoint(to).unwrap_or_default()))
    }
}
