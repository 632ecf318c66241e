//! A server's own account of its memory, in INFO and CLIENT LIST.

use lockwheel::{Config, Server};
use lockwheel_tests::client::{Client, SAFETY_NET, encode};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::{family, ours};
use std::time::Instant;

const MIB: usize = 1 << 20;

/// A server of ours that does not record the duration of calls, which takes memory at a command's first call.
fn server() -> Server {
    let server = ours::server();
    Client::connect(server.addr()).line("CONFIG SET latency-tracking no");
    server
}

/// A number in INFO.
fn info(client: &mut Client, section: &str, name: &str) -> usize {
    let text = client.line(&format!("INFO {section}")).to_string();
    let value = text.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number {name} in {text}"))
}

fn used(client: &mut Client) -> usize {
    info(client, "memory", "used_memory")
}

/// A number in the line of a client.
fn of_client(client: &mut Client, id: usize, name: &str) -> usize {
    let line = client.line(&format!("CLIENT LIST ID {id}")).to_string();
    let value = line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number {name} in {line}"))
}

fn id(client: &mut Client) -> usize {
    client.line("CLIENT ID").to_string().trim_start_matches(':').parse().expect("a number")
}

/// Polls until the condition holds: other threads need time for their work.
#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SAFETY_NET, "it never came");
        std::thread::yield_now();
    }
}

#[test]
fn memory_usage_returns_the_bytes_of_a_key() {
    family::same_everywhere(|s| {
        s.check("MEMORY USAGE nosuch", "(nil)")
            .check("MEMORY USAGE nosuch SAMPLES x", "-ERR value is not an integer or out of range")
            .check("SET k v", "+OK")
            .check("MEMORY USAGE k SAMPLES -1", "-ERR syntax error")
            .check("MEMORY USAGE k SAMPLES", "-ERR syntax error")
            .check("MEMORY USAGE k COUNT 1", "-ERR syntax error")
            .check("MEMORY USAGE k SAMPLES 1 SAMPLES x", "-ERR value is not an integer or out of range")
            .check("MEMORY USAGE", "-ERR wrong number of arguments for 'memory|usage' command")
            .check("MEMORY nonsense", "-ERR unknown subcommand 'nonsense'. Try MEMORY HELP.")
            .check_that("MEMORY USAGE k SAMPLES 0 samples 5", |reply| reply.as_int().is_some_and(|n| n > 16));
    });
    let server = server();
    let mut client = Client::connect(server.addr());
    client.cmd(&[b"SET".as_slice(), b"large", &vec![b'x'; 20_000]]);
    client.cmd(&[b"SET".as_slice(), &vec![b'k'; 20_000], b"small"]);
    for n in 0..1000 {
        client.cmd(&["RPUSH", "list", &format!("{n:01000}")]);
    }
    let mut taken = |key: &[u8]| client.cmd(&[b"MEMORY".as_slice(), b"USAGE", key]).as_int().unwrap_or(0);
    assert!((20_000..25_000).contains(&taken(b"large")));
    assert!((20_000..25_000).contains(&taken(&vec![b'k'; 20_000])));
    assert!((1_000_000..1_300_000).contains(&taken(b"list")));
}

#[test]
fn lazily_freed_objects_are_counted() {
    let server = server();
    let mut client = Client::connect(server.addr());
    for (members, freed) in [(10, 0), (500, 1), (20_000, 2)] {
        let members = (0..members).map(|n| format!("m{n}"));
        let words: Vec<String> = ["SADD".to_string(), "s".to_string()].into_iter().chain(members).collect();
        client.cmd(&words);
        client.line("UNLINK s");
        until(|| info(&mut client, "memory", "lazyfree_pending_objects") == 0);
        assert_eq!(info(&mut client, "memory", "lazyfreed_objects"), freed);
    }
    client.line("CONFIG RESETSTAT");
    assert_eq!(info(&mut client, "memory", "lazyfreed_objects"), 0);
}

#[test]
fn stored_values_are_counted_until_they_are_deleted() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let start = used(&mut client);
    let value = vec![b'x'; 10_000];
    for n in 0..1000 {
        client.cmd(&[b"SET", format!("key:{n}").as_bytes(), &value]);
    }
    let full = used(&mut client);
    assert!((10_000_000..12_000_000).contains(&(full - start)), "{start} {full}");
    assert!(info(&mut client, "memory", "used_memory_dataset") > 10_000_000);
    let peak = info(&mut client, "memory", "used_memory_peak");
    assert!(peak >= full, "{peak}");
    client.line("FLUSHALL");
    let empty = used(&mut client);
    assert!(empty < start + 100_000, "{start} {empty}");
    assert_eq!(info(&mut client, "memory", "used_memory_peak"), peak);
    for n in 0..1000 {
        client.cmd(&[b"APPEND", format!("key:{n}").as_bytes(), &value]);
        client.cmd(&[b"DEL", format!("key:{n}").as_bytes()]);
    }
    let empty = used(&mut client);
    // Tables that have had a thousand keys keep their size; the buffer of their client does not.
    assert!(empty < start + 100_000, "{start} {empty}");
}

#[test]
fn each_server_of_a_process_counts_its_own_memory() {
    let [one, other] = [server(), server()];
    let [mut one, mut other] = [&one, &other].map(|server| Client::connect(server.addr()));
    let start = used(&mut other);
    one.cmd(&[&b"SET"[..], b"key", &vec![b'x'; 20 * MIB]]);
    assert!(used(&mut one) > 20 * MIB);
    let after = used(&mut other);
    assert!(after < start + 100_000, "{start} {after}");
}

#[test]
fn unread_output_is_counted_until_its_client_is_disconnected() {
    let server = server();
    let mut client = Client::connect(server.addr());
    client.cmd(&[&b"SET"[..], b"big", &vec![b'x'; MIB]]);
    let start = used(&mut client);
    let mut deaf = Client::connect(server.addr());
    let deaf_id = id(&mut deaf);
    deaf.send_raw(&encode(&["GET", "big"]).repeat(32));
    until(|| of_client(&mut client, deaf_id, "omem") > 16 * MIB);
    let (memory, total) =
        (of_client(&mut client, deaf_id, "omem"), of_client(&mut client, deaf_id, "tot-mem"));
    assert!(total >= memory && of_client(&mut client, deaf_id, "oll") > 10);
    assert!(used(&mut client) > start + 16 * MIB);
    assert!(info(&mut client, "memory", "mem_clients_normal") > 16 * MIB);
    client.line(&format!("CLIENT KILL ID {deaf_id}"));
    until(|| used(&mut client) < start + 200_000);
}

#[test]
fn an_unread_message_to_many_subscribers_is_counted_once() {
    let mut config = Config::default();
    config.client_output_buffer_limit.pubsub = config.client_output_buffer_limit.normal;
    let server = Server::builder().config(config).port(0).start().expect("loopback has a free port");
    let mut client = Client::connect(server.addr());
    let start = used(&mut client);
    let mut deaf: Vec<Client> = (0..4).map(|_| Client::connect(server.addr())).collect();
    let ids: Vec<usize> = deaf.iter_mut().map(id).collect();
    deaf.iter_mut().for_each(|deaf| drop(deaf.line("SUBSCRIBE news")));
    // A size slightly below one of the allocator's classes leaves room for the surrounding data.
    let text = vec![b'x'; 1_000_000];
    for _ in 0..24 {
        client.cmd(&[&b"PUBLISH"[..], b"news", &text]);
    }
    until(|| ids.iter().all(|&id| of_client(&mut client, id, "omem") > 8 * MIB));
    let taken = used(&mut client) - start;
    assert!((8 * MIB..26 * MIB).contains(&taken), "{taken}");
    drop(deaf);
    until(|| used(&mut client) < start + 200_000);
}

#[test]
fn a_partial_argument_is_counted_until_its_client_disconnects() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let start = used(&mut client);
    let mut slow = Client::connect(server.addr());
    let slow_id = id(&mut slow);
    slow.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10000000\r\n");
    slow.send_raw(&vec![b'x'; 5_000_000]);
    until(|| of_client(&mut client, slow_id, "qbuf") >= 5_000_000);
    assert!(used(&mut client) > start + 5_000_000);
    assert!(of_client(&mut client, slow_id, "tot-mem") > 5_000_000);
    drop(slow);
    until(|| used(&mut client) < start + 100_000);
    // The request that asks is still in its buffer, as in Redis.
    let own = id(&mut client);
    client.send_raw(b"*2\r\n$6\r\nclient\r\n$4\r\ninfo\r\n");
    assert!(client.read_reply().to_string().contains(" qbuf=26 "));
    let mut other = Client::connect(server.addr());
    assert_eq!(of_client(&mut other, own, "qbuf"), 0);
}

#[test]
fn queued_commands_of_a_transaction_are_counted_as_memory() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let mut other = Client::connect(server.addr());
    let start = used(&mut client);
    other.line("MULTI");
    other.cmd(&[&b"SET"[..], b"key", &vec![b'x'; MIB]]);
    assert!(used(&mut client) > start + MIB);
    other.line("DISCARD");
    // The client's own query buffer had to hold the request.
    until(|| used(&mut client) < start + 100_000);
}

#[test]
fn each_queued_request_counts_with_its_place_in_the_queue() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let mut other = Client::connect(server.addr());
    let other_id = id(&mut other);
    other.line("INCR k");
    let start = used(&mut client);
    for end in ["DISCARD", "EXEC", "RESET", "QUIT"] {
        other.line("MULTI");
        for _ in 0..10 {
            other.send_raw(&encode(&["INCR", "k"]).repeat(200));
            (0..200).for_each(|_| assert_eq!(other.read_reply().to_string(), "+QUEUED"));
        }
        let queued = of_client(&mut client, other_id, "multi-mem");
        // Two blocks for each request, and its slot.
        assert!((2000 * 60..2000 * 200).contains(&queued), "{queued}");
        let taken = used(&mut client) - start;
        assert!((queued..queued + 100_000).contains(&taken), "{taken} {queued}");
        assert!(of_client(&mut client, other_id, "tot-mem") > queued);
        other.line(end);
        until(|| used(&mut client) < start + 50_000);
    }
}

#[test]
fn the_memory_of_all_clients_is_the_sum_of_client_list() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let mut others: Vec<Client> = (0..6).map(|_| Client::connect(server.addr())).collect();
    others[0].line("SUBSCRIBE one two three");
    others[1].line("WATCH one two three");
    others[2].line("MULTI");
    others[2].line("SET key value");
    others[3].send_raw(&encode(&["BLPOP", "list", "other", "0"]));
    // A client that has been answered is registered.
    others[5].line("PING");
    others[4].send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\nhalf of it");
    until(|| info(&mut client, "clients", "blocked_clients") == 1);
    // Both readings are of one instant: no other request lies between them.
    let text = |client: &mut Client| {
        for line in ["MULTI", "INFO memory", "CLIENT LIST"] {
            client.line(line);
        }
        client.line("EXEC").to_string()
    };
    let sums = |text: &str| {
        let after = |name| text.split(name).skip(1).map(leading_number);
        let of_all = after("mem_clients_normal:").sum::<usize>();
        (of_all, after("tot-mem=").sum::<usize>(), after("tot-mem=").count())
    };
    let text = text(&mut client);
    let (of_all, sum, count) = sums(&text);
    assert_eq!((of_all, count), (sum, 7), "{text}");
}

/// Names that a client chooses.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("a:rather:long:name:{n:06}")).collect()
}

/// A command on many names at once, and the command that undoes it. The memory per name lies in these bounds.
#[track_caller]
fn takes_for_each_name(
    command: &str,
    last: Option<&str>,
    end: impl Fn(Client),
    bounds: std::ops::Range<usize>,
) {
    /// The number of names.
    const COUNT: usize = 4000;
    let server = server();
    let mut client = Client::connect(server.addr());
    let mut other = Client::connect(server.addr());
    let start = used(&mut client);
    let names = names(COUNT);
    let words = std::iter::once(command).chain(names.iter().map(String::as_str)).chain(last);
    other.send_raw(&encode(&words.collect::<Vec<_>>()));
    until(|| used(&mut client) > start + COUNT * bounds.start);
    // Memory that is bound to the request has been freed.
    until(|| used(&mut client) < start + COUNT * bounds.end);
    assert!(used(&mut client) > start + COUNT * bounds.start);
    end(other);
    until(|| used(&mut client) < start + 50_000);
}

#[test]
fn subscribed_channels_are_counted_until_the_subscription_ends() {
    for (command, end) in [("SUBSCRIBE", "UNSUBSCRIBE"), ("PSUBSCRIBE", "PUNSUBSCRIBE")] {
        let ends = |mut other: Client| {
            other.send_raw(&encode(&[end]));
            std::mem::forget(other);
        };
        takes_for_each_name(command, None, ends, 200..700);
        takes_for_each_name(command, None, drop, 200..700);
    }
}

#[test]
fn watched_keys_are_counted_until_unwatch() {
    for end in ["UNWATCH", "RESET"] {
        let ends = |mut other: Client| {
            other.line(end);
            std::mem::forget(other);
        };
        takes_for_each_name("WATCH", None, ends, 150..600);
    }
    takes_for_each_name("WATCH", None, drop, 150..600);
}

#[test]
fn awaited_keys_are_counted_until_nobody_waits() {
    takes_for_each_name("BLPOP", Some("0"), drop, 700..1300);
}

#[test]
fn remembered_releases_are_counted_and_limited() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let pass = |client: &mut Client, from: usize| {
        for n in from..from + 4096 {
            client.line(&format!("LOCK.ACQUIRE a:rather:long:name:{n:06} owner PX 60000"));
            assert_eq!(
                client.line(&format!("LOCK.RELEASE a:rather:long:name:{n:06} owner")).to_string(),
                ":0"
            );
        }
        used(client)
    };
    client.line("LOCK.ACQUIRE l owner PX 60000");
    client.line("LOCK.RELEASE l owner");
    let start = used(&mut client);
    let first = pass(&mut client, 0);
    assert!((4096 * 60..4096 * 200).contains(&(first - start)), "{start} {first}");
    let second = pass(&mut client, 5000);
    assert!(second < first + 50_000, "{first} {second}");
}

/// The number at the beginning of a text.
fn leading_number(text: &str) -> usize {
    let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().expect("a number")
}

#[test]
fn scripts_see_the_counted_memory() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let outside = used(&mut client);
    let inside =
        client.line(r#"EVAL "return string.match(redis.call('INFO', 'memory'), 'used_memory:(%d+)')" 0"#);
    let inside: usize = inside.to_string().trim_matches('"').parse().expect("a number");
    assert!(inside.abs_diff(outside) < 200_000, "{outside} {inside}");
}

#[test]
fn info_memory_has_the_fields_of_redis_in_order() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let text = client.line("INFO memory").to_string();
    let names: Vec<&str> = text.split("\\r\\n").filter_map(|line| Some(line.split_once(':')?.0)).collect();
    // The names that 7.0.15 shows.
    let expected = "used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak \
                    used_memory_peak_human used_memory_peak_perc used_memory_overhead used_memory_startup \
                    used_memory_dataset used_memory_dataset_perc allocator_allocated allocator_active \
                    allocator_resident total_system_memory total_system_memory_human maxmemory maxmemory_human \
                    maxmemory_policy allocator_frag_ratio allocator_frag_bytes allocator_rss_ratio \
                    allocator_rss_bytes rss_overhead_ratio rss_overhead_bytes mem_fragmentation_ratio \
                    mem_fragmentation_bytes mem_not_counted_for_evict mem_replication_backlog \
                    mem_total_replication_buffers mem_clients_slaves mem_clients_normal mem_cluster_links \
                    mem_aof_buffer mem_allocator active_defrag_running";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let found: Vec<&str> = names.into_iter().filter(|name| expected.contains(name)).collect();
    assert_eq!(found, expected);
    // A server within a test does not know its allocator.
    let value = |name: &str| text.split("\\r\\n").find_map(|line| line.strip_prefix(name));
    assert_eq!(value("used_memory:"), value("allocator_allocated:"));
    assert!(text.contains("mem_allocator:libc"), "{text}");
}

/// The names of MEMORY STATS, with the nested ones.
fn figure_names(reply: &Reply) -> Vec<String> {
    let elements = reply.clone().into_elements().expect("a map");
    let pairs = elements.chunks_exact(2).flat_map(|pair| {
        let name = String::from_utf8_lossy(pair[0].as_bytes().expect("a name")).into_owned();
        let inner =
            if pair[1].clone().into_elements().is_some() { figure_names(&pair[1]) } else { Vec::new() };
        std::iter::once(name).chain(inner)
    });
    pairs.collect()
}

#[test]
fn memory_stats_has_the_field_names_of_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = server();
    let [theirs, ours] = [real.addr(), server.addr()].map(|address| {
        let mut client = Client::connect(address);
        let empty = figure_names(&client.line("MEMORY STATS"));
        client.line("SET k v");
        client.line("SELECT 9");
        client.line("SET k v EX 100");
        // 7.2 words it differently.
        let help = client.line("MEMORY HELP").to_string().replace("Prints this help", "Print this help");
        (empty, figure_names(&client.line("MEMORY STATS")), help)
    });
    let (mut empty, mut filled, help) = ours;
    // Only our server counts the memory of ended locks and of fenced resources.
    for own in ["locks.past", "locks.fences"] {
        for names in [&mut empty, &mut filled] {
            assert!(names.iter().any(|name| name == own), "{names:?}");
            names.retain(|name| name != own);
        }
    }
    assert_eq!((empty, filled, help), theirs);
}

#[test]
fn figures_of_memory_stats_and_info_agree() {
    let server = server();
    let mut client = Client::connect(server.addr());
    for n in 0..1000 {
        client.cmd(&["SET".to_owned(), n.to_string(), "x".repeat(10_000)]);
    }
    let stats = client.line("MEMORY STATS").into_elements().expect("a map");
    let figure = |name: &str| {
        let at =
            stats.iter().position(|reply| reply.as_bytes() == Some(name.as_bytes())).expect("it is there");
        stats[at + 1].as_int().expect("a number")
    };
    assert_eq!(figure("keys.count"), 1000);
    assert_eq!(figure("dataset.bytes") + figure("overhead.total"), figure("total.allocated"));
    assert!((10_000..12_000).contains(&figure("keys.bytes-per-key")));
    assert!(figure("peak.allocated") >= figure("total.allocated"));
    assert_eq!(client.line("MEMORY PURGE").to_string(), "+OK");
}

#[test]
fn memory_doctor_reports_excessive_memory() {
    let server = server();
    let mut client = Client::connect(server.addr());
    let told = |client: &mut Client| client.line("MEMORY DOCTOR").to_string();
    assert!(told(&mut client).contains("Hi Sam, this instance is empty or is using very little memory"));
    client.cmd(&["SET", "large", &"x".repeat(30 << 20)]);
    client.cmd(&["SET", "small", &"x".repeat(10 << 20)]);
    told(&mut client);
    client.line("DEL large");
    let report = told(&mut client);
    assert!(
        report.contains("Sam, I detected a few issues") && report.contains(" * Peak memory: "),
        "{report}"
    );
    assert!(report.contains("I'm here to keep you safe, Sam. I want to help you."), "{report}");
    let stats = client.line("MEMORY MALLOC-STATS").to_string();
    assert!(stats.contains("Stats not supported for the current allocator"), "{stats}");
}
