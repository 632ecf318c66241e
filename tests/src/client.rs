//! A small blocking client: requests of any bytes, replies decoded by the redis-protocol crate.
//!
//! The client does what it is told and no more: it does not reconnect or retry, and performs a handshake only when
//! asked. If the server sends bytes that are not RESP, the client panics and shows the bytes.

use crate::line;
use crate::reply::{Reply, decode2, decode3, quoted};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A push with the null of RESP2.
const FLUSHED_IN_RESP2: &[u8] = b">2\r\n$10\r\ninvalidate\r\n$-1\r\n";

/// The longest wait for a reply. It is a safety net for a server that hangs, not part of any test's meaning.
pub const SAFETY_NET: Duration = Duration::from_secs(30);

/// The version of the protocol in which replies are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// RESP2, with which every connection begins.
    Resp2,
    /// RESP3, after `HELLO 3`.
    Resp3,
}

/// The transport of a connection: a socket, or a layer around one.
pub trait Wire: Read + Write + Debug + Send {
    /// The socket.
    fn socket(&self) -> &TcpStream;
}

impl Wire for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: Box<dyn Wire>,
    protocol: Protocol,
    /// Bytes received and not yet decoded.
    received: Vec<u8>,
    /// Push frames that came while the client waited for a reply.
    pushes: VecDeque<Reply>,
    /// The bytes of the last frame that was read.
    raw: Vec<u8>,
}

/// A command of any bytes as a RESP array of bulk strings.
pub fn encode<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let bytes = argument.as_ref();
        request.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
        request.extend_from_slice(bytes);
        request.extend_from_slice(b"\r\n");
    }
    request
}

/// Connects a socket whose operations time out after [`SAFETY_NET`].
///
/// # Panics
/// Panics if nothing listens there.
#[track_caller]
pub fn connected(address: impl ToSocketAddrs) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a server listens");
    stream.set_nodelay(true).expect("a TCP socket has this option");
    stream.set_read_timeout(Some(SAFETY_NET)).expect("the time is not zero");
    stream.set_write_timeout(Some(SAFETY_NET)).expect("the time is not zero");
    stream
}

/// Whether the system refuses a connection to an address.
#[must_use]
pub fn is_refused(address: impl ToSocketAddrs) -> bool {
    TcpStream::connect(address).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// Whether this end of a connection between two ports of this machine has not yet been notified that the other end is
/// closed, according to Linux.
fn is_established(here: u16, there: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let [here, there] = [here, there].map(|port| format!(":{port:04X}"));
    tables.iter().flatten().flat_map(|table| table.lines()).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 3 && words[1].ends_with(&here) && words[2].ends_with(&there) && words[3] == "01"
    })
}

impl Client {
    /// Connects; the client speaks RESP2 until told otherwise.
    ///
    /// # Panics
    /// Panics if nothing listens there.
    #[track_caller]
    pub fn connect(address: impl ToSocketAddrs) -> Client {
        Client::over(connected(address))
    }

    /// Creates a client over an existing connection; it speaks RESP2 until told otherwise.
    pub fn over(stream: impl Wire + 'static) -> Client {
        Client {
            stream: Box::new(stream),
            protocol: Protocol::Resp2,
            received: Vec::new(),
            pushes: VecDeque::new(),
            raw: Vec::new(),
        }
    }

    /// Connects and sends `HELLO 3`.
    ///
    /// # Panics
    /// Panics if nothing listens there, or if the listener does not speak RESP3.
    #[track_caller]
    pub fn connect_resp3(address: impl ToSocketAddrs) -> Client {
        let mut client = Client::connect(address);
        let greeting = client.cmd(&["HELLO", "3"]);
        assert_eq!(client.protocol, Protocol::Resp3, "HELLO 3 was answered {greeting}");
        client
    }

    /// Connects speaking the given protocol.
    #[track_caller]
    pub fn connect_with(address: impl ToSocketAddrs, protocol: Protocol) -> Client {
        match protocol {
            Protocol::Resp2 => Client::connect(address),
            Protocol::Resp3 => Client::connect_resp3(address),
        }
    }

    /// The protocol in which replies are decoded now.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Sets the protocol in which replies are decoded. Needed only if HELLO or RESET took effect without this client's
    /// knowledge: sent as raw bytes, or inside a transaction.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// The address of the other end.
    pub fn peer(&self) -> SocketAddr {
        self.stream.socket().peer_addr().expect("the stream is connected")
    }

    /// The socket's own address, which CLIENT LIST shows as `addr`.
    pub fn local(&self) -> SocketAddr {
        self.stream.socket().local_addr().expect("the stream is connected")
    }

    /// Sends one command and returns its reply. Pushes that come before the reply are kept for [`Client::read_push`].
    ///
    /// For the SUBSCRIBE family, whose answer is one frame for each channel, returns the first frame.
    #[track_caller]
    pub fn cmd<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Reply {
        self.send(arguments);
        self.reply_to(arguments)
    }

    /// Works as [`Client::cmd`], with a line in redis-cli's quoting.
    #[track_caller]
    pub fn line(&mut self, line: &str) -> Reply {
        self.cmd(&split(line))
    }

    /// Sends all commands in one write, then reads their replies.
    #[track_caller]
    pub fn pipeline<A: AsRef<[u8]>>(&mut self, commands: &[Vec<A>]) -> Vec<Reply> {
        let bytes: Vec<u8> = commands.iter().flat_map(|arguments| encode(arguments)).collect();
        self.send_raw(&bytes);
        commands.iter().map(|arguments| self.reply_to(arguments)).collect()
    }

    /// Sends one command and does not wait for the reply.
    #[track_caller]
    pub fn send<A: AsRef<[u8]>>(&mut self, arguments: &[A]) {
        self.send_raw(&encode(arguments));
    }

    /// Works as [`Client::send`], with a line in redis-cli's quoting.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        self.send(&split(line));
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_send_raw(bytes) {
            panic!("sending {} bytes: {error}", bytes.len());
        }
    }

    /// Sends bytes as they are, to a peer that may hang up meanwhile.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Closes the connection, and waits until the close has reached the server's host. A busy kernel delivers it later,
    /// and the server cannot notice it before.
    ///
    /// # Panics
    /// Panics if there is no connection.
    pub fn close(self) {
        let socket = self.stream.socket();
        let [server, client] =
            [socket.peer_addr(), socket.local_addr()].map(|address| address.expect("it is connected").port());
        drop(self);
        while is_established(server, client) {
            std::thread::yield_now();
        }
    }

    /// Closes the connection at once, with a reset: bytes that were sent and not read yet are thrown away.
    pub fn reset(self) {
        let socket = socket2::SockRef::from(self.stream.socket());
        socket.set_linger(Some(Duration::ZERO)).expect("a TCP socket has this option");
    }

    /// Tells the server that no more requests follow; replies can still be read.
    pub fn finish_sending(&mut self) {
        // Fails only if the connection is gone, which the next read reports better.
        let _ = self.stream.socket().shutdown(Shutdown::Write);
    }

    /// Returns the reply to a command that was sent. Switches the protocol when HELLO or RESET changes it.
    #[track_caller]
    pub(crate) fn reply_to<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Reply {
        let name = arguments.first().map_or(&[][..], AsRef::as_ref).to_ascii_uppercase();
        match name.as_slice() {
            b"HELLO" => self.read_greeting(),
            b"RESET" => {
                let reply = self.read_reply();
                if !reply.is_error() {
                    self.protocol = Protocol::Resp2;
                }
                reply
            }
            b"SUBSCRIBE" | b"UNSUBSCRIBE" | b"PSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SSUBSCRIBE"
            | b"SUNSUBSCRIBE" => self.read_confirmation(),
            _ => self.read_reply(),
        }
    }

    /// The answer to HELLO. Its type shows which protocol holds from here on.
    fn read_greeting(&mut self) -> Reply {
        loop {
            match self.first_byte() {
                Some(b'%') => self.protocol = Protocol::Resp3,
                Some(b'*') => self.protocol = Protocol::Resp2,
                _ => {}
            }
            match self.read_frame() {
                push @ Reply::Push(_) => self.pushes.push_back(push),
                reply => return reply,
            }
        }
    }

    /// The first answer of the SUBSCRIBE family, which is itself a push in RESP3, or an error.
    fn read_confirmation(&mut self) -> Reply {
        loop {
            let frame = self.read_frame();
            let is_message = |items: &[Reply]| {
                let kind = items.first().and_then(Reply::as_bytes).unwrap_or_default();
                matches!(kind, b"message" | b"pmessage" | b"smessage" | b"invalidate")
            };
            match frame {
                Reply::Push(items) if is_message(&items) => self.pushes.push_back(Reply::Push(items)),
                Reply::Array(items) if is_message(&items) => self.pushes.push_back(Reply::Array(items)),
                answer => return answer,
            }
        }
    }

    /// Returns the next reply; push frames before it are kept for [`Client::read_push`].
    #[track_caller]
    pub fn read_reply(&mut self) -> Reply {
        loop {
            match self.read_frame() {
                push @ Reply::Push(_) => self.pushes.push_back(push),
                reply => return reply,
            }
        }
    }

    /// Returns the next push: one that was kept while a reply was read, else the next frame, which in RESP2 is an
    /// array.
    ///
    /// # Panics
    /// Panics if the next frame is a reply.
    #[track_caller]
    pub fn read_push(&mut self) -> Reply {
        if let Some(push) = self.pushes.pop_front() {
            return push;
        }
        match (self.protocol, self.read_frame()) {
            (_, push @ Reply::Push(_)) | (Protocol::Resp2, push @ Reply::Array(_)) => push,
            (_, reply) => panic!("a reply where a push was expected: {reply}"),
        }
    }

    /// Returns the pushes received and not yet taken, without reading from the socket.
    pub fn take_pushes(&mut self) -> Vec<Reply> {
        self.pushes.drain(..).collect()
    }

    /// Returns the next frame of any kind, in the order of the wire.
    ///
    /// # Panics
    /// Panics if the server hangs up, sends bytes that are not RESP, or sends nothing for [`SAFETY_NET`].
    #[track_caller]
    pub fn read_frame(&mut self) -> Reply {
        match self.try_read_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => panic!("the server closed the connection{}", self.leftover()),
            Err(error) => panic!("{error}{}", self.leftover()),
        }
    }

    /// Returns the next frame, or `None` if the server has closed the connection after the last one.
    ///
    /// # Errors
    /// Returns the socket's error: `WouldBlock` or `TimedOut` if nothing came for [`SAFETY_NET`].
    ///
    /// # Panics
    /// Panics if the received bytes are not RESP.
    #[track_caller]
    pub fn try_read_frame(&mut self) -> std::io::Result<Option<Reply>> {
        loop {
            if let Some(frame) = self.decode() {
                return Ok(Some(frame));
            }
            if !self.receive()? {
                return Ok(None);
            }
        }
    }

    /// The bytes of the last frame that was read, as they came.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns everything up to the end of the stream, undecoded, for connections that the server is to close.
    ///
    /// # Panics
    /// Panics if the server keeps the connection open for [`SAFETY_NET`].
    #[track_caller]
    pub fn read_to_close(&mut self) -> Vec<u8> {
        loop {
            match self.receive() {
                Ok(true) => {}
                Ok(false) => return std::mem::take(&mut self.received),
                Err(error) => panic!("the server did not close the connection: {error}{}", self.leftover()),
            }
        }
    }

    /// Decodes one frame from the received bytes.
    #[track_caller]
    fn decode(&mut self) -> Option<Reply> {
        let decoded = match self.protocol {
            Protocol::Resp2 => decode2(&self.received),
            // redis-server reports a flush in this form if a client in RESP2 has redirected its tracking to this
            // connection.
            Protocol::Resp3 if self.received.starts_with(FLUSHED_IN_RESP2) => {
                let flushed = vec![Reply::Bulk(b"invalidate".to_vec()), Reply::Null];
                Ok(Some((Reply::Push(flushed), FLUSHED_IN_RESP2.len())))
            }
            Protocol::Resp3 => decode3(&self.received),
        };
        match decoded {
            Ok(None) => None,
            Ok(Some((reply, length))) => {
                self.raw = self.received.drain(..length).collect();
                Some(reply)
            }
            Err(error) => panic!("not {:?}: {error}{}", self.protocol, self.leftover()),
        }
    }

    /// Reads what the socket has. Returns false at the end of the stream.
    fn receive(&mut self) -> std::io::Result<bool> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.received.extend_from_slice(&buffer[..count]);
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A server that closes while our bytes are unread resets the connection: that is the same end.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the first byte of the next frame, `None` at the end of the stream.
    fn first_byte(&mut self) -> Option<u8> {
        while self.received.is_empty() {
            if !self.receive().ok()? {
                return None;
            }
        }
        self.received.first().copied()
    }

    /// Describes the undecoded bytes, for a failure's text.
    fn leftover(&self) -> String {
        if self.received.is_empty() {
            return String::new();
        }
        format!(", undecoded: {}", quoted(&self.received[..self.received.len().min(200)]))
    }
}

/// Splits a test's own line, which must be well-formed.
#[track_caller]
pub fn split(line: &str) -> Vec<Vec<u8>> {
    line::split(line).unwrap_or_else(|| panic!("unbalanced quotes in {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis_server::{Kind, RealServer};

    fn with_redis(run: impl FnOnce(&RealServer)) {
        if let Some(server) = RealServer::start(Kind::Redis, &[]) {
            run(&server);
        }
    }

    #[test]
    fn arguments_are_binary_safe() {
        with_redis(|server| {
            let mut client = Client::connect(server.addr());
            let key = b"k\r\n\x00\xff".as_slice();
            assert_eq!(client.cmd(&[b"SET".as_slice(), key, b""]).to_string(), "+OK");
            assert_eq!(client.cmd(&[b"GET".as_slice(), key]).to_string(), "\"\"");
            assert_eq!(client.raw(), b"$0\r\n\r\n");
            assert_eq!(client.line(r#"KEYS "k\r\n\x00*""#).to_string(), r#"["k\r\n\x00\xff"]"#);
        });
    }

    #[test]
    fn hello_and_reset_change_how_replies_are_read() {
        with_redis(|server| {
            let mut client = Client::connect_resp3(server.addr());
            client.line("HSET h f v");
            assert_eq!(client.line("HGETALL h").to_string(), r#"{"f": "v"}"#);
            assert_eq!(client.line("HELLO 9").to_string(), "-NOPROTO unsupported protocol version");
            assert_eq!(client.protocol(), Protocol::Resp3);
            assert_eq!(client.line("RESET").to_string(), "+RESET");
            assert_eq!(client.line("HGETALL h").to_string(), r#"["f", "v"]"#);
            let replies = client.pipeline(&[split("HELLO 3"), split("GET none"), split("HELLO 2")]);
            assert_eq!(replies[1], Reply::Null);
            assert_eq!(client.protocol(), Protocol::Resp2);
        });
    }

    #[test]
    fn pushes_are_kept_apart_from_replies() {
        with_redis(|server| {
            let mut client = Client::connect_resp3(server.addr());
            assert_eq!(client.line("SUBSCRIBE c").to_string(), r#">["subscribe", "c", :1]"#);
            // A client that publishes to itself gets the message before its own reply.
            assert_eq!(client.line("PUBLISH c m").to_string(), ":1");
            assert_eq!(client.read_push().to_string(), r#">["message", "c", "m"]"#);
            assert_eq!(client.take_pushes(), []);
            assert_eq!(client.line("PING").to_string(), "+PONG");
        });
    }

    #[test]
    fn messages_of_resp2_are_arrays() {
        with_redis(|server| {
            let mut client = Client::connect(server.addr());
            let mut other = Client::connect(server.addr());
            assert_eq!(client.line("SUBSCRIBE c d").to_string(), r#"["subscribe", "c", :1]"#);
            assert_eq!(client.read_push().to_string(), r#"["subscribe", "d", :2]"#);
            assert_eq!(other.line("PUBLISH c m").to_string(), ":1");
            assert_eq!(client.read_push().to_string(), r#"["message", "c", "m"]"#);
        });
    }

    #[test]
    fn the_end_of_a_connection_is_noticed() {
        with_redis(|server| {
            let mut client = Client::connect(server.addr());
            client.send_raw(b"*1\r\n:1\r\n");
            assert_eq!(client.read_to_close(), b"-ERR Protocol error: expected '$', got ':'\r\n");
            let mut client = Client::connect(server.addr());
            assert_eq!(client.line("QUIT").to_string(), "+OK");
            assert_eq!(client.try_read_frame().unwrap(), None);
        });
    }

    #[test]
    #[should_panic(expected = "not Resp2")]
    fn resp3_is_not_read_as_resp2() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = Client::connect(listener.local_addr().unwrap());
        listener.accept().unwrap().0.write_all(b"%0\r\n").unwrap();
        client.read_frame();
    }
}
