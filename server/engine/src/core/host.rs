//! What the engine asks of its host.

use super::engine::{Engine, Host};
use crate::acl;
use lockwheel_store::time::Now;
use std::io;
use std::sync::Arc;

impl Engine {
    /// Sets the host.
    pub fn set_host(&mut self, host: Arc<dyn Host>) {
        self.environment.host = Some(host);
    }

    /// The bytes of a file, whose path is relative to the directory of the configuration.
    ///
    /// # Errors
    /// The system's; without a host there are no files.
    pub(crate) fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        match &self.environment.host {
            Some(host) => host.read_file(&self.config.dir, path),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Gives a file these bytes as a whole; its path is relative to the directory of the configuration.
    ///
    /// # Errors
    /// The system's; without a host there are no files.
    pub(crate) fn write_file(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.environment.host {
            Some(host) => host.write_file(&self.config.dir, path, bytes),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Gives a file that changes often these bytes as a whole, without waiting for the disk.
    ///
    /// # Errors
    /// The system's; without a host there are no files.
    pub(crate) fn note_file(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.environment.host {
            Some(host) => host.note_file(&self.config.dir, path, bytes),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Keeps a file for this server alone; its path is relative to the directory of the configuration.
    ///
    /// # Errors
    /// As of [`Host::claim_file`].
    pub(crate) fn claim_file(&self, path: &str) -> io::Result<()> {
        self.environment.host.as_ref().map_or(Ok(()), |host| host.claim_file(&self.config.dir, path))
    }

    /// Writes the parameters in force into the configuration file, which need not be there any more; `all`: also those
    /// that are at their defaults.
    ///
    /// # Errors
    /// The system's; then the file is as it was.
    pub(crate) fn rewrite_config(&self, all: bool) -> io::Result<()> {
        let path = &self.config.file;
        let old = self.read_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let users = self.config.aclfile.is_empty().then(|| {
            let lines = acl::describe_all(&self.users, self.config.rule_setting(&self.commands));
            lines.iter().map(|line| line.strip_prefix(b"user ").unwrap_or(line).to_vec()).collect::<Vec<_>>()
        });
        let sentinel = self.sentinel_lines();
        self.write_file(path, &self.config.rewrite(&old, users.as_deref(), &sentinel, all))
    }

    /// Reads the stopwatch at the end of a command, which is the beginning of the next: nanoseconds since `began_ns`,
    /// an earlier reading.
    #[inline]
    pub(crate) fn lap(&mut self, began_ns: u64) -> u64 {
        let reading_ns = self.stopwatch_ns();
        self.clock.lap(began_ns, reading_ns)
    }

    /// The stopwatch's reading; it stands still without a host.
    #[inline]
    pub(crate) fn stopwatch_ns(&self) -> u64 {
        self.environment.host.as_ref().map_or(0, |host| host.stopwatch_ns())
    }

    /// The system's clocks now, or at the start of the batch without a host.
    pub(crate) fn system_now(&self) -> Now {
        self.environment.host.as_ref().map_or(self.clock.system(), |host| host.now())
    }
}
