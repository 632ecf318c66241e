//! The leases that the history records.

use crate::history::fixture::Server;
use crate::history::verify::found;

fn leases(server: &mut Server) -> Vec<String> {
    server.entry_lines(&["owner", "ttl"])
}

#[test]
fn a_lease_that_is_transferred_is_the_one_that_was_set() {
    let mut server = Server::new();
    server.ask("LOCK.ACQUIRE l a PX 60000");
    server.ask("LOCK.TRANSFER l a b PX 1000");
    assert_eq!(leases(&mut server), ["acquired a 60000", "transferred a null", "acquired b 1000"]);
    server.ask("CLOCK.STEP -50000");
    assert_eq!(found(&mut server), ["violated", "violation no-eternal-lock"]);
}

#[test]
fn each_reader_has_its_own_lease_in_the_history() {
    let mut server = Server::new();
    server.ask("LOCK.ACQUIRE l a SHARED PX 20000");
    server.ask("LOCK.ACQUIRE l b SHARED PX 1000");
    server.ask("LOCK.RENEW 1 l b PX 100");
    server.ask("LOCK.RELEASE l b");
    server.ask("LOCK.ACQUIRE k a EXCLUSIVE PX 9000");
    server.ask("LOCK.CONVERT k a SHARED PX 100");
    let told = leases(&mut server);
    assert_eq!(told[..3], ["acquired a 20000", "acquired b 1000", "renewed b 100"]);
    assert_eq!(told[4..], ["acquired a:write 9000", "converted a 100"]);
}

/// The lease of the lock is that of its other readers.
#[test]
fn the_end_of_a_readers_lease_is_no_renewal() {
    let mut server = Server::new();
    server.ask("LOCK.ACQUIRE l a SHARED PX 1000");
    server.ask("LOCK.ACQUIRE l b SHARED PX 8000");
    server.advance(1000);
    let told = server.entry_lines(&["owner"]);
    assert!(!told.iter().any(|line| line.starts_with("renewed")), "{told:?}");
}

/// A hold that lasts as long as a connection is eternal only if the connection is.
#[test]
fn a_hold_with_a_session_is_not_eternal() {
    let mut server = Server::new();
    let holder = server.client();
    server.send(holder, "LOCK.ACQUIRE l a SESSION");
    server.ask("PERSIST l");
    assert_eq!(found(&mut server), ["ok"]);
    server.ask("CLOCK.STEP -100000");
    assert_eq!(found(&mut server), ["ok"]);
    server.ask("LOCK.ACQUIRE k a PX 1000");
    server.ask("PERSIST k");
    assert_eq!(found(&mut server), ["violated", "violation no-eternal-lock"]);
}

/// Nobody sees the states between the commands of a transaction.
#[test]
fn a_transaction_takes_a_lock_and_sets_its_lease_at_once() {
    for (lines, told, verdict) in [
        (&["MULTI", "HSET o:1 a 1", "PEXPIRE o:1 1000", "EXEC"][..], &["acquired a 1000"][..], "ok"),
        (
            &["MULTI", "HSET o:1 mode read a 1 b 1", "SET k v", "PEXPIRE o:1 9", "PEXPIRE o:1 8", "EXEC"],
            &["acquired a 9", "acquired b 9"],
            "ok",
        ),
        (
            &["MULTI", "HSET o:1 a 1", "EXEC", "MULTI", "PEXPIRE o:1 1000", "EXEC"],
            &["acquired a null", "renewed a 1000"],
            "lint bare-habits",
        ),
        (&["HSET o:1 a 1", "PEXPIRE o:1 1000"], &["acquired a null", "renewed a 1000"], "lint bare-habits"),
    ] {
        let mut server = Server::new();
        server.ask("LOCK.OBSERVE o:*");
        for line in lines {
            server.ask(line);
        }
        assert_eq!(leases(&mut server), told, "{lines:?}");
        assert_eq!(found(&mut server).last().map(String::as_str), Some(verdict), "{lines:?}");
    }
}
