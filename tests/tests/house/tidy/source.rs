//! A source file in four layers of the same length: its text, its code without comments and strings, that code without
//! its tests, and its comments alone. Offsets and lines are equal in all.

/// A file of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The path from the workspace's root, with slashes.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    /// Rust only: the text with blanks for comments and for the contents of quotes.
    pub(crate) code: String,
    /// Rust only: `code` with blanks for test-only code.
    pub(crate) shipped: String,
    /// Rust only: the comments, with blanks for everything else. For other files, the whole text.
    pub(crate) comments: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: String) -> Source {
        let (code, comments) = match path.ends_with(".rs") {
            true => separate(&text),
            false => (String::new(), text.clone()),
        };
        let shipped = if is_test_file(path) { blank(&code) } else { without_tests(&code) };
        Source { path: path.to_string(), text, code, shipped, comments }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The line, counted from 1, of a byte offset.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
    }

    pub(crate) fn finding(&self, offset: usize, problem: String) -> crate::tidy::Finding {
        crate::tidy::Finding { path: self.path.clone(), line: self.line_at(offset), problem }
    }
}

/// Whether a file is compiled for tests alone: of the tests' or the benchmarks' crate, or a module of tests.
fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "bench" | "benches"))
}

fn blank(code: &str) -> String {
    code.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// Every place where `word` occurs as a whole word, not as part of a longer name.
pub(crate) fn occurrences(code: &str, word: &str) -> Vec<usize> {
    let is_name = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = code.as_bytes();
    let alone = |&start: &usize| {
        let end = start + word.len();
        let joined_before = is_name(word.as_bytes().first()) && start > 0 && is_name(bytes.get(start - 1));
        let joined_after = is_name(word.as_bytes().last()) && is_name(bytes.get(end));
        !joined_before && !joined_after
    };
    code.match_indices(word).map(|(start, _)| start).filter(alone).collect()
}

/// The offset just behind the bracket that closes the one at `open`, or the end.
pub(crate) fn behind_closing(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return offset + 1;
        }
    }
    code.len()
}

/// The offset of the first `{` or `;` outside round and square brackets, from `start` on.
pub(crate) fn body_or_end(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' | b';' if depth == 0 => return Some(offset),
            _ => {}
        }
    }
    None
}

/// Blanks every item under `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let end = match body_or_end(code, start + attribute.len()) {
            Some(offset) if code.as_bytes()[offset] == b'{' => behind_closing(code, offset),
            Some(offset) => offset + 1,
            None => code.len(),
        };
        blank_bytes(&mut bytes[start..end]);
    }
    String::from_utf8(bytes).expect("whole items of valid text were blanked")
}

fn blank_bytes(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

/// Separates Rust text into code and comments. Quotes stay in the code, their contents are blanked.
fn separate(text: &str) -> (String, String) {
    let bytes = text.as_bytes();
    let (mut code, mut comments) = (bytes.to_vec(), bytes.to_vec());
    blank_bytes(&mut comments);
    let mut at = 0;
    while at < bytes.len() {
        let end = match token_at(text, at) {
            Token::Comment(end) => {
                comments[at..end].copy_from_slice(&bytes[at..end]);
                blank_bytes(&mut code[at..end]);
                end
            }
            Token::Quoted { open, end, close } => {
                blank_bytes(&mut code[open..end - close]);
                end
            }
            Token::Other => at + 1,
        };
        at = end;
    }
    let whole = "comments and strings begin and end between characters";
    (String::from_utf8(code).expect(whole), String::from_utf8(comments).expect(whole))
}

/// The token that begins at an offset.
enum Token {
    /// A comment up to this offset.
    Comment(usize),
    /// A string or character: the start and end of its content, and the length of its closing quote.
    Quoted { open: usize, end: usize, close: usize },
    /// Anything else.
    Other,
}

fn token_at(text: &str, at: usize) -> Token {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'/', b'/', ..] => Token::Comment(text[at..].find('\n').map_or(text.len(), |length| at + length)),
        [b'/', b'*', ..] => Token::Comment(block_comment_end(text.as_bytes(), at)),
        [b'"', ..] => Token::Quoted { open: at + 1, end: string_end(text.as_bytes(), at + 1), close: 1 },
        [b'r', ..] => raw_string(text, at),
        [b'\'', ..] => character(text, at),
        _ => Token::Other,
    }
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut offset) = (0, at);
    while offset < bytes.len() {
        match &bytes[offset..] {
            [b'/', b'*', ..] => (depth, offset) = (depth + 1, offset + 2),
            [b'*', b'/', ..] => (depth, offset) = (depth - 1, offset + 2),
            _ => offset += 1,
        }
        if depth == 0 {
            return offset;
        }
    }
    bytes.len()
}

/// The offset behind the quote that closes a string with escapes.
fn string_end(bytes: &[u8], mut offset: usize) -> usize {
    while offset < bytes.len() {
        match bytes[offset] {
            b'\\' => offset += 2,
            b'"' => return offset + 1,
            _ => offset += 1,
        }
    }
    bytes.len()
}

/// `r"..."` or `r#"..."#`, with `b` or `c` before it or not; `r#type` and names that end in r are something else.
fn raw_string(text: &str, at: usize) -> Token {
    let bytes = text.as_bytes();
    let before = if at > 0 && matches!(bytes[at - 1], b'b' | b'c') { at - 1 } else { at };
    if before > 0 && (bytes[before - 1].is_ascii_alphanumeric() || bytes[before - 1] == b'_') {
        return Token::Other;
    }
    let hashes = bytes[at + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = at + 1 + hashes + 1;
    if bytes.get(open - 1) != Some(&b'"') {
        return Token::Other;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = text[open..].find(&closing).map_or(text.len(), |length| open + length + closing.len());
    Token::Quoted { open, end, close: closing.len() }
}

/// A character between single quotes; a lifetime is something else.
fn character(text: &str, at: usize) -> Token {
    let mut characters = text[at + 1..].char_indices();
    let end = match characters.next() {
        Some((_, '\\')) => {
            let skipped = at + 1 + 2;
            text.get(skipped..).and_then(|rest| rest.find('\'')).map(|length| skipped + length + 1)
        }
        _ => match characters.next() {
            Some((length, '\'')) => Some(at + 1 + length + 1),
            _ => None,
        },
    };
    end.map_or(Token::Other, |end| Token::Quoted { open: at + 1, end, close: 1 })
}

#[test]
fn comments_and_strings_are_distinguished_from_code() {
    let text =
        "a /* b /* c */ d */ e // f\n\"g\\\"// h\" r#\"i\"j\"# '\"' 'k' '\\'' b'l' &'m n r#type br\"o\"";
    let (code, comments) = separate(text);
    let words = |layer: &str| layer.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "a e \" \" r#\" \"# ' ' ' ' ' ' b' ' &'m n r#type br\" \"";
    assert_eq!(words(&code), words(expected));
    assert_eq!(words(&comments), "/* b /* c */ d */ // f");
    assert_eq!((code.len(), comments.len()), (text.len(), text.len()));
}

#[test]
fn tests_are_distinguished_from_shipped_code() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { c(); } }\n#[cfg(test)]\nuse d::e;\nfn f() {}\n";
    let source = Source::new("server/src/x.rs", text.to_string());
    let words: Vec<&str> = source.shipped.split_whitespace().collect();
    assert_eq!(words, ["fn", "a()", "{}", "fn", "f()", "{}"]);
    assert!(Source::new("server/src/x/tests.rs", text.to_string()).shipped.trim().is_empty());
}

#[test]
fn words_stand_alone() {
    assert_eq!(occurrences("Mutex MutexGuard a_Mutex x::Mutex<T>", "Mutex"), [0, 28]);
    assert_eq!(occurrences("static mut X; a::b", "a::b"), [14]);
}
