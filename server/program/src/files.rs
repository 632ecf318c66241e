//! The files of the system, as a configuration names them.

use lockwheel_engine::config::{Files, Source};
use lockwheel_store::keyspace::glob;
use std::fmt::Display;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::{env, fs, process};

/// The files of the system, and the text of standard input, which cannot be read twice.
#[derive(Debug, Default)]
pub(crate) struct SystemFiles {
    pub(crate) stdin: Option<Vec<u8>>,
}

impl Files for SystemFiles {
    fn read(&mut self, source: Source<'_>) -> io::Result<Vec<u8>> {
        match source {
            Source::File(path) => fs::read(path),
            Source::Stdin => {
                let mut text = Vec::new();
                io::stdin().read_to_end(&mut text)?;
                self.stdin = Some(text.clone());
                Ok(text)
            }
        }
    }

    fn enter(&mut self, directory: &str) -> io::Result<()> {
        env::set_current_dir(directory)
    }

    fn absolute(&mut self, path: &str) -> String {
        std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }

    fn matching(&mut self, pattern: &str) -> Vec<String> {
        let mut found = vec![PathBuf::new()];
        for step in Path::new(pattern).components() {
            found = found.iter().flat_map(|path| expand(path, step)).collect();
        }
        found.sort();
        found.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

/// A file that announces this process to other processes.
#[derive(Debug)]
pub(crate) struct PublishedFile(PathBuf);

impl PublishedFile {
    /// Writes the file, whole at once if the directory allows: others may wait for it. An empty path means no file.
    pub(crate) fn write(path: &str, content: impl Display) -> io::Result<Option<Self>> {
        if path.is_empty() {
            return Ok(None);
        }
        let content = format!("{content}\n");
        // The path may be a device, which must neither be replaced nor removed later.
        if fs::metadata(path).is_ok_and(|data| !data.is_file()) {
            return fs::write(path, content).map(|()| None);
        }
        let unfinished = format!("{path}.{}", process::id());
        let renamed = fs::write(&unfinished, &content).and_then(|()| fs::rename(&unfinished, path));
        if renamed.is_err() {
            let _never_made = fs::remove_file(&unfinished);
            fs::write(path, content)?;
        }
        Ok(Some(PublishedFile(path.into())))
    }

    pub(crate) fn remove(self) {
        let _already_gone = fs::remove_file(self.0);
    }
}

/// Returns the paths that match the next step of a path. The step may be a pattern.
fn expand(from: &Path, step: Component<'_>) -> Vec<PathBuf> {
    let pattern = step.as_os_str().as_encoded_bytes();
    if !pattern.iter().any(|byte| b"*?[".contains(byte)) {
        let path = from.join(step);
        return if path.exists() { vec![path] } else { Vec::new() };
    }
    let directory = if from.as_os_str().is_empty() { Path::new(".") } else { from };
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    // A leading dot must be matched literally.
    let matches = |name: &[u8]| {
        name.starts_with(b".") <= pattern.starts_with(b".") && glob::matches(pattern, name, false)
    };
    names.filter(|name| matches(name.as_encoded_bytes())).map(|name| from.join(name)).collect()
}
