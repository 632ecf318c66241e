//! redis-rs, in this process: connects with its defaults, sends the script, and uses its own interfaces.

use crate::drivers::{differences, workshop};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use redis::{Client, Commands, Connection, Value};
use std::fmt::Write;
use std::fs;

/// The replies of one server, line by line.
fn replies(port: u16, protocol: &str) -> String {
    let query = if protocol.is_empty() { String::new() } else { format!("?protocol={protocol}") };
    let client = Client::open(format!("redis://127.0.0.1:{port}/{query}")).expect("this is an address");
    let mut connection = client.get_connection().expect("it connects");
    let mut text = String::new();
    let script = fs::read_to_string(workshop::sources().join("script.txt")).expect("the script is there");
    for (number, line) in script.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let words = words(line);
        let Some((name, rest)) = words.split_first() else { continue };
        let reply = redis::cmd(name).arg(rest).query::<Value>(&mut connection);
        writeln!(text, "{} {}", number + 1, shown(reply)).expect("a text can be written to");
    }
    own_interfaces(&client, &mut connection, &mut text).expect("it decodes what it asked for");
    text
}

/// Transactions, scripts, streams, messages and scans by its own functions.
fn own_interfaces(client: &Client, connection: &mut Connection, text: &mut String) -> redis::RedisResult<()> {
    let mut told =
        |what: &str, reply: String| writeln!(text, "{what} {reply}").expect("a text can be written to");
    let mut pipe = redis::pipe();
    pipe.atomic().set("a", 1).incr("a", 1).hset("h", "f", "v").hgetall("h").zadd("z", "m", 1.5);
    told("transaction", format!("{:?}", pipe.query::<Value>(connection)?));
    let script = redis::Script::new("return {KEYS[1], ARGV[1]}");
    told("script", format!("{:?}", script.key("k").arg("a").invoke::<Vec<String>>(connection)?));
    let scores: Vec<(String, f64)> = connection.zrange_withscores("z", 0, -1)?;
    told("scores", format!("{scores:?}"));
    let id: Option<String> = connection.xadd("x", "1-1", &[("f", "v")])?;
    let entries: Value = connection.xrange_all("x")?;
    told("stream", format!("{id:?} {entries:?}"));
    let mut listener = client.get_connection()?;
    let mut messages = listener.as_pubsub();
    messages.subscribe("channel")?;
    let listeners: i64 = connection.publish("channel", "text")?;
    let message: String = messages.get_message()?.get_payload()?;
    told("message", format!("{listeners} {message}"));
    let mut keys: Vec<String> = connection.scan::<String>()?.collect::<Result<_, _>>()?;
    keys.sort();
    told("scan", format!("{keys:?}"));
    redis::cmd("FLUSHALL").query(connection)
}

/// The words of a line: between blanks, or between single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.replace("\\n", "\n"));
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// A reply as text. Unordered replies are sorted.
fn shown(reply: redis::RedisResult<Value>) -> String {
    match reply {
        Ok(Value::Map(mut pairs)) => {
            pairs.sort_by_key(|pair| format!("{pair:?}"));
            format!("{pairs:?}")
        }
        Ok(Value::Set(mut items)) => {
            items.sort_by_key(|item| format!("{item:?}"));
            format!("{items:?}")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn redis_rs() {
    for protocol in ["", "resp2", "resp3"] {
        let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
        let ours = ours::builder().threads(1).start().expect("loopback has a free port");
        let found = differences(&replies(real.port(), protocol), &replies(ours.port(), protocol));
        assert!(found.is_empty(), "redis-rs, protocol {protocol:?}:\n{}", found.join("\n"));
    }
}
