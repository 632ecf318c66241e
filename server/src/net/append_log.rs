//! The file to which the engine appends: the append-only file.
//!
//! The engine queues bytes under its lock. A thread that is about to show clients the effects of a batch writes the
//! queue first, without the engine's lock. So a reply never precedes the write of its effects, whatever the policy, and
//! the loops write in the order of the batches. A thread of its own syncs the file each second of real time, and
//! retries a failed write.

use super::files;
use super::shutdown::{Shutdown, ThreadGuard};
use lockwheel_engine::config::system_reason;
use lockwheel_engine::core::{AppendLog, DiskEvent, LogSync};
use parking_lot::{Mutex, MutexGuard};
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

/// The interval between two syncs, and between two attempts after a failure.
const INTERVAL: Duration = Duration::from_secs(1);
/// The capacity up to which an emptied queue keeps its memory, in bytes.
const KEPT: usize = 1 << 20;

/// The log of a server.
pub(super) struct FileLog {
    /// The bytes that the engine has appended and that are not written.
    queue: Mutex<Queue>,
    /// The open file. Locked before the queue, and during each write.
    file: Mutex<OpenFile>,
    /// Whether bytes are queued, or being written or synced.
    is_due: AtomicBool,
    sync: Mutex<LogSync>,
    /// The pause before each write, in microseconds.
    flush_delay_us: AtomicU64,
    /// The number of bytes that were appended and are on the disk.
    synced: AtomicU64,
    /// The number of bytes until which the engine awaits syncs.
    awaited: AtomicU64,
    /// The number of synced bytes of which the engine was told last.
    told: AtomicU64,
    /// Whether the last write or sync has failed, so that only the thread tries again.
    has_failed: AtomicBool,
    has_thread: AtomicBool,
    thread: OnceLock<Thread>,
    /// The server. A weak reference, since it owns the log.
    owner: OnceLock<Weak<dyn LogOwner>>,
}

/// The server whose log it is.
pub(super) trait LogOwner: Send + Sync {
    /// Tells the engine of an event, as soon as it is free.
    fn tell(&self, event: DiskEvent);

    /// Starts the thread of the log.
    fn start_log(&self);

    /// Ends the server at once, since clients must not see what is not on the disk.
    fn give_up(&self);
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// The number of bytes that were appended.
    appended: u64,
}

#[derive(Default)]
struct OpenFile {
    file: Option<Arc<File>>,
    /// The length of the file, in bytes.
    len: u64,
    /// The number of bytes that were appended and are written.
    written: u64,
    /// The bytes that are being written.
    writing: Vec<u8>,
}

impl FileLog {
    pub(super) fn new() -> Self {
        FileLog {
            queue: Mutex::default(),
            file: Mutex::default(),
            is_due: AtomicBool::new(false),
            sync: Mutex::default(),
            flush_delay_us: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            told: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            has_thread: AtomicBool::new(false),
            thread: OnceLock::new(),
            owner: OnceLock::new(),
        }
    }

    /// Sets the server.
    pub(super) fn set_owner(&self, owner: Weak<dyn LogOwner>) {
        let _set_once = self.owner.set(owner);
    }

    /// Writes what is queued, before clients see the effects. Does nothing if nothing is queued.
    #[inline]
    pub(super) fn flush(&self) {
        if self.is_due.load(Ordering::Acquire) && !self.has_failed.load(Ordering::Relaxed) {
            self.flush_due();
        }
    }

    #[cold]
    fn flush_due(&self) {
        let mut file = self.file.lock();
        let sync = *self.sync.lock();
        let done = self.write(&mut file).and_then(|()| match sync {
            LogSync::Always => self.sync_written(&file),
            LogSync::EverySecond | LogSync::Never => Ok(()),
        });
        match done {
            Ok(()) => {
                // Others that are about to show effects wait until then.
                self.note_done(&file);
                drop(file);
                self.announce();
            }
            Err(error) => self.fail(file, &error, sync),
        }
    }

    /// Writes what is queued. What cannot be written stays queued.
    fn write(&self, open: &mut OpenFile) -> io::Result<()> {
        let Some(file) = open.file.clone() else { return Ok(()) };
        {
            let mut queue = self.queue.lock();
            if open.writing.is_empty() {
                std::mem::swap(&mut open.writing, &mut queue.bytes);
            } else {
                open.writing.append(&mut queue.bytes);
            }
        }
        if open.writing.is_empty() {
            return Ok(());
        }
        self.pause();
        let mut done = 0;
        while done < open.writing.len() {
            match (&*file).write(&open.writing[done..]) {
                Ok(0) => return Err(open.give_back(done, io::ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(open.give_back(done, error)),
            }
        }
        open.len += done as u64;
        open.written += done as u64;
        open.writing.clear();
        if open.writing.capacity() > KEPT {
            open.writing = Vec::new();
        }
        Ok(())
    }

    /// Pauses before a write, if a test has asked for that.
    fn pause(&self) {
        let us = self.flush_delay_us.load(Ordering::Relaxed);
        if us > 0 {
            thread::sleep(Duration::from_micros(us));
        }
    }

    /// Syncs what was written.
    fn sync_written(&self, open: &OpenFile) -> io::Result<()> {
        if let Some(file) = open.file.as_ref().filter(|_| self.synced.load(Ordering::SeqCst) < open.written) {
            file.sync_data()?;
            self.synced.fetch_max(open.written, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Records that nothing is queued any more, unless something is.
    fn note_done(&self, open: &OpenFile) {
        let queue = self.queue.lock();
        if queue.bytes.is_empty() && open.writing.is_empty() {
            self.is_due.store(false, Ordering::Release);
        }
    }

    /// Tells the engine of a sync, if it awaits one.
    fn announce(&self) {
        let (synced, awaited) = (self.synced.load(Ordering::SeqCst), self.awaited.load(Ordering::SeqCst));
        let is_awaited = self.told.load(Ordering::SeqCst) < awaited;
        if is_awaited && self.told.fetch_max(synced, Ordering::SeqCst) < synced {
            self.tell(DiskEvent::LogSynced);
        }
    }

    fn tell(&self, event: DiskEvent) {
        if let Some(owner) = self.owner() {
            owner.tell(event);
        }
    }

    /// Handles a failure. A server whose clients must not see what is not on the disk ends, as in Redis.
    #[cold]
    fn fail(&self, file: MutexGuard<'_, OpenFile>, error: &io::Error, sync: LogSync) {
        tracing::warn!("Error writing to the AOF file: {}", system_reason(error));
        if sync == LogSync::Always {
            // The file stays locked until the process has ended: nobody may show effects meanwhile.
            return self.give_up();
        }
        drop(file);
        if !self.has_failed.swap(true, Ordering::SeqCst) {
            self.tell(DiskEvent::LogWritten(Err(copy_of(error))));
        }
    }

    /// Ends the server.
    #[cold]
    fn give_up(&self) {
        tracing::warn!(
            "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting..."
        );
        self.owner().into_iter().for_each(|owner| owner.give_up());
    }

    fn owner(&self) -> Option<Arc<dyn LogOwner>> {
        self.owner.get().and_then(Weak::upgrade)
    }

    /// Tries again after a failure.
    fn retry(&self) {
        let done = self.write(&mut self.file.lock());
        if done.is_ok() && self.sync_file().is_ok() {
            self.note_done(&self.file.lock());
            tracing::warn!("AOF write error looks solved. The server can write again.");
            self.has_failed.store(false, Ordering::SeqCst);
            self.tell(DiskEvent::LogWritten(Ok(())));
        }
    }

    /// Syncs what was written, while others may write more.
    fn sync_file(&self) -> io::Result<()> {
        let (file, written) = {
            let open = self.file.lock();
            (open.file.clone(), open.written)
        };
        if let Some(file) = file.filter(|_| self.synced.load(Ordering::SeqCst) < written) {
            file.sync_data()?;
            self.synced.fetch_max(written, Ordering::SeqCst);
            self.announce();
        }
        Ok(())
    }

    /// Starts the thread, unless it runs.
    pub(super) fn start_thread(self: Arc<Self>, shutdown: Arc<Shutdown>, guard: ThreadGuard) {
        if self.has_thread.swap(true, Ordering::SeqCst) {
            return;
        }
        let run = move || {
            let _guard = guard;
            self.run(|| shutdown.is_requested());
        };
        if let Err(error) = thread::Builder::new().name("lockwheel-log".to_owned()).spawn(run) {
            tracing::warn!("No thread can be started to sync the AOF file: {}", system_reason(&error));
        }
    }

    /// The work of the thread, until the server ends.
    fn run(&self, is_ending: impl Fn() -> bool) {
        let _set_once = self.thread.set(thread::current());
        while !is_ending() {
            thread::park_timeout(INTERVAL);
            if self.has_failed.load(Ordering::SeqCst) {
                self.retry();
            } else if *self.sync.lock() == LogSync::EverySecond {
                self.flush();
                if let Err(error) = self.sync_file() {
                    self.fail(self.file.lock(), &error, LogSync::EverySecond);
                }
            }
        }
        // What was appended before the end is written, whatever the policy.
        self.flush();
    }

    /// Ends the sleep of the thread.
    pub(super) fn wake(&self) {
        self.thread.get().into_iter().for_each(Thread::unpark);
    }

    /// Writes and syncs all that was appended. Returns the locked file, and whether all is on the disk.
    fn complete(&self) -> (MutexGuard<'_, OpenFile>, io::Result<()>) {
        let mut file = self.file.lock();
        let done = self.write(&mut file).and_then(|()| self.sync_written(&file));
        if done.is_ok() {
            self.note_done(&file);
        }
        (file, done)
    }
}

/// Returns an error with the same reason.
fn copy_of(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl OpenFile {
    /// Cuts the file back to its length before a write that has failed after `done` bytes, so that all of them are
    /// written again. If the file cannot be cut, only the rest is.
    #[cold]
    fn give_back(&mut self, done: usize, error: io::Error) -> io::Error {
        let is_cut = self.file.as_ref().is_some_and(|file| file.set_len(self.len).is_ok());
        if done > 0 && !is_cut {
            self.len += done as u64;
            self.written += done as u64;
            self.writing.drain(..done);
        }
        error
    }
}

impl AppendLog for FileLog {
    fn open(&self, directory: &str, path: &str, is_new: bool) -> io::Result<()> {
        // The file before must have all that it gets: what it lacks would be in none, or in parts of both.
        let (mut open, done) = self.complete();
        if let Err(error) = done {
            self.fail(open, &error, *self.sync.lock());
            return Err(error);
        }
        let file = files::open_log(directory, path, is_new)?;
        open.len = file.metadata()?.len();
        open.file = Some(Arc::new(file));
        self.owner().into_iter().for_each(|owner| owner.start_log());
        Ok(())
    }

    fn append(&self, bytes: &[u8]) {
        let mut queue = self.queue.lock();
        queue.bytes.extend_from_slice(bytes);
        queue.appended += bytes.len() as u64;
        self.is_due.store(true, Ordering::Release);
    }

    fn set_sync(&self, sync: LogSync) {
        *self.sync.lock() = sync;
    }

    fn set_flush_delay(&self, us: u64) {
        self.flush_delay_us.store(us, Ordering::Relaxed);
    }

    fn sync(&self) -> io::Result<()> {
        let (open, done) = self.complete();
        if done.is_err() && *self.sync.lock() == LogSync::Always {
            self.give_up();
        }
        drop(open);
        done
    }

    fn close(&self) {
        let mut open = self.file.lock();
        let mut queue = self.queue.lock();
        queue.bytes = Vec::new();
        (open.file, open.writing, open.written) = (None, Vec::new(), queue.appended);
        self.synced.store(queue.appended, Ordering::SeqCst);
        self.is_due.store(false, Ordering::Release);
        drop((open, queue));
        if self.has_failed.swap(false, Ordering::SeqCst) {
            // The engine may not have heard of the failure yet.
            self.tell(DiskEvent::LogWritten(Ok(())));
        }
    }

    fn pending(&self) -> usize {
        self.queue.lock().bytes.len()
    }

    fn synced(&self) -> u64 {
        self.synced.load(Ordering::SeqCst)
    }

    fn announce_syncs(&self, until: u64) {
        self.awaited.fetch_max(until, Ordering::SeqCst);
        // A sync may have come between the look at it and this request.
        self.is_due.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A server that counts what it is told.
    #[derive(Default)]
    struct Owner {
        syncs: AtomicU64,
        failures: AtomicU64,
        ends: AtomicU64,
    }

    impl LogOwner for Owner {
        fn tell(&self, event: DiskEvent) {
            let count = match event {
                DiskEvent::LogSynced => &self.syncs,
                _ => &self.failures,
            };
            count.fetch_add(1, Ordering::SeqCst);
        }

        fn start_log(&self) {}

        fn give_up(&self) {
            self.ends.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A log with its server, in a directory of this name.
    fn begin(name: &str) -> (FileLog, Arc<Owner>, String) {
        let directory = std::env::temp_dir().join(format!("lockwheel-log-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("it can be made");
        let (log, owner) = (FileLog::new(), Arc::new(Owner::default()));
        let weak: Weak<dyn LogOwner> = Arc::<Owner>::downgrade(&owner);
        log.set_owner(weak);
        (log, owner, directory.to_str().expect("it is text").to_owned())
    }

    #[test]
    fn each_sync_that_is_awaited_is_told_although_more_is_appended() {
        let (log, owner, directory) = begin("awaited");
        log.open(&directory, "one", true).expect("it can be opened");
        log.append(b"first");
        log.announce_syncs(5);
        log.flush();
        assert_eq!(owner.syncs.load(Ordering::SeqCst), 0);
        log.append(b"second");
        log.sync_file().expect("it can be synced");
        assert_eq!((log.synced(), owner.syncs.load(Ordering::SeqCst)), (5, 1));
        log.flush();
        log.sync_file().expect("it can be synced");
        assert_eq!((log.synced(), owner.syncs.load(Ordering::SeqCst)), (11, 1), "nobody awaits that");
        fs::remove_dir_all(directory).expect("it can be removed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_be_written_keeps_the_log() {
        let (log, owner, directory) = begin("full");
        log.open("/dev", "full", false).expect("it can be opened");
        log.append(b"bytes");
        assert!(log.open(&directory, "next", true).is_err());
        assert!(!std::path::Path::new(&directory).join("next").exists());
        assert_eq!((log.synced(), owner.failures.load(Ordering::SeqCst)), (0, 1));
        fs::remove_dir_all(directory).expect("it can be removed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_be_synced_keeps_the_log_and_ends_a_server_that_always_syncs() {
        let (log, owner, directory) = begin("unsynced");
        // Bytes can be written there, and cannot be synced.
        log.open("/dev", "null", false).expect("it can be opened");
        log.append(b"bytes");
        log.flush();
        assert!(log.open(&directory, "next", true).is_err());
        assert_eq!((owner.failures.load(Ordering::SeqCst), owner.ends.load(Ordering::SeqCst)), (1, 0));
        log.has_failed.store(false, Ordering::SeqCst);
        log.set_sync(LogSync::Always);
        log.append(b"more");
        log.flush();
        assert_eq!(owner.ends.load(Ordering::SeqCst), 1);
        assert!(log.is_due.load(Ordering::SeqCst), "a reply must not precede the sync");
        assert_eq!(log.synced(), 0);
        fs::remove_dir_all(directory).expect("it can be removed");
    }
}
