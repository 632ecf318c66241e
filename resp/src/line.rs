//! Header lines, the same in requests and replies: a type, an integer, CR and LF.

/// The most bytes of a header line (`*3`, `$12`), a number and an inline request.
pub const MAX_LINE: usize = 64 * 1024;

/// The integer and the length of the header at the beginning of `line`. Only for a complete header of one to nine
/// digits without a leading zero. One pass, without a search for the line's end. The byte after CR is not checked.
#[inline(always)]
pub(crate) fn usual_header(line: &[u8]) -> Option<(usize, usize)> {
    let digit = |byte: u8| byte.wrapping_sub(b'0');
    match *line {
        [_, one, b'\r', _, ..] if digit(one) <= 9 => Some((usize::from(digit(one)), 4)),
        [_, ten, one, b'\r', _, ..] if digit(ten).wrapping_sub(1) < 9 && digit(one) <= 9 => {
            Some((usize::from(digit(ten)) * 10 + usize::from(digit(one)), 5))
        }
        [_, b'1'..=b'9', ref rest @ ..] => {
            let len = rest.iter().take(9).position(|&byte| digit(byte) > 9)?;
            // The end: CR and one more byte.
            if rest[len] != b'\r' || rest.len() < len + 2 {
                return None;
            }
            let value = line[1..len + 2].iter().fold(0, |value, &byte| value * 10 + usize::from(digit(byte)));
            Some((value, len + 4))
        }
        _ => None,
    }
}
