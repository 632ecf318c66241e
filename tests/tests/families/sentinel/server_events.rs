//! The events of a sentinel about servers that fall silent, come back and restart, compared with a sentinel of Redis
//! that watches the same servers at the same time.

use crate::sentinel::process::{Sentinel, Whose};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;
use std::net::SocketAddr;

/// A master and a replica that no sentinel may promote, and the two sentinels that watch them.
struct World {
    master: RealServer,
    replica: RealServer,
    sentinels: [Sentinel; 2],
    listeners: [Client; 2],
}

/// A sentinel of its own: it knows the master under another name, so that it does not discover the other one.
fn watching(whose: Whose, port: u16) -> Sentinel {
    let name = format!("{whose:?}").to_lowercase();
    let lines = format!(
        "sentinel monitor {name} 127.0.0.1 {port} 1\nsentinel down-after-milliseconds {name} 800\n\
         sentinel failover-timeout {name} 600000"
    );
    let sentinel = Sentinel::start(whose, &lines);
    let line = "SENTINEL DEBUG info-period 100 ping-period 100";
    assert_eq!(sentinel.client().line(line).to_string(), "+OK");
    sentinel
}

impl World {
    fn start() -> Option<World> {
        let master = RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"])?;
        let port = master.port().to_string();
        let replica =
            RealServer::start(Kind::Redis, &["--replicaof", "127.0.0.1", &port, "--replica-priority", "0"])?;
        let sentinels = [Whose::Redis, Whose::Ours].map(|whose| watching(whose, master.port()));
        until("they know the replica, which follows", || {
            sentinels.iter().all(|one| {
                let name = one.fields("SENTINEL MASTERS")[0]["name"].clone();
                let replicas = one.fields(&format!("SENTINEL REPLICAS {name}"));
                replicas.first().is_some_and(|replica| replica["master-link-status"] == "ok")
            })
        });
        let listeners = sentinels.each_ref().map(|sentinel| {
            let mut client = sentinel.client();
            client.line("PSUBSCRIBE *");
            client
        });
        Some(World { master, replica, sentinels, listeners })
    }

    /// The events of both up to this one: equal, in the same order.
    #[track_caller]
    fn events_until(&mut self, last: &str) -> Vec<String> {
        let [redis, ours] = [0, 1].map(|at| {
            let mut told = Vec::new();
            while !told.last().is_some_and(|event: &String| event.starts_with(last)) {
                told.push(self.next(at));
            }
            told
        });
        assert_eq!(redis, ours);
        ours
    }

    /// The next event of one sentinel, with names in place of the values that differ.
    fn next(&mut self, at: usize) -> String {
        let words = self.listeners[at].read_frame().into_elements().expect("a message");
        let text =
            |word: usize| String::from_utf8_lossy(words[word].as_bytes().unwrap_or_default()).into_owned();
        let id = self.sentinels[at].client().line("SENTINEL MYID").to_string();
        format!("{} {}", text(2), text(3))
            .replace(&self.master.port().to_string(), "MASTER")
            .replace(&self.replica.port().to_string(), "REPLICA")
            .replace(id.trim_matches('"'), "ID")
            .replace(" redis ", " m ")
            .replace(" ours ", " m ")
    }
}

/// Pauses the server: it answers nobody for this time.
fn pause_server(addr: SocketAddr, ms: u64) {
    let line = format!("CLIENT PAUSE {ms} ALL");
    assert_eq!(Client::connect(addr).line(&line).to_string(), "+OK");
}

/// Restarts the server in its place, with another run id.
fn restart_server(addr: SocketAddr) {
    Client::connect(addr).send_line("DEBUG RESTART");
}

#[test]
fn events_of_a_down_and_returning_server_equal_those_of_redis() {
    let Some(mut world) = World::start() else { return };
    let (master, replica) = (world.master.addr(), world.replica.addr());
    pause_server(replica, 2000);
    let of_replica = "slave 127.0.0.1:REPLICA 127.0.0.1 REPLICA @ m 127.0.0.1 MASTER";
    assert_eq!(
        world.events_until("-sdown"),
        [format!("+sdown {of_replica}"), format!("-sdown {of_replica}")]
    );
    restart_server(replica);
    assert_eq!(world.events_until("+reboot"), [format!("+reboot {of_replica}")]);
    pause_server(master, 2000);
    let of_master = "master m 127.0.0.1 MASTER";
    assert_eq!(
        world.events_until("-odown"),
        [
            format!("+sdown {of_master}"),
            format!("+odown {of_master} #quorum 1/1"),
            "+new-epoch 1".to_owned(),
            format!("+try-failover {of_master}"),
            "+vote-for-leader ID 1".to_owned(),
            format!("+elected-leader {of_master}"),
            format!("+failover-state-select-slave {of_master}"),
            format!("-failover-abort-no-good-slave {of_master}"),
            format!("-sdown {of_master}"),
            format!("-odown {of_master}"),
        ]
    );
    restart_server(master);
    assert_eq!(world.events_until("+reboot"), [format!("+reboot {of_master}")]);
}

/// A text with names in place of the values that differ between the two.
fn neutral(world: &World, text: &str) -> String {
    let text = text.replace("name=redis,", "name=m,").replace("name=ours,", "name=m,");
    text.replace(&world.master.port().to_string(), "MASTER").replace("$", "")
}

#[test]
fn info_refreshes_and_resets_of_a_sentinel_equal_those_of_redis() {
    let Some(mut world) = World::start() else { return };
    let told = |world: &World| {
        world.sentinels.each_ref().map(|one| neutral(world, &one.client().line("INFO sentinel").to_string()))
    };
    let [redis, ours] = told(&world);
    assert_eq!(redis, ours);
    let master = "master0:name=m,status=ok,address=127.0.0.1:MASTER,slaves=1,sentinels=1";
    assert!(ours.contains(master), "{ours}");
    for sentinel in &world.sentinels {
        assert_eq!(sentinel.client().line("SENTINEL RESET *").to_string(), ":1");
    }
    let replica = "+slave slave 127.0.0.1:REPLICA 127.0.0.1 REPLICA @ m 127.0.0.1 MASTER";
    assert_eq!(world.events_until("+slave"), ["+reset-master master m 127.0.0.1 MASTER", replica]);
}
