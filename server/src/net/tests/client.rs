//! A minimal client that sends lines and reads bytes.

use socket2::SockRef;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(super) struct Client(TcpStream);

impl Client {
    pub(super) fn connect(server: &super::Server) -> Self {
        let stream = TcpStream::connect(server.addr()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("the time is not zero");
        Client(stream)
    }

    pub(super) fn send(&mut self, line: &str) {
        self.0.write_all(format!("{line}\r\n").as_bytes()).expect("the server is there");
    }

    /// Sends a line to a server that may have closed the connection.
    pub(super) fn try_send(&mut self, line: &str) {
        let _closed = self.0.write_all(format!("{line}\r\n").as_bytes());
    }

    /// Reads the next line; empty at the end of the connection.
    pub(super) fn line(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\r\n") && self.0.read(&mut byte).is_ok_and(|read| read == 1) {
            line.push(byte[0]);
        }
        String::from_utf8_lossy(&line).trim_end().to_owned()
    }

    pub(super) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.line()
    }

    /// Waits until the server reports that a script is slow.
    pub(super) fn until_busy(&mut self) {
        while !self.ask("PING").starts_with("-BUSY") {}
    }

    pub(super) fn reset(self) {
        SockRef::from(&self.0).set_linger(Some(Duration::ZERO)).expect("a TCP socket has this option");
    }
}
