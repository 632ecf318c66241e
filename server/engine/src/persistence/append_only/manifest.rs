//! The manifest: the file that lists the files of the data, in the order in which they are read.

use lockwheel_resp::split_words;
use std::fmt::Write;

/// The maximum length of a line, in bytes with its end. Redis reads no longer ones.
const MAX_LINE: usize = 1024;
/// The maximum number of a file that is read, so that the numbers of later files do not overflow.
const MAX_SEQUENCE: i64 = i64::MAX / 2;

/// One of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// The name, without its directory.
    pub(crate) name: String,
    /// The number of the file among those of its kind.
    sequence: i64,
}

/// The list of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The beginning of the names of new files.
    stem: String,
    /// The file with the data of an instant.
    base: Option<ListedFile>,
    /// Files that are not read any more, and are to be removed.
    history: Vec<ListedFile>,
    /// The files with the changes since then, in order.
    increments: Vec<ListedFile>,
    base_sequence: i64,
    increment_sequence: i64,
}

/// The reason why a manifest cannot be read, in the lines that Redis logs.
pub(crate) type ManifestError = String;

impl Manifest {
    /// Returns the list without files. `stem` is the beginning of the names of new files.
    pub(crate) fn new(stem: &str) -> Self {
        Manifest { stem: stem.to_owned(), ..Manifest::default() }
    }

    /// Returns the name of the manifest of files whose names begin with `stem`.
    pub(crate) fn name(stem: &str) -> String {
        format!("{stem}.manifest")
    }

    /// Returns the name of the file that keeps changes until the first base is complete.
    pub(crate) fn temporary_increment(stem: &str) -> String {
        format!("temp-{stem}.incr")
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Returns the lines that Redis logs if the text is no manifest.
    pub(crate) fn parse(stem: &str, text: &[u8]) -> Result<Self, ManifestError> {
        let mut manifest = Manifest::new(stem);
        if text.is_empty() {
            return Err(failure(None, "Found an empty AOF manifest"));
        }
        let mut rest = text;
        let mut number = 0;
        while !rest.is_empty() {
            number += 1;
            let end = rest.iter().take(MAX_LINE).position(|byte| *byte == b'\n');
            let (line, after) = rest.split_at(end.map_or(rest.len().min(MAX_LINE), |end| end + 1));
            rest = after;
            if line.starts_with(b"#") {
                continue;
            }
            if end.is_none() {
                return Err(failure(None, "The AOF manifest file contains too long line"));
            }
            let line = String::from_utf8_lossy(line);
            let line = line.trim_matches([' ', '\t', '\r', '\n']);
            manifest.add_line(line).map_err(|why| failure(Some((number, line)), why))?;
        }
        Ok(manifest)
    }

    /// Adds the file that a line describes.
    fn add_line(&mut self, line: &str) -> Result<(), &'static str> {
        const INVALID: &str = "Invalid AOF manifest file format";
        let words = split_words(line.as_bytes()).ok_or(INVALID)?;
        if words.len() < 6 || words.len() % 2 != 0 {
            return Err(INVALID);
        }
        let (mut name, mut sequence, mut kind) = (None, 0, None);
        for pair in words.chunks(2) {
            let (key, value) = (&pair[0], &pair[1]);
            if key.eq_ignore_ascii_case(b"file") {
                if value.iter().any(|byte| b"/\\".contains(byte)) {
                    return Err("File can't be a path, just a filename");
                }
                name = Some(String::from_utf8_lossy(value).into_owned());
            } else if key.eq_ignore_ascii_case(b"seq") {
                sequence = leading_number(value);
            } else if key.eq_ignore_ascii_case(b"type") {
                kind = value.first().copied();
            }
        }
        let is_possible = sequence != 0 && sequence <= MAX_SEQUENCE;
        let (Some(name), Some(kind), true) = (name, kind, is_possible) else { return Err(INVALID) };
        self.add(kind, ListedFile { name, sequence })
    }

    fn add(&mut self, kind: u8, file: ListedFile) -> Result<(), &'static str> {
        match kind {
            b'b' if self.base.is_some() => return Err("Found duplicate base file information"),
            b'b' => {
                self.base_sequence = file.sequence;
                self.base = Some(file);
            }
            b'h' => self.history.push(file),
            b'i' if self.increments.last().is_some_and(|last| file.sequence <= last.sequence) => {
                return Err("Found a non-monotonic sequence number");
            }
            b'i' => {
                self.increment_sequence = file.sequence;
                self.increments.push(file);
            }
            _ => return Err("Unknown AOF file type"),
        }
        Ok(())
    }

    /// Returns the text of the manifest.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let kinds = [('b', self.base.as_slice()), ('h', &self.history), ('i', &self.increments)];
        for (kind, files) in kinds {
            for ListedFile { name, sequence } in files {
                let name = quoted(name);
                writeln!(text, "file {name} seq {sequence} type {kind}").expect("a string has room");
            }
        }
        text
    }

    /// Whether the list has no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.base.is_none() && self.increments.is_empty()
    }

    /// Returns the file with the data of an instant.
    pub(crate) fn base(&self) -> Option<&ListedFile> {
        self.base.as_ref()
    }

    /// Returns the files with the changes since then, in order.
    pub(crate) fn increments(&self) -> &[ListedFile] {
        &self.increments
    }

    /// Whether the only file is one of a version before 7.0, with this name.
    pub(crate) fn is_only(&self, name: &str) -> bool {
        self.increments.is_empty() && self.base.as_ref().is_some_and(|base| base.name == name)
    }

    /// Makes a file of a version before 7.0 the base.
    pub(crate) fn take_old(&mut self, name: &str) {
        self.base = Some(ListedFile { name: name.to_owned(), sequence: 1 });
        self.base_sequence = 1;
    }

    /// Adds a base in place of the present one, and returns its name. `is_rdb`: the file is in the format of saves.
    pub(crate) fn add_base(&mut self, is_rdb: bool) -> String {
        if let Some(before) = self.base.take() {
            self.history.insert(0, before);
        }
        self.base_sequence += 1;
        let ending = if is_rdb { "rdb" } else { "aof" };
        let name = format!("{}.{}.base.{ending}", self.stem, self.base_sequence);
        self.base = Some(ListedFile { name: name.clone(), sequence: self.base_sequence });
        name
    }

    /// Adds an increment, and returns its name.
    pub(crate) fn add_increment(&mut self) -> String {
        self.increment_sequence += 1;
        let name = format!("{}.{}.incr.aof", self.stem, self.increment_sequence);
        self.increments.push(ListedFile { name: name.clone(), sequence: self.increment_sequence });
        name
    }

    /// Returns the name of the increment to which changes are added. Adds one if there is none.
    pub(crate) fn last_increment(&mut self) -> String {
        match self.increments.last() {
            Some(last) => last.name.clone(),
            None => self.add_increment(),
        }
    }

    /// Moves the increments that a new base contains to the history, the oldest first. `keeps_last`: changes are being
    /// added to the last one.
    pub(crate) fn retire_increments(&mut self, keeps_last: bool) {
        let last = if keeps_last { self.increments.pop() } else { None };
        let older = std::mem::replace(&mut self.increments, last.into_iter().collect());
        self.history.splice(0..0, older);
    }

    /// Takes the files that are to be removed.
    pub(crate) fn take_history(&mut self) -> Vec<ListedFile> {
        std::mem::take(&mut self.history)
    }

    /// Whether files are to be removed.
    pub(crate) fn has_history(&self) -> bool {
        !self.history.is_empty()
    }
}

/// Returns a name as Redis writes it: in quotes if it has bytes that a word cannot have.
fn quoted(name: &str) -> String {
    let needs = |byte: u8| byte.is_ascii_whitespace() || !byte.is_ascii_graphic() || b"\"'\\".contains(&byte);
    if !name.bytes().any(needs) {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            7 => text.push_str("\\a"),
            8 => text.push_str("\\b"),
            byte if byte.is_ascii_graphic() || byte == b' ' => text.push(char::from(byte)),
            byte => write!(text, "\\x{byte:02x}").expect("a string has room"),
        }
    }
    text.push('"');
    text
}

/// Returns the number at the beginning of a word, as C's `atoll` does; 0 if there is none.
fn leading_number(word: &[u8]) -> i64 {
    let word = String::from_utf8_lossy(word);
    let word = word.trim_start();
    let digits = usize::from(word.starts_with(['-', '+']));
    let end = word[digits..].find(|byte: char| !byte.is_ascii_digit()).map_or(word.len(), |end| end + digits);
    word[..end].parse().unwrap_or(0)
}

fn failure(at: Option<(usize, &str)>, why: &str) -> ManifestError {
    let mut lines = String::from("*** FATAL AOF MANIFEST FILE ERROR ***");
    if let Some((number, line)) = at {
        write!(lines, "\nReading the manifest file, at line {number}\n>>> '{line}'")
            .expect("a string has room");
    }
    format!("{lines}\n{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "file a.2.base.rdb seq 2 type b\nfile a.1.base.rdb seq 1 type h\nfile a.3.incr.aof seq 3 type i\n";

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse("a", text.as_bytes()).map_err(|lines| lines.lines().last().unwrap_or("").to_owned())
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let mut manifest = parse(TEXT).expect("it is one");
        assert_eq!(manifest.text(), TEXT);
        assert_eq!(manifest.last_increment(), "a.3.incr.aof");
        assert_eq!(manifest.add_increment(), "a.4.incr.aof");
        assert_eq!(manifest.add_base(false), "a.3.base.aof");
        manifest.retire_increments(true);
        let history: Vec<String> = manifest.take_history().into_iter().map(|file| file.name).collect();
        assert_eq!(history, ["a.3.incr.aof", "a.2.base.rdb", "a.1.base.rdb"]);
        assert_eq!(manifest.text(), "file a.3.base.aof seq 3 type b\nfile a.4.incr.aof seq 4 type i\n");
    }

    #[test]
    fn what_is_no_manifest_is_refused_as_redis_does() {
        for (text, why) in [
            ("", "Found an empty AOF manifest"),
            ("\n", "Invalid AOF manifest file format"),
            ("file a seq 1 type b", "The AOF manifest file contains too long line"),
            ("file a seq 1\n", "Invalid AOF manifest file format"),
            ("file a seq x type b\n", "Invalid AOF manifest file format"),
            ("file a seq 9223372036854775807 type i\n", "Invalid AOF manifest file format"),
            ("file a/b seq 1 type b\n", "File can't be a path, just a filename"),
            ("file a seq 1 type b\nfile b seq 2 type b\n", "Found duplicate base file information"),
            ("file a seq 2 type i\nfile b seq 2 type i\n", "Found a non-monotonic sequence number"),
            ("file a seq 2 type x\n", "Unknown AOF file type"),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()), "{text:?}");
        }
        assert!(parse("# c\nFILE 'a b' SEQ 1 TYPE base other x\n").is_ok_and(|read| read.is_only("a b")));
    }
}
