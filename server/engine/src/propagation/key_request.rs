//! The requests that change one key, as they are written.

use lockwheel_resp::{number, write_arguments};
use lockwheel_store::keyspace::KeyRequest;
use lockwheel_store::values::{End, IntText};

/// The maximum number of bytes of a request with a short name, beside its other words.
pub(super) const MAX_AROUND: usize = 128;
/// The maximum number of bytes of a number with its length.
const MAX_NUMBER_BYTES: usize = 48;
/// The maximum number of bytes around a word: its length and the ends of its lines.
const MAX_AROUND_WORD: usize = 32;

/// Returns the maximum length of a request that changes a key, in bytes.
#[inline]
pub(super) fn max_len(key: &[u8], request: &KeyRequest<'_>) -> usize {
    let words = match request {
        KeyRequest::SetField(field, value) => field.len() + value.len(),
        KeyRequest::Set(word) | KeyRequest::RemoveField(word) => word.len(),
        KeyRequest::Remove | KeyRequest::ExpireAt(_) => 0,
        _ => max_len_of_words(request),
    };
    MAX_AROUND + key.len() + words
}

/// Returns the maximum length of the words behind the key, in bytes, for the requests that the plain lock does not
/// need.
#[inline(never)]
fn max_len_of_words(request: &KeyRequest<'_>) -> usize {
    match *request {
        KeyRequest::SetFields(fields) => {
            fields.iter().map(|(field, value)| field.len() + value.len() + 2 * MAX_AROUND_WORD).sum()
        }
        KeyRequest::SetScores(members) => {
            members.iter().map(|(member, _)| member.len() + MAX_AROUND_WORD + MAX_NUMBER_BYTES).sum()
        }
        KeyRequest::RemoveMembers(members) => {
            members.iter().map(|member| member.len() + MAX_AROUND_WORD).sum()
        }
        KeyRequest::RemoveRanks(..) => 2 * MAX_NUMBER_BYTES,
        KeyRequest::SetAndKeepDeadline(word)
        | KeyRequest::Push(_, word)
        | KeyRequest::RemoveElements(word) => word.len(),
        _ => 0,
    }
}

/// Appends a request that changes a key. Inlined: a call would cost 20 instructions a request.
#[inline(always)]
pub(super) fn write(key: &[u8], request: &KeyRequest<'_>, out: &mut Vec<u8>) {
    match *request {
        KeyRequest::SetField(field, value) => {
            out.extend_from_slice(b"*4\r\n$4\r\nHSET");
            write_arguments([key, field, value], out);
        }
        KeyRequest::ExpireAt(deadline_ms) => {
            out.extend_from_slice(b"*3\r\n$9\r\nPEXPIREAT");
            write_arguments([key, &IntText::new(deadline_ms)], out);
        }
        KeyRequest::Set(value) => {
            out.extend_from_slice(b"*3\r\n$3\r\nSET");
            write_arguments([key, value], out);
        }
        KeyRequest::RemoveField(field) => {
            out.extend_from_slice(b"*3\r\n$4\r\nHDEL");
            write_arguments([key, field], out);
        }
        KeyRequest::Remove => {
            out.extend_from_slice(b"*2\r\n$3\r\nDEL");
            write_arguments([key], out);
        }
        _ => write_other(key, request, out),
    }
}

/// Appends a request that the plain lock does not need.
#[inline(never)]
fn write_other(key: &[u8], request: &KeyRequest<'_>, out: &mut Vec<u8>) {
    match *request {
        KeyRequest::SetAndKeepDeadline(value) => {
            out.extend_from_slice(b"*4\r\n$3\r\nSET");
            write_arguments([key, value, b"KEEPTTL"], out);
        }
        KeyRequest::SetFields(fields) => {
            write_list(b"HSET", key, 2 * fields.len(), out);
            fields.iter().for_each(|(field, value)| write_words(&[field, value], out));
        }
        KeyRequest::SetScores(members) => {
            write_list(b"ZADD", key, 2 * members.len(), out);
            let mut text = Vec::with_capacity(MAX_NUMBER_BYTES);
            for (member, score) in members {
                text.clear();
                number::format_double(*score, &mut text);
                write_words(&[&text, member], out);
            }
        }
        KeyRequest::RemoveMembers(members) => {
            write_list(b"ZREM", key, members.len(), out);
            write_words(members, out);
        }
        KeyRequest::RemoveRanks(first, last) => {
            let [first, last] = [first, last].map(|rank| IntText::new(rank as i64));
            out.extend_from_slice(b"*4\r\n$15\r\nZREMRANGEBYRANK");
            write_arguments([key, &first, &last], out);
        }
        KeyRequest::Push(end, element) => {
            out.extend_from_slice(match end {
                End::Left => b"*3\r\n$5\r\nLPUSH",
                End::Right => b"*3\r\n$5\r\nRPUSH",
            });
            write_arguments([key, element], out);
        }
        KeyRequest::PopFirst => {
            out.extend_from_slice(b"*2\r\n$4\r\nLPOP");
            write_arguments([key], out);
        }
        KeyRequest::RemoveElements(element) => {
            out.extend_from_slice(b"*4\r\n$4\r\nLREM");
            write_arguments([key, b"0", element], out);
        }
        KeyRequest::Set(_)
        | KeyRequest::SetField(..)
        | KeyRequest::RemoveField(_)
        | KeyRequest::Remove
        | KeyRequest::ExpireAt(_) => write(key, request, out),
    }
}

/// Appends the beginning of a request with a name of four letters, its key, and this number of further words.
fn write_list(name: &[u8; 4], key: &[u8], more: usize, out: &mut Vec<u8>) {
    out.push(b'*');
    number::write_usize(2 + more, out);
    out.extend_from_slice(b"\r\n$4\r\n");
    out.extend_from_slice(name);
    write_arguments([key], out);
}

/// Appends further words of a request.
fn write_words(words: &[&[u8]], out: &mut Vec<u8>) {
    for word in words {
        out.push(b'$');
        number::write_usize(word.len(), out);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_resp::{Batch, RequestLimits, RequestParser};
    use proptest::prelude::*;

    /// Returns the words of a request as a server reads them.
    fn words(key: &[u8], request: &KeyRequest<'_>) -> Vec<Vec<u8>> {
        let (mut stream, mut batch) = (Vec::new(), Batch::new());
        write(key, request, &mut stream);
        assert!(stream.len() <= max_len(key, request), "{request:?}: {} bytes", stream.len());
        RequestParser::new().parse(&stream, &RequestLimits::default(), &mut batch).expect("requests");
        assert_eq!(batch.len(), 1, "{request:?}");
        batch.with_arguments(0, &stream, |argv| argv.iter().map(|word| word.to_vec()).collect())
    }

    fn line(request: &KeyRequest<'_>) -> String {
        let words = words(b"k", request);
        words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_request_is_a_command_of_redis() {
        for (request, expected) in [
            (KeyRequest::Set(b"v"), "SET k v"),
            (KeyRequest::SetAndKeepDeadline(b"7"), "SET k 7 KEEPTTL"),
            (KeyRequest::SetField(b"f", b"1"), "HSET k f 1"),
            (KeyRequest::SetFields(&[(b"f", b"1"), (b"g", b"2")]), "HSET k f 1 g 2"),
            (KeyRequest::RemoveField(b"f"), "HDEL k f"),
            (KeyRequest::SetScores(&[(b"a", 1e12), (b"b", -0.5)]), "ZADD k 1000000000000 a -0.5 b"),
            (KeyRequest::RemoveMembers(&[b"a", b"b"]), "ZREM k a b"),
            (KeyRequest::RemoveRanks(0, 12), "ZREMRANGEBYRANK k 0 12"),
            (KeyRequest::Push(End::Left, b"a"), "LPUSH k a"),
            (KeyRequest::Push(End::Right, b"a"), "RPUSH k a"),
            (KeyRequest::PopFirst, "LPOP k"),
            (KeyRequest::RemoveElements(b"a"), "LREM k 0 a"),
            (KeyRequest::Remove, "DEL k"),
            (KeyRequest::ExpireAt(1_700_000_000_000), "PEXPIREAT k 1700000000000"),
        ] {
            assert_eq!(line(&request), expected);
        }
    }

    #[test]
    fn the_longest_numbers_have_room() {
        let long = [b'x'; 1000];
        let scores = [(&long[..], -2.225_073_858_507_201_4e-308); 3];
        words(&long, &KeyRequest::SetScores(&scores));
        words(&long, &KeyRequest::RemoveRanks(i64::MAX as usize, i64::MAX as usize));
        words(&long, &KeyRequest::RemoveMembers(&[&long[..]; 3]));
        words(&long, &KeyRequest::SetFields(&[(&long[..], &long[..]); 3]));
        words(&long, &KeyRequest::SetAndKeepDeadline(&long));
        words(&long, &KeyRequest::ExpireAt(i64::MIN));
    }

    proptest! {
        /// A replica reads the same double as the master has.
        #[test]
        fn a_score_is_read_as_it_was(bits in any::<u64>()) {
            let score = f64::from_bits(bits);
            prop_assume!(!score.is_nan());
            let words = words(b"k", &KeyRequest::SetScores(&[(b"m", score)]));
            prop_assert_eq!(number::parse_f64(&words[2]).map(f64::to_bits), Some(bits));
        }
    }
}
