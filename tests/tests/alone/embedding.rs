//! Servers inside a process: several at once, independent of each other, gone when dropped.

use lockwheel::{Server, Time};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn several_servers_are_independent() {
    let servers: Vec<Server> = (0..5).map(|_| ours::manual_server()).collect();
    for (n, server) in servers.iter().enumerate() {
        let mut client = Client::connect(server.addr());
        assert_eq!(client.line(&format!("SET k {n} PX 1000")).to_string(), "+OK");
        assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    }
    assert_eq!(servers[0].advance(Duration::from_secs(1)), Ok(1));
    for (n, server) in servers.iter().enumerate() {
        let mut client = Client::connect(server.addr());
        let expected = if n == 0 { "(nil)".to_owned() } else { format!("\"{n}\"") };
        assert_eq!(client.line("GET k").to_string(), expected);
    }
}

#[test]
fn dropping_a_server_closes_its_connections_and_its_port() {
    let server = ours::manual_server();
    let addr = server.addr();
    let mut idle = Client::connect(addr);
    idle.line("PING");
    let mut blocked = Client::connect(addr);
    blocked.send_line("BLPOP list 0");
    idle.line("AWAIT.BLOCKED 1");
    drop(server);
    assert_eq!(idle.try_read_frame().ok().flatten(), None, "the connection is closed");
    assert_eq!(blocked.try_read_frame().ok().flatten(), None, "the waiting one too");
    assert!(TcpStream::connect(addr).is_err(), "nobody listens");
    TcpListener::bind(addr).expect("the port is free");
}

#[test]
fn the_methods_change_the_clock_as_the_commands_do() {
    let server = Server::builder().port(0).time(Time::Manual).seed(7).start().expect("a server starts");
    let mut client = Client::connect(server.addr());
    client.line("CLOCK.SET 5000");
    assert_eq!(server.wall_ms(), 5000);
    client.line("SET k v PX 100");
    assert_eq!(server.next(), Some(1));
    assert_eq!((server.wall_ms(), server.next()), (5100, None));
    assert_eq!(server.step(-100), Ok(5000));
    assert!(server.step(i64::MIN).is_err());
    assert!(server.advance(Duration::MAX).is_err());
    assert_eq!(server.freeze(), 5000);
    assert!(server.resume() >= 5000);
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let choices = || {
        let server = ours::manual_server();
        let mut client = Client::connect(server.addr());
        client.line("SADD s a b c d e f g h i j k l m n o p");
        (0..20).map(|_| client.line("SRANDMEMBER s").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(choices(), choices());
}

mod steering {
    //! The methods by which a test controls a server: states, faults, the history of locks.

    use super::*;
    use lockwheel::{
        Action, Clients, Direction, Filter, GrantNumbers, Level, Match, NotInTime, Reply, Settle, Turn,
    };
    use std::error::Error;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    type Tried = Result<(), Box<dyn Error>>;

    fn with_history() -> Server {
        let builder = Server::builder().port(0).time(Time::Manual).seed(7).lock_history(true);
        builder.start().expect("it starts")
    }

    fn actions() -> Vec<(Action, &'static str)> {
        let second = Duration::from_secs(1);
        vec![
            (Action::drop_request(), "DROPREQUEST"),
            (Action::drop_reply().cut_after(second), "DROPREPLY CLOSEAFTER 1000"),
            (Action::delay(second), "DELAY 1000"),
            (Action::delay(second).jitter(second), "DELAY 1000 JITTER 1000"),
            (Action::delay_reply(second), "DELAYREPLY 1000"),
            (Action::hold(), "HOLD"),
            (Action::hold_reply(), "HOLDREPLY"),
            (Action::error("ERR as asked"), "ERROR ERR as asked"),
            (Action::reply_null(), "REPLY NULL"),
            (Action::reply_ok(), "REPLY OK"),
            (Action::reply_int(-1), "REPLY INT -1"),
            (Action::reply_bulk("text"), "REPLY BULK text"),
            (Action::reply_raw("$x"), "REPLY RAW $x"),
            (Action::close(), "CLOSE"),
            (Action::close_after(), "CLOSEAFTER"),
            (Action::reset(), "RESET"),
            (Action::reset_after(), "RESETAFTER"),
            (Action::slice(3), "SLICE 3"),
            (Action::slice(3).every(second), "SLICE 3 EVERY 1000"),
            (Action::bandwidth(64), "BANDWIDTH 64"),
            (Action::truncate(3), "TRUNCATE 3"),
            (Action::duplicate(), "DUPLICATE"),
            (Action::lose_publish(), "LOSEPUBLISH"),
            (Action::no_script(), "NOSCRIPT"),
            (Action::expire(), "EXPIRE"),
            (Action::arg_add(2, -1), "ARG 2 ADD -1"),
            (Action::time_shift(), "TIMESHIFT"),
        ]
    }

    #[test]
    fn the_server_knows_every_action_and_matcher() -> Tried {
        let server = ours::manual_server();
        for (action, words) in actions() {
            server.faults().add("rule", &Match::any().on("GET"), &action)?;
            assert_eq!(server.faults().list()?[0].rule, format!("ON GET DO {words}"));
            assert!(server.faults().remove("rule")?);
        }
        let all = Match::any().on("set").key("order:*").channel("news").arg(2, "v").result("OK");
        let all = all.client(&Clients::Named("w*".to_owned())).skip(1).times(2).prob(0.5);
        server.faults().add("all", &all, &Action::drop_reply())?;
        let script = Match::any().script(&"a".repeat(40)).client(&Clients::Lib("redis-rs".to_owned()));
        server.faults().add("script", &script, &Action::no_script())?;
        let text = Match::any().contains("hincrby").client(&Clients::Id(7));
        server.faults().add("text", &text, &Action::hold())?;
        let rules = server.faults().list()?;
        let words = "ON set KEY order:* CHANNEL news ARG 2 v RESULT OK CLIENTNAME w* SKIP 1 TIMES 2 \
                     PROB 0.5 DO DROPREPLY";
        assert_eq!((rules[0].rule.as_str(), rules[0].left, rules[1].left), (words, Some(2), None));
        server.faults().seed(7)?;
        assert_eq!(server.faults().clear()?, 3);
        assert!(server.faults().add("no", &Match::any().on("NOSUCH"), &Action::hold()).is_err());
        Ok(())
    }

    #[test]
    fn the_clock_is_set_and_advanced_and_returns_the_fired_deadlines() -> Tried {
        let server = ours::manual_server();
        let clock = server.clock();
        assert_eq!(clock.set(5_000)?, 5_000);
        assert!(clock.set(i64::MAX).is_err());
        for (key, lease) in [("a", "100"), ("b", "200"), ("c", "300")] {
            server.command(&["SET", key, "v", "PX", lease])?;
        }
        let info = clock.info()?;
        assert_eq!((info.mode.as_str(), info.wall_ms, info.timers), ("manual", 5_000, 3));
        assert_eq!((info.monotonic, info.next), (Duration::ZERO, Some(Duration::from_millis(100))));
        assert!(info.offset_ms < 0, "{info:?}");
        let turned = clock.next(2, &Turn::new())?.expect("two keys expire");
        assert_eq!((turned.wall_ms, turned.fired, turned.settled), (5_200, 2, true));
        let what: Vec<_> = turned.what.iter().map(|due| (due.kind.as_str(), due.of.as_str())).collect();
        assert_eq!(what, [("expiry", "a"), ("expiry", "b")]);
        let settled = Turn::new().settle(Duration::from_millis(10), Settle::DEFAULT_LIMIT);
        let turned = clock.advance(Duration::from_millis(100), &settled)?;
        assert_eq!((turned.fired, turned.settled, turned.what.len()), (1, true, 0));
        assert_eq!(clock.next(1, &Turn::new())?, None);
        assert!(clock.next(0, &Turn::new()).is_err());
        assert!(clock.reset()? > 5_300);
        assert_eq!((clock.info()?.mode, clock.info()?.offset_ms), ("real".to_owned(), 0));
        Ok(())
    }

    /// A subscriber to a lock's channel is notified of the end of its lease, unless the advance wakes nobody.
    #[test]
    fn an_advance_notifies_waiters_of_redisson_unless_no_wake_is_set() -> Tried {
        let heard = |turn: &Turn| -> Result<bool, Box<dyn Error>> {
            let server = ours::manual_server();
            let mut waiter = Client::connect(server.addr());
            waiter.line("SUBSCRIBE redisson_lock__channel:{l}");
            let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
            server.command(&["LOCK.ACQUIRE", "l", owner, "PX", "100"])?;
            server.clock().advance(Duration::from_millis(100), turn)?;
            server.command(&["PUBLISH", "redisson_lock__channel:{l}", "end"])?;
            Ok(!waiter.read_frame().to_string().contains("end"))
        };
        assert!(heard(&Turn::new())?);
        assert!(!heard(&Turn::new().no_wake())?);
        Ok(())
    }

    #[test]
    fn rules_force_an_interleaving_of_requests() -> Tried {
        let server = ours::manual_server();
        server.faults().add("writes", &Match::any().on("SET"), &Action::hold())?;
        let mut clients = [Client::connect(server.addr()), Client::connect(server.addr())];
        for client in &mut clients {
            client.send_line("SET k v");
        }
        server.until().held("writes", 2)?;
        assert_eq!(server.command(&["EXISTS", "k"])?, Reply::Integer(0), "the test itself is exempt");
        assert_eq!(server.faults().go("writes", Some(1))?, 1);
        assert_eq!(server.faults().go("writes", None)?, 1);
        for client in &mut clients {
            assert_eq!(client.read_reply().to_string(), "+OK");
        }
        server.until().fault("writes", 2)?;
        Ok(())
    }

    #[test]
    fn faults_affect_clients_and_the_whole_server() -> Tried {
        let server = ours::manual_server();
        let mut client = Client::connect(server.addr());
        client.line("CLIENT SETNAME frozen");
        let frozen = Clients::Named("frozen".to_owned());
        assert_eq!(server.faults().freeze_client(&frozen, Some(Duration::from_secs(5)))?, 1);
        client.send_line("SET k v");
        assert_eq!(server.faults().thaw_client(&frozen)?, 1);
        assert_eq!(client.read_reply().to_string(), "+OK");
        assert_eq!(server.faults().partition(&Clients::All, Direction::In)?, 1);
        client.send_line("SET k again");
        assert_eq!(server.command(&["GET", "k"])?, Reply::Text(b"v".to_vec()));
        assert_eq!(server.faults().heal()?, 1);
        assert_eq!(client.read_reply().to_string(), "+OK");
        server.faults().lag(Some("order:*"))?;
        server.command(&["MSET", "order:1", "x", "other", "x"])?;
        server.faults().failover(GrantNumbers::GoOn)?;
        assert_eq!(server.command(&["EXISTS", "order:1", "other"])?, Reply::Integer(1));
        server.faults().restart_keeping_data(Duration::ZERO)?;
        assert_eq!(server.command(&["EXISTS", "other"])?, Reply::Integer(1));
        server.faults().restart(Duration::from_secs(5), GrantNumbers::GoBack)?;
        assert_eq!(server.command(&["DBSIZE"])?, Reply::Integer(0));
        Ok(())
    }

    #[test]
    fn a_killed_server_can_keep_its_data() -> Tried {
        let topology = Server::builder().port(0).time(Time::Manual).replicas(1).start()?;
        let [master, replica] = topology.servers() else { unreachable!() };
        master.command(&["SET", "k", "v"])?;
        replica.faults().down_keeping_data(0, None)?;
        assert!(replica.faults().up(0)?);
        assert_eq!(master.command(&["GET", "k"])?, Reply::Text(b"v".to_vec()));
        Ok(())
    }

    #[test]
    fn the_rust_interface_awaits_states() -> Tried {
        let server = with_history();
        let waits = server.handle();
        let waiting = thread::spawn(move || waits.command(&["BLPOP", "list", "0"]));
        server.until().exact().blocked(1, Some("list"))?;
        server.command(&["RPUSH", "list", "v"])?;
        let popped = ["list", "v"].map(|text| Reply::Text(text.as_bytes().to_vec()));
        assert_eq!(waiting.join().expect("it does not panic")?, Reply::Array(popped.to_vec()));
        server.command(&["SET", "k", "v"])?;
        server.until().exists("k")?;
        server.until().has_type("k", "string")?;
        server.until().gone("other")?;
        server.until().calls("SET", 1, None)?;
        server.until().exact().clients(0, Some("nobody"))?;
        server.until().at_most().waiters("k", 3)?;
        server.until().exact().subscribers("news", 0)?;
        server.until().idle(Duration::from_millis(10), Some("nobody"))?;
        server.command(&["LOCK.ACQUIRE", "lock", "me", "PX", "1000"])?;
        assert!(server.until().event("acquired", &Filter::all().key("lock"))? > 0);
        let late = server.until().within(Duration::from_millis(10)).exists("never");
        let Err(NotInTime::Limit(report)) = late else { panic!("{late:?}") };
        assert!(
            report.starts_with("AWAIT.KEY never EXISTS LIMIT 10: not within the limit\nclock:\n"),
            "{report}"
        );
        Ok(())
    }

    #[test]
    fn the_history_is_returned_and_verified() -> Tried {
        let server = with_history();
        server.command(&["LOCK.ACQUIRE", "order:42", "first", "PX", "8000"])?;
        server.advance(Duration::from_secs(8))?;
        let history = server.history();
        let told = history.entries(&Filter::all().key("order:*").owner("first"))?;
        let events: Vec<&str> = told.entries.iter().map(|entry| entry.event.as_str()).collect();
        assert_eq!((events, told.first, told.is_truncated), (vec!["acquired", "lost"], 1, false));
        assert_eq!(told.entries[1].cause.as_deref(), Some("expired"));
        assert_eq!(history.entries(&Filter::all().since(told.last))?.entries, []);
        assert!(history.json(&Filter::all().count(1))?.contains("\"entries\""));
        assert!(history.edn(&Filter::all())?.contains(":process"));
        history.mark("they overlap")?;
        history.enter("order:42", "first", None)?;
        history.enter("order:42", "second", Some(7))?;
        let verdict = server.verify(Level::Violation, Some("order:*"))?;
        assert_eq!((verdict.verdict.as_str(), verdict.findings.len()), ("violated", 1));
        assert_eq!(verdict.findings[0].invariant, "mutual-exclusion");
        let report = server.report();
        for wanted in [
            "findings:\n    violation mutual-exclusion of order:42: ",
            " 8000 ms lost order:42 ",
            "they overlap",
        ] {
            assert!(report.contains(wanted), "{wanted:?} is not in\n{report}");
        }
        assert!(history.leave("order:42", "first")?);
        history.observe("my:*")?;
        history.unobserve("my:*")?;
        Ok(())
    }

    /// An owner releases a lock that another owner has had since its lease ended: that is suspect, and no violation.
    #[test]
    fn a_suspect_finding_fails_a_test_with_that_level() {
        let ends = |level: Level| {
            catch_unwind(AssertUnwindSafe(|| {
                let server = Server::builder().port(0).time(Time::Manual).verify(level).start();
                let server = server.expect("it starts");
                let slow = Match::any().on("LOCK.RELEASE").times(1);
                server
                    .faults()
                    .add("slow", &slow, &Action::delay(Duration::from_secs(2)))
                    .expect("it is a rule");
                let mut client = Client::connect(server.addr());
                client.line("LOCK.ACQUIRE order:42 me PX 1000");
                client.send_line("LOCK.RELEASE order:42 me");
                server.until().fault("slow", 1).expect("it has acted");
                server.advance(Duration::from_secs(1)).expect("the hands can move");
                for verb in ["LOCK.ACQUIRE", "LOCK.RELEASE"] {
                    server.command(&[verb, "order:42", "other"]).expect("it is free");
                }
                server.advance(Duration::from_secs(1)).expect("the hands can move");
                assert!(client.read_reply().is_error());
            }))
        };
        let panicked = ends(Level::Suspect).expect_err("it is given back late");
        let told = panicked.downcast_ref::<String>().expect("a text");
        assert!(told.starts_with("suspect "), "{told}");
        for wanted in ["slow", "ON LOCK.RELEASE TIMES 1 DO DELAY 2000"] {
            assert!(told.contains(wanted), "the report has the fault that acted:\n{told}");
        }
        assert!(ends(Level::Violation).is_ok());
    }

    #[test]
    fn a_verifying_server_panics_on_drop_after_a_violation() {
        let ends = |level: Level, overlaps: bool| {
            catch_unwind(AssertUnwindSafe(|| {
                let server = Server::builder().port(0).verify(level).start().expect("it starts");
                server.history().enter("order:42", "first", None).expect("it enters");
                if overlaps {
                    server.history().enter("order:42", "second", None).expect("it enters");
                }
            }))
        };
        let panicked = ends(Level::Suspect, true).expect_err("two are in a section");
        let told = panicked.downcast_ref::<String>().expect("a text");
        assert!(told.starts_with("violation mutual-exclusion of order:42: "), "{told}");
        assert!(ends(Level::Violation, false).is_ok());
    }
}
