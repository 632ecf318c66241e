//! The tokens of a JSON text.

use super::settings::Decoding;
use crate::library::buffer::Buffer;
use crate::library::frame::Frame;
use crate::library::numeral;
use crate::library::raise::Raise;
use crate::library::search::{Word, position};

/// The bytes of a text between two checks whether the script must end.
const PIECE: usize = 1 << 14;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    String(Text),
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    /// An invalid token, with the reason.
    Error(&'static str),
}

/// The location of the bytes of a string.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Text {
    /// The JSON text itself, from `start` to `end`.
    Plain { start: usize, end: usize },
    /// The buffer, in which escapes have been replaced.
    Unescaped,
}

impl Token {
    /// The token's name in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String(_) => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(reason) => reason,
        }
    }
}

/// Reads a text token by token. A NUL ends it, as in C.
pub(super) struct Tokens<'f> {
    frame: &'f Frame<'f>,
    text: &'f [u8],
    settings: Decoding,
    /// The position of the next token; at the end, behind the last.
    pub(super) at: usize,
    /// The start of the last token, or the position of its fault.
    pub(super) index: usize,
    unescaped: Buffer<'f>,
}

impl<'f> Tokens<'f> {
    pub(super) fn new(frame: &'f Frame<'f>, text: &'f [u8], settings: Decoding) -> Tokens<'f> {
        Tokens { frame, text, settings, at: 0, index: 0, unescaped: Buffer::new(frame) }
    }

    /// The byte at a position. A NUL behind the end.
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The rest of the text.
    fn rest(&self) -> &'f [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    /// The bytes of the string that was read last.
    pub(super) fn bytes(&self, text: Text) -> &[u8] {
        match text {
            Text::Plain { start, end } => &self.text[start..end],
            Text::Unescaped => &self.unescaped,
        }
    }

    /// Records a fault at the present position.
    fn error(&mut self, reason: &'static str) -> Token {
        self.index = self.at;
        Token::Error(reason)
    }

    /// Reads the next token.
    pub(super) fn next(&mut self) -> Result<Token, Raise> {
        self.frame.poll()?;
        while matches!(self.byte(self.at), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
            if self.at.is_multiple_of(PIECE) {
                self.frame.poll()?;
            }
        }
        self.index = self.at;
        let token = match self.byte(self.at) {
            0 => return Ok(Token::End),
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => {
                if !self.settings.invalid && self.is_invalid_number() {
                    return Ok(self.error("invalid number"));
                }
                return self.number();
            }
            b't' if self.rest().starts_with(b"true") => return Ok(self.word(4, Token::Boolean(true))),
            b'f' if self.rest().starts_with(b"false") => return Ok(self.word(5, Token::Boolean(false))),
            b'n' if self.rest().starts_with(b"null") => return Ok(self.word(4, Token::Null)),
            b'+' | b'i' | b'I' | b'n' | b'N' if self.settings.invalid && self.is_invalid_number() => {
                return self.number();
            }
            _ => return Ok(self.error("invalid token")),
        };
        self.at += 1;
        Ok(token)
    }

    fn word(&mut self, len: usize, token: Token) -> Token {
        self.at += len;
        token
    }

    /// Whether a number that JSON does not have begins here: hexadecimal, with a leading zero or plus, or not finite.
    fn is_invalid_number(&self) -> bool {
        let rest = self.rest();
        if rest[0] == b'+' {
            return true;
        }
        let rest = rest.strip_prefix(b"-").unwrap_or(rest);
        match rest {
            [b'0', next, ..] => matches!(next, b'x' | b'X' | b'0'..=b'9'),
            _ => rest
                .get(..3)
                .is_some_and(|word| word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")),
        }
    }

    fn number(&mut self) -> Result<Token, Raise> {
        match numeral::read(self.frame, self.rest())? {
            Some((value, len)) => {
                self.at += len;
                Ok(Token::Number(value))
            }
            None => Ok(self.error("invalid number")),
        }
    }

    fn string(&mut self) -> Result<Token, Raise> {
        self.at += 1;
        let start = self.at;
        self.skip_plain()?;
        if self.byte(self.at) == b'"' {
            self.at += 1;
            return Ok(Token::String(Text::Plain { start, end: self.at - 1 }));
        }
        self.unescaped.clear();
        self.unescaped.append(&self.text[start..self.at])?;
        loop {
            match self.byte(self.at) {
                b'"' => break,
                b'\\' => {
                    if let Err(reason) = self.escape()? {
                        return Ok(self.error(reason));
                    }
                }
                // A NUL.
                _ => return Ok(self.error("unexpected end of string")),
            }
            let start = self.at;
            self.skip_plain()?;
            self.unescaped.append(&self.text[start..self.at])?;
        }
        self.at += 1;
        Ok(Token::String(Text::Unescaped))
    }

    /// Skips to the next quote, backslash or NUL, or to the end.
    fn skip_plain(&mut self) -> Result<(), Raise> {
        for piece in self.rest().chunks(PIECE) {
            let may_have = |word: Word| word.has(b'"') | word.has(b'\\') | word.has(0);
            match position(piece, may_have, |byte| matches!(byte, b'"' | b'\\' | 0)) {
                Some(at) => {
                    self.at += at;
                    break;
                }
                None => self.at += piece.len(),
            }
            self.frame.poll()?;
        }
        Ok(())
    }

    /// Replaces an escape, or returns the reason why it is invalid.
    fn escape(&mut self) -> Result<Result<(), &'static str>, Raise> {
        let byte = match self.byte(self.at + 1) {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => {
                let Some((char, len)) = self.unicode() else { return Ok(Err("invalid unicode escape code")) };
                self.unescaped.append(char.encode_utf8(&mut [0; 4]).as_bytes())?;
                self.at += len;
                return Ok(Ok(()));
            }
            _ => return Ok(Err("invalid escape code")),
        };
        self.unescaped.append(&[byte])?;
        self.at += 2;
        Ok(Ok(()))
    }

    /// The character of `\uXXXX` or of a pair of these, and the length of the escapes.
    fn unicode(&self) -> Option<(char, usize)> {
        let high = self.hex(self.at + 2)?;
        if let Some(char) = char::from_u32(high) {
            return Some((char, 6));
        }
        if self.byte(self.at + 6) != b'\\' || self.byte(self.at + 7) != b'u' {
            return None;
        }
        let low = self.hex(self.at + 8)?;
        if !(0xD800..0xDC00).contains(&high) || !(0xDC00..0xE000).contains(&low) {
            return None;
        }
        char::from_u32(0x1_0000 + ((high & 0x3FF) << 10 | low & 0x3FF)).map(|char| (char, 12))
    }

    /// The value of four hexadecimal digits.
    fn hex(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | (*digit as char).to_digit(16)?))
    }
}
