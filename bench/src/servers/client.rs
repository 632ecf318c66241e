//! A blocking connection for requests that are not measured: loading scripts, FLUSHALL, INFO.

use crate::error::{Error, Result, WrongReply};
use crate::incoming::{Incoming, Received};
use lockwheel_resp::{Value, write_request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time for one command after which a server counts as dead. FLUSHALL of ten million keys takes longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// One blocking connection.
pub struct Client {
    socket: TcpStream,
    incoming: Incoming,
}

impl Client {
    /// Connects to a server.
    ///
    /// # Errors
    /// Returns an error if no server listens.
    pub fn connect(addr: SocketAddr) -> Result<Client> {
        let socket = TcpStream::connect(addr).map_err(Error::io(format!("connect to {addr}")))?;
        socket.set_nodelay(true).map_err(Error::io("set an option of a socket"))?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(Error::io("set an option of a socket"))?;
        Ok(Client { socket, incoming: Incoming::default() })
    }

    /// Sends a command and returns its reply, as on the wire.
    ///
    /// # Errors
    /// Returns an error if the connection breaks, or if the bytes are no reply. An error reply is a reply.
    pub fn call(&mut self, args: &[&[u8]]) -> Result<Vec<u8>> {
        self.receive(args, |reply| reply.bytes.to_vec())
    }

    fn receive<T>(&mut self, args: &[&[u8]], read: impl FnOnce(Received<'_>) -> T) -> Result<T> {
        let mut request = Vec::new();
        write_request(args, &mut request);
        self.socket.write_all(&request).map_err(Error::io("write to a server"))?;
        let mut piece = [0; 16 * 1024];
        loop {
            match self.incoming.take() {
                Ok(Some(reply)) => return Ok(read(reply)),
                Err(_) => return Err(wrong(&request, "a reply", self.incoming.rest())),
                Ok(None) => {}
            }
            match self.socket.read(&mut piece).map_err(Error::io("read from a server"))? {
                0 => {
                    let expected = "a reply, but the connection was closed";
                    return Err(wrong(&request, expected, self.incoming.rest()));
                }
                count => self.incoming.append(&piece[..count]),
            }
        }
    }

    /// Sends a command and checks that its reply is this one.
    ///
    /// # Errors
    /// Returns an error if the reply differs, or if the connection breaks.
    pub fn expect(&mut self, args: &[&[u8]], reply: &[u8]) -> Result<()> {
        let came = self.call(args)?;
        if came == reply {
            return Ok(());
        }
        Err(wrong(&args.join(&b' '), &reply.escape_ascii().to_string(), &came))
    }

    /// Sends a command and returns the text of its bulk or status reply. Returns `None` for any other reply.
    ///
    /// # Errors
    /// Returns an error if the connection breaks.
    pub fn text(&mut self, args: &[&[u8]]) -> Result<Option<String>> {
        self.receive(args, |reply| match reply.value {
            Value::Simple(text) | Value::Bulk(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })
    }
}

fn wrong(sent: &[u8], expected: &str, came: &[u8]) -> Error {
    Error::Reply(Box::new(WrongReply {
        sent: sent.to_vec(),
        expected: expected.to_string(),
        came: came.to_vec(),
    }))
}
