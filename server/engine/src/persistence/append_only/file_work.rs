//! Work on the files that needs no engine: the end of a rewrite, which makes the written file the base.

use super::{DiskFiles, FileChange, Manifest};
use crate::config::{AppendOnlyParameters, system_reason};

/// The manifest, with the disk that has it.
pub(super) struct ManifestFiles<'a> {
    pub(super) files: &'a dyn DiskFiles,
    pub(super) parameters: &'a AppendOnlyParameters,
    /// The manifest in force.
    pub(super) manifest: &'a mut Manifest,
    /// Whether the disk certainly has the manifest.
    pub(super) is_safe: &'a mut bool,
}

impl ManifestFiles<'_> {
    /// Writes a manifest.
    ///
    /// # Errors
    /// Returns the line for the log if the manifest cannot be written. It is unchanged then, or the disk may not have
    /// it after a power failure.
    pub(super) fn write(&mut self, manifest: &Manifest) -> Result<(), String> {
        let name = Manifest::name(&self.parameters.filename);
        let written = self.files.write(&self.parameters.path(&name), manifest.text().as_bytes());
        *self.is_safe = written.is_ok();
        written.map_err(|error| {
            format!(
                "Error trying to write the temporary AOF manifest file temp-{name}: {}",
                system_reason(&error)
            )
        })
    }

    /// Puts a manifest into force, which lists new files. The new files are removed if the manifest on the disk
    /// certainly does not list them.
    ///
    /// # Errors
    /// Returns the line for the log if the manifest is not in force.
    pub(super) fn put_in_force(&mut self, manifest: Manifest, created: &[String]) -> Result<(), String> {
        if let Err(why) = self.write(&manifest) {
            let path = self.parameters.path(&Manifest::name(&self.parameters.filename));
            match self.files.read(&path) {
                // A power failure may bring the manifest before back: its files stay.
                Ok(text) if text == manifest.text().as_bytes() => tracing::warn!("{why}"),
                Ok(_) => {
                    created.iter().for_each(|path| self.remove(path));
                    return Err(why);
                }
                Err(_) => return Err(why),
            }
        }
        *self.manifest = manifest;
        Ok(())
    }

    /// Removes the files that a rewrite has replaced.
    pub(super) fn remove_history(&mut self) {
        if self.parameters.disable_auto_gc || !self.manifest.has_history() {
            return;
        }
        // Until the disk has this manifest, the one before may list the files as data.
        let present = self.manifest.clone();
        if !*self.is_safe
            && let Err(why) = self.write(&present)
        {
            return tracing::warn!("{why}");
        }
        for file in self.manifest.take_history() {
            tracing::info!("Removing the history file {} in the background", file.name);
            self.remove(&self.parameters.path(&file.name));
        }
        let present = self.manifest.clone();
        self.write(&present).unwrap_or_else(|why| tracing::warn!("{why}"));
    }

    /// Removes a file, which may be missing.
    pub(super) fn remove(&self, path: &str) {
        let _may_not_be_there = self.files.change(FileChange::Remove(path));
    }

    fn rename(&self, from: (&str, &str), to: (&str, &str), kind: &str) -> Result<(), String> {
        let renamed = self.files.change(FileChange::Rename { from: from.0, to: to.0 });
        renamed.map_err(|error| {
            let reason = system_reason(&error);
            let (from, to) = (from.1, to.1);
            format!("Error trying to rename the temporary AOF {kind} file {from} into {to}: {reason}")
        })?;
        tracing::info!("Successfully renamed the temporary AOF {kind} file {} into {}", from.1, to.1);
        Ok(())
    }
}

/// The end of a rewrite: the written file becomes the base, and the files that it replaces are removed. The host does
/// this work with [`FileWork::run`], and no other work on the files of the manifest is done meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWork {
    pub(super) parameters: AppendOnlyParameters,
    /// The manifest in force.
    pub(super) manifest: Manifest,
    /// Whether the disk certainly has the manifest.
    pub(super) is_safe: bool,
    /// The path of the written file.
    pub(super) path: String,
    /// Whether the file is in the format of saves.
    pub(super) is_rdb: bool,
    /// Whether it is the first base, whose increment has a temporary name.
    pub(super) is_first: bool,
    /// Whether changes are being appended to the last increment.
    pub(super) keeps_last: bool,
}

/// The result of a [`FileWork`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWorkDone {
    /// The manifest in force.
    pub(super) manifest: Manifest,
    /// Whether the disk certainly has the manifest.
    pub(super) is_safe: bool,
    /// The size of the new base, in bytes, or the line for the log if the manifest is the one before.
    pub(super) base_len: Result<u64, String>,
}

impl FileWork {
    /// Does the work with these files, and waits for the disk.
    pub fn run(mut self, files: &dyn DiskFiles) -> FileWorkDone {
        let (mut manifest, mut is_safe) = (self.manifest.clone(), self.is_safe);
        let parameters = std::mem::take(&mut self.parameters);
        let mut disk =
            ManifestFiles { files, parameters: &parameters, manifest: &mut manifest, is_safe: &mut is_safe };
        let base_len = self.take_base(&mut disk);
        match &base_len {
            Ok(_) => disk.remove_history(),
            Err(_) => disk.remove(&self.path),
        }
        FileWorkDone { manifest, is_safe, base_len }
    }

    /// Makes the written file the base, and its increment the first one. Returns the size of the base, in bytes.
    fn take_base(self: &FileWork, disk: &mut ManifestFiles<'_>) -> Result<u64, String> {
        let mut manifest = disk.manifest.clone();
        let base = manifest.add_base(self.is_rdb);
        let base_path = disk.parameters.path(&base);
        disk.rename((&self.path, &self.path), (&base_path, &base), "base")?;
        let mut created = vec![base_path];
        if self.is_first
            && let Err(why) = take_first_increment(disk, &mut manifest, &mut created)
        {
            disk.remove(&created[0]);
            return Err(why);
        }
        manifest.retire_increments(self.keeps_last);
        disk.put_in_force(manifest, &created)?;
        Ok(disk.files.len(&created[0]).unwrap_or(0))
    }
}

/// Gives the increment of a first rewrite its name.
fn take_first_increment(
    disk: &ManifestFiles<'_>,
    manifest: &mut Manifest,
    created: &mut Vec<String>,
) -> Result<(), String> {
    let temporary = Manifest::temporary_increment(&disk.parameters.filename);
    let increment = manifest.add_increment();
    let (from, to) = (disk.parameters.path(&temporary), disk.parameters.path(&increment));
    disk.rename((&from, &temporary), (&to, &increment), "incr")?;
    created.push(to);
    Ok(())
}
