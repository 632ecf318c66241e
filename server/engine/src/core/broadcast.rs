//! Broadcasts: a client's request that all servers of its process execute while the client waits.

use super::engine::{Engine, Handler, ServerHandler};
use crate::clients::Closing;
use crate::finally::finally;
use crate::locks::{self, MergedHistory, MergingHistory, StampSource};
use crate::member::{BroadcastAnswer, BroadcastId, MemberAddress, TopologyMember};
use crate::spec::CommandError;
use crate::waits::Retry;
use lockwheel_store::keyspace::Keyspace;
use std::net::SocketAddr;

/// The commands that read the history of locks of all servers.
pub(super) const OF_HISTORY: &[&str] = &["lock.history", "lock.verify"];

impl Engine {
    /// Applies an action of another server of the process, whose history alone records it.
    pub(in crate::core) fn as_another_did<T>(&mut self, act: impl FnOnce(&mut Engine) -> T) -> T {
        if !self.member.is_joined() {
            return act(self);
        }
        let was_muted = locks::mute_history(&mut self.keyspace, true);
        finally(self, act, |engine| {
            locks::mute_history(&mut engine.keyspace, was_muted);
        })
    }

    /// Returns this server as one of several of its process.
    pub fn member(&self) -> &TopologyMember {
        &self.member
    }

    pub(crate) fn member_mut(&mut self) -> &mut TopologyMember {
        &mut self.member
    }

    /// Makes this the server at index `place` of several on one clock, whose lock history is then read as one.
    pub(crate) fn join(&mut self, members: &[MemberAddress], place: usize, stamps: StampSource) {
        self.member.join(members, place, stamps);
        self.configure_ledger();
        for name in OF_HISTORY {
            if let Some(command) = self.commands.find(name.as_bytes()).map(|command| command.id) {
                self.handlers[command] = Some(Handler::Server(match *name {
                    "lock.verify" => &ServerHandler::HistoryOfAll(locks::check_verify_request),
                    _ => &ServerHandler::HistoryOfAll(locks::check_history_request),
                }));
            }
        }
    }

    /// Expects an arrival from another engine at this time of the monotonic clock, in milliseconds.
    pub(crate) fn look_again_at(&mut self, at_ms: i64) {
        let order = self.keyspace.next_order();
        self.member.expect_arrival(at_ms, order, self.clock.timers_mut());
    }

    /// Answers a client's request to all servers, unless its wait has ended otherwise.
    pub(crate) fn answer_broadcast(
        &mut self,
        asked: BroadcastId,
        answer: Result<BroadcastAnswer, CommandError>,
    ) {
        let client = asked.client;
        let retry = self.waits.get(client).map(|blocked| &blocked.retry);
        if matches!(retry, Some(Retry::Broadcast(number)) if *number == asked.number) {
            self.member.set_answer(Some(answer));
            self.retry(client);
            self.member.set_answer(None);
            if let Some(beginner) = self.readings.take_beginner() {
                self.wait_control().begin_to_read(beginner);
            }
        }
        if self.faults.outage.take_killer(client)
            && let Some(slot) = self.sessions.find(client)
        {
            self.sessions.get_mut(slot).close(Closing::AfterOutput);
        }
        self.commit();
    }
}

/// Begins to merge the lock histories of these servers, without events of those at the indices `hanging`.
pub(crate) fn read_history(nodes: &mut [&mut Engine], hanging: &[usize]) -> Option<MergingHistory> {
    nodes.iter_mut().for_each(|node| locks::history_is_read(&mut node.keyspace));
    let mut merging = MergingHistory::of(&keep_locks(nodes), nodes.first()?.start.seed)?;
    if !hanging.is_empty() {
        let names: Vec<String> = hanging.iter().map(|place| name_of(nodes[0], *place)).collect();
        merging.leave_out(&names.join(" "));
    }
    Some(merging)
}

/// Returns the address of the server at an index, as a server of the process sees it.
fn name_of(node: &Engine, place: usize) -> String {
    SocketAddr::new(node.config.loopback(), node.member.addresses()[place].port).to_string()
}

pub(crate) fn merged_history(nodes: &[&mut Engine]) -> Option<MergedHistory> {
    MergedHistory::of(&keep_locks(nodes), nodes.first()?.start.seed)
}

/// Returns the servers that have locks (no sentinels), with their names.
fn keep_locks<'a>(nodes: &'a [&mut Engine]) -> Vec<(&'a Keyspace, String)> {
    let named = |node: &Engine| name_of(node, node.member.place());
    let keep_locks = nodes.iter().filter(|node| node.sentinel.is_none());
    keep_locks.map(|node| (&node.keyspace, named(node))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer, Slot};
    use crate::config::Config;
    use crate::locks::HistoryReader;
    use crate::member::TopologyRequest;
    use crate::spec::errors;
    use lockwheel_store::time::Now;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Returns one of two servers, with one taken lock in its history.
    fn member() -> Engine {
        let mut config = Config::default();
        config.lock_history = true;
        let mut engine = Engine::new(config, 7, Now::default());
        engine.join(&[7001, 7002].map(MemberAddress::new), 0, StampSource::new(|_| 1));
        acquire(&mut engine, b"first");
        engine
    }

    /// Returns two servers that have taken this number of locks each, in turn.
    fn members(locks: usize) -> [Engine; 2] {
        let last = Arc::new(AtomicU64::new(0));
        let mut engines = [0, 1].map(|place| {
            let mut config = Config::default();
            config.lock_history = true;
            let mut engine = Engine::new(config, 7, Now::default());
            let last = last.clone();
            let stamps = StampSource::new(move |count| last.fetch_add(count, Ordering::Relaxed) + count);
            engine.join(&[7001, 7002].map(MemberAddress::new), place, stamps);
            engine
        });
        for lock in 0..locks {
            engines.iter_mut().for_each(|engine| acquire(engine, format!("lock:{lock}").as_bytes()));
        }
        engines
    }

    fn received(engine: &mut Engine, slot: Slot) -> String {
        let mut output = Outbox::default();
        engine.take_output(slot, &mut output);
        String::from_utf8_lossy(output.bytes()).into_owned()
    }

    fn asked(engine: &mut Engine) -> BroadcastId {
        let requests = std::iter::from_fn(|| engine.member.next_request());
        let mut asked = requests.filter_map(|request| match request {
            TopologyRequest::Broadcast(asked, _) => Some(asked),
            _ => None,
        });
        asked.next().expect("it has asked")
    }

    fn ask(engine: &mut Engine, slot: Slot, line: &str) -> BroadcastId {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        engine.execute(slot, &words);
        asked(engine)
    }

    /// Returns the number of pieces in which a request reads both histories (serving another client), and its reply.
    fn pieces(engines: &mut [Engine; 2], request: &[&[u8]]) -> (usize, String) {
        let [reader, other] = [(); 2].map(|()| engines[0].connect(Peer::default()));
        let client = engines[0].sessions().get(reader).id;
        engines[0].execute(reader, request);
        let asked = asked(&mut engines[0]);
        let merging = read_history(&mut engines.iter_mut().collect::<Vec<_>>(), &[]);
        engines[0].answer_broadcast(asked, Ok(BroadcastAnswer::History(merging)));
        let mut pieces = 1;
        while engines[0].waits.get(client).is_some() {
            engines[0].time_out(client);
            engines[0].execute(other, &[b"SET", b"lock:between", b"x", b"NX", b"PX", b"1000"]);
            assert!(!received(&mut engines[0], other).is_empty());
            pieces += 1;
        }
        (pieces, received(&mut engines[0], reader))
    }

    #[test]
    fn long_histories_of_several_servers_are_merged_and_read_in_pieces() {
        let mut engines = members(4000);
        for words in [&["LOCK.HISTORY", "FORMAT", "JSON"][..], &["LOCK.HISTORY"], &["LOCK.VERIFY"]] {
            let request: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            let (pieces, answer) = pieces(&mut engines, &request);
            // The entries are merged and then examined.
            assert!(pieces * 1100 > 2 * 8000, "{words:?}: {pieces}");
            assert!(!answer.contains("lock:between"), "what happens meanwhile is no part of it");
            if words.len() > 1 {
                assert!(answer.matches("\"seq\"").count() > 8000);
                assert!(answer.contains("lock:3999") && answer.contains(":7002"));
            }
            engines = members(4000);
        }
        assert_eq!(pieces(&mut members(100), &[b"LOCK.VERIFY"]).0, 1);
    }

    #[test]
    fn a_mistyped_request_is_refused_before_any_other_server_is_asked() {
        let mut engine = member();
        let client = engine.connect(Peer::default());
        for request in ["LOCK.VERIFY LEVEL nonsense", "LOCK.HISTORY FORMAT nonsense", "LOCK.HISTORY COUNT"] {
            let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            engine.execute(client, &words);
            assert!(!engine.member.is_asking(), "{request}");
            assert!(received(&mut engine, client).starts_with("-ERR syntax error"), "{request}");
        }
        engine.execute(client, &[b"LOCK.VERIFY", b"LEVEL", b"LINT"]);
        assert!(engine.member.is_asking());
    }

    #[test]
    fn a_late_answer_is_not_delivered_to_the_next_request() {
        for (line, next) in [
            ("LOCK.VERIFY", "FAULT.HEAL"),
            ("FAULT.HEAL", "LOCK.VERIFY"),
            ("FAULT.HEAL", "FAULT.UP 1"),
            ("CLOCK.INFO", "CLOCK.INFO"),
            ("LOCK.VERIFY", "LOCK.VERIFY"),
        ] {
            let mut engine = member();
            let waiting = engine.connect(Peer::default());
            let client = engine.sessions().get(waiting).id;
            let late = ask(&mut engine, waiting, line);
            for with_error in [false, true] {
                assert!(!engine.unblock_client(client, with_error), "it waits for nothing that may not come");
            }
            assert_eq!(received(&mut engine, waiting), "");
            // A reset of the server also ends waits like this.
            engine.end_wait(waiting);
            assert!(!received(&mut engine, waiting).is_empty());
            let asked = ask(&mut engine, waiting, next);
            for answer in [Ok(BroadcastAnswer::Ok), Ok(BroadcastAnswer::Clock(None, 9)), Err(errors::SYNTAX)]
            {
                engine.answer_broadcast(late, answer);
                assert_eq!(received(&mut engine, waiting), "", "{line}, {next}");
            }
            engine.answer_broadcast(asked, Ok(BroadcastAnswer::Ok));
            assert_eq!(received(&mut engine, waiting), "+OK\r\n", "{line}, {next}");
        }
    }

    #[test]
    fn a_broadcast_from_before_a_reset_is_not_executed_after_it() {
        let mut engine = member();
        let [waiting, resets] = [(); 2].map(|()| engine.connect(Peer::default()));
        engine.execute(waiting, &[b"FAULT.DOWN", b"1"]);
        engine.execute(resets, &[b"CONTROL.RESET", b"KEEPCLIENTS"]);
        assert_eq!(received(&mut engine, resets), "+OK\r\n");
        assert_eq!(received(&mut engine, waiting), "$-1\r\n");
        assert_eq!(engine.member.asks_to_kill().count(), 0);
    }

    #[test]
    fn a_client_may_disconnect_while_histories_are_merged() {
        let mut engines = members(4000);
        let reader = engines[0].connect(Peer::default());
        let asked = ask(&mut engines[0], reader, "LOCK.VERIFY");
        let merging = read_history(&mut engines.iter_mut().collect::<Vec<_>>(), &[]);
        engines[0].answer_broadcast(asked, Ok(BroadcastAnswer::History(merging)));
        assert!(engines[0].readings.memory() > 1_000_000);
        engines[0].disconnect(reader);
        assert!(!engines[0].readings.is_busy());
        assert_eq!(engines[0].readings.memory(), 0);
    }

    fn acquire(engine: &mut Engine, lock: &[u8]) {
        let slot = engine.connect(Peer::default());
        engine.execute(slot, &[b"LOCK.ACQUIRE", lock, b"owner", b"PX", b"1000"]);
    }

    fn last(engine: &Engine) -> u64 {
        HistoryReader::of(&engine.keyspace).expect("it is on").last()
    }

    #[test]
    fn a_panic_during_muted_recording_ends_the_muting() {
        let mut engine = member();
        let before = last(&engine);
        engine.as_another_did(|engine| {
            let panic =
                catch_unwind(AssertUnwindSafe(|| engine.as_another_did(|_| panic!("as a test says"))));
            assert!(panic.is_err());
            acquire(engine, b"muted");
        });
        assert_eq!(last(&engine), before, "what is within another stays muted");
        let panic = catch_unwind(AssertUnwindSafe(|| engine.as_another_did(|_| panic!("as a test says"))));
        assert!(panic.is_err());
        acquire(&mut engine, b"second");
        assert!(last(&engine) > before);
    }

    #[test]
    fn a_panic_restores_the_replaced_history() {
        let mut engine = member();
        let before = last(&engine);
        let merged = merged_history(&[&mut engine]).expect("it is on");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            merged.instead(&mut engine.keyspace, |_| panic!("as a test says"));
        }));
        assert!(panic.is_err());
        assert_eq!(last(&engine), before);
        acquire(&mut engine, b"second");
        assert!(last(&engine) > before);
    }
}
