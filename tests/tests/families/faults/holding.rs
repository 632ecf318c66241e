//! HOLD and HOLDREPLY: interleavings in the order that a test chooses.

use super::Scene;

#[test]
fn fault_go_releases_the_longest_held_request_first() {
    let mut scene = Scene::new();
    let [one, two, three] = std::array::from_fn(|_| scene.client());
    scene.add("gate ON append DO HOLD");
    for (client, text) in [(one, "a"), (two, "b"), (three, "c")] {
        scene.check(client, &format!("APPEND k {text}"), "");
    }
    scene.steer("AWAIT.HELD gate 3", ":1");
    scene.steer("AWAIT.BLOCKED 0 EXACT", ":1");
    scene.steer("FAULT.GO gate COUNT 2", ":2");
    scene.steer("GET k", "$2 ab");
    assert_eq!((scene.read(one), scene.read(two), scene.read(three)), (":1".into(), ":2".into(), "".into()));
    scene.steer("FAULT.GO gate", ":1");
    assert_eq!(scene.read(three), ":3");
    scene.steer("FAULT.GO gate", ":0");
    scene.steer("FAULT.GO nothing", "-ERR there is no rule 'nothing'");
}

#[test]
fn removing_a_rule_releases_its_held_requests() {
    for removal in ["FAULT.DEL gate", "FAULT.CLEAR"] {
        let mut scene = Scene::new();
        let [one, two] = [scene.client(), scene.client()];
        scene.add("gate ON incr DO HOLD");
        scene.check(one, "INCR n", "");
        scene.check(two, "INCR n", "");
        scene.steer(removal, ":1");
        assert_eq!((scene.read(one), scene.read(two)), (":1".into(), ":2".into()), "{removal}");
    }
}

#[test]
fn a_test_waits_until_a_rule_holds_or_has_acted() {
    let mut scene = Scene::new();
    let [client, watcher, other] = std::array::from_fn(|_| scene.client());
    scene.add("gate ON incr DO HOLDREPLY");
    scene.add("refuse ON get DO ERROR no");
    scene.check(watcher, "AWAIT.HELD gate 1", "");
    scene.check(other, "AWAIT.FAULT refuse 2", "");
    scene.check(client, "INCR n", "");
    assert_eq!(scene.read(watcher), ":1");
    scene.steer("FAULT.GO gate", ":1");
    assert_eq!(scene.read(client), ":1");
    scene.check(client, "GET n", "-no");
    assert_eq!(scene.read(other), "");
    scene.check(client, "GET n", "-no");
    assert_eq!(scene.read(other), ":1");
    scene.check(watcher, "AWAIT.HELD gate 1 LIMIT 10", "");
    scene.pass(11);
    assert_eq!(scene.read(watcher), "$-1");
}

/// A misspelt name would wait for the whole timeout.
#[test]
fn a_wait_for_an_unknown_rule_is_an_error() {
    let mut scene = Scene::new();
    let [watcher, other] = [scene.client(), scene.client()];
    for line in ["AWAIT.FAULT nope 1", "AWAIT.HELD nope 1", "AWAIT.FAULT nope 0", "FAULT.GO nope"] {
        scene.steer(line, "-ERR there is no rule 'nope'");
    }
    for removal in ["FAULT.DEL gate", "FAULT.CLEAR"] {
        scene.add("gate ON incr DO HOLD");
        scene.check(watcher, "AWAIT.HELD gate 1", "");
        scene.check(other, "AWAIT.FAULT gate 1", "");
        scene.steer(removal, ":1");
        for client in [watcher, other] {
            assert_eq!(scene.read(client), "-ERR there is no rule 'gate'", "{removal}");
        }
    }
    // A rule with a similar name is not affected.
    scene.add("gate1 ON incr DO HOLD");
    scene.add("gate2 ON incr DO HOLD");
    scene.check(watcher, "AWAIT.FAULT gate1 1", "");
    scene.steer("FAULT.DEL gate1", ":1");
    assert_eq!(scene.read(watcher), "-ERR there is no rule 'gate1'");
}

#[test]
fn a_held_client_is_not_unblocked_and_can_be_killed() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("gate ON incr DO HOLD");
    scene.check(client, "INCR n", "");
    scene.steer(&format!("CLIENT UNBLOCK {client}"), ":0");
    scene.steer(&format!("CLIENT KILL ID {client}"), ":1");
    assert!(!scene.server.is_connected(client));
    scene.steer("FAULT.GO gate", ":0");
    scene.steer("EXISTS n", ":0");
}

#[test]
fn a_held_unlock_keeps_the_next_waiting_until_the_lease_ends() {
    let mut scene = Scene::new();
    let [holder, waiter] = [scene.client(), scene.client()];
    assert!(scene.ask(holder, "LOCK.ACQUIRE lock a PX 1000").contains("token"));
    scene.check(waiter, "LOCK.ACQUIRE lock b PX 1000 BLOCK 0", "");
    scene.add("late ON lock.release DO HOLD");
    scene.check(holder, "LOCK.RELEASE lock a", "");
    scene.advance(1000);
    assert!(scene.read(waiter).contains("token"));
    scene.steer("FAULT.GO late", ":1");
    assert!(scene.read(holder).starts_with("-LOCKLOST"));
}

#[test]
fn a_held_request_runs_in_its_database_and_transaction() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("gate ON exec DO HOLD");
    for (line, reply) in
        [("SELECT 3", "+OK"), ("WATCH w", "+OK"), ("MULTI", "+OK"), ("SET k v", "+QUEUED"), ("EXEC", "")]
    {
        scene.check(client, line, reply);
    }
    scene.steer("FAULT.GO gate", ":1");
    assert_eq!(scene.read(client), "*1 +OK");
    scene.check(client, "WATCH k", "+OK");
    scene.check(client, "MULTI", "+OK");
    scene.check(client, "EXEC", "");
    scene.steer("SELECT 3", "+OK");
    scene.steer("SET k other", "+OK");
    scene.steer("FAULT.GO gate", ":1");
    assert_eq!(scene.read(client), "*-1");
}

#[test]
fn held_requests_count_in_the_memory_of_their_client() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("gate ON set DO HOLD");
    let memory = |scene: &mut Scene| {
        let list = scene.ask(scene.steer, &format!("CLIENT LIST ID {client}"));
        let field = list.split(' ').find_map(|word| word.strip_prefix("tot-mem=")).map(str::to_owned);
        field.and_then(|bytes| bytes.parse::<usize>().ok()).expect("it is listed")
    };
    let before = memory(&mut scene);
    scene.server.send(client, &format!("SET k {}", "x".repeat(1 << 20)));
    assert!(memory(&mut scene) >= before + (1 << 20));
    scene.steer("FAULT.GO gate", ":1");
    assert!(memory(&mut scene) < before + (1 << 19));
}

#[test]
fn a_reset_releases_held_requests_and_replies() {
    let mut scene = Scene::new();
    let [request, reply] = [scene.client(), scene.client()];
    scene.add("request ON incr DO HOLD");
    scene.add("reply ON append DO HOLDREPLY");
    scene.check(request, "INCR n", "");
    scene.check(reply, "APPEND k v", "");
    scene.steer("CONTROL.RESET KEEPCLIENTS", "+OK");
    assert_eq!((scene.read(request), scene.read(reply)), (":1".into(), ":1".into()));
    scene.steer("FAULT.LIST", "*0");
    scene.steer("DBSIZE", ":0");
}

/// A delay that is over at once does not wait for a stopped clock.
#[test]
fn a_delay_of_zero_does_not_hold_a_request() {
    for action in ["DELAY 0", "DELAYREPLY 0"] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.add(&format!("now ON get DO {action}"));
        scene.server.send(client, "GET k");
        assert_eq!(scene.read(client), "$-1", "{action}");
    }
}

#[test]
fn a_released_request_waits_while_clients_are_paused() {
    for (action, go_on) in [("HOLD", "FAULT.GO late"), ("DELAY 50", "CLOCK.ADVANCE 50")] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.add(&format!("late ON incr DO {action}"));
        scene.check(client, "INCR n", "");
        scene.steer("CLIENT PAUSE 1000 WRITE", "+OK");
        scene.ask(scene.steer, go_on);
        scene.steer("EXISTS n", ":0");
        scene.steer("CLIENT UNPAUSE", "+OK");
        assert_eq!(scene.read(client), ":1", "{action}");
        assert_eq!((scene.field("late", "hits"), scene.field("late", "held")), (":1".into(), ":0".into()));
    }
}

/// The requests were also on their way when their client closed.
#[test]
fn requests_behind_a_held_one_run_after_their_client_has_closed() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("gate ON append DO HOLD");
    scene.add("slow ON incr DO DELAY 50");
    for line in
        ["APPEND k a", "SELECT 1", "APPEND k b", "INCR n", "SET last v", "BLPOP list 0", "SET never v"]
    {
        scene.check(client, line, "");
    }
    scene.server.close(client);
    scene.server.notice();
    scene.steer("AWAIT.CLIENTS 1 EXACT", ":1");
    scene.steer("FAULT.GO gate", ":1");
    scene.steer("GET k", "$1 a");
    scene.steer("SELECT 1", "+OK");
    scene.steer("AWAIT.HELD gate 1", ":1");
    scene.steer("FAULT.GO gate", ":1");
    scene.steer("GET k", "$1 b");
    scene.steer("EXISTS n last", ":0");
    scene.advance(50);
    scene.steer("MGET n last never", "*3 $1 1 $1 v $-1");
    // Nobody waits any more: a client that has gone gets nothing.
    scene.steer("AWAIT.BLOCKED 0 EXACT", ":1");
    scene.steer("RPUSH list x", ":1");
    scene.steer("LLEN list", ":1");
}

/// A client that has gone is no longer counted, though its request is on its way.
#[test]
fn await_clients_does_not_count_a_closed_client_with_a_held_request() {
    let mut scene = Scene::new();
    let [client, watcher] = [scene.client(), scene.client()];
    scene.add("gate ON append DO HOLD");
    scene.check(client, "APPEND k a", "");
    scene.check(watcher, "AWAIT.CLIENTS 2 EXACT", "");
    scene.server.close(client);
    scene.server.notice();
    assert_eq!(scene.read(watcher), ":1");
}
