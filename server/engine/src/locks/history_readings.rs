//! The clients that read the history in pieces, one at a time in the order of requests. Others are served in between.

use super::history_feed::MergingHistory;
use super::history_handler;
use super::history_work::{HistoryHandler, HistoryWork};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Keyspace, Tx};
use lockwheel_store::time::Now;
use std::collections::VecDeque;

/// A request that reads the history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingRequest<'a> {
    pub(crate) name: &'static str,
    pub(crate) db: usize,
    pub(crate) args: Args<'a>,
}

#[derive(Debug, Default)]
pub(crate) struct HistoryReadings {
    /// The clients in the order of their requests. Only the first is served.
    clients: VecDeque<u64>,
    /// The reading of the first client, once it has begun.
    work: Option<Box<dyn HistoryWork>>,
    /// The copied histories of all servers for the first client, until they are merged, and the time of the copy.
    merging: Option<(MergingHistory, Now)>,
    /// The client that begins to read the histories of all servers in pieces.
    begins: Option<u64>,
}

impl HistoryReadings {
    /// Whether clients read the history in pieces. Later clients wait for them.
    pub(crate) fn is_busy(&self) -> bool {
        !self.clients.is_empty()
    }

    /// Returns the memory of the copy that is read, in bytes. O(1).
    pub(crate) fn memory(&self) -> usize {
        let merging = self.merging.as_ref().map_or(0, |(merging, _)| merging.memory());
        merging + self.work.as_ref().map_or(0, |work| work.memory())
    }

    /// Answers a request, or begins to read for it, if no other reads; or fails. Returns whether it has been answered.
    pub(crate) fn answer(
        &mut self,
        run: HistoryHandler,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        debug_assert!(!self.is_busy(), "one client at a time is served");
        self.work = run(tx, args, reply)?;
        Ok(self.work.is_none())
    }

    /// Adds a client behind those that read. Returns whether it is the first.
    pub(crate) fn join(&mut self, client: u64) -> bool {
        self.clients.push_back(client);
        self.clients.len() == 1
    }

    /// Does a piece for the first client. Returns whether it was answered by that, or the error of the command.
    pub(crate) fn go_on(
        &mut self,
        keyspace: &mut Keyspace,
        now: Now,
        request: ReadingRequest<'_>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        if let Some((mut merging, then)) = self.merging.take() {
            match merging.go_on() {
                true => self.work = read_merged(merging, keyspace, then, request, reply)?,
                false => self.merging = Some((merging, then)),
            }
            return Ok(!self.is_under_way());
        }
        let Some(mut work) = self.work.take() else {
            let Some(run) = history_handler(request.name) else { return Ok(true) };
            self.work = run(&mut keyspace.tx(request.db, now), request.args, reply)?;
            return Ok(!self.is_under_way());
        };
        if work.go_on() {
            work.write(reply);
            return Ok(true);
        }
        self.work = Some(work);
        Ok(false)
    }

    /// Reads the histories of all servers for a client, or begins to in pieces if they are long. If another client is
    /// being served, this one reads later. Returns whether the request has been answered, or the command's error.
    pub(crate) fn answer_of_all(
        &mut self,
        client: u64,
        merging: Option<MergingHistory>,
        keyspace: &mut Keyspace,
        now: Now,
        request: ReadingRequest<'_>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        if self.reads_later(client) {
            return Ok(false);
        }
        match merging {
            Some(merging) if merging.is_long() => self.merging = Some((merging, now)),
            Some(merging) => self.work = read_merged(merging, keyspace, now, request, reply)?,
            None => {
                let tx = &mut keyspace.tx(request.db, now);
                self.work =
                    history_handler(request.name).map_or(Ok(None), |run| run(tx, request.args, reply))?;
            }
        }
        if !self.is_under_way() {
            return Ok(true);
        }
        if self.clients.is_empty() {
            self.clients.push_back(client);
        }
        self.begins = Some(client);
        Ok(false)
    }

    /// Whether a reading has begun and not ended.
    fn is_under_way(&self) -> bool {
        self.work.is_some() || self.merging.is_some()
    }

    /// Makes a client wait if another is being served, and ask for all histories again later. Whether it waits.
    fn reads_later(&mut self, client: u64) -> bool {
        let is_later = self.clients.front().is_some_and(|first| *first != client);
        if is_later && !self.clients.contains(&client) {
            self.clients.push_back(client);
        }
        self.begins = is_later.then_some(client);
        is_later
    }

    /// Takes the client that began to wait for the histories of all servers. Also returns whether it is served now.
    pub(crate) fn take_beginner(&mut self) -> Option<(u64, bool)> {
        let client = self.begins.take()?;
        Some((client, self.clients.front() == Some(&client)))
    }

    /// Forgets a client. If it was being served, returns the client that is served next.
    pub(crate) fn leave(&mut self, client: u64) -> Option<u64> {
        let was_served = self.clients.front() == Some(&client);
        self.clients.retain(|one| *one != client);
        if !was_served {
            return None;
        }
        (self.work, self.merging) = (None, None);
        self.clients.front().copied()
    }
}

/// Reads the histories of all servers as they were at `now`, or begins to.
fn read_merged(
    merging: MergingHistory,
    keyspace: &mut Keyspace,
    now: Now,
    request: ReadingRequest<'_>,
    reply: &mut dyn Reply,
) -> Result<Option<Box<dyn HistoryWork>>, CommandError> {
    let Some(run) = history_handler(request.name) else { return Ok(None) };
    merging.finish().instead(keyspace, |keyspace| run(&mut keyspace.tx(request.db, now), request.args, reply))
}
