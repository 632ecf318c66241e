//! Requests on the wire, as clients send them.

use crate::number;

/// The maximum length of a line with a length: its kind, a number and the end of the line.
const MAX_HEADER: usize = 23;

/// Returns the maximum length of a request with these arguments, in bytes.
#[inline]
pub fn max_request_len(arguments: &[&[u8]]) -> usize {
    arguments.iter().fold(MAX_HEADER, |len, argument| len + argument.len() + MAX_HEADER + 2)
}

/// Appends the request of these arguments, its command first, to `out`: an array of bulk strings.
pub fn write_request(arguments: &[&[u8]], out: &mut Vec<u8>) {
    match arguments.len() {
        len @ 0..10 => out.extend_from_slice(&[b'*', b'0' + len as u8]),
        len => {
            out.push(b'*');
            number::write_usize(len, out);
        }
    }
    for argument in arguments {
        length_line(argument.len(), out);
        out.extend_from_slice(argument);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the last arguments of a request to `out`, which ends with the argument before them, without the end of its
/// line. Inlined, since the number of arguments is known.
#[inline(always)]
pub fn write_arguments<const N: usize>(arguments: [&[u8]; N], out: &mut Vec<u8>) {
    for argument in arguments {
        length_line(argument.len(), out);
        out.extend_from_slice(argument);
    }
    out.extend_from_slice(b"\r\n");
}

/// Ends a line, and writes the line with the length of an argument.
#[inline(always)]
fn length_line(len: usize, out: &mut Vec<u8>) {
    match len {
        0..10 => out.extend_from_slice(&[b'\r', b'\n', b'$', b'0' + len as u8, b'\r', b'\n']),
        10..100 => {
            let [tens, ones] = number::pair(len);
            out.extend_from_slice(&[b'\r', b'\n', b'$', tens, ones, b'\r', b'\n']);
        }
        _ => {
            out.extend_from_slice(b"\r\n$");
            number::write_usize(len, out);
            out.extend_from_slice(b"\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use redis_protocol::resp2::{decode::decode, types::OwnedFrame};

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        let mut out = b"before ".to_vec();
        write_request(&[b"GET", b"a b\r\n"], &mut out);
        assert_eq!(out, b"before *2\r\n$3\r\nGET\r\n$5\r\na b\r\n\r\n");
    }

    #[test]
    fn arguments_follow_the_beginning_of_a_request() {
        let mut out = b"*3\r\n$3\r\nSET".to_vec();
        write_arguments([b"key", b""], &mut out);
        let mut whole = Vec::new();
        write_request(&[b"SET", b"key", b""], &mut whole);
        assert_eq!(out, whole);
    }

    proptest! {
        #[test]
        fn another_implementation_reads_what_was_written(
            arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..12),
        ) {
            let mut out = Vec::new();
            write_request(&arguments.iter().map(|argument| &argument[..]).collect::<Vec<_>>(), &mut out);
            let frames = arguments.into_iter().map(OwnedFrame::BulkString).collect();
            prop_assert_eq!(decode(&out).unwrap(), Some((OwnedFrame::Array(frames), out.len())));
        }
    }
}
