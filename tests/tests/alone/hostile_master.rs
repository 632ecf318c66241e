//! Masters that announce data which they never send: a replica allocates memory only for received data. The test runs
//! in its own process, whose memory is measured.

use lockwheel_tests::client::Client;
use lockwheel_tests::{ours, own_process};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// The bytes that a fake master sends: after the handshake, instead of a snapshot and a stream.
type Script<'a> = &'a [&'a [u8]];

const FULL: &[u8] = b"+FULLRESYNC 0123456789012345678901234567890123456789 0\r\n";

/// Files of Redis' format that hold only the beginning of a key.
fn file(body: &[u8]) -> Vec<u8> {
    [b"REDIS0010".as_slice(), body].concat()
}

/// A length in eight bytes.
fn length(bytes: u64) -> Vec<u8> {
    [vec![0x81], bytes.to_be_bytes().to_vec()].concat()
}

/// The beginning of a value, behind its type and its key.
fn value(kind: u8, rest: &[u8]) -> Vec<u8> {
    file(&[&[kind, 1, b'k'], rest].concat())
}

/// Snapshots with lengths that no data follow.
fn snapshots() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for huge in [1 << 33, 1 << 40, (1 << 62) - 1, u64::MAX] {
        let long = length(huge);
        // Strings, lists, sets, sorted sets, hashes, packed values and streams all begin with a length.
        for kind in [0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 24, 25] {
            all.push(value(kind, &long));
            // Nested lengths: the number of elements, and the length of the first one.
            all.push(value(kind, &[&[3], long.as_slice()].concat()));
            all.push(value(kind, &[long.as_slice(), &[3, b'a', b'b', b'c'], &long].concat()));
        }
        // Compressed data: the uncompressed length is announced too.
        all.push(value(0, &[&[0xc3, 3], long.as_slice(), b"abc"].concat()));
        all.push(value(0, &[&[0xc3], long.as_slice(), &long].concat()));
        // Numbers of keys, fields of the head, functions.
        all.push(file(&[&[0xfb], long.as_slice(), &long, &[0xff]].concat()));
        all.push(file(&[&[0xfa], long.as_slice()].concat()));
        all.push(file(&[&[0xf5], long.as_slice()].concat()));
        all.push(file(&[&[0xfe], long.as_slice()].concat()));
    }
    all
}

/// Runs a master on this port that sends a replica one script, and closes the connection at the end.
fn play(listener: &TcpListener, script: Script<'_>) {
    let (stream, _) = listener.accept().expect("a replica comes");
    let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    let mut stream = stream;
    answer_until_psync(&mut lines, &mut stream);
    // A replica that gives up closes its end: the rest need not be sent.
    for part in script {
        if stream.write_all(part).is_err() {
            return;
        }
    }
    let _gone = stream.shutdown(std::net::Shutdown::Write);
    // The replica reads to the end, and closes.
    lines.map_while(Result::ok).for_each(drop);
}

fn answer_until_psync(lines: &mut impl Iterator<Item = std::io::Result<String>>, stream: &mut TcpStream) {
    while let Some(Ok(line)) = lines.next() {
        let answer = match line.to_ascii_uppercase().as_str() {
            "PING" => "+PONG\r\n",
            "REPLCONF" => "+OK\r\n",
            "PSYNC" => return,
            _ => continue,
        };
        stream.write_all(answer.as_bytes()).expect("it reads");
    }
}

/// The peak memory of this process, in bytes.
fn peak(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("there is such a line");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

/// Waits until a replica has received a whole script and has lost its master then.
fn follow(client: &mut Client, script: Script<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it listens").port();
    assert_eq!(client.line("REPLICAOF NO ONE").to_string(), "+OK");
    assert_eq!(client.line(&format!("REPLICAOF 127.0.0.1 {port}")).to_string(), "+OK");
    play(&listener, script);
    let state = |client: &mut Client| client.line("INFO replication").to_string();
    while !state(client).contains("master_link_status:down") {}
}

#[test]
#[cfg(target_os = "linux")]
fn memory_grows_with_received_and_not_with_announced_data() {
    /// The most memory that a process may use for a few received megabytes.
    const MAX_BYTES: usize = 64 << 20;
    if !own_process::is_of("hostile_master::memory_grows_with_received_and_not_with_announced_data") {
        return;
    }
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    assert_eq!(client.line("SET kept v").to_string(), "+OK");
    let (resident, reserved) = (peak("VmHWM:"), peak("VmPeak:"));
    let megabyte = vec![b'x'; 1 << 20];
    let mut scripts: Vec<Vec<Vec<u8>>> = vec![
        // No line ever ends.
        vec![megabyte.clone(), megabyte.clone()],
        vec![FULL.to_vec(), megabyte.clone()],
        vec![FULL.to_vec(), b"$9223372036854775807\r\n".to_vec(), megabyte.clone()],
        vec![FULL.to_vec(), b"$99999999999999999999999\r\n".to_vec()],
        vec![FULL.to_vec(), b"$-1\r\n".to_vec()],
        vec![b"+FULLRESYNC 0123456789012345678901234567890123456789 9223372036854775807\r\n".to_vec()],
        vec![FULL.to_vec(), b"$EOF:0123456789012345678901234567890123456789\r\n".to_vec(), megabyte.clone()],
    ];
    for snapshot in snapshots() {
        let announced = format!("${}\r\n", snapshot.len()).into_bytes();
        scripts.push(vec![FULL.to_vec(), announced, snapshot]);
    }
    for script in &scripts {
        let parts: Vec<&[u8]> = script.iter().map(Vec::as_slice).collect();
        follow(&mut client, &parts);
        assert_eq!(
            client.line("GET kept").to_string(),
            "\"v\"",
            "{:?}",
            script.last().map(|last| last.escape_ascii().to_string())
        );
    }
    // The stream behind an empty snapshot.
    let empty = [file(&[0xff]), vec![0; 8]].concat();
    let announced = format!("${}\r\n", empty.len()).into_bytes();
    for stream in [
        b"*2147483647\r\n$3\r\nSET\r\n".as_slice(),
        b"*9223372036854775807\r\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9223372036854775807\r\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1099511627776\r\nabc",
        b"*4\r\n$8\r\nSETRANGE\r\n$1\r\nk\r\n$12\r\n999999999999\r\n$1\r\nx\r\n",
        b"*4\r\n$6\r\nSETBIT\r\n$1\r\nk\r\n$12\r\n999999999999\r\n$1\r\n1\r\n",
    ] {
        follow(&mut client, &[FULL, &announced, &empty, stream, &megabyte]);
    }
    let (most, most_reserved) = (peak("VmHWM:"), peak("VmPeak:"));
    assert!(most < resident + MAX_BYTES, "{resident} bytes before, {most} at most");
    assert!(
        most_reserved < reserved + 16 * MAX_BYTES,
        "{reserved} bytes reserved before, {most_reserved} at most"
    );
    assert_eq!(client.line("REPLICAOF NO ONE").to_string(), "+OK");
    assert_eq!(client.line("SET kept w").to_string(), "+OK");
}
