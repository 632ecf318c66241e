//! The address that a sentinel announces, changed while it runs, compared with sentinels of Redis.

use crate::sentinel::process::{Sentinel, Whose};
use lockwheel_tests::redis_server::{Kind, RealServer, free_port};
use lockwheel_tests::shapes::until;

/// Two sentinels of one kind that know each other, and the master that they watch.
struct Pair {
    master: RealServer,
    one: Sentinel,
    other: Sentinel,
}

impl Pair {
    /// Starts them. Returns `None` if there is no redis-server.
    fn start(whose: Whose) -> Option<Pair> {
        let master = RealServer::start(Kind::Redis, &[])?;
        let lines = format!("sentinel monitor m 127.0.0.1 {} 2", master.port());
        let start = || {
            let sentinel = Sentinel::start(whose, &lines);
            let line = "SENTINEL DEBUG info-period 100 ping-period 100 publish-period 100";
            assert_eq!(sentinel.client().line(line).to_string(), "+OK");
            sentinel
        };
        let pair = Pair { master, one: start(), other: start() };
        until("they know each other", || {
            [&pair.one, &pair.other].iter().all(|one| one.fields("SENTINEL SENTINELS m").len() == 1)
        });
        Some(pair)
    }

    /// Sets a parameter of one of the sentinels.
    fn set(sentinel: &Sentinel, name: &str, value: &str) -> String {
        sentinel.client().line(&format!("SENTINEL CONFIG SET {name} {value}")).to_string()
    }

    /// A text with names in place of the values that differ between pairs.
    fn neutral(&self, text: &str) -> String {
        let id = self.one.client().line("SENTINEL MYID").to_string();
        text.replace(id.trim_matches('"'), "ID")
            .replace(&self.master.port().to_string(), "MASTER")
            .replace(&self.one.port().to_string(), "ONE")
    }

    /// Returns the address under which the second sentinel knows the first, and the event that announced it.
    fn known_after(&self, changes: &[(&str, &str)], announced: u16) -> Vec<String> {
        let mut listener = self.other.client();
        listener.line("SUBSCRIBE +sentinel-address-switch");
        let mut shown = Vec::new();
        for (name, value) in changes {
            shown.push(Pair::set(&self.one, name, value));
            let message = listener.read_frame().into_elements().expect("a message");
            shown.push(String::from_utf8_lossy(message[2].as_bytes().unwrap_or_default()).into_owned());
            let known = self.other.fields("SENTINEL SENTINELS m");
            let field = |name: &str| known[0].get(name).cloned().unwrap_or_default();
            shown.push(format!("{} sentinel: {} {}", known.len(), field("ip"), field("port")));
        }
        let port = announced.to_string();
        shown.iter().map(|text| self.neutral(text).replace(&port, "ANNOUNCED")).collect()
    }

    /// Lines that both show of a master that is named by its host.
    fn shown_of_host(&self) -> Vec<String> {
        let port = self.master.port();
        let mut client = self.one.client();
        let mut shown = Vec::new();
        let lines = [
            format!("SENTINEL MONITOR n localhost {port} 2"),
            "SENTINEL CONFIG SET resolve-hostnames yes".to_owned(),
            format!("SENTINEL MONITOR n localhost {port} 2"),
            "SENTINEL GET-MASTER-ADDR-BY-NAME n".to_owned(),
            "SENTINEL CONFIG SET announce-hostnames yes".to_owned(),
            "SENTINEL GET-MASTER-ADDR-BY-NAME n".to_owned(),
            "SENTINEL CONFIG SET announce-hostnames no".to_owned(),
            "SENTINEL GET-MASTER-ADDR-BY-NAME n".to_owned(),
            "SENTINEL CONFIG SET resolve-hostnames no".to_owned(),
            format!("SENTINEL MONITOR o localhost {port} 2"),
            "SENTINEL CONFIG GET *o*e-*".to_owned(),
        ];
        for line in lines {
            shown.push(self.neutral(&format!("{line}: {}", client.line(&line))));
        }
        shown
    }
}

#[test]
fn sentinels_use_an_announced_address_as_in_redis() {
    let told = |whose| {
        let pair = Pair::start(whose)?;
        let announced = free_port();
        let port = announced.to_string();
        let there = [("announce-port", &*port), ("announce-ip", "127.0.0.2")];
        let back = [("announce-port", "0"), ("announce-ip", "127.0.0.1")];
        Some(pair.known_after(&[there, back].concat(), announced))
    };
    let Some(redis) = told(Whose::Redis) else { return };
    assert_eq!(told(Whose::Ours), Some(redis));
}

#[test]
fn host_names_are_resolved_and_shown_as_by_redis() {
    let shown = |whose| Some(Pair::start(whose)?.shown_of_host());
    let Some(redis) = shown(Whose::Redis) else { return };
    assert_eq!(shown(Whose::Ours), Some(redis));
}
