//! The history in the form of a Jepsen test, checked by other programs: correct histories are legal, broken ones are
//! not.

use crate::history::fixture::{A, B, Server};
use crate::history::judging::{Judges, Verdict};
use lockwheel_tests::rng::Rng;

/// The number of random histories, each from its own seed: `LOCKWHEEL_HISTORIES`.
fn histories() -> u64 {
    std::env::var("LOCKWHEEL_HISTORIES").map_or(4, |count| count.parse().expect("a number"))
}

/// A waiting client sends nothing meanwhile.
struct Client {
    id: u64,
    waits: bool,
}

/// Random clients on two locks, a read-write lock, a fair lock and a semaphore, on a manual clock.
fn random_history(seed: u64) -> String {
    let (mut server, mut rng) = (Server::new(), Rng::new(seed));
    let mut clients: Vec<Client> = (0..5).map(|_| Client { id: server.client(), waits: false }).collect();
    server.send(clients[0].id, "SEM.INIT s 3");
    for _ in 0..250 {
        let at = rng.below(clients.len());
        if !clients[at].waits {
            let owner = *rng.pick(&["a", "b", "c"]);
            let line = step(&mut rng, owner);
            let reply = server.send(clients[at].id, &line);
            clients[at].waits = reply.is_empty();
        } else if rng.chance(5) {
            server.simulation.close(clients[at].id);
            server.simulation.notice();
            clients[at] = Client { id: server.client(), waits: false };
        }
        for client in &mut clients {
            client.waits &= server.simulation.read(client.id).is_empty();
        }
    }
    server.edn()
}

/// Generates a client's next request.
fn step(rng: &mut Rng, owner: &str) -> String {
    let block = *rng.pick(&["", " BLOCK 0", " BLOCK 40"]);
    let lock = *rng.pick(&["l", "m"]);
    match rng.below(14) {
        0..3 => format!("LOCK.ACQUIRE {lock} {owner} PX 100{block}"),
        3..5 => format!("LOCK.RELEASE {lock} {owner}"),
        5 => format!("LOCK.ACQUIRE fair {owner} FAIR PX 100{block}"),
        6 => format!("LOCK.RELEASE fair {owner}"),
        7 => format!("SET text {owner} NX PX 50"),
        8 => format!("EVAL \"{}\" 1 text {owner}", crate::history::fixture::COMPARE_AND_DELETE),
        9 => format!("SEM.ACQUIRE s {owner} PERMITS {} PX 60{block}", 1 + rng.below(2)),
        10 => format!("SEM.RELEASE s {owner}"),
        11 => format!("LOCK.RENEW 1 {lock} {owner} PX 100"),
        12 => format!("LOCK.FORCEUNLOCK {lock}"),
        _ => "CLOCK.ADVANCE 30".to_owned(),
    }
}

#[test]
fn random_correct_histories_are_legal() {
    let Some(judges) = Judges::find() else { return };
    let (mut of_locks, mut of_semaphores) = (0, 0);
    for seed in 0..histories() {
        let Verdict { locks, semaphores, .. } = judges.judge(&random_history(seed));
        assert!(locks.1 && semaphores.1, "seed {seed}: {locks:?} {semaphores:?}");
        assert!(locks.0 > 0 && semaphores.0 > 0, "seed {seed}: {locks:?} {semaphores:?}");
        (of_locks, of_semaphores) = (of_locks + locks.0, of_semaphores + semaphores.0);
    }
    // In one of many runs, the holders of permits may wait for ever.
    let count = usize::try_from(histories()).expect("not so many");
    let told =
        format!("{of_locks} operations on locks and {of_semaphores} on semaphores in {count} histories");
    assert!(of_locks > 50 * count && of_semaphores > 15 * count, "{told}");
    eprintln!("{told}");
}

#[test]
fn two_holders_of_one_lock_are_illegal() {
    let Some(judges) = Judges::find() else { return };
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "l", A, 1000);
    server.take(two, "l", B, 1000);
    server.give_back(one, "l", A);
    server.take(two, "l", B, 1000);
    assert_eq!(judges.judge(&server.edn()).locks, (4, true));
    server.send(one, &format!("HSET l {A} 1"));
    assert_eq!(judges.judge(&server.edn()).locks, (5, false));
}

/// Delete-another's-lock: the lock was free when the third client took it, but the guarded section was not.
#[test]
fn two_owners_in_one_section_are_illegal() {
    let Some(judges) = Judges::find() else { return };
    let mut server = Server::new();
    let [one, two, three] = [server.client(), server.client(), server.client()];
    server.send(one, "SET l alice NX PX 100");
    server.advance(100);
    server.send(two, "SET l bob NX PX 100");
    server.send(two, "LOCK.ENTER l bob");
    server.send(one, "DEL l");
    server.send(three, "SET l carol NX PX 100");
    let before = judges.judge(&server.edn());
    assert_eq!((before.locks.1, before.sections), (true, (1, true)));
    server.send(three, "LOCK.ENTER l carol");
    server.send(two, "LOCK.LEAVE l bob");
    server.send(three, "LOCK.LEAVE l carol");
    let verdict = judges.judge(&server.edn());
    assert_eq!((verdict.locks.1, verdict.sections), (true, (4, false)));
}

#[test]
fn permits_that_are_lost_or_made_are_illegal() {
    let Some(judges) = Judges::find() else { return };
    for (line, legal) in
        [("SEM.RELEASE s a", true), ("INCRBY s 2", false), ("DECRBY s 3", false), ("SET s 3", false)]
    {
        let mut server = Server::new();
        let one = server.client();
        server.send(one, "SEM.INIT s 3");
        server.send(one, "SEM.ACQUIRE s a");
        server.send(one, line);
        assert_eq!(judges.judge(&server.edn()).semaphores, (3, legal), "{line}");
    }
}

/// A request without an answer may have had its effect or not. The client is another process from then on.
#[test]
fn an_operation_without_a_reply_may_have_happened_or_not() {
    let Some(judges) = Judges::find() else { return };
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.ask("FAULT.ADD late ON set KEY l TIMES 1 DO DELAYREPLY 10");
    server.simulation.send(one, "SET l alice NX PX 1000");
    server.advance(10);
    server.simulation.read(one);
    server.send(one, &format!("EVAL \"{}\" 1 l alice", crate::history::fixture::COMPARE_AND_DELETE));
    server.send(two, "LOCK.ACQUIRE l bob");
    server.ask("FAULT.PARTITION ALL OUT");
    server.simulation.send(two, "LOCK.RELEASE l bob");
    let edn = server.edn();
    let unknown = [":process 2 :type :info :f :acquire", ":process 3 :type :info :f :release"];
    assert!(unknown.iter().all(|text| edn.contains(text)), "{edn}");
    assert!(edn.contains(":process 4 :type :ok :f :release"), "{edn}");
    assert_eq!(judges.judge(&edn).locks, (4, true));
}

/// An earlier answer stays valid, whatever happens to the answer to the next request.
#[test]
fn a_lost_reply_leaves_earlier_operations_known() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "LOCK.ACQUIRE l alice PX 1000");
    server.ask("FAULT.ADD lost ON ping DO CLOSEAFTER");
    server.send(one, "PING");
    let edn = server.edn();
    assert!(edn.contains(":process 2 :type :ok :f :acquire"), "{edn}");
    assert!(!edn.contains(":process 2 :type :info"), "{edn}");
}

/// All effects of a transaction are unknown if its answer is lost.
#[test]
fn the_effects_of_a_transaction_with_a_lost_reply_are_unknown() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("FAULT.ADD lost ON exec DO CLOSEAFTER");
    for line in ["MULTI", "LOCK.ACQUIRE k alice PX 1000", "LOCK.ACQUIRE l alice PX 1000", "PING", "EXEC"] {
        server.send(one, line);
    }
    let edn = server.edn();
    assert_eq!(edn.matches(":type :info :f :acquire").count(), 2, "{edn}");
    assert!(!edn.contains(":type :ok :f :acquire"), "{edn}");
}

/// Both programs handle names of any bytes.
#[test]
fn names_of_any_bytes_are_read_as_written() {
    let Some(judges) = Judges::find() else { return };
    let mut server = Server::new();
    let one = server.client();
    server.send(one, r#"LOCK.ACQUIRE "a\"b\\c\nd\x01\xc3\xa9" "owner ;{}[]" PX 1000"#);
    server.send(one, r#"LOCK.MARK ":a {b} \"c\"""#);
    let read = judges.read(&server.edn());
    assert!(read.contains(r#""key":"a\"b\\c\u000ad\u0001é""#), "{read}");
    assert!(read.contains(r#""owner":"owner ;{}[]""#), "{read}");
    assert!(read.contains(r#""text":":a {b} \"c\"""#), "{read}");
}
