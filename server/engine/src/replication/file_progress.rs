//! The progress of the append-only file, for servers and clients that wait until the disk has writes.

/// The progress of the append-only file of a server, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileProgress {
    pub(crate) is_on: bool,
    /// Whether the file was switched on, and its first base is not complete, so that a restart has none of the data.
    pub(crate) awaits_base: bool,
    /// The bytes that were appended.
    pub(crate) appended: u64,
    /// The bytes that are on the disk.
    pub(crate) synced: u64,
    /// A number of appended bytes, and the offset of the stream at that time.
    mark: (u64, i64),
    /// The offset up to which the disk has the stream of a master.
    synced_offset: i64,
}

impl FileProgress {
    /// Whether the disk has this number of bytes, and a restart has them.
    pub(crate) fn has(self, bytes: u64) -> bool {
        self.is_on && !self.awaits_base && self.synced >= bytes
    }

    /// Returns the offset up to which the disk has the stream of a master, whose present offset is `offset`. `synced`:
    /// the bytes that are on the disk. `None`: the file is off.
    pub(super) fn synced_offset(&mut self, synced: u64, offset: i64) -> Option<i64> {
        if !self.awaits_base {
            if synced >= self.mark.0 {
                self.synced_offset = if synced >= self.appended { offset } else { self.mark.1 };
                self.mark = (self.appended, offset);
            }
            self.synced_offset = self.synced_offset.min(offset);
        }
        self.is_on.then_some(self.synced_offset)
    }

    /// Records whether the file is on, and whether its first base is missing. Forgets the offsets of a file before.
    pub(super) fn set_on(&mut self, is_on: bool, awaits_base: bool) {
        if awaits_base || !is_on {
            (self.mark, self.synced_offset) = ((self.appended, 0), 0);
        }
        (self.is_on, self.awaits_base) = (is_on, awaits_base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_has_the_stream_up_to_the_last_mark_that_was_synced() {
        let mut file = FileProgress::default();
        assert_eq!(file.synced_offset(0, 5), None);
        file.set_on(true, true);
        assert_eq!((file.has(0), file.synced_offset(0, 5)), (false, Some(0)), "there is no base");
        file.set_on(true, false);
        assert_eq!((file.has(0), file.synced_offset(0, 7)), (true, Some(7)));
        file.appended = 100;
        assert_eq!(file.synced_offset(50, 20), Some(7));
        file.appended = 200;
        assert_eq!(file.synced_offset(60, 30), Some(7), "the mark is at 100");
        assert_eq!(file.synced_offset(150, 30), Some(20));
        assert_eq!(file.synced_offset(200, 30), Some(30));
    }
}
