//! Connections over TLS: requests, attacks, certificates, parameters, real clients, and the program over TLS alone.

mod alone;
mod attacks;
mod certificates;
mod parameters;
mod programs;
mod requests;

use lockwheel::{Server, Time, TlsParameters};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::tls::{Certificates, address, stream};
use std::io::{Read, Write};

/// A server for clients over TLS alone, whose time moves only when told.
fn server(tls: TlsParameters, threads: usize) -> Server {
    let builder = Server::builder().port(0).tls(tls).threads(threads).seed(ours::SEED).time(Time::Manual);
    builder.start().expect("loopback has a free port")
}

/// A client that shows the certificate of this name, if any.
fn client(server: &Server, certificates: &Certificates, identity: Option<&str>) -> Client {
    Client::over(stream(address(server), certificates.client_config(identity, rustls::ALL_VERSIONS)))
}

/// Returns a server's answer to PING over a new connection. Returns `None` if the server refuses the connection.
fn ping(server: &Server, config: rustls::ClientConfig) -> Option<String> {
    let mut stream = stream(address(server), config);
    let mut answer = [0; 7];
    let asked = stream.write_all(b"PING\r\n").and_then(|()| stream.read_exact(&mut answer));
    asked.is_ok().then(|| String::from_utf8_lossy(&answer).into_owned())
}
