//! Replies on the wire.

use super::sink::{Protocol, Reply};
use crate::allocation::{append, reserve};
use crate::number;

/// The most bytes of a line with a number: its kind, a sign, 20 digits, the line end.
const NUMBER_LINE: usize = 24;
/// The most bytes of the text of a double with the bytes around it.
const DOUBLE_LINE: usize = 48;

/// Appends replies to an output buffer, in RESP2 or RESP3.
///
/// Cheap to construct, one for each command. Only the growth of the buffer allocates.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
    /// While muted, the start of the output to be dropped.
    muted_from: Option<usize>,
}

impl<'a> Writer<'a> {
    /// Makes a writer at the end of `out`. A muted writer must be unmuted in the end: only then is its output dropped.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol, muted_from: None }
    }

    #[inline]
    fn resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }

    /// Writes `kind`, a number, and CRLF.
    #[inline(always)]
    fn header(&mut self, kind: u8, len: usize) {
        if len < 10 {
            append(self.out, &[kind, b'0' + len as u8, b'\r', b'\n']);
            return;
        }
        if len < 100 {
            let (ten, one) = (b'0' + (len / 10) as u8, b'0' + (len % 10) as u8);
            append(self.out, &[kind, ten, one, b'\r', b'\n']);
            return;
        }
        reserve(self.out, NUMBER_LINE);
        self.out.push(kind);
        number::write_usize(len, self.out);
        append(self.out, b"\r\n");
    }

    /// Writes `kind`, a text in which line ends become spaces, and CRLF.
    #[inline]
    fn line(&mut self, kind: u8, text: &[u8]) {
        reserve(self.out, text.len() + 3);
        self.out.push(kind);
        let start = self.out.len();
        self.out.extend_from_slice(text);
        if text.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            join_lines(&mut self.out[start..]);
        }
        append(self.out, b"\r\n");
    }
}

/// Joins several lines into one.
#[cold]
fn join_lines(text: &mut [u8]) {
    for byte in text {
        if matches!(*byte, b'\r' | b'\n') {
            *byte = b' ';
        }
    }
}

impl Reply for Writer<'_> {
    fn written(&self) -> usize {
        self.out.len()
    }

    fn written_since(&self, written: usize) -> &[u8] {
        self.out.get(written..).unwrap_or_default()
    }

    fn rewind(&mut self, written: usize) {
        self.out.truncate(written);
    }

    #[inline]
    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn status(&mut self, text: &[u8]) {
        match text {
            b"OK" => append(self.out, b"+OK\r\n"),
            b"PONG" => append(self.out, b"+PONG\r\n"),
            _ => self.line(b'+', text),
        }
    }

    fn error(&mut self, text: &[u8]) {
        self.line(b'-', text);
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        if (0..10).contains(&value) {
            append(self.out, &[b':', b'0' + value as u8, b'\r', b'\n']);
            return;
        }
        reserve(self.out, NUMBER_LINE);
        self.out.push(b':');
        number::write_i64(value, self.out);
        append(self.out, b"\r\n");
    }

    #[inline]
    fn bulk(&mut self, bytes: &[u8]) {
        reserve(self.out, bytes.len() + 16);
        self.header(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        append(self.out, b"\r\n");
    }

    #[inline]
    fn null(&mut self) {
        append(self.out, if self.resp3() { b"_\r\n" } else { b"$-1\r\n" });
    }

    fn null_array(&mut self) {
        append(self.out, if self.resp3() { b"_\r\n" } else { b"*-1\r\n" });
    }

    fn double(&mut self, value: f64) {
        if self.resp3() {
            reserve(self.out, DOUBLE_LINE);
            self.out.push(b',');
            number::format_double(value, self.out);
            append(self.out, b"\r\n");
            return;
        }
        // The text has at most 25 bytes; its length is filled in once it is written.
        reserve(self.out, DOUBLE_LINE);
        self.out.extend_from_slice(b"$00\r\n");
        let start = self.out.len();
        number::format_double(value, self.out);
        let len = self.out.len() - start;
        append(self.out, b"\r\n");
        if len < 10 {
            self.out.remove(start - 4);
            self.out[start - 4] = b'0' + len as u8;
        } else {
            self.out[start - 4] = b'0' + (len / 10) as u8;
            self.out[start - 3] = b'0' + (len % 10) as u8;
        }
    }

    fn decimal(&mut self, value: f64) {
        let mut text = Vec::with_capacity(32);
        number::format_decimal(value, &mut text);
        if self.resp3() { self.line(b',', &text) } else { self.bulk(&text) }
    }

    fn boolean(&mut self, value: bool) {
        let text = match (self.resp3(), value) {
            (true, true) => b"#t\r\n",
            (true, false) => b"#f\r\n",
            (false, true) => b":1\r\n",
            (false, false) => b":0\r\n",
        };
        append(self.out, text);
    }

    fn big_number(&mut self, digits: &[u8]) {
        if self.resp3() { self.line(b'(', digits) } else { self.bulk(digits) }
    }

    fn verbatim(&mut self, format: [u8; 3], text: &[u8]) {
        if !self.resp3() {
            return self.bulk(text);
        }
        reserve(self.out, text.len() + 32);
        self.header(b'=', text.len() + 4);
        self.out.extend_from_slice(&format);
        self.out.push(b':');
        self.out.extend_from_slice(text);
        append(self.out, b"\r\n");
    }

    #[inline]
    fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    fn map(&mut self, pairs: usize) {
        if self.resp3() { self.header(b'%', pairs) } else { self.header(b'*', pairs * 2) }
    }

    fn set(&mut self, len: usize) {
        self.header(if self.resp3() { b'~' } else { b'*' }, len);
    }

    fn push(&mut self, len: usize) {
        self.header(if self.resp3() { b'>' } else { b'*' }, len);
    }

    fn attribute(&mut self, pairs: usize) -> bool {
        let is_told = self.resp3();
        if is_told {
            self.header(b'|', pairs);
        }
        is_told
    }

    fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    fn append(&mut self, written: &[u8]) {
        self.out.extend_from_slice(written);
    }

    #[inline]
    fn mute(&mut self, muted: bool) -> bool {
        let before = self.muted_from.take();
        if let Some(from) = before {
            self.out.truncate(from);
        }
        if muted {
            self.muted_from = Some(self.out.len());
        }
        before.is_some()
    }

    #[inline]
    fn ok(&mut self) {
        append(self.out, b"+OK\r\n");
    }
}

#[cfg(test)]
mod tests;
