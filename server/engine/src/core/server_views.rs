//! The views that handlers have of several parts of a server.

use super::observers::Observers;
use crate::client_list::ClientList;
use crate::clock::EngineClock;
use crate::config::Config;
use crate::limits::MemoryParts;
use crate::persistence::append_only::AppendOnlyFigures;
use crate::persistence::{AppendLog, AppendOnly, LoadProgress, Persistence};
use crate::pubsub::PubSub;
use crate::replication::ReplicationView;
use crate::statistics::{Identity, Process};
use crate::waits::StateView;

#[derive(Clone, Copy)]
pub(crate) struct MemoryView<'e> {
    pub(crate) parts: MemoryParts<'e>,
    pub(crate) process: &'e Process,
    pub(crate) append_only: AppendOnlyView<'e>,
}

/// The append-only file, with the log of the host.
#[derive(Clone, Copy)]
pub(crate) struct AppendOnlyView<'e> {
    pub(super) file: &'e AppendOnly,
    pub(super) log: Option<&'e dyn AppendLog>,
}

impl AppendOnlyView<'_> {
    pub(crate) fn figures(&self) -> AppendOnlyFigures {
        self.file.figures()
    }

    /// Returns the number of bytes that are not written yet.
    pub(crate) fn pending(&self) -> usize {
        self.log.map_or(0, AppendLog::pending)
    }
}

/// The server as INFO sees it.
pub(crate) struct InfoView<'e> {
    pub(crate) config: &'e Config,
    pub(crate) identity: &'e Identity,
    pub(crate) clock: &'e EngineClock,
    pub(crate) clients: ClientList<'e>,
    /// The parts whose state requests wait for.
    pub(crate) state: StateView<'e>,
    pub(crate) memory: MemoryView<'e>,
    pub(crate) persistence: &'e Persistence,
    /// The progress of the loading, until the data are there.
    pub(crate) loading: Option<&'e LoadProgress>,
    pub(crate) observers: &'e Observers,
    pub(crate) pubsub: &'e PubSub,
    pub(crate) replication: ReplicationView<'e>,
    /// Milliseconds until the server ends at the latest, if it waits for its replicas.
    pub(crate) shuts_down_in_ms: Option<i64>,
    pub(crate) sentinel: Option<Vec<(String, String)>>,
}
