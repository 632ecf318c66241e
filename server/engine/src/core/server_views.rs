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

/// The memory of a server, and the process around it.
#[derive(Clone, Copy)]
pub(crate) struct MemoryView<'e> {
    /// The parts whose memory is added up.
    pub(crate) parts: MemoryParts<'e>,
    /// The process.
    pub(crate) process: &'e Process,
    /// The append-only file.
    pub(crate) append_only: AppendOnlyView<'e>,
}

/// The append-only file, with the log of the host.
#[derive(Clone, Copy)]
pub(crate) struct AppendOnlyView<'e> {
    pub(super) file: &'e AppendOnly,
    pub(super) log: Option<&'e dyn AppendLog>,
}

impl AppendOnlyView<'_> {
    /// Returns the figures of INFO.
    pub(crate) fn figures(&self) -> AppendOnlyFigures {
        self.file.figures()
    }

    /// Returns the number of bytes that are not written yet.
    pub(crate) fn pending(&self) -> usize {
        self.log.map_or(0, AppendLog::pending)
    }
}

/// The view that INFO has of a server.
pub(crate) struct InfoView<'e> {
    /// The parameters in force.
    pub(crate) config: &'e Config,
    /// The name of the server, and the process around it.
    pub(crate) identity: &'e Identity,
    /// The clock.
    pub(crate) clock: &'e EngineClock,
    /// The clients, with the commands and the keys.
    pub(crate) clients: ClientList<'e>,
    /// The parts whose state requests wait for.
    pub(crate) state: StateView<'e>,
    /// The memory, with the scripts.
    pub(crate) memory: MemoryView<'e>,
    /// The saves.
    pub(crate) persistence: &'e Persistence,
    /// The progress of the loading of the data, until they are there.
    pub(crate) loading: Option<&'e LoadProgress>,
    /// The counters.
    pub(crate) observers: &'e Observers,
    /// The subscriptions.
    pub(crate) pubsub: &'e PubSub,
    /// Both parts of replication.
    pub(crate) replication: ReplicationView<'e>,
    /// Milliseconds until the server ends at the latest, if it waits for its replicas.
    pub(crate) shuts_down_in_ms: Option<i64>,
    /// The fields of a sentinel with their values, if the server is one.
    pub(crate) sentinel: Option<Vec<(String, String)>>,
}
