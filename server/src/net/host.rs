//! The host of the engine: the system's clocks, and the sockets and loops around it.

use super::acceptors::Acceptors;
use super::append_log::FileLog;
use super::current_loop;
use super::files;
use super::hooks::Point;
use super::os_clock::OsClock;
use super::shared::Shared;
use super::stopwatch::Stopwatch;
use super::target::TcpTarget;
use lockwheel_engine::Engine;
use lockwheel_engine::config::{Config, HostChanges, HostRefusal};
use lockwheel_engine::core::{
    AppendLog, DataLoad, DiskEvent, FileChange, FileWork, FileWorkDone, Host, NotConnected, Output, Target,
    TargetAddress,
};
use lockwheel_store::time::Now;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::thread;

/// The engine's host while a request runs.
pub(super) struct NetHost {
    pub(super) clock: OsClock,
    pub(super) stopwatch: Stopwatch,
    pub(super) acceptors: Arc<Acceptors>,
    pub(super) log: Arc<FileLog>,
    /// The shared state. A weak reference, since it owns the engine, which owns this host.
    pub(super) shared: Weak<Shared>,
}

impl Host for NetHost {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn stopwatch_ns(&self) -> u64 {
        self.stopwatch.ns()
    }

    fn rules_changed(&self, engine: &Engine) {
        if let Some(shared) = self.shared.upgrade() {
            shared.follow(engine);
            shared.set_loading(DataLoad::is_in_progress(engine));
        }
    }

    fn serve_while_slow(&self, engine: &mut Engine) {
        if let Some(shared) = self.shared.upgrade() {
            shared.run_jobs(engine);
            current_loop::serve_while_slow(&shared, engine);
            // All other output is handled when the script has ended.
            if let Output::Shutdown = engine.poll_output() {
                shared.shut_down();
            }
            shared.hooks.reach(Point::Slow);
        }
    }

    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal> {
        self.acceptors.follow(parameters, changes)
    }

    fn let_clients_in(&self, are_let_in: bool) {
        self.acceptors.let_in(are_let_in);
    }

    fn enter(&self, directory: &str, path: &str) -> io::Result<String> {
        files::enter(directory, path)
    }

    fn read_file(&self, directory: &str, path: &str) -> io::Result<Vec<u8>> {
        files::read(directory, path)
    }

    fn write_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        files::write(directory, path, bytes)
    }

    fn note_file(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        let shared = self.shared.upgrade().ok_or(io::ErrorKind::NotFound)?;
        shared.claim.note(directory, path, bytes)
    }

    #[cfg(unix)]
    fn claim_file(&self, directory: &str, path: &str) -> io::Result<()> {
        let shared = self.shared.upgrade().ok_or(io::ErrorKind::NotFound)?;
        shared.claim.take(directory, path)
    }

    fn write_in_background(
        &self,
        directory: &str,
        path: &str,
        bytes: Vec<u8>,
        serial: u64,
    ) -> Option<io::Result<()>> {
        let shared = self.shared.upgrade()?;
        let (directory, path) = (directory.to_owned(), path.to_owned());
        let guard = shared.shutdown.thread();
        let write = move || {
            let written = files::write(&directory, &path, &bytes);
            drop(bytes);
            shared.with_engine(|engine| engine.disk_event(DiskEvent::Saved { serial, result: written }));
            drop(guard);
        };
        let thread = thread::Builder::new().name("lockwheel-save".to_owned()).spawn(write);
        thread.err().map(Err)
    }

    fn work_in_background(&self, directory: &str, work: FileWork, number: u64) -> Option<FileWorkDone> {
        let files = files::Directory(directory.to_owned());
        let Some(shared) = self.shared.upgrade() else { return Some(work.run(&files)) };
        let (guard, copy) = (shared.shutdown.thread(), work.clone());
        let run = move || {
            let done = copy.run(&files);
            shared.with_engine(|engine| engine.disk_event(DiskEvent::Worked { number, done }));
            drop(guard);
        };
        let thread = thread::Builder::new().name("lockwheel-files".to_owned()).spawn(run);
        // Without a thread, the engine waits.
        thread.err().map(|_| work.run(&files::Directory(directory.to_owned())))
    }

    fn change_file(&self, directory: &str, change: FileChange<'_>) -> io::Result<()> {
        files::change(directory, change)
    }

    fn file_len(&self, directory: &str, path: &str) -> io::Result<u64> {
        files::len(directory, path)
    }

    fn append_log(&self) -> Option<&dyn AppendLog> {
        Some(&*self.log)
    }

    fn is_gone(&self, session: u64) -> bool {
        // A client without a connection has closed it. Its session is about to be removed.
        self.shared.upgrade().is_some_and(|shared| match shared.clients.get(&session) {
            Some(client) => client.socket.is_closed_by_peer(),
            None => !shared.callers.is_waiting(session),
        })
    }

    fn session_id(&self) -> Option<u64> {
        self.shared.upgrade().map(|shared| shared.client_limit.next_id())
    }

    fn resolve(&self, name: &str) -> Option<IpAddr> {
        (name, 0).to_socket_addrs().ok()?.next().map(|address| address.ip())
    }

    fn connect(&self, address: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        let awaited = self.shared.upgrade().map(|shared| shared.awaits_target.clone()).unwrap_or_default();
        Ok(Box::new(TcpTarget::connect(address, awaited)?))
    }
}
