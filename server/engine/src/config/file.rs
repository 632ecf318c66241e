//! The configuration file: its lines, and the report of the first one that is wrong.

use super::access::find;
use super::parameter::Reason;
use super::source::{Files, Source};
use super::system_reason::system_reason;
use super::{ChannelDefault, Config};
use crate::acl::UserLine;
use crate::sentinel::{Sentinel, SentinelLine};
use crate::spec::REDIS_VERSION;
use lockwheel_resp::split_words;
use lockwheel_store::keyspace::Rng;
use std::collections::BTreeSet;
use std::{fmt, io};

/// The depth up to which files may include each other.
const MAX_DEPTH: usize = 16;

/// The reason why a configuration cannot be loaded. The text is the report that Redis prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// A line is wrong.
    Line {
        /// The number of the line, from 1. The command line continues the count of the file.
        number: usize,
        /// The line without the white space around it.
        line: String,
        /// The reason.
        reason: String,
        /// Whether the line is an option of the command line, and not a line of a file.
        is_option: bool,
    },
    /// Lines exclude each other.
    Conflict(&'static str),
    /// A file cannot be read.
    File {
        /// The path of the file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The arguments ask for something that the server does not have.
    Refused(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Line { number, line, reason, .. } => write!(
                f,
                "\n*** FATAL CONFIG FILE ERROR (Redis {REDIS_VERSION}) ***\nReading the configuration file, at line \
                 {number}\n>>> '{line}'\n{reason}"
            ),
            LoadError::Conflict(reason) => {
                write!(f, "\n*** FATAL CONFIG FILE ERROR (Redis {REDIS_VERSION}) ***\n{reason}")
            }
            LoadError::File { path, reason } => {
                write!(f, "Fatal error, can't open config file '{path}': {reason}")
            }
            LoadError::Refused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    pub(super) fn unreadable(path: &str, error: &io::Error) -> Self {
        LoadError::File { path: path.to_owned(), reason: system_reason(error) }
    }

    /// Unmarks a line as an option if it is one of the first `lines_of_files` lines, which come from files. Lines of
    /// included files, which have their own numbers, are not marked.
    pub(super) fn with_options_after(mut self, lines_of_files: usize) -> Self {
        if let LoadError::Line { number, is_option, .. } = &mut self {
            *is_option &= *number > lines_of_files;
        }
        self
    }
}

/// The effect of a line.
enum Outcome {
    Done,
    Include(String),
}

/// The new names of commands: the name of a command and its new name. An empty new name removes the command.
pub(crate) type Renames = [(String, String)];

/// The checks for lines of a configuration that name commands.
#[derive(Clone, Copy, Debug)]
pub struct CommandNames {
    /// Checks whether commands can have these new names. The error is the reason, in Redis' words.
    pub(crate) check_renames: fn(&Renames) -> Result<(), &'static str>,
    /// Reads the words behind `user`, given the users so far. The error is the reason, in Redis' words.
    pub(crate) read_user: fn(&[&[u8]], &Config) -> Result<UserLine, String>,
}

pub(super) struct Loader<'a> {
    pub(super) config: Config,
    files: &'a mut dyn Files,
    names: CommandNames,
    /// The parameters that were set. Some of them are extended if a later line sets them again.
    seen: BTreeSet<&'static str>,
    depth: usize,
    /// The number of the current line.
    number: usize,
}

impl<'a> Loader<'a> {
    pub(super) fn new(config: Config, files: &'a mut dyn Files, names: CommandNames) -> Self {
        Loader { config, files, names, seen: BTreeSet::new(), depth: 0, number: 0 }
    }

    pub(super) fn note_file(&mut self, path: &str) {
        self.config.file = self.files.absolute(path);
    }

    pub(super) fn read(&mut self, source: Source<'_>) -> Result<Vec<u8>, LoadError> {
        self.files.read(source).map_err(|error| LoadError::unreadable(source.path(), &error))
    }

    /// Returns the configuration, or the first wrong line of a sentinel, or a conflict between lines.
    pub(super) fn finish(mut self) -> Result<Config, LoadError> {
        if self.seen.contains("compat") && !self.seen.contains("acl-pubsub-default") {
            self.config.acl_pubsub_default = ChannelDefault::of(self.config.compat);
        }
        if self.config.cluster.enabled && !self.config.replication.master.is_empty() {
            return Err(LoadError::Conflict("replicaof directive not allowed in cluster mode"));
        }
        if let Some(lines) = &self.config.sentinel {
            Sentinel::new(Rng::new(0), 0).configure(lines).map_err(|(line, reason)| LoadError::Line {
                number: line.number,
                line: line.text.clone(),
                reason,
                is_option: false,
            })?;
        }
        Ok(self.config)
    }

    /// Applies each line in order. Returns the first wrong line, or a file that cannot be read.
    pub(super) fn load(&mut self, text: &[u8]) -> Result<(), LoadError> {
        let depth = self.depth;
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            self.number = index + 1;
            let wrong = |reason: Reason| LoadError::Line {
                number: index + 1,
                line: String::from_utf8_lossy(line).into_owned(),
                reason: reason.into_owned(),
                is_option: depth == 0,
            };
            if let Outcome::Include(path) = self.line(line).map_err(wrong)? {
                if self.depth == MAX_DEPTH {
                    return Err(wrong("Too many files include each other".into()));
                }
                self.include(&path)?;
            }
        }
        Ok(())
    }

    /// Reads the file at a path, or all files that a pattern matches.
    fn include(&mut self, path: &str) -> Result<(), LoadError> {
        let is_pattern = path.contains(['*', '?', '[']);
        let paths = if is_pattern { self.files.matching(path) } else { vec![path.to_owned()] };
        self.depth += 1;
        for path in paths {
            let included = self.read(Source::File(&path))?;
            self.load(&included)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<Outcome, Reason> {
        if line.first().is_none_or(|&first| first == b'#') {
            return Ok(Outcome::Done);
        }
        let words = split_words(line).ok_or("Unbalanced quotes in configuration line")?;
        let Some((name, values)) = words.split_first() else { return Ok(Outcome::Done) };
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        if find(name).is_some() {
            return self.set(name, &values).map(|()| Outcome::Done);
        }
        match (&*name.to_ascii_lowercase(), &*values) {
            (b"rename-command", [old, new]) => self.rename(old, new).map(|()| Outcome::Done),
            (b"user", words @ [_, ..]) => {
                self.config.users.push((self.names.read_user)(words, &self.config)?);
                Ok(Outcome::Done)
            }
            (b"sentinel", [_, ..]) if self.config.sentinel.is_some() => {
                let words = words.get(1..).unwrap_or_default().to_vec();
                let text = String::from_utf8_lossy(line).into_owned();
                let line = SentinelLine { number: self.number, text, words };
                self.config.sentinel.iter_mut().for_each(|lines| lines.push(line.clone()));
                Ok(Outcome::Done)
            }
            (name, values) => directive(name, values),
        }
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<(), Reason> {
        let text =
            |name: &[u8]| String::from_utf8(name.to_vec()).map_err(|_| "The name of a command is no text");
        let mut renames = self.config.renames.clone();
        renames.push((text(old)?, text(new)?));
        (self.names.check_renames)(&renames)?;
        self.config.renames = renames;
        Ok(())
    }

    fn set(&mut self, name: &[u8], values: &[&[u8]]) -> Result<(), Reason> {
        let Some(parameter) = find(name) else { return Err(UNKNOWN.into()) };
        let again = !self.seen.insert(parameter.name);
        let value = match values {
            // `"900 1"` means the same as `900 1`, and `"\"\""` the same as nothing.
            [one] if parameter.takes_several() && !one.is_empty() => {
                // Unbalanced quotes count as no word, as in Redis.
                let words = split_words(one).unwrap_or_default();
                self.config.read(parameter, &words.iter().map(Vec::as_slice).collect::<Vec<_>>(), again)?
            }
            _ => self.config.read(parameter, values, again)?,
        };
        self.config.store(parameter, value);
        // Later paths are relative to the new directory.
        if parameter.name == "dir" {
            self.files.enter(&self.config.dir).map_err(|error| system_reason(&error))?;
        }
        Ok(())
    }
}

const UNKNOWN: &str = "Bad directive or wrong number of arguments";

/// Reads a line that sets no parameter.
fn directive(name: &[u8], values: &[&[u8]]) -> Result<Outcome, Reason> {
    match (name, values) {
        (b"include", [path]) => Ok(Outcome::Include(String::from_utf8_lossy(path).into_owned())),
        // The option alone. The command line has already acted on it.
        (b"sentinel", []) => Ok(Outcome::Done),
        // Old parameters, which Redis, too, accepts and ignores.
        (b"list-max-ziplist-entries" | b"list-max-ziplist-value", [_]) => Ok(Outcome::Done),
        (b"loadmodule", [_, ..]) => Err("Modules are not supported".into()),
        (b"sentinel", [_, ..]) => Err("sentinel directive while not in sentinel mode".into()),
        _ => Err(UNKNOWN.into()),
    }
}

/// Appends a word in double quotes, so that reading it back gives the same word.
pub(super) fn quote(word: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for &byte in word {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b'\n' => text.extend(b"\\n"),
            b'\r' => text.extend(b"\\r"),
            b'\t' => text.extend(b"\\t"),
            0x07 => text.extend(b"\\a"),
            0x08 => text.extend(b"\\b"),
            b' '..=b'~' => text.push(byte),
            _ => text.extend(format!("\\x{byte:02x}").bytes()),
        }
    }
    text.push(b'"');
}
