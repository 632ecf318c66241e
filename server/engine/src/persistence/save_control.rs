//! The steps of saves. A background save writes one piece of its file in each millisecond.

use super::{Background, Persistence, RdbFile, SaveTarget, SaveTimer};
use crate::clock::{EngineClock, Timer, TimerKind};
use crate::config::{Config, system_reason};
use lockwheel_resp::allocation;
use lockwheel_store::keyspace::{FlushedKeys, KeyWriter, Keyspace};
use std::io;

/// The cost of a piece of a snapshot, in bytes of the file: about half a millisecond.
const PIECE_BYTES: usize = 96 << 10;

/// An effect of a save for the engine to carry out.
#[derive(Debug)]
pub(crate) enum SaveEffect {
    /// Begin a background save that was postponed.
    Begin,
    /// Have the host write the file of the save with this serial number.
    Write { serial: u64, path: String, file: Vec<u8> },
    /// Begin a snapshot for replicas, if any replica or other client waits for one.
    BeginForReplicas,
    /// Send the replicas their snapshot. `None` if it could not be made.
    Send(Option<Vec<u8>>),
    /// Begin what waits for the end of other snapshots: a rewrite of the append-only file comes first.
    LookForRewrite,
    /// End the rewrite of the append-only file, whose base has been written, or could not be.
    EndRewrite(io::Result<()>),
    /// Remove a base of the append-only file that was given up.
    RemoveBase { path: String },
    /// Apply changed rules. `may_forbid`: writes are refused if the last save has failed.
    RulesChanged { may_forbid: bool },
}

/// The state of saves, with the parts of the engine that saves use.
pub(crate) struct SaveControl<'e> {
    /// The state of saves.
    pub(crate) saves: &'e mut Persistence,
    /// The keys, which a snapshot keeps as they were.
    pub(crate) keyspace: &'e mut Keyspace,
    /// The clocks, and the timer of saves.
    pub(crate) clock: &'e mut EngineClock,
    /// The configuration in force.
    pub(crate) config: &'e Config,
    /// The effects, in order.
    pub(crate) effects: Vec<SaveEffect>,
}

impl SaveControl<'_> {
    /// Records the result of a blocking save of all data.
    pub(crate) fn written_at_once(&mut self, result: &io::Result<()>) {
        if let Err(error) = result {
            tracing::warn!("Write error saving DB on disk: {}", system_reason(error));
            return;
        }
        tracing::info!("DB saved on disk");
        self.keyspace.counters.dirty = 0;
        self.saves.saved_ms = Some(self.clock.now().wall_ms());
        self.set_failed(false);
    }

    fn set_failed(&mut self, has_failed: bool) {
        self.saves.has_failed = has_failed;
        self.rules_changed();
    }

    /// Updates the rules after the result of a save or the parameters have changed. As in Redis, writes are refused if
    /// there are save points and the last save has failed.
    pub(crate) fn rules_changed(&mut self) {
        let parameters = &self.config.saves;
        let is_wanted = parameters.stop_writes_on_error && !parameters.points.is_empty();
        self.effects.push(SaveEffect::RulesChanged { may_forbid: is_wanted && self.saves.has_failed });
    }

    /// Begins a background save to a file that has been begun. `process` is the process id. No other save may be in
    /// progress.
    pub(crate) fn begin(&mut self, file: RdbFile, process: u32) {
        self.keyspace.begin_snapshot(Box::new(file), FlushedKeys::Written);
        let (path, changes) = (self.config.saves.dbfilename.clone(), self.keyspace.counters.dirty);
        self.saves.saves += 1;
        self.begin_background(SaveTarget::File { path, changes, is_complete: false });
        tracing::info!("Background saving started by pid {process}");
        self.go_on();
    }

    /// Begins to write the base of the append-only file, in a file that has been begun. No other save may be in
    /// progress.
    pub(crate) fn begin_for_append_only(&mut self, file: Box<dyn KeyWriter>, path: String) {
        self.keyspace.begin_snapshot(file, FlushedKeys::Written);
        self.begin_background(SaveTarget::AppendOnly { path, is_complete: false });
        self.go_on();
    }

    /// Gives up the base of the append-only file that is being written.
    pub(crate) fn give_up_for_append_only(&mut self) {
        if !self.saves.is_rewriting() {
            return;
        }
        if !self.is_complete() {
            self.keyspace.end_snapshot();
        }
        if let Some(Background {
            serial, target: SaveTarget::AppendOnly { path, is_complete: true }, ..
        }) = self.saves.background.take()
        {
            self.saves.given_up.push((serial, path));
        }
        self.set_timer(0);
    }

    /// Ends the background work for the append-only file, whose base has been taken or given up.
    pub(crate) fn end_for_append_only(&mut self) {
        if self.saves.is_rewriting() {
            self.saves.background = None;
            self.set_timer(0);
        }
    }

    /// Looks for a due rewrite of the append-only file after this number of milliseconds.
    pub(crate) fn schedule_look(&mut self, in_ms: i64) {
        self.set_timer(in_ms);
    }

    fn begin_background(&mut self, target: SaveTarget) {
        let (serial, began_ms) = (self.saves.next_serial(), self.clock.system().monotonic_ms());
        self.saves.background = Some(Background { serial, began_ms, target });
    }

    /// Begins a snapshot for replicas in a file that has been begun. `process` is the process id. If one piece
    /// completes the file, the replicas are sent it at once. Otherwise the other pieces are made in the background. No
    /// save may be in progress. Keys that are flushed meanwhile may be left out if the replication stream also tells
    /// the replicas of the flush.
    pub(crate) fn begin_for_replicas(&mut self, file: RdbFile, flushed: FlushedKeys, process: u32) {
        self.keyspace.begin_snapshot(Box::new(file), flushed);
        let file = self.make_piece();
        if self.keyspace.snapshot_progress().is_none() {
            return self.effects.push(SaveEffect::Send(file));
        }
        self.begin_background(SaveTarget::Replicas);
        tracing::info!("Background RDB transfer started by pid {process}");
        self.set_timer(self.piece_delay_ms());
    }

    /// Makes a piece of the snapshot. Returns the file after the last piece. If there is no memory for the piece, the
    /// snapshot ends.
    fn make_piece(&mut self) -> Option<Vec<u8>> {
        let (piece, keyspace) = (self.piece_bytes(), &mut *self.keyspace);
        let made = allocation::contain(|| keyspace.go_on_with_snapshot(piece));
        made.unwrap_or_else(|_| {
            self.keyspace.end_snapshot();
            None
        })
    }

    /// Schedules a snapshot for replicas for after the present work.
    pub(crate) fn schedule_for_replicas(&mut self) {
        self.set_timer(0);
    }

    /// Gives up a snapshot for replicas in progress, because no replica waits for it any more.
    pub(crate) fn give_up_for_replicas(&mut self) {
        if self.is_for_replicas() {
            tracing::info!("Background transfer stopped: no replica is waiting for it");
            self.keyspace.end_snapshot();
            self.end_for_replicas();
        }
    }

    fn is_for_replicas(&self) -> bool {
        self.saves.background.as_ref().is_some_and(|save| save.target == SaveTarget::Replicas)
    }

    /// Ends the snapshot for replicas in progress.
    fn end_for_replicas(&mut self) {
        if let Some(save) = self.saves.background.take() {
            self.note_time(&save);
        }
        self.set_timer(0);
    }

    fn note_time(&mut self, save: &Background) {
        let took_ms = self.clock.system().monotonic_ms() - save.began_ms;
        self.saves.took_seconds = Some(took_ms / 1000);
    }

    /// Schedules a background save for after the present command or transaction.
    pub(crate) fn schedule(&mut self) {
        self.saves.is_scheduled = true;
        self.set_timer(0);
    }

    fn set_timer(&mut self, in_ms: i64) {
        let at_ms = self.clock.system().monotonic_ms().saturating_add(in_ms);
        if self.saves.timer.is_some_and(|timer| timer.at_ms <= at_ms) {
            return;
        }
        if let Some(later) = self.saves.timer.take() {
            self.clock.timers_mut().cancel(later.key);
        }
        let timer = Timer { kind: TimerKind::Save, client: 0, order: self.keyspace.next_order() };
        let key = self.clock.timers_mut().insert(timer, at_ms);
        self.saves.timer = Some(SaveTimer { key, at_ms });
    }

    /// Handles the timer of saves: continues a save, or begins one that was postponed or one for replicas.
    pub(crate) fn timer_fired(&mut self) {
        self.saves.timer = None;
        if self.saves.background.is_some() {
            self.go_on();
        } else {
            self.effects.push(SaveEffect::LookForRewrite);
        }
    }

    /// Begins the save that was postponed, or one for replicas. No rewrite of the append-only file has begun.
    pub(crate) fn begin_postponed(&mut self) {
        if std::mem::take(&mut self.saves.is_scheduled) {
            self.effects.push(SaveEffect::Begin);
        } else {
            self.effects.push(SaveEffect::BeginForReplicas);
        }
    }

    /// Returns the cost of the next piece, in bytes of the file.
    fn piece_bytes(&self) -> usize {
        if self.config.saves.key_delay_us > 0 { 1 } else { PIECE_BYTES }
    }

    fn piece_delay_ms(&self) -> i64 {
        self.config.saves.key_delay_us.max(0) / 1000
    }

    /// Makes a piece of the snapshot. After the last one, the file goes to the host or to the replicas.
    fn go_on(&mut self) {
        if self.is_complete() {
            return;
        }
        let file = self.make_piece();
        if file.is_none() && self.keyspace.snapshot_progress().is_some() {
            return self.set_timer(self.piece_delay_ms());
        }
        if self.is_for_replicas() {
            return self.send(file);
        }
        let Some(Background { serial, target, .. }) = &mut self.saves.background else { return };
        let (SaveTarget::File { path, is_complete, .. } | SaveTarget::AppendOnly { path, is_complete }) =
            target
        else {
            return;
        };
        let serial = *serial;
        match file {
            Some(file) => {
                *is_complete = true;
                self.effects.push(SaveEffect::Write { serial, path: path.clone(), file });
            }
            None => self.written(serial, Err(io::ErrorKind::OutOfMemory.into())),
        }
    }

    /// Whether the host is writing the file of the background save.
    fn is_complete(&self) -> bool {
        let target = self.saves.background.as_ref().map(|save| &save.target);
        matches!(
            target,
            Some(
                SaveTarget::File { is_complete: true, .. } | SaveTarget::AppendOnly { is_complete: true, .. }
            )
        )
    }

    /// Ends the snapshot for replicas and sends them this file. `None` if it could not be made.
    fn send(&mut self, file: Option<Vec<u8>>) {
        match file {
            Some(_) => tracing::info!("Background RDB transfer terminated with success"),
            None => tracing::warn!("Background transfer error"),
        }
        self.end_for_replicas();
        self.effects.push(SaveEffect::Send(file));
    }

    /// Records whether the host has written the file of the save with this serial number.
    pub(crate) fn written(&mut self, serial: u64, result: io::Result<()>) {
        let mut given_up = self.saves.given_up.extract_if(.., |(number, _)| *number == serial);
        if let Some((_, path)) = given_up.next() {
            drop(given_up);
            return self.effects.push(SaveEffect::RemoveBase { path });
        }
        drop(given_up);
        if self.saves.is_rewriting()
            && self.saves.background.as_ref().is_some_and(|save| save.serial == serial)
        {
            return self.effects.push(SaveEffect::EndRewrite(result));
        }
        let Some(save) = self.saves.background.take_if(|save| save.serial == serial) else { return };
        let SaveTarget::File { changes: saved, .. } = save.target else { return };
        self.note_time(&save);
        self.set_failed(result.is_err());
        match result {
            Ok(()) => {
                tracing::info!("DB saved on disk");
                tracing::info!("Background saving terminated with success");
                let changes = &mut self.keyspace.counters.dirty;
                *changes = changes.saturating_sub(saved);
                self.saves.saved_ms = Some(self.clock.now().wall_ms());
            }
            Err(error) => {
                tracing::warn!("Write error saving DB on disk: {}", system_reason(&error));
                tracing::warn!("Background saving error");
            }
        }
        self.set_timer(0);
    }

    /// Gives up the save in progress and resets the state of saves.
    pub(crate) fn reset(&mut self) {
        if let Some(timer) = self.saves.timer.take() {
            self.clock.timers_mut().cancel(timer.key);
        }
        self.keyspace.end_snapshot();
        self.saves.reset();
        self.rules_changed();
    }
}

#[cfg(test)]
mod tests {
    use super::super::DataFile;
    use super::*;
    use lockwheel_store::time::Now;

    /// Compares effects by their texts, since errors of the system have no equality.
    impl PartialEq for SaveEffect {
        fn eq(&self, other: &Self) -> bool {
            format!("{self:?}") == format!("{other:?}")
        }
    }

    /// The parts that saves use.
    struct Parts {
        saves: Persistence,
        keyspace: Keyspace,
        clock: EngineClock,
        config: Config,
    }

    impl Parts {
        fn new() -> Self {
            let (now, config) = (Now { wall_us: 5_000_000, monotonic_us: 0 }, Config::default());
            let clock = EngineClock::new(config.clock(now), now);
            Parts { saves: Persistence::default(), keyspace: Keyspace::new(1, 7), clock, config }
        }

        /// Changes the parts, and returns the effects.
        fn change(&mut self, change: impl FnOnce(&mut SaveControl<'_>)) -> Vec<SaveEffect> {
            let Parts { saves, keyspace, clock, config } = self;
            let mut control = SaveControl { saves, keyspace, clock, config, effects: Vec::new() };
            change(&mut control);
            control.effects
        }

        /// Begins a save in the background, and returns the effects.
        fn begin(&mut self) -> Vec<SaveEffect> {
            let Parts { keyspace, config, .. } = &*self;
            let libraries = Vec::new();
            let data = DataFile { keyspace, libraries, config, created_s: 5, used_bytes: 1, last_grant: 0 };
            let file = data.begin();
            self.change(|control| control.begin(file, 1))
        }
    }

    fn failure() -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    const ALLOWS: SaveEffect = SaveEffect::RulesChanged { may_forbid: false };

    #[test]
    fn a_scheduled_save_begins_when_its_timer_fires() {
        let mut parts = Parts::new();
        assert_eq!(parts.change(|control| (0..2).for_each(|_| control.schedule())), []);
        assert_eq!(parts.clock.timers().count(TimerKind::Save), 1);
        assert_eq!(parts.change(|control| control.timer_fired()), [SaveEffect::LookForRewrite]);
        assert_eq!(parts.change(|control| control.begin_postponed()), [SaveEffect::Begin]);
        let effects = parts.change(|control| control.begin_postponed());
        assert_eq!(effects, [SaveEffect::BeginForReplicas], "it has begun once");
    }

    #[test]
    fn a_finished_snapshot_is_written_and_its_changes_are_saved() {
        let mut parts = Parts::new();
        parts.keyspace.counters.dirty = 3;
        let effects = parts.begin();
        let [SaveEffect::Write { serial: 1, path, file }] = &effects[..] else { panic!("{effects:?}") };
        assert!(*path == parts.config.saves.dbfilename && file.starts_with(b"REDIS"));
        parts.keyspace.counters.dirty = 5;
        assert_eq!(parts.change(|control| control.written(2, Ok(()))), [], "that is another save");
        assert!(parts.saves.background.is_some());
        assert_eq!(parts.change(|control| control.written(1, Ok(()))), [ALLOWS]);
        assert_eq!((parts.keyspace.counters.dirty, parts.saves.saved_ms), (2, Some(5000)));
    }

    #[test]
    fn writes_are_refused_after_a_failed_save_with_save_points() {
        let mut parts = Parts::new();
        parts.begin();
        let refuses = [SaveEffect::RulesChanged { may_forbid: true }];
        assert_eq!(parts.change(|control| control.written(1, failure())), refuses);
        assert_eq!(parts.saves.saved_ms, None);
        assert_eq!(parts.change(|control| control.written_at_once(&Ok(()))), [ALLOWS]);
        parts.config.saves.points.clear();
        parts.begin();
        assert_eq!(parts.change(|control| control.written(2, failure())), [ALLOWS]);
    }

    #[test]
    fn an_abandoned_save_is_not_awaited() {
        let mut parts = Parts::new();
        parts.change(|control| control.schedule());
        parts.begin();
        assert_eq!(parts.change(|control| control.reset()), [ALLOWS]);
        assert_eq!(parts.clock.timers().count(TimerKind::Save), 0);
        assert_eq!(parts.change(|control| control.written(1, Ok(()))), []);
    }
}
