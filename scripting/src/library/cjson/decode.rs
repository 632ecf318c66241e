//! JSON as values: objects and arrays as tables, null as `cjson.null`.

use super::settings::Decoding;
use super::token::{Token, Tokens};
use crate::library::frame::Frame;
use crate::library::raise::Raise;
use std::ffi::c_int;

/// The slots that must be free at the beginning of an array or an object.
const ARRAY_SLOTS: c_int = 2;
const OBJECT_SLOTS: c_int = 3;

/// `cjson.decode(text)`: returns the value.
pub(super) fn decode(frame: &Frame<'_>) -> Result<c_int, Raise> {
    if frame.count() != 1 {
        return Err(Raise::argument(1, b"expected 1 argument".as_slice()));
    }
    let text = frame.bytes(1)?;
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(Raise::error(b"JSON parser does not support UTF-16 or UTF-32".as_slice()));
    }
    let settings = Decoding::of(frame);
    let tokens = Tokens::new(frame, text, settings);
    Decoder { frame, tokens, max_depth: settings.max_depth as usize, levels: Vec::new() }.run()?;
    Ok(1)
}

struct Decoder<'f> {
    frame: &'f Frame<'f>,
    tokens: Tokens<'f>,
    max_depth: usize,
    levels: Vec<Level>,
}

/// A table on the stack that is being filled.
enum Level {
    /// An array with this number of elements so far.
    Array(c_int),
    /// An object. The key of the next value is above it.
    Object,
}

/// The continuation after a value.
enum After {
    /// Another value, which begins with this token.
    Value(Token),
    /// The end of the text.
    Nothing,
}

impl Decoder<'_> {
    fn run(&mut self) -> Result<(), Raise> {
        let mut token = self.tokens.next()?;
        loop {
            // For a table that is not empty, this is the first token of its first value.
            let first = match token {
                Token::String(text) => {
                    self.frame.push_bytes(self.tokens.bytes(text))?;
                    None
                }
                Token::Number(value) => {
                    self.frame.push_number(value)?;
                    None
                }
                Token::Boolean(value) => {
                    self.frame.push_boolean(value)?;
                    None
                }
                Token::Null => {
                    self.frame.push_null()?;
                    None
                }
                Token::ObjectBegin => self.begin_object()?,
                Token::ArrayBegin => self.begin_array()?,
                other => return Err(self.unexpected("value", other)),
            };
            token = match first {
                Some(first) => first,
                None => match self.after_value()? {
                    After::Value(next) => next,
                    After::Nothing => return Ok(()),
                },
            };
        }
    }

    fn begin(&mut self, level: Level, slots: c_int) -> Result<(), Raise> {
        let depth = self.levels.len() + 1;
        if depth > self.max_depth || !self.frame.has_slots(slots) {
            let text =
                format!("Found too many nested data structures ({depth}) at character {}", self.tokens.at);
            return Err(Raise::error(text.into_bytes()));
        }
        self.frame.push_table(0, 0)?;
        self.levels.push(level);
        Ok(())
    }

    /// Begins an object; returns the first token of its first value. Returns `None` if the object is empty, and so at
    /// its end.
    fn begin_object(&mut self) -> Result<Option<Token>, Raise> {
        self.begin(Level::Object, OBJECT_SLOTS)?;
        match self.tokens.next()? {
            Token::ObjectEnd => {
                self.levels.pop();
                Ok(None)
            }
            key => self.key(key).map(Some),
        }
    }

    /// Begins an array; returns the first token of its first value. Returns `None` if the array is empty.
    fn begin_array(&mut self) -> Result<Option<Token>, Raise> {
        self.begin(Level::Array(0), ARRAY_SLOTS)?;
        match self.tokens.next()? {
            Token::ArrayEnd => {
                self.levels.pop();
                Ok(None)
            }
            first => Ok(Some(first)),
        }
    }

    /// Reads a key and its colon; returns the first token of its value.
    fn key(&mut self, key: Token) -> Result<Token, Raise> {
        let Token::String(text) = key else {
            return Err(self.unexpected("object key string", key));
        };
        self.frame.push_bytes(self.tokens.bytes(text))?;
        match self.tokens.next()? {
            Token::Colon => self.tokens.next(),
            other => Err(self.unexpected("colon", other)),
        }
    }

    /// Puts the value on top into its table, and likewise each table that ends with it.
    fn after_value(&mut self) -> Result<After, Raise> {
        loop {
            let end = match self.levels.last_mut() {
                Some(Level::Array(count)) => {
                    *count += 1;
                    let element = *count;
                    self.frame.set_element(element)?;
                    Token::ArrayEnd
                }
                Some(Level::Object) => {
                    self.frame.set()?;
                    Token::ObjectEnd
                }
                None => Token::End,
            };
            let next = self.tokens.next()?;
            if next == end {
                if self.levels.pop().is_none() {
                    return Ok(After::Nothing);
                }
                continue;
            }
            let expected = match end {
                Token::ArrayEnd => "comma or array end",
                Token::ObjectEnd => "comma or object end",
                _ => "the end",
            };
            if next != Token::Comma || end == Token::End {
                return Err(self.unexpected(expected, next));
            }
            let next = self.tokens.next()?;
            return Ok(After::Value(if end == Token::ObjectEnd { self.key(next)? } else { next }));
        }
    }

    #[cold]
    fn unexpected(&self, expected: &str, found: Token) -> Raise {
        let text =
            format!("Expected {expected} but found {} at character {}", found.name(), self.tokens.index + 1);
        Raise::error(text.into_bytes())
    }
}
