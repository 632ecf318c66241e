//! Requests on the wire, as clients send them.

use crate::number;

/// The maximum length of a header: its kind, a number and the end of the line.
const MAX_HEADER: usize = 23;

/// Returns the maximum length of a request with these arguments, in bytes.
#[inline]
pub fn max_request_len(arguments: &[&[u8]]) -> usize {
    arguments.iter().fold(MAX_HEADER, |len, argument| len + argument.len() + MAX_HEADER + 2)
}

/// Appends the request of these arguments, its command first, to `out`: an array of bulk strings.
pub fn write_request(arguments: &[&[u8]], out: &mut Vec<u8>) {
    header(b'*', arguments.len(), out);
    for argument in arguments {
        header(b'$', argument.len(), out);
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

#[inline(always)]
fn header(kind: u8, len: usize, out: &mut Vec<u8>) {
    match len {
        0..10 => out.extend_from_slice(&[kind, b'0' + len as u8, b'\r', b'\n']),
        10..100 => {
            out.extend_from_slice(&[kind, b'0' + (len / 10) as u8, b'0' + (len % 10) as u8, b'\r', b'\n']);
        }
        _ => long_header(kind, len, out),
    }
}

#[cold]
fn long_header(kind: u8, len: usize, out: &mut Vec<u8>) {
    out.push(kind);
    number::write_usize(len, out);
    out.extend_from_slice(b"\r\n");
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
