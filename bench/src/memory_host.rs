//! A host whose log keeps nothing, so that only the engine's part of the append-only file is measured.

use lockwheel_engine::config::{Config, HostChanges, HostRefusal};
use lockwheel_engine::core::{
    AppendLog, Engine, FileChange, Host, LogSync, NotConnected, Target, TargetAddress,
};
use lockwheel_store::time::Now;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The size up to which appended bytes are kept until they count as written.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// The host. Its clocks stand where the last batch has put them.
#[derive(Debug, Default)]
pub(crate) struct MemoryHost {
    now: Mutex<Now>,
    appended: Mutex<Vec<u8>>,
}

impl MemoryHost {
    /// Sets the time of the system's clocks.
    pub(crate) fn set_now(&self, now: Now) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl AppendLog for MemoryHost {
    fn open(&self, _: &str, _: &str, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn append(&self, bytes: &[u8]) {
        let mut appended = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        if appended.len() > WRITTEN_AT_ONCE {
            appended.clear();
        }
        appended.extend_from_slice(bytes);
    }

    fn set_sync(&self, _: LogSync) {}

    fn set_flush_delay(&self, _: u64) {}

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) {}

    fn pending(&self) -> usize {
        0
    }

    fn synced(&self) -> u64 {
        0
    }

    fn announce_syncs(&self, _: u64) {}
}

impl Host for MemoryHost {
    fn now(&self) -> Now {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopwatch_ns(&self) -> u64 {
        0
    }

    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Ok(())
    }

    fn write_file(&self, _: &str, _: &str, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn change_file(&self, _: &str, _: FileChange<'_>) -> io::Result<()> {
        Ok(())
    }

    fn file_len(&self, _: &str, _: &str) -> io::Result<u64> {
        Ok(0)
    }

    fn append_log(&self) -> Option<&dyn AppendLog> {
        Some(self)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}
