//! Tests of requests, whole, in pieces and invalid.

use super::*;
use crate::{Protocol, Writer};
use proptest::prelude::*;

/// The result of reading a stream of bytes.
#[derive(Debug, Default, PartialEq)]
struct Read {
    requests: Vec<Vec<Vec<u8>>>,
    error: Option<ProtocolError>,
}

/// A connection that reads pieces of a stream as a server does.
#[derive(Default)]
struct Connection {
    parser: RequestParser,
    buf: Vec<u8>,
    batch: Batch,
    read: Read,
}

impl Connection {
    fn receive(&mut self, piece: &[u8], limits: &RequestLimits) {
        self.buf.extend_from_slice(piece);
        while self.read.error.is_none() {
            let result = self.parser.parse(&self.buf, limits, &mut self.batch);
            for i in 0..self.batch.len() {
                self.take(i);
            }
            self.buf.drain(..self.batch.consumed());
            self.read.error = result.err();
            if !self.batch.has_more() {
                return;
            }
        }
    }

    fn take(&mut self, i: usize) {
        let arguments = self.batch.arguments(i, &self.buf);
        self.read.requests.push(arguments.map(<[u8]>::to_vec).collect());
    }
}

fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limits: &RequestLimits) -> Read {
    let mut connection = Connection::default();
    for piece in pieces {
        connection.receive(piece, limits);
    }
    connection.read
}

/// Stops after every request, as if its client blocked, then forgets the rest and parses it again.
fn read_stopping(stream: &[u8], limits: &RequestLimits) -> Read {
    let mut connection = Connection { buf: stream.to_vec(), ..Connection::default() };
    loop {
        let result = connection.parser.parse(&connection.buf, limits, &mut connection.batch);
        if connection.batch.is_empty() {
            connection.read.error = result.err();
            return connection.read;
        }
        connection.take(0);
        connection.buf.drain(..connection.batch.consumed_by(0));
        connection.parser.reset();
    }
}

fn read(stream: &[u8]) -> Read {
    read_pieces([stream], &RequestLimits::default())
}

fn encode(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Protocol::Resp2);
    writer.array(arguments.len());
    for argument in arguments {
        writer.bulk(argument);
    }
    out
}

fn request(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

fn error_text(error: ProtocolError) -> Vec<u8> {
    let mut out = Vec::new();
    error.reply(&mut Writer::new(&mut out, Protocol::Resp2));
    out
}

#[test]
fn requests_of_nothing_are_passed_over() {
    for nothing in ["\r\n", "\n", "   \r\n", "*0\r\n", "*-1\r\n", "*-10\r\n"] {
        let stream = format!("{nothing}{nothing}*1\r\n$4\r\nPING\r\n{nothing}");
        let expected = Read { requests: vec![request(&[b"PING"])], error: None };
        assert_eq!(read(stream.as_bytes()), expected, "{nothing:?}");
        let mut batch = Batch::new();
        assert_eq!(
            RequestParser::new().parse(stream.as_bytes(), &RequestLimits::default(), &mut batch),
            Ok(())
        );
        assert_eq!(batch.consumed(), stream.len());
        assert_eq!(batch.consumed_by(0), stream.len() - nothing.len());
    }
}

#[test]
fn every_protocol_error_is_that_of_redis() {
    // Each stream was sent to redis-server 7.0.15, which sent this error and closed the connection.
    let long = [b'1'; MAX_LINE + 2];
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"*3000000000\r\n".into(), "invalid multibulk length"),
        (b"*2147483648\r\n".into(), "invalid multibulk length"),
        (b"*+1\r\n".into(), "invalid multibulk length"),
        (b"* 1\r\n".into(), "invalid multibulk length"),
        (b"*01\r\n".into(), "invalid multibulk length"),
        (b"*\r\n".into(), "invalid multibulk length"),
        (b"*a\r\n".into(), "invalid multibulk length"),
        (b"*1\n$4\r\nPING\r\n".into(), "invalid multibulk length"),
        (b"*1\r\nfoo\r\n".into(), "expected '$', got 'f'"),
        (b"*1\r\n\r\n".into(), "expected '$', got ' '"),
        (b"*1\r\n:4\r\n".into(), "expected '$', got ':'"),
        (b"*1\r\n*1\r\n$4\r\nPING\r\n".into(), "expected '$', got '*'"),
        (b"*1\r$4\r\nPING\r\n".into(), "expected '$', got '4'"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n".into(), "expected '$', got 'f'"),
        (b"*1\r\n$\r\n".into(), "invalid bulk length"),
        (b"*1\r\n$-1\r\n".into(), "invalid bulk length"),
        (b"*1\r\n$abc\r\n".into(), "invalid bulk length"),
        (b"*1\r\n$04\r\nPING\r\n".into(), "invalid bulk length"),
        (b"*1\r\n$536870913\r\n".into(), "invalid bulk length"),
        (b"*1\r\n$4\nPING\r\n".into(), "invalid bulk length"),
        (b"\"unbalanced\r\n".into(), "unbalanced quotes in request"),
        (b"'a'b\r\n".into(), "unbalanced quotes in request"),
        ([b"*", &long[..MAX_LINE]].concat(), "too big mbulk count string"),
        ([b"*1\r\n$", &long[..MAX_LINE]].concat(), "too big bulk count string"),
        ([b"*1\r\n", &long[..MAX_LINE + 1]].concat(), "too big bulk count string"),
        (long[..MAX_LINE + 1].to_vec(), "too big inline request"),
        ([b"*\0\r\n", &long[..]].concat(), "too big mbulk count string"),
        ([b"*1\r\n$\0\r\n", &long[..]].concat(), "too big bulk count string"),
        ([b"\0\r\n", &long[..]].concat(), "too big inline request"),
    ];
    for (stream, text) in cases {
        let expected = format!("-ERR Protocol error: {text}\r\n");
        let shown = stream[..stream.len().min(30)].escape_ascii().to_string();
        let error = read(&stream).error.unwrap_or_else(|| panic!("{shown}"));
        assert_eq!(error_text(error), expected.as_bytes(), "{shown}");
        let after_ping = read(&[b"PING\r\n", &stream[..]].concat());
        assert_eq!(after_ping, Read { requests: vec![request(&[b"PING"])], error: Some(error) }, "{shown}");
    }
    assert_eq!(
        error_text(ProtocolError::ExpectedBulk(0xff)),
        b"-ERR Protocol error: expected '$', got '\xff'\r\n"
    );
}

#[test]
fn a_long_line_is_read_when_its_end_is_there() {
    // redis-server 7.0.15 answers the same to what arrives in one read.
    let word = [b'x'; 2 * MAX_LINE];
    let line = [b"ECHO ", &word[..], b"\r\n"].concat();
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    assert_eq!(parser.parse(&line, &RequestLimits::default(), &mut batch), Ok(()));
    assert_eq!(batch.consumed(), line.len());

    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let arrived = parser.parse(&line[..MAX_LINE + 1], &RequestLimits::default(), &mut batch);
    assert_eq!(arrived, Err(ProtocolError::TooBigInline));
    let header = [b"*", &[b'1'; 2 * MAX_LINE][..], b"\r\n"].concat();
    assert_eq!(read(&header[..MAX_LINE + 2]).error, Some(ProtocolError::TooBigMultibulkLine));
}

#[test]
fn incomplete_requests_wait() {
    let long = [b'1'; MAX_LINE];
    for stream in [
        b"*".to_vec(),
        b"*1".into(),
        b"*1\r".into(),
        b"*1\r\n".into(),
        b"*2147483647\r\n".into(),
        b"*1\r\nx".into(),
        b"*1\r\n\r".into(),
        b"*1\r\n$4\r\nPING\r".into(),
        b"*1\r\n$536870912\r\n".into(),
        b"PING\r".into(),
        b"*\0\r\n".into(),
        b"*1\r\n\0\r\n".into(),
        b"ECHO a\0b\r\n".into(),
        long.to_vec(),
        [b"*", &long[1..]].concat(),
        [b"*1\r\n$", &long[1..]].concat(),
    ] {
        assert_eq!(read(&stream), Read::default(), "{}", stream[..stream.len().min(30)].escape_ascii());
    }
}

#[test]
fn line_ends_are_skipped_unread() {
    let ping = request(&[b"PING"]);
    let stream = b"*1\rx$4\r\nPING\r\n*1\r\n$4\rXPINGxx*1\r\n$4\r\nPING\r\n";
    assert_eq!(read(stream), Read { requests: vec![ping.clone(), ping.clone(), ping], error: None });
}

#[test]
fn an_argument_that_is_arriving_says_how_much_it_wants() {
    let whole = encode(&request(&[b"PING"]));
    let stream = [&whole[..], b"*2\r\n$3\r\nSET\r\n$1000\r\nxx"].concat();
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let limits = RequestLimits::default();
    for (len, wanted) in [
        (whole.len(), None),
        (whole.len() + 6, None),
        (whole.len() + 12, Some(13)),
        (stream.len() - 3, None),
        (stream.len() - 2, Some(stream.len() - 2 - whole.len() + 1002)),
        (stream.len(), Some(stream.len() - 2 - whole.len() + 1002)),
    ] {
        parser.reset();
        assert_eq!(parser.parse(&stream[..len], &limits, &mut batch), Ok(()));
        assert_eq!(parser.wanted(), wanted, "of {len} bytes");
    }
}

#[test]
fn clients_that_have_yet_to_authenticate_send_little() {
    let limits = RequestLimits { unauthenticated: true, ..RequestLimits::default() };
    let refused = |stream: &[u8]| read_pieces([stream], &limits).error.map(error_text);
    let bulk = encode(&[vec![b'x'; 16_384]]);
    assert_eq!(refused(b"*10\r\n"), None);
    assert_eq!(
        refused(b"*11\r\n"),
        Some(b"-ERR Protocol error: unauthenticated multibulk length\r\n".into())
    );
    assert_eq!(refused(&bulk), None);
    assert_eq!(
        refused(b"*1\r\n$16385\r\n"),
        Some(b"-ERR Protocol error: unauthenticated bulk length\r\n".into())
    );
}

#[test]
fn what_follows_an_auth_is_judged_after_it() {
    let auth = request(&[b"AUTH", b"secret"]);
    for big in [vec![b"x".to_vec(); 20], vec![b"x".to_vec(), vec![b'x'; 20_000]]] {
        let stream = [encode(&auth), encode(&big)].concat();
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let mut limits = RequestLimits { unauthenticated: true, ..RequestLimits::default() };
        assert_eq!(parser.parse(&stream, &limits, &mut batch), Ok(()));
        assert_eq!((batch.len(), batch.has_more()), (1, true));
        let rest = &stream[batch.consumed()..];
        limits.unauthenticated = false;
        assert_eq!(parser.parse(rest, &limits, &mut batch), Ok(()));
        assert_eq!((batch.len(), batch.consumed()), (1, rest.len()));
        assert!(batch.arguments(0, rest).eq(big.iter().map(|argument| &argument[..])));
    }
}

#[test]
fn a_long_pipeline_comes_in_several_batches() {
    let ping = encode(&request(&[b"PING"]));
    let stream = ping.repeat(5000);
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    assert_eq!(parser.parse(&stream, &RequestLimits::default(), &mut batch), Ok(()));
    assert!(batch.has_more() && batch.len() < 5000);
    assert_eq!(read(&stream).requests.len(), 5000);
    // A request of many arguments is not parsed before the ones ahead of it have run.
    let big = encode(&vec![b"x".to_vec(); 10_000]);
    let stream = [&ping[..], &big, &ping].concat();
    parser.reset();
    assert_eq!(parser.parse(&stream, &RequestLimits::default(), &mut batch), Ok(()));
    assert_eq!((batch.len(), batch.has_more()), (1, true));
    assert_eq!(read(&stream).requests.iter().map(Vec::len).collect::<Vec<_>>(), [1, 10_000, 1]);
}

#[test]
fn memory_grows_with_what_has_arrived_only() {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    assert_eq!(
        parser.parse(b"*2147483647\r\n$1\r\na\r\n$536870912\r\n", &RequestLimits::default(), &mut batch),
        Ok(())
    );
    let memory = |spans: &Vec<Span>| spans.capacity() * size_of::<Span>();
    assert!(memory(&parser.spans) < 1024);
    let big = encode(&vec![b"x".to_vec(); 100_000]);
    parser.reset();
    assert_eq!(parser.parse(&big[..big.len() - 1], &RequestLimits::default(), &mut batch), Ok(()));
    assert!(memory(&parser.spans) >= 99_999 * size_of::<Span>());
    assert_eq!(parser.parse(&big, &RequestLimits::default(), &mut batch), Ok(()));
    assert_eq!(batch.arguments(0, &big).len(), 100_000);
    batch.clear();
    assert!(memory(&parser.spans) + memory(&batch.spans) < 256 * 1024);
}

/// A stretch of a stream: mostly a request, now and then something odd.
fn stretch() -> impl Strategy<Value = Vec<u8>> {
    let argument = prop::collection::vec(any::<u8>(), 0..20);
    let odd: Vec<&[u8]> = vec![
        b"\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"PING\r\n",
        b"echo \"a b\\x00\\n\" 'c'\n",
        b"  \r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"'a\r\n",
        b"*1\r\nx\r\n",
        b"*x\r\n",
        b"*1\r\n$x\r\n",
        b"*2\r\n$1\r\na\r\n$\0",
        b"*1\r",
        b"$3\r\n",
        b"*12345678901\r\n",
        b"a\0b\r\n",
        b"*0000000000000001\r\n",
        b"*1\r\n$0\r\n\r\n",
        b"*1\rx$1\rxa\n\n",
    ];
    prop_oneof![
        4 => prop::collection::vec(argument, 1..6).prop_map(|arguments| encode(&arguments)),
        1 => prop::sample::select(odd).prop_map(<[u8]>::to_vec),
    ]
}

proptest! {
    #[test]
    fn requests_come_back_as_they_were_sent(
        requests in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
            0..20,
        ),
    ) {
        let stream: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        prop_assert_eq!(read(&stream), Read { requests, error: None });
    }

    #[test]
    fn a_stream_cut_anywhere_reads_the_same(
        stretches in prop::collection::vec(stretch(), 1..8),
        sizes in prop::collection::vec(1_usize..30, 1..50),
    ) {
        let stream = stretches.concat();
        let limits = RequestLimits { max_bulk: 1000, unauthenticated: false };
        let whole = read_pieces([&stream[..]], &limits);
        for at in 0..=stream.len() {
            let (before, after) = stream.split_at(at);
            prop_assert_eq!(&read_pieces([before, after], &limits), &whole, "cut at {}", at);
        }
        prop_assert_eq!(&read_pieces(stream.chunks(1), &limits), &whole);
        let mut rest = &stream[..];
        let mut pieces = Vec::new();
        for &size in sizes.iter().cycle() {
            let (piece, later) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&read_pieces(pieces, &limits), &whole);
        prop_assert_eq!(&read_stopping(&stream, &limits), &whole);
    }

    #[test]
    fn no_bytes_panic(
        stream in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"*$\r\n0123 '\"\\"[..])],
            0..200,
        ),
    ) {
        let limits = RequestLimits { max_bulk: 100, unauthenticated: true };
        let whole = read_pieces([&stream[..]], &limits);
        prop_assert_eq!(read_pieces(stream.chunks(1), &limits), whole);
    }
}
