//! Quoted texts that both JSON and EDN can read.

use std::fmt::Write;

/// Appends a text in quotes. Bytes that are not UTF-8 become the replacement character.
pub(super) fn quote(into: &mut String, text: &[u8]) {
    into.push('"');
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            char if char.is_control() => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    let _infallible = write!(into, "\\u{unit:04x}");
                }
            }
            char => into.push(char),
        }
    }
    into.push('"');
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn special_characters_of_a_text_are_escaped() {
        let mut quoted = String::new();
        quote(&mut quoted, b"a\"b\\c\n\r\t\x01\x7f\xff");
        assert_eq!(quoted, "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f\u{fffd}\"");
        quoted.clear();
        quote(&mut quoted, "é€😀".as_bytes());
        assert_eq!(quoted, "\"é€😀\"");
    }
}
