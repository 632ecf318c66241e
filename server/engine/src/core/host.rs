//! The surroundings of an engine: the host's clocks and files, and the server's identity.

use super::engine::{ConfigFile, Engine, Environment, Host};
use crate::acl;
use crate::clock::EngineClock;
use crate::config::Config;
use crate::persistence::append_only::LogFiles;
use crate::persistence::{AppendLog, DiskFiles, FileChange, FileWork, FileWorkDone};
use lockwheel_store::time::Now;
use std::io;
use std::sync::Arc;

/// The files of a host in a directory, by path. Without a host, each use fails.
#[derive(Clone, Copy)]
pub(crate) struct HostFiles<'e> {
    host: Option<&'e dyn Host>,
    directory: &'e str,
}

/// The files of a host in a directory, for work that does not hold the engine.
pub(super) struct OwnFiles {
    host: Option<Arc<dyn Host>>,
    directory: String,
}

impl OwnFiles {
    pub(super) fn of(environment: &Environment, config: &Config) -> Self {
        OwnFiles { host: environment.host.clone(), directory: config.dir.clone() }
    }

    pub(super) fn borrow(&self) -> HostFiles<'_> {
        HostFiles { host: self.host.as_deref(), directory: &self.directory }
    }
}

impl HostFiles<'_> {
    pub(crate) fn read(self, path: &str) -> io::Result<Vec<u8>> {
        self.present()?.read_file(self.directory, path)
    }

    pub(crate) fn write(self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.present()?.write_file(self.directory, path, bytes)
    }

    /// Replaces the content of a file that changes often, without waiting for the disk.
    pub(crate) fn note(self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.present()?.note_file(self.directory, path, bytes)
    }

    /// Locks a file for this server, as [`Host::claim_file`] does.
    pub(crate) fn claim(self, path: &str) -> io::Result<()> {
        self.host.map_or(Ok(()), |host| host.claim_file(self.directory, path))
    }

    /// Replaces a file in the background, for the save with this number. Returns the result if it is known already.
    pub(crate) fn write_in_background(
        self,
        path: &str,
        bytes: Vec<u8>,
        serial: u64,
    ) -> Option<io::Result<()>> {
        match self.present() {
            Ok(host) => host.write_in_background(self.directory, path, bytes, serial),
            Err(error) => Some(Err(error)),
        }
    }

    /// Does work on the files in the background. Returns the result if it is known already, as
    /// [`Host::work_in_background`] does.
    pub(crate) fn work_in_background(self, work: FileWork, number: u64) -> Option<FileWorkDone> {
        match self.host {
            Some(host) => host.work_in_background(self.directory, work, number),
            None => Some(work.run(&self)),
        }
    }
}

impl DiskFiles for HostFiles<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        HostFiles::read(*self, path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        HostFiles::write(*self, path, bytes)
    }

    fn change(&self, change: FileChange<'_>) -> io::Result<()> {
        self.present()?.change_file(self.directory, change)
    }

    fn len(&self, path: &str) -> io::Result<u64> {
        self.present()?.file_len(self.directory, path)
    }
}

impl LogFiles for HostFiles<'_> {
    fn open_log(&self, path: &str, is_new: bool) -> io::Result<()> {
        let log = self.log().ok_or(io::ErrorKind::NotFound)?;
        log.open(self.directory, path, is_new)
    }

    fn log(&self) -> Option<&dyn AppendLog> {
        self.host?.append_log()
    }
}

impl<'e> HostFiles<'e> {
    fn present(self) -> io::Result<&'e dyn Host> {
        self.host.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Environment {
    /// Returns the host's stopwatch, in nanoseconds; without a host, it stands still.
    #[inline]
    pub(crate) fn stopwatch_ns(&self) -> u64 {
        self.host.as_ref().map_or(0, |host| host.stopwatch_ns())
    }

    /// Returns the time of the system's clocks; without a host, that of the start of the batch.
    pub(crate) fn now(&self, clock: &EngineClock) -> Now {
        self.host.as_ref().map_or(clock.system(), |host| host.now())
    }

    pub(crate) fn files<'e>(&'e self, config: &'e Config) -> HostFiles<'e> {
        HostFiles { host: self.host.as_deref(), directory: &config.dir }
    }
}

impl Engine {
    /// Sets the host.
    pub fn set_host(&mut self, host: Arc<dyn Host>) {
        self.environment.host = Some(host);
    }

    /// Returns the configuration file, with the parts that it describes.
    pub(crate) fn config_file(&self) -> ConfigFile<'_> {
        let Engine { config, environment, users, commands, sentinel, .. } = self;
        ConfigFile { config, environment, users, commands, sentinel: sentinel.as_deref() }
    }
}

impl ConfigFile<'_> {
    /// Whether the server runs with a configuration file.
    pub(crate) fn is_named(&self) -> bool {
        !self.config.file.is_empty()
    }

    /// Writes the parameters in force into the file, which may be gone; `all`: also those at their defaults. On an
    /// error of the system, the file is unchanged.
    pub(crate) fn rewrite(&self, all: bool) -> io::Result<()> {
        let (path, files) = (&self.config.file, self.environment.files(self.config));
        let old = files.read(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let users = self.config.aclfile.is_empty().then(|| {
            let lines = acl::describe_all(self.users, self.config.rule_setting(self.commands));
            lines.iter().map(|line| line.strip_prefix(b"user ").unwrap_or(line).to_vec()).collect::<Vec<_>>()
        });
        let sentinel = self.sentinel.map(|sentinel| sentinel.state().lines()).unwrap_or_default();
        files.write(path, &self.config.rewrite(&old, users.as_deref(), &sentinel, all))
    }
}
