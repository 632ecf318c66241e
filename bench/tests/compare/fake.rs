//! A fake server with the replies of a test.

use lockwheel_resp::{Batch, RequestLimits, RequestParser};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A function that returns the reply to a command, by the command's name.
type Answer = Arc<Mutex<dyn FnMut(&[u8]) -> Vec<u8> + Send>>;

/// A listener whose threads end with the test's process.
pub(crate) struct Fake {
    addr: SocketAddr,
}

impl Fake {
    /// Starts a server with these replies.
    pub(crate) fn start(answer: impl FnMut(&[u8]) -> Vec<u8> + Send + 'static) -> Fake {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let addr = listener.local_addr().expect("a listener has an address");
        let answer: Answer = Arc::new(Mutex::new(answer));
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(socket, &answer));
            }
        });
        Fake { addr }
    }

    /// Returns the address of the server.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Returns the replies of a real server to the requests before a measurement.
pub(crate) fn usual(command: &[u8]) -> Vec<u8> {
    match command {
        b"DBSIZE" => b":0\r\n".to_vec(),
        b"INFO" => b"$22\r\nredis_version:7.0.15\r\n\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    }
}

fn serve(mut socket: TcpStream, answer: &Answer) {
    let (mut came, mut piece) = (Vec::new(), [0; 4096]);
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    loop {
        let Ok(count) = socket.read(&mut piece) else { return };
        if count == 0 {
            return;
        }
        came.extend_from_slice(&piece[..count]);
        while parser.parse(&came, &RequestLimits::default(), &mut batch).is_ok() && !batch.is_empty() {
            for i in 0..batch.len() {
                let name = batch.arguments(i, &came).next().unwrap_or_default();
                let reply = (answer.lock().expect("no answer panics but to fail its test"))(name);
                if socket.write_all(&reply).is_err() {
                    return;
                }
            }
            came.drain(..batch.consumed());
        }
    }
}
