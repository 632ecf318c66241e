//! Reading of a file.

use super::{HEADER, REDIS, VALKEY, marks};
use crate::rdb::crc64::crc64;
use crate::rdb::file::Access;
use crate::rdb::{Corrupt, Reader, load, payload, types};
use crate::values::{Encodings, Value};
use std::borrow::Cow;
use std::fmt;

/// The first version whose files have a checksum.
const WITH_CHECKSUM: u16 = 5;

/// The reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The number of bytes that had been read.
    pub offset: usize,
    /// A description of the fault, in Redis' words if it has any.
    pub why: String,
}

/// The error of a key whose value only a module can read.
const MODULE_DATA: &str = "The RDB file contains module data I can't load: no matching module type";
/// The error of a file that is truncated.
const UNEXPECTED_EOF: &str = "Unexpected EOF reading RDB file";

impl FileError {
    /// Whether the file is truncated.
    pub fn is_cut_off(&self) -> bool {
        self.why == UNEXPECTED_EOF
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Internal error in RDB reading offset {} -> {}", self.offset, self.why)
    }
}

/// A part of a file.
#[derive(Debug)]
pub enum Part<'a> {
    /// A name and a value that describe the file.
    About(Cow<'a, [u8]>, Cow<'a, [u8]>),
    /// The text of a library of functions.
    Library(Cow<'a, [u8]>),
    /// A key, with its deadline in wall milliseconds.
    Key {
        /// The number of its database.
        db: usize,
        /// The key's name.
        key: Cow<'a, [u8]>,
        /// The deadline, in wall milliseconds.
        deadline_ms: Option<i64>,
        /// The recorded accesses of the key.
        access: Access,
        /// The key's value.
        value: Value,
    },
}

#[derive(Clone, Copy, Debug)]
struct Next {
    deadline_ms: Option<i64>,
    access: Access,
}

const NOTHING: Next = Next { deadline_ms: None, access: Access::Unknown };

/// Reads a file, one part after another.
#[derive(Debug)]
pub struct FileReader<'a> {
    file: &'a [u8],
    reader: Reader<'a>,
    version: u16,
    db: usize,
    next: Next,
}

impl<'a> FileReader<'a> {
    /// Reads the name of the format and its version.
    ///
    /// # Errors
    /// Returns an error if the format is another, or the version is unknown.
    pub fn new(file: &'a [u8]) -> Result<Self, FileError> {
        let fail = |why: String| FileError { offset: 0, why };
        let Some((header, rest)) = file.split_at_checked(HEADER) else {
            return Err(fail(UNEXPECTED_EOF.to_owned()));
        };
        let digits = header.strip_prefix(VALKEY).or_else(|| header.strip_prefix(REDIS));
        let digits = digits.ok_or_else(|| fail("Wrong signature trying to load DB from file".to_owned()))?;
        let text = String::from_utf8_lossy(digits);
        let version = text.parse::<u16>().ok().filter(|version| *version > 0);
        let is_known = |version: u16| {
            payload::is_known(version) && (version == payload::VERSION_VALKEY) == header.starts_with(VALKEY)
        };
        match version {
            Some(version) if is_known(version) => {
                Ok(FileReader { file, reader: Reader::new(rest), version, db: 0, next: NOTHING })
            }
            _ => Err(fail(format!("Can't handle RDB format version {}", text.trim_start_matches('0')))),
        }
    }

    /// The number of bytes that have been read.
    pub fn offset(&self) -> usize {
        self.file.len() - self.reader.left()
    }

    /// Makes an error at the present offset.
    pub fn fail(&self, why: impl Into<String>) -> FileError {
        FileError { offset: self.offset(), why: why.into() }
    }

    /// Reads the next part. Returns `None` at the end, if the checksum is right. O(part).
    ///
    /// # Errors
    /// Returns an error if the file is truncated, or violates the format.
    pub fn next(&mut self, encodings: &Encodings) -> Result<Option<Part<'a>>, FileError> {
        loop {
            match self.step(encodings)? {
                Step::Part(part) => return Ok(Some(part)),
                Step::Read => {}
                Step::End => return self.check().map(|()| None),
            }
        }
    }

    fn step(&mut self, encodings: &Encodings) -> Result<Step<'a>, FileError> {
        let offset = self.offset();
        let mark = self.reader.byte().map_err(|Corrupt| self.cut())?;
        match self.read(mark, encodings) {
            Ok(Some(step)) => Ok(step),
            Ok(None) => Err(self.refuse_form(mark, offset)),
            Err(Corrupt) if self.reader.is_short() => Err(self.cut()),
            Err(Corrupt) => Err(self.fail(format!("Bad data after a byte {mark} at offset {offset}"))),
        }
    }

    /// The error of a key, just read, whose value has an unsupported form: a module's, or an unknown one.
    #[cold]
    fn refuse_form(&mut self, form: u8, offset: usize) -> FileError {
        if !types::OF_MODULES.contains(&form) {
            return FileError { offset, why: format!("Unknown RDB encoding type {form}") };
        }
        match self.reader.number() {
            Ok(id) => FileError { offset, why: format!("{MODULE_DATA} '{}'", module_name(id)) },
            Err(Corrupt) => self.cut(),
        }
    }

    fn cut(&self) -> FileError {
        self.fail(UNEXPECTED_EOF)
    }

    /// Reads the part that a mark announces. Returns `None` if the mark is unknown.
    fn read(&mut self, mark: u8, encodings: &Encodings) -> Result<Option<Step<'a>>, Corrupt> {
        let reader = &mut self.reader;
        match mark {
            marks::DEADLINE_MS => self.next.deadline_ms = Some(i64::from_le_bytes(reader.array()?)),
            marks::DEADLINE_SECONDS => {
                self.next.deadline_ms = Some(i64::from(i32::from_le_bytes(reader.array()?)) * 1000);
            }
            marks::IDLE => self.next.access = Access::Idle(reader.number()?),
            marks::FREQUENCY => self.next.access = Access::Frequency(reader.byte()?),
            marks::DATABASE => self.db = reader.length()?,
            marks::SIZES => drop((reader.length()?, reader.length()?)),
            marks::SLOT_INFO => drop((reader.length()?, reader.length()?, reader.length()?)),
            marks::ABOUT => return Ok(Some(Step::Part(Part::About(reader.string()?, reader.string()?)))),
            marks::LIBRARY => return Ok(Some(Step::Part(Part::Library(reader.string()?)))),
            marks::EARLY_LIBRARY => {
                return Ok(Some(Step::Part(Part::Library(Cow::Owned(early_library(reader)?)))));
            }
            marks::MODULE => skip_module(reader)?,
            marks::END => return Ok(Some(Step::End)),
            form => return self.read_key(form, encodings),
        }
        Ok(Some(Step::Read))
    }

    fn read_key(&mut self, form: u8, encodings: &Encodings) -> Result<Option<Step<'a>>, Corrupt> {
        // A file that ends within the key is truncated, even if the form is unknown, as in Redis.
        let key = self.reader.string()?;
        if !load::is_known(form) {
            return Ok(None);
        }
        let value = load::read_form(form, &mut self.reader, encodings)?;
        let Next { deadline_ms, access } = std::mem::replace(&mut self.next, NOTHING);
        Ok(Some(Step::Part(Part::Key { db: self.db, key, deadline_ms, access, value })))
    }

    fn check(&mut self) -> Result<(), FileError> {
        if self.version < WITH_CHECKSUM {
            return Ok(());
        }
        let summed = &self.file[..self.offset()];
        let expected = u64::from_le_bytes(self.reader.array().map_err(|Corrupt| self.cut())?);
        let found = crc64(summed);
        if expected == 0 || expected == found {
            return Ok(());
        }
        Err(self.fail(format!("Wrong RDB checksum expected: ({expected:x}) but got ({found:x})")))
    }
}

/// The result of reading a mark.
enum Step<'a> {
    Part(Part<'a>),
    /// Nothing by itself: an attribute has been stored or skipped.
    Read,
    End,
}

/// The text of a library of Redis 7.0's release candidates in the present form. It was stored as the name, the engine,
/// an optional description, and a text without a first line.
///
/// # Errors
/// Returns [`Corrupt`] if there is no such library.
pub fn early_library(reader: &mut Reader<'_>) -> Result<Vec<u8>, Corrupt> {
    let (name, engine) = (reader.string()?, reader.string()?);
    if reader.length()? != 0 {
        reader.string()?;
    }
    let text = reader.string()?;
    Ok([b"#!", &*engine, b" name=", &name, b"\n", &text].concat())
}

/// The name in the number of a module's type: nine characters of six bits each, above ten bits of a version.
fn module_name(id: u64) -> String {
    const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = (0..9).rev().map(|place| id >> (10 + 6 * place) & 63);
    bits.map(|bits| char::from(CHARACTERS[bits as usize])).collect()
}

/// Skips a module's data: its number, the time at which it is to be read, and values with their types.
fn skip_module(reader: &mut Reader<'_>) -> Result<(), Corrupt> {
    reader.number()?;
    reader.number()?;
    reader.number()?;
    loop {
        match reader.number()? {
            0 => return Ok(()),
            1 | 2 => drop(reader.number()?),
            3 => drop(reader.array::<4>()?),
            4 => drop(reader.array::<8>()?),
            5 => drop(reader.string()?),
            _ => return Err(Corrupt),
        }
    }
}
