//! The reader of a file of requests: an increment, or a base that is no saved file.
//!
//! As in Redis, a line that begins with `#` is an annotation. Anything else must be requests of bulk strings.

use super::MAX_ANNOTATION;

/// The beginnings of a file in the format of saves: of Redis, and of Valkey since 9.0.
pub(crate) const RDB_MAGICS: [&[u8]; 2] = [b"REDIS", b"VALKEY"];

/// A part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogPart<'f> {
    /// A request, with its words.
    Request(Vec<&'f [u8]>),
    /// An annotation, without its `#` and its end.
    Annotation(&'f [u8]),
}

/// The reason why nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogEnd {
    /// The file ends within a request.
    CutOff,
    /// The file ends within an annotation. The requests are complete.
    CutOffAnnotation,
    /// The bytes are no request.
    BadFormat,
}

/// The reader of the requests of a file.
#[derive(Debug)]
pub(crate) struct LogReader<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> LogReader<'f> {
    /// Returns a reader that begins at an offset.
    pub(crate) fn new(file: &'f [u8], at: usize) -> Self {
        LogReader { file, at }
    }

    /// Returns the offset behind the last part.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the next part. `None`: the file has ended. O(bytes of the part).
    ///
    /// # Errors
    /// Returns the reason why the next part cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<LogPart<'f>>, LogEnd> {
        let mut parser = Parser { file: self.file, at: self.at };
        let Some(line) = parser.line() else { return Ok(None) };
        let part = match line {
            [b'#', ..] if !line.ends_with(b"\n") && parser.at == self.file.len() => {
                return Err(LogEnd::CutOffAnnotation);
            }
            [b'#', text @ ..] => LogPart::Annotation(text.trim_ascii_end()),
            [b'*'] => return Err(LogEnd::CutOff),
            [b'*', count @ ..] => LogPart::Request(parser.words(number(count))?),
            _ => return Err(LogEnd::BadFormat),
        };
        self.at = parser.at;
        Ok(Some(part))
    }
}

struct Parser<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> Parser<'f> {
    /// Returns a line with its end, or as much of it as Redis reads at a time. `None`: the file has ended.
    fn line(&mut self) -> Option<&'f [u8]> {
        let rest = &self.file[self.at..];
        let most = rest.len().min(MAX_ANNOTATION);
        let len = rest[..most].iter().position(|byte| *byte == b'\n').map_or(most, |end| end + 1);
        self.at += len;
        (len > 0).then(|| &rest[..len])
    }

    fn take(&mut self, len: usize) -> Result<&'f [u8], LogEnd> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.file.len()).ok_or(LogEnd::CutOff)?;
        let bytes = &self.file[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn words(&mut self, count: i64) -> Result<Vec<&'f [u8]>, LogEnd> {
        if count < 1 {
            return Err(LogEnd::BadFormat);
        }
        // The file only announces the number.
        let mut words = Vec::new();
        for _ in 0..count {
            let line = self.line().ok_or(LogEnd::CutOff)?;
            let [b'$', len @ ..] = line else { return Err(LogEnd::BadFormat) };
            // A negative length is a huge one in Redis, which finds no memory for it.
            let len = usize::try_from(number(len)).map_err(|_| LogEnd::BadFormat)?;
            words.push(self.take(len)?);
            self.take(2)?;
        }
        Ok(words)
    }
}

/// Returns the number at the beginning of a line, as C's `atoi` does; 0 if there is none.
fn number(text: &[u8]) -> i64 {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    sign * digits.fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of a file as text, and the reason and the offset of its end.
    fn read(file: &[u8]) -> (Vec<String>, Option<LogEnd>, usize) {
        let (mut reader, mut parts) = (LogReader::new(file, 0), Vec::new());
        loop {
            match reader.next() {
                Ok(None) => return (parts, None, reader.offset()),
                Err(end) => return (parts, Some(end), reader.offset()),
                Ok(Some(LogPart::Annotation(text))) => {
                    parts.push(format!("#{}", String::from_utf8_lossy(text)));
                }
                Ok(Some(LogPart::Request(words))) => {
                    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
                    parts.push(words.join(" "));
                }
            }
        }
    }

    #[test]
    fn requests_and_annotations_are_read_in_order() {
        let file = b"#TS:5\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*1\r\n$5\r\nMULTI\r\n";
        let parts = ["#TS:5", "DEL a", "MULTI"].map(str::to_owned).to_vec();
        assert_eq!(read(file), (parts, None, file.len()));
        assert_eq!(read(b""), (vec![], None, 0));
    }

    #[test]
    fn a_file_that_ends_early_is_whole_up_to_its_last_request() {
        let (whole, last) = (&b"*1\r\n$4\r\nPING\r\n"[..], &b"*2\r\n$3\r\nDEL\r\n$1\r\na\r\n"[..]);
        for len in 1..last.len() {
            let file = [whole, &last[..len]].concat();
            assert_eq!(read(&file).2, whole.len());
            assert_eq!(read(&file).1, Some(LogEnd::CutOff), "{len}");
        }
        assert_eq!(read(b"*1\r\n$4\r\nPING\r\n#LW").1, Some(LogEnd::CutOffAnnotation));
    }

    #[test]
    fn other_bytes_are_no_requests() {
        for file in ["x", "*0\r\n", "*-1\r\n", "*x\r\n", "*1\r\n+4\r\n", "*1\r\n$-1\r\n\r\n", "\r\n"] {
            assert_eq!(read(file.as_bytes()).1, Some(LogEnd::BadFormat), "{file:?}");
        }
    }
}
