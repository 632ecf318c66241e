//! DEBUG and SHUTDOWN in a topology: they end or restart the requested server, and never its process.

use crate::topology::manual;
use crate::topology::sentinels::text;
use lockwheel_tests::client::Client;

#[test]
fn a_crash_ends_only_one_server() {
    for line in ["DEBUG SEGFAULT", "DEBUG PANIC", "DEBUG ASSERT", "DEBUG OOM", "SHUTDOWN NOSAVE"] {
        let (topology, mut clients) = manual();
        clients[0].send_line(line);
        assert_eq!(clients[0].read_to_close(), b"", "{line}");
        while !text(&mut clients[1], "INFO replication").contains("master_link_status:down") {}
        // The server no longer listens.
        while std::net::TcpStream::connect(topology.servers()[0].addr()).is_ok() {}
        assert_eq!(text(&mut clients[1], "REPLICAOF NO ONE"), "+OK");
        assert_eq!(text(&mut clients[1], "SET k v"), "+OK");
    }
}

#[test]
fn a_restart_affects_only_one_server() {
    for line in ["DEBUG RESTART", "DEBUG CRASH-AND-RECOVER 500"] {
        let (topology, mut clients) = manual();
        text(&mut clients[0], "SET k v");
        let mut other = Client::connect(topology.servers()[1].addr());
        assert_eq!(text(&mut other, "PING"), "+PONG");
        clients[1].send_line(line);
        assert_eq!(clients[1].read_to_close(), b"", "{line}");
        assert_eq!(other.read_to_close(), b"", "{line}");
        text(&mut clients[0], "CLOCK.ADVANCE 500");
        let mut back = Client::connect(topology.servers()[1].addr());
        assert_eq!(text(&mut back, "GET k"), "\"v\"", "its master has it");
        clients[0].send_line(line);
        assert_eq!(clients[0].read_to_close(), b"", "{line}");
        text(&mut clients[2], "CLOCK.ADVANCE 500");
        assert_eq!(text(&mut Client::connect(topology.servers()[0].addr()), "DBSIZE"), ":0", "{line}");
    }
}
