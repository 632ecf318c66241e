//! A server broken on purpose: a proxy between a client and a sound server that spoils one mechanism.
//!
//! A client's test is worth something only if it fails when the server is wrong. The switch that makes the server wrong
//! lives here, so that the product has none.

use crate::client::encode;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The most bytes that one read of a socket takes.
const READ_BYTES: usize = 64 * 1024;

/// The line put before a script. With it, a nil reply of Redis is nil in Lua instead of `false`.
const NIL_FOR_FALSE: &[u8] = b"local redis=(function(sound) \
    local function spoilt(value) if value==false then return nil end return value end \
    return setmetatable({call=function(...) return spoilt(sound.call(...)) end,\
    pcall=function(...) return spoilt(sound.pcall(...)) end},{__index=sound}) end)(redis) ";

/// The mechanism that does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No published message reaches a subscriber; everything else about pub/sub works.
    LosePublish,
    /// In scripts, a nil reply is Lua's nil instead of `false`.
    NilForFalse,
}

/// A running proxy on a loopback port of its own. Dropping it closes its connections and ends its threads.
#[derive(Debug)]
pub struct BrokenServer {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// The state that the threads of a proxy share.
#[derive(Debug)]
struct Shared {
    fault: Fault,
    stopped: AtomicBool,
    spoilt: AtomicU64,
    /// The SHA-1 by which the client knows a script, and the one by which the server knows it.
    scripts: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    /// Both sockets of every connection, kept so that they can be closed in the end.
    sockets: Mutex<Vec<TcpStream>>,
}

impl BrokenServer {
    /// Starts a proxy in front of a sound server.
    ///
    /// # Panics
    /// Panics if the loopback interface has no free port.
    pub fn start(sound: SocketAddr, fault: Fault) -> BrokenServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let shared = Arc::new(Shared {
            fault,
            stopped: AtomicBool::new(false),
            spoilt: AtomicU64::new(0),
            scripts: Mutex::default(),
            sockets: Mutex::default(),
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, sound, &shared)
        });
        BrokenServer { port, shared, acceptor: Some(acceptor) }
    }

    /// The TCP port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns how often the fault has struck: the number of messages lost, or of scripts rewritten.
    pub fn spoilt(&self) -> u64 {
        self.shared.spoilt.load(Ordering::Relaxed)
    }
}

impl Drop for BrokenServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread. If the connection fails, there is no such thread.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for socket in locked(&self.shared.sockets).iter() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// The contents. The panic of another thread does not make them invalid.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts connections until told to stop.
fn accept(listener: &TcpListener, sound: SocketAddr, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        // The client notices a failed connection by itself.
        let _ = client.and_then(|client| join_up(client, sound, shared));
    }
}

/// Connects a client to the sound server, with a thread for each direction.
fn join_up(client: TcpStream, sound: SocketAddr, shared: &Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(sound)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    locked(&shared.sockets).extend([client.try_clone()?, server.try_clone()?]);
    let subscribed = Arc::new(AtomicBool::new(false));
    let (from_client, to_client) = (client.try_clone()?, client);
    let (from_server, to_server) = (server.try_clone()?, server);
    thread::spawn({
        let (shared, subscribed) = (Arc::clone(shared), Arc::clone(&subscribed));
        move || pump(from_client, to_server, |frame| shared.request(frame, &subscribed))
    });
    let shared = Arc::clone(shared);
    thread::spawn(move || pump(from_server, to_client, |frame| shared.reply(frame, &subscribed)));
    Ok(())
}

/// Carries frames in one direction until a side closes, then closes both. Sends the result of the change instead of the
/// frame.
fn pump(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&[u8]) -> Vec<u8>) {
    let mut received = Vec::new();
    let mut chunk = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        received.extend_from_slice(&chunk[..count]);
        let mut sent = Vec::new();
        let mut start = 0;
        while let Some(length) = frame_length(&received[start..]) {
            sent.extend(change(&received[start..start + length]));
            start += length;
        }
        received.drain(..start);
        if to.write_all(&sent).is_err() {
            break;
        }
    }
    // Either side may be closed already.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

impl Shared {
    /// A request as the sound server gets it.
    fn request(&self, frame: &[u8], subscribed: &AtomicBool) -> Vec<u8> {
        let Some(mut arguments) = bulk_strings(frame) else { return frame.to_vec() };
        let name = arguments[0].to_ascii_uppercase();
        match self.fault {
            Fault::LosePublish => {
                if matches!(name.as_slice(), b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE") {
                    subscribed.store(true, Ordering::SeqCst);
                }
                frame.to_vec()
            }
            Fault::NilForFalse if self.spoil_script(&name, &mut arguments) => encode(&arguments),
            Fault::NilForFalse => frame.to_vec(),
        }
    }

    /// Changes the script, or the SHA-1, that a command names. Returns false if it names none.
    fn spoil_script(&self, name: &[u8], arguments: &mut [Vec<u8>]) -> bool {
        let subcommand = arguments.get(1).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        match (name, subcommand.as_slice()) {
            (b"EVAL" | b"EVAL_RO", _) if arguments.len() > 1 => self.spoil_text(&mut arguments[1]),
            (b"EVALSHA" | b"EVALSHA_RO", _) if arguments.len() > 1 => self.spoil_sha(&mut arguments[1]),
            (b"SCRIPT", b"LOAD") if arguments.len() > 2 => self.spoil_text(&mut arguments[2]),
            (b"SCRIPT", b"EXISTS") => arguments[2..].iter_mut().for_each(|sha| self.spoil_sha(sha)),
            _ => return false,
        }
        true
    }

    fn spoil_text(&self, text: &mut Vec<u8>) {
        let spoilt = [NIL_FOR_FALSE, text.as_slice()].concat();
        locked(&self.scripts).insert(sha1(text), sha1(&spoilt));
        self.spoilt.fetch_add(1, Ordering::Relaxed);
        *text = spoilt;
    }

    fn spoil_sha(&self, sha: &mut Vec<u8>) {
        if let Some(spoilt) = locked(&self.scripts).get(&sha.to_ascii_lowercase()) {
            self.spoilt.fetch_add(1, Ordering::Relaxed);
            *sha = spoilt.clone();
        }
    }

    /// Converts a reply of the sound server to the one that the client gets.
    fn reply(&self, frame: &[u8], subscribed: &AtomicBool) -> Vec<u8> {
        match self.fault {
            Fault::LosePublish if subscribed.load(Ordering::SeqCst) && is_message(frame) => {
                self.spoilt.fetch_add(1, Ordering::Relaxed);
                Vec::new()
            }
            Fault::LosePublish => frame.to_vec(),
            Fault::NilForFalse => self.own_sha(frame),
        }
    }

    /// SCRIPT LOAD answers with the SHA-1 of the loaded script; the client must see the SHA-1 of the script that it
    /// sent.
    fn own_sha(&self, frame: &[u8]) -> Vec<u8> {
        let text = frame.strip_prefix(b"$40\r\n").and_then(|rest| rest.strip_suffix(b"\r\n"));
        let scripts = locked(&self.scripts);
        match text.and_then(|sha| scripts.iter().find(|(_, spoilt)| spoilt.as_slice() == sha)) {
            Some((own, _)) => [b"$40\r\n", own.as_slice(), b"\r\n"].concat(),
            None => frame.to_vec(),
        }
    }
}

/// A script's SHA-1 as Redis writes it: 40 lower-case hexadecimal digits.
fn sha1(text: &[u8]) -> Vec<u8> {
    sha1_smol::Sha1::from(text).digest().to_string().into_bytes()
}

/// Whether a frame to a subscriber is a published message.
fn is_message(frame: &[u8]) -> bool {
    let kind = frame.first().filter(|kind| matches!(kind, b'*' | b'>'));
    let first = kind.and_then(|_| frame.iter().position(|byte| *byte == b'\n')).map(|end| &frame[end + 1..]);
    first.is_some_and(|first| {
        [b"$7\r\nmessage\r\n".as_slice(), b"$8\r\npmessage\r\n", b"$8\r\nsmessage\r\n"]
            .iter()
            .any(|start| first.starts_with(start))
    })
}

/// The arguments of a request, if it is a non-empty array of bulk strings.
fn bulk_strings(frame: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (count, mut at) = header(frame, b'*')?;
    let mut arguments = Vec::new();
    for _ in 0..count {
        let (length, start) = header(&frame[at..], b'$')?;
        let bytes = frame.get(at + start..at + start + length)?;
        arguments.push(bytes.to_vec());
        at += start + length + 2;
    }
    (!arguments.is_empty()).then_some(arguments)
}

/// The number in a header of this kind, and the offset at which the header ends.
fn header(bytes: &[u8], kind: u8) -> Option<(usize, usize)> {
    let (number, end) = line_number(bytes)?;
    (bytes[0] == kind).then_some(())?;
    Some((usize::try_from(number).ok()?, end))
}

/// The number behind the first byte of a line (0 if there is none), and the offset at which the line ends. Returns
/// `None` if the line is not complete.
fn line_number(bytes: &[u8]) -> Option<(i64, usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let digits = std::str::from_utf8(bytes.get(1..end)?).unwrap_or_default();
    Some((digits.trim_end().parse().unwrap_or(0), end + 1))
}

/// The length of the first complete frame, of RESP2 or RESP3, or of an inline command. Returns `None` if there is none.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut pending: u64 = 1;
    while pending > 0 {
        let (number, end) = line_number(bytes.get(at..)?)?;
        let items = u64::try_from(number).unwrap_or(0);
        pending -= 1;
        at += match bytes[at] {
            b'$' | b'!' | b'=' if number >= 0 => end + usize::try_from(items).ok()? + 2,
            kind => {
                pending += match kind {
                    b'*' | b'~' | b'>' => items,
                    b'%' => 2 * items,
                    // Attributes precede the value that they describe.
                    b'|' => 2 * items + 1,
                    _ => 0,
                };
                end
            }
        };
    }
    (at <= bytes.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::redis_server::{Kind, RealServer};

    #[test]
    fn a_frame_is_complete_only_with_its_last_byte() {
        let frames: [&[u8]; 8] = [
            b"+OK\r\n",
            b":12\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"PING\r\n",
            b"*2\r\n$3\r\na\r\n\r\n*1\r\n:1\r\n",
            b">2\r\n+message\r\n%1\r\n+k\r\n~1\r\n$1\r\nv\r\n",
            b"|1\r\n+ttl\r\n:9\r\n_\r\n",
        ];
        for frame in frames {
            let followed = [frame, b"+next\r\n"].concat();
            assert_eq!(frame_length(&followed), Some(frame.len()), "{}", frame.escape_ascii());
            for cut in 0..frame.len() {
                assert_eq!(frame_length(&frame[..cut]), None, "{}", frame[..cut].escape_ascii());
            }
        }
    }

    #[test]
    fn only_messages_to_subscribers_are_messages() {
        for frame in [
            b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n".as_slice(),
            b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$1\r\nm\r\n",
        ] {
            assert!(is_message(frame));
        }
        for frame in
            [b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n".as_slice(), b"$7\r\nmessage\r\n", b":1\r\n"]
        {
            assert!(!is_message(frame));
        }
    }

    fn real_behind(fault: Fault) -> Option<(RealServer, BrokenServer)> {
        let real = RealServer::start(Kind::Redis, &[])?;
        let broken = BrokenServer::start(real.addr(), fault);
        Some((real, broken))
    }

    #[test]
    fn only_published_messages_are_lost() {
        let Some((real, broken)) = real_behind(Fault::LosePublish) else { return };
        let mut subscriber = Client::connect((Ipv4Addr::LOCALHOST, broken.port()));
        let mut sound = Client::connect(real.addr());
        assert_eq!(subscriber.cmd(&["SUBSCRIBE", "c"]).to_string(), r#"["subscribe", "c", :1]"#);
        assert_eq!(sound.cmd(&["PUBLISH", "c", "m"]).to_string(), ":1");
        assert_eq!(subscriber.cmd(&["PING"]).to_string(), r#"["pong", ""]"#);
        assert_eq!(broken.spoilt(), 1);
    }

    #[test]
    fn nil_is_nil_in_scripts_that_are_known_by_their_own_sha() {
        let Some((_real, broken)) = real_behind(Fault::NilForFalse) else { return };
        let mut client = Client::connect((Ipv4Addr::LOCALHOST, broken.port()));
        let text = "return tostring(redis.call('get', KEYS[1])) .. redis.sha1hex('')";
        let sha = String::from_utf8(sha1(text.as_bytes())).unwrap();
        let expected = r#""nilda39a3ee5e6b4b0d3255bfef95601890afd80709""#;
        assert_eq!(client.cmd(&["EVAL", text, "1", "k"]).to_string(), expected);
        assert_eq!(client.cmd(&["SCRIPT", "LOAD", text]).to_string(), format!("{sha:?}"));
        assert_eq!(client.cmd(&["SCRIPT", "EXISTS", &sha]).to_string(), "[:1]");
        assert_eq!(client.cmd(&["EVALSHA", &sha, "1", "k"]).to_string(), expected);
        assert_eq!(client.cmd(&["EVALSHA_RO", &sha, "1", "k"]).to_string(), expected);
        assert_eq!(broken.spoilt(), 5);
        assert_eq!(client.cmd(&["GET", "k"]).to_string(), "(nil)");
    }

    #[test]
    fn the_proxy_ends_when_it_is_dropped() {
        let Some((_real, broken)) = real_behind(Fault::LosePublish) else { return };
        let shared = Arc::downgrade(&broken.shared);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, broken.port())).unwrap();
        stream.write_all(b"PING\r\n").unwrap();
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+PONG\r\n");
        drop(broken);
        assert_eq!(stream.read(&mut answer).unwrap_or(0), 0);
        // The proxy's threads have ended, and the listener with the accepting thread. Another process may have its port
        // by now.
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
