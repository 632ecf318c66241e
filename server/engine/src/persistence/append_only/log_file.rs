//! The files that are read: their names, their bytes, and the treatment of a file that ends too early.

use super::{DiskFiles, FileChange, Manifest, RDB_MAGICS};
use crate::config::{AppendOnlyParameters, system_reason};
use std::io;

/// The reason why the files cannot be read, in the lines that Redis logs.
pub(crate) type LoadFailure = String;

/// One of the files to be read.
pub(crate) struct LogFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    path: String,
    /// Whether nothing comes after this file.
    is_last: bool,
    /// Whether the file is of a version before 7.0.
    is_old: bool,
}

impl LogFile {
    /// Reads a file. `is_last`: nothing comes after it.
    ///
    /// # Errors
    /// Returns the reason why the file cannot be read.
    pub(crate) fn read(
        files: &dyn DiskFiles,
        parameters: &AppendOnlyParameters,
        (name, is_last): (&str, bool),
    ) -> Result<Self, LoadFailure> {
        let path = parameters.path(name);
        let bytes = files.read(&path).map_err(|error| {
            let reason = system_reason(&error);
            format!("Fatal error: can't open the append log file {name} for reading: {reason}")
        })?;
        let is_old = *name == parameters.filename;
        Ok(LogFile { name: name.to_owned(), bytes, path, is_last, is_old })
    }

    /// Whether the file begins in the format of saves. Says in the log that this part is read.
    pub(crate) fn begins_as_save(&self) -> bool {
        const READ_BASE: &str = "Reading RDB base file on AOF loading...";
        const READ_PREAMBLE: &str = "Reading RDB preamble from AOF file...";
        let begins = RDB_MAGICS.iter().any(|magic| self.bytes.starts_with(magic));
        if begins {
            tracing::info!("{}", if self.is_old { READ_PREAMBLE } else { READ_BASE });
        }
        begins
    }

    /// Says in the log that requests follow the part in the format of saves.
    pub(crate) fn note_save(&self) {
        if self.is_old {
            tracing::info!("Reading the remaining AOF tail...");
        }
    }

    /// Returns the failure of the part in the format of saves.
    pub(crate) fn bad_save(&self, why: &str) -> LoadFailure {
        let kind = if self.is_old { "preamble of the AOF" } else { "base" };
        format!("{why}\nError reading the RDB {kind} file {}, AOF loading aborted", self.name)
    }

    /// Returns the failure of a file with bytes that are no request.
    pub(crate) fn bad_format(&self) -> LoadFailure {
        format!(
            "Bad file format reading the append only file {}: make a backup of your AOF file, then use \
             ./redis-check-aof --fix <filename.manifest>",
            self.name
        )
    }

    /// Handles a file that ends too early, at the offset behind what is whole.
    ///
    /// # Errors
    /// Returns the reason why the server must not start.
    pub(crate) fn end_early(
        &self,
        files: &dyn DiskFiles,
        parameters: &AppendOnlyParameters,
        offset: usize,
    ) -> Result<(), LoadFailure> {
        let name = &self.name;
        if parameters.load_truncated {
            tracing::warn!("!!! Warning: short read while loading the AOF file {name}!!!");
            tracing::warn!("!!! Truncating the AOF {name} at offset {offset} !!!");
            match self.cut(files, offset) {
                Ok(()) if !self.is_last => {
                    return Err("Fatal error: the truncated file is not the last file".to_owned());
                }
                Ok(()) => {
                    tracing::warn!("AOF {name} loaded anyway because aof-load-truncated is enabled");
                    return Ok(());
                }
                Err(why) => tracing::warn!("{why}"),
            }
        }
        Err(format!(
            "Unexpected end of file reading the append only file {name}. You can: 1) Make a backup of your AOF file, \
             then use ./redis-check-aof --fix <filename.manifest>. 2) Alternatively you can set the \
             'aof-load-truncated' configuration option to yes and restart the server."
        ))
    }

    /// Cuts the file at an offset.
    ///
    /// # Errors
    /// Returns the line for the log if the file cannot be cut.
    pub(crate) fn cut(&self, files: &dyn DiskFiles, offset: usize) -> Result<(), LoadFailure> {
        let cut = files.change(FileChange::Cut { path: &self.path, len: offset as u64 });
        cut.map_err(|error| format!("Error truncating the AOF file {}: {}", self.name, system_reason(&error)))
    }
}

/// The names of the files of a manifest, in the order in which they are read.
pub(crate) struct LogNames {
    pub(crate) names: Vec<String>,
    /// The number of bases among them: 0 or 1.
    pub(crate) bases: usize,
    /// The size of all files, in bytes.
    pub(crate) size: u64,
    /// The size of the base, in bytes.
    pub(crate) base_size: u64,
}

impl LogNames {
    /// Returns the names and sizes of the files of a manifest. O(files).
    ///
    /// # Errors
    /// Returns the reason why a file cannot be read.
    pub(crate) fn of(
        manifest: &Manifest,
        files: &dyn DiskFiles,
        parameters: &AppendOnlyParameters,
    ) -> Result<Self, LoadFailure> {
        let bases = usize::from(manifest.base().is_some());
        let listed = manifest.base().into_iter().chain(manifest.increments());
        let names: Vec<String> = listed.map(|file| file.name.clone()).collect();
        let (mut size, mut base_size) = (0, 0);
        for (at, name) in names.iter().enumerate() {
            let len = files.len(&parameters.path(name)).map_err(|error| {
                format!("Unable to obtain the AOF file {name} length. stat: {}", system_reason(&error))
            })?;
            size += len;
            base_size += if at < bases { len } else { 0 };
        }
        Ok(LogNames { names, bases, size, base_size })
    }
}

/// Reads the manifest, if there is one.
///
/// # Errors
/// Returns the reason why the manifest cannot be read.
pub(crate) fn read_manifest(
    files: &dyn DiskFiles,
    parameters: &AppendOnlyParameters,
) -> Result<Manifest, LoadFailure> {
    let name = Manifest::name(&parameters.filename);
    match files.read(&parameters.path(&name)) {
        Ok(text) => Manifest::parse(&parameters.filename, &text),
        Err(error) if is_absent(&error) => Ok(Manifest::new(&parameters.filename)),
        Err(error) => Err(format!(
            "Fatal error: can't open the AOF manifest file {name} for reading: {}",
            system_reason(&error)
        )),
    }
}

/// Moves a file of a version before 7.0 into the directory of the files, as the base. Returns the new manifest, if
/// there was such a file.
///
/// # Errors
/// Returns the reason why the file cannot be moved.
pub(crate) fn upgrade_old_file(
    present: &Manifest,
    files: &dyn DiskFiles,
    parameters: &AppendOnlyParameters,
) -> Result<Option<Manifest>, LoadFailure> {
    let (name, directory) = (&parameters.filename, &parameters.directory);
    let moved = parameters.path(name);
    let is_moved = || files.len(&moved).is_ok();
    let is_wanted = present.is_empty() || (present.is_only(name) && !is_moved());
    if !is_wanted || files.len(name).is_err() {
        return Ok(None);
    }
    files.change(FileChange::CreateDirectory(directory)).map_err(|error| {
        format!("Can't open or create append-only dir {directory}: {}", system_reason(&error))
    })?;
    let mut manifest = present.clone();
    manifest.take_old(name);
    let manifest_name = Manifest::name(name);
    files.write(&parameters.path(&manifest_name), manifest.text().as_bytes()).map_err(|error| {
        let reason = system_reason(&error);
        format!("Error trying to write the temporary AOF manifest file temp-{manifest_name}: {reason}")
    })?;
    files.change(FileChange::Rename { from: name, to: &moved }).map_err(|error| {
        let reason = system_reason(&error);
        format!("Error trying to move the old AOF file {name} into dir {directory}: {reason}")
    })?;
    tracing::info!(
        "Successfully migrated an old-style AOF configuration ({name}) into the AOF directory ({directory})."
    );
    Ok(Some(manifest))
}

/// Whether an error says that a file, or its directory, does not exist.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
