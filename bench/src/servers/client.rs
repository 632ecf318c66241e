//! A blocking connection for what is not measured: loading scripts, FLUSHALL, INFO.

use crate::error::{Error, Result, WrongReply};
use crate::load::{Frame, frame};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server that needs longer for one command is taken for dead. FLUSHALL of ten million keys is the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection.
pub struct Client {
    socket: TcpStream,
    came: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(addr: SocketAddr) -> Result<Client> {
        let socket = TcpStream::connect(addr).map_err(Error::io(format!("connect to {addr}")))?;
        socket.set_nodelay(true).map_err(Error::io("set an option of a socket"))?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(Error::io("set an option of a socket"))?;
        Ok(Client { socket, came: Vec::new() })
    }

    /// Sends a command and waits for its reply, as on the wire.
    ///
    /// # Errors
    /// When the connection breaks, or the reply is none. An error reply is a reply.
    pub fn call(&mut self, args: &[&[u8]]) -> Result<Vec<u8>> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.socket.write_all(&request).map_err(Error::io("write to a server"))?;
        let mut piece = [0; 16 * 1024];
        loop {
            match frame(&self.came) {
                Frame::Whole(length) => return Ok(self.came.drain(..length).collect()),
                Frame::Broken => return Err(wrong(&request, "a reply", &self.came)),
                Frame::Part => {}
            }
            match self.socket.read(&mut piece).map_err(Error::io("read from a server"))? {
                0 => return Err(wrong(&request, "a reply, but the connection was closed", &self.came)),
                count => self.came.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// Sends a command whose reply must be this.
    ///
    /// # Errors
    /// When it is another, or the connection breaks.
    pub fn expect(&mut self, args: &[&[u8]], reply: &[u8]) -> Result<()> {
        let came = self.call(args)?;
        if came == reply {
            return Ok(());
        }
        Err(wrong(&args.join(&b' '), &reply.escape_ascii().to_string(), &came))
    }

    /// The text of a bulk or status reply. `None` for another one.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn text(&mut self, args: &[&[u8]]) -> Result<Option<String>> {
        let reply = String::from_utf8_lossy(&self.call(args)?).into_owned();
        let text = match reply.as_bytes().first() {
            Some(b'$') => reply.split_once("\r\n").and_then(|(_, text)| text.strip_suffix("\r\n")),
            Some(b'+') => reply[1..].strip_suffix("\r\n"),
            _ => None,
        };
        Ok(text.map(str::to_string))
    }
}

fn wrong(sent: &[u8], expected: &str, came: &[u8]) -> Error {
    Error::Reply(Box::new(WrongReply {
        sent: sent.to_vec(),
        expected: expected.to_string(),
        came: came.to_vec(),
    }))
}
