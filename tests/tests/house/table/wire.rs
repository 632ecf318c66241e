//! A connection that reads sets of any elements. In RESP3, the history of a command is a set of lists, which the crate
//! that decodes replies elsewhere refuses.

use lockwheel_tests::client::{Protocol, encode};
use lockwheel_tests::reply::Reply;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection to a server that is trusted to speak the protocol.
pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn connect(address: SocketAddr, protocol: Protocol) -> Wire {
        let mut wire = Wire(BufReader::new(TcpStream::connect(address).expect("a server listens")));
        if protocol == Protocol::Resp3 {
            wire.line("HELLO 3");
        }
        wire
    }

    /// Sends the words of a line and reads the reply.
    pub(crate) fn line(&mut self, line: &str) -> Reply {
        self.cmd(&line.split(' ').collect::<Vec<_>>())
    }

    /// Sends a command and reads the reply.
    pub(crate) fn cmd<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Reply {
        self.0.get_mut().write_all(&encode(arguments)).expect("the server reads");
        self.read()
    }

    fn read(&mut self) -> Reply {
        let mut header = String::new();
        self.0.read_line(&mut header).expect("a reply comes");
        let (sign, rest) = header.trim_end().split_at_checked(1).expect("a reply has a type");
        let number = || rest.parse::<i64>().expect("a number");
        let len = || usize::try_from(number()).ok();
        match sign {
            "+" => Reply::Status(rest.as_bytes().to_vec()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Int(number()),
            "_" => Reply::Null,
            "$" => len().map_or(Reply::Null, |len| Reply::Bulk(self.bulk(len))),
            "*" => len().map_or(Reply::Null, |len| Reply::Array(self.elements(len))),
            "~" => Reply::Set(self.elements(len().expect("a length"))),
            "%" => {
                let pairs = 0..len().expect("a length");
                Reply::Map(pairs.map(|_| (self.read(), self.read())).collect())
            }
            _ => panic!("a reply of this kind is not expected: {header}"),
        }
    }

    fn bulk(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len + 2];
        self.0.read_exact(&mut bytes).expect("the rest of the reply comes");
        bytes.truncate(len);
        bytes
    }

    fn elements(&mut self, len: usize) -> Vec<Reply> {
        (0..len).map(|_| self.read()).collect()
    }
}
