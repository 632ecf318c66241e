//! The state of a running script, shared with other threads, which can stop the script through it.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// The state that is shared between the thread that runs scripts and all others. It records whether a script runs,
/// since when, and whether it has written. It also has the word by which the script is stopped. Atomics only; no call
/// blocks.
///
/// Only the running thread calls [`begin`](ScriptControl::begin), [`mark_write`](ScriptControl::mark_write) and
/// [`finish`](ScriptControl::finish). Any thread may make the other calls.
#[derive(Debug, Default)]
pub struct ScriptControl {
    /// The flags below, and the run's number above them, so that a kill meant for one run never hits the next.
    state: AtomicU32,
    since_ms: AtomicU64,
}

/// The interpreter must call the host from time to time.
const ARMED: u32 = 1;
/// The interpreter must end the script.
const KILL: u32 = 2;
const RUNNING: u32 = 4;
const WRITTEN: u32 = 8;
/// The running entry is a function. Stays until the next run begins.
const FUNCTION: u32 = 16;
/// The bits that are cleared when a run ends.
const RUN_FLAGS: u32 = ARMED | KILL | RUNNING | WRITTEN;
const FLAGS: u32 = RUN_FLAGS | FUNCTION;
/// The bits that the interpreter's loops test.
pub(crate) const SIGNAL_MASK: u32 = ARMED | KILL;

/// The running script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningScript {
    /// The kind of entry that was called.
    pub kind: EntryKind,
    /// The instant at which it began, by the caller's clock.
    pub since_ms: u64,
    /// Whether [`ScriptControl::kill`] may end it, because it has not written yet.
    pub is_killable: bool,
}

/// The kinds of entries that a client can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A script, by its text or its digest.
    Script,
    /// A function of a library.
    Function,
}

impl EntryKind {
    fn of(state: u32) -> EntryKind {
        if state & FUNCTION == 0 { EntryKind::Script } else { EntryKind::Function }
    }

    fn flag(self) -> u32 {
        match self {
            EntryKind::Script => 0,
            EntryKind::Function => FUNCTION,
        }
    }
}

/// The guard of a run: a script runs while it exists.
#[derive(Debug)]
#[must_use]
pub(crate) struct RunGuard<'a>(&'a ScriptControl);

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The reason why a script was not killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillError {
    /// No script is running.
    NotBusy,
    /// The script has written already. Only [`ScriptControl::force_kill`] ends it.
    Unkillable,
    /// The running entry is of another kind, this one.
    OtherKind(EntryKind),
}

impl ScriptControl {
    /// Makes the state in which no script runs.
    pub fn new() -> ScriptControl {
        ScriptControl::default()
    }

    /// Begins a script, at `since_ms` of the caller's clock. The script, and signals to it, end with the guard.
    pub(crate) fn begin(&self, kind: EntryKind, since_ms: u64) -> RunGuard<'_> {
        self.since_ms.store(since_ms, Ordering::Relaxed);
        self.start(RUNNING | kind.flag())
    }

    /// Begins loading a library of functions, until the guard is dropped. Other threads neither see nor can stop it.
    /// The interpreter checks as often as in a slow script whether its time is over.
    pub(crate) fn begin_loading(&self) -> RunGuard<'_> {
        self.start(ARMED)
    }

    fn start(&self, flags: u32) -> RunGuard<'_> {
        let run = self.state.load(Ordering::Relaxed) & !FLAGS;
        self.state.store(run.wrapping_add(FLAGS + 1) | flags, Ordering::Release);
        RunGuard(self)
    }

    fn end(&self) {
        let run = self.state.load(Ordering::Relaxed) & !RUN_FLAGS;
        self.state.store(run, Ordering::Release);
    }

    /// Notes that the script has finished, including its reply. Returns false if a kill came before: the script must
    /// then end as a killed one. No kill can come afterwards.
    pub(crate) fn finish(&self) -> bool {
        let ended = |state| if state & KILL == 0 { Some(state & !RUN_FLAGS) } else { None };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, ended).is_ok()
    }

    /// The running script, if one runs.
    pub fn running(&self) -> Option<RunningScript> {
        let state = self.state.load(Ordering::Acquire);
        (state & RUNNING != 0).then(|| RunningScript {
            kind: EntryKind::of(state),
            since_ms: self.since_ms.load(Ordering::Relaxed),
            is_killable: state & WRITTEN == 0,
        })
    }

    /// The kind of the running entry, or of the last one.
    pub fn kind(&self) -> EntryKind {
        EntryKind::of(self.state.load(Ordering::Acquire))
    }

    /// Notes that the script is about to write. Returns false if a kill came before: then the script must not write.
    pub fn mark_write(&self) -> bool {
        // Once the script has written, only a forced kill ends it. A kill may see the first write late.
        let mut state = self.state.load(Ordering::Acquire);
        if state & WRITTEN == 0 {
            state = self.state.fetch_or(WRITTEN, Ordering::AcqRel);
        }
        state & KILL == 0
    }

    /// Whether the running script has been declared slow.
    pub fn is_slow(&self) -> bool {
        self.state.load(Ordering::Acquire) & ARMED != 0
    }

    /// Declares the running script slow: from now on the interpreter calls `Host::on_slow` from time to time. Does
    /// nothing if no script runs.
    pub fn arm(&self) {
        self.update(|state| Ok(state | ARMED)).ok();
    }

    /// Ends the running script by an error that it cannot catch, unless it has written or is of another kind.
    pub fn kill(&self, kind: EntryKind) -> Result<(), KillError> {
        self.update(|state| match EntryKind::of(state) {
            _ if state & WRITTEN != 0 => Err(KillError::Unkillable),
            other if other != kind => Err(KillError::OtherKind(other)),
            _ => Ok(state | KILL),
        })
    }

    /// Ends the running script even if it has written, as SHUTDOWN NOSAVE does. Does nothing if no script runs.
    pub fn force_kill(&self) {
        self.update(|state| Ok(state | KILL)).ok();
    }

    fn update(&self, next: impl Fn(u32) -> Result<u32, KillError>) -> Result<(), KillError> {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            if state & RUNNING == 0 {
                return Err(KillError::NotBusy);
            }
            match self.state.compare_exchange_weak(state, next(state)?, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => state = now,
            }
        }
    }

    /// Whether the running script has been killed, and must end now.
    pub fn is_killed(&self) -> bool {
        self.state.load(Ordering::Acquire) & KILL != 0
    }

    /// Whether the running script is slow, or must end now.
    #[inline]
    pub(crate) fn is_signalled(&self) -> bool {
        self.state.load(Ordering::Acquire) & SIGNAL_MASK != 0
    }

    /// The word that the interpreter's loops read, valid as long as this lives.
    pub(crate) fn word(&self) -> *const u32 {
        self.state.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_only_a_running_script_that_has_not_written() {
        let control = ScriptControl::new();
        assert_eq!(control.kill(EntryKind::Script), Err(KillError::NotBusy));
        assert_eq!(control.running(), None);
        let guard = control.begin(EntryKind::Script, 7);
        let running = RunningScript { kind: EntryKind::Script, since_ms: 7, is_killable: true };
        assert_eq!(control.running(), Some(running));
        assert!(control.mark_write());
        assert_eq!(control.running(), Some(RunningScript { is_killable: false, ..running }));
        assert_eq!(control.kill(EntryKind::Script), Err(KillError::Unkillable));
        assert!(!control.is_killed());
        control.force_kill();
        assert!(control.is_killed());
        drop(guard);
        assert!(!control.is_killed());
        assert_eq!(control.running(), None);
    }

    #[test]
    fn each_kind_is_killed_by_its_own_kill() {
        let control = ScriptControl::new();
        let guard = control.begin(EntryKind::Function, 7);
        assert_eq!(control.running().map(|running| running.kind), Some(EntryKind::Function));
        let other = Err(KillError::OtherKind(EntryKind::Function));
        assert_eq!(control.kill(EntryKind::Script), other);
        assert!(!control.is_killed());
        assert!(control.mark_write());
        assert_eq!(control.kill(EntryKind::Script), Err(KillError::Unkillable), "that is told first");
        drop(guard);
        assert_eq!(control.kill(EntryKind::Function), Err(KillError::NotBusy));
        assert_eq!(control.kind(), EntryKind::Function, "until another begins");
        let _guard = control.begin(EntryKind::Script, 8);
        assert_eq!(control.kill(EntryKind::Function), Err(KillError::OtherKind(EntryKind::Script)));
        assert_eq!(control.kill(EntryKind::Script), Ok(()));
    }

    #[test]
    fn what_is_loaded_is_asked_for_its_time_and_nothing_else() {
        let control = ScriptControl::new();
        let guard = control.begin_loading();
        assert!(control.is_signalled());
        assert_eq!(control.running(), None);
        assert_eq!(control.kill(EntryKind::Function), Err(KillError::NotBusy));
        control.force_kill();
        assert!(!control.is_killed());
        drop(guard);
        assert!(!control.is_signalled());
    }

    #[test]
    fn a_kill_comes_before_a_write_or_after_it() {
        let control = ScriptControl::new();
        let guard = control.begin(EntryKind::Script, 0);
        assert_eq!(control.kill(EntryKind::Script), Ok(()));
        assert!(!control.mark_write());
        drop(guard);
        let _guard = control.begin(EntryKind::Script, 1);
        assert!(!control.is_killed());
        assert!(control.mark_write());
    }

    #[test]
    fn a_kill_comes_before_the_end_or_finds_nothing() {
        let control = ScriptControl::new();
        let guard = control.begin(EntryKind::Script, 0);
        assert!(control.finish());
        assert_eq!(control.kill(EntryKind::Script), Err(KillError::NotBusy));
        drop(guard);
        let guard = control.begin(EntryKind::Script, 1);
        assert_eq!(control.kill(EntryKind::Script), Ok(()));
        assert!(!control.finish());
        assert_eq!(control.kill(EntryKind::Script), Ok(()), "it runs until its end is said");
        drop(guard);
        assert!(!control.is_killed());
    }

    #[test]
    fn a_panic_ends_the_script_too() {
        let control = ScriptControl::new();
        let ran = std::panic::catch_unwind(|| {
            let _guard = control.begin(EntryKind::Script, 0);
            panic!("it panics");
        });
        assert!(ran.is_err());
        assert_eq!(control.running(), None);
    }

    #[test]
    fn signals_do_not_outlive_the_run() {
        let control = ScriptControl::new();
        control.arm();
        control.force_kill();
        let _guard = control.begin(EntryKind::Script, 0);
        // SAFETY: `control` lives.
        assert_eq!(unsafe { *control.word() } & SIGNAL_MASK, 0);
        control.arm();
        // SAFETY: `control` lives.
        assert_eq!(unsafe { *control.word() } & SIGNAL_MASK, ARMED);
    }
}
