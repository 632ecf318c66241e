//! Requests of this process: a thread sends a request like a client, but without a socket, and waits for the reply.

use super::callers::Caller;
use super::shared::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Peer};
use lockwheel_engine::core::Progress;
use std::thread;

impl Shared {
    /// Runs a request as a client exempt from fault rules. Blocks until the RESP3 reply; `None` if the server ends.
    pub(crate) fn ask(&self, request: &[&[u8]]) -> Option<Vec<u8>> {
        let caller = self.with_engine(|engine| self.caller(engine));
        self.callers.waiting.insert(caller.id, thread::current());
        let mut reply = Outbox::default();
        let mut progress = self.with_engine(|engine| {
            let progress = engine.execute(caller.slot, request);
            engine.take_output(caller.slot, &mut reply);
            progress
        });
        while progress == Progress::Blocked && !self.shutdown.is_requested() {
            thread::park();
            progress = self.with_engine(|engine| caller.look(engine, &mut reply));
        }
        self.callers.waiting.remove(&caller.id);
        self.callers.idle.lock().push(caller);
        Some(reply.bytes().to_vec()).filter(|bytes| !bytes.is_empty())
    }

    fn caller(&self, engine: &mut Engine) -> Caller {
        while let Some(caller) = self.callers.idle.lock().pop() {
            if !caller.is_cut(engine) {
                return caller;
            }
            engine.disconnect(caller.slot);
        }
        let id = self.client_limit.next_id();
        let slot = engine.connect_as(id, Peer { addr: "in-process:0".to_owned(), ..Peer::default() });
        engine.sessions_mut().trust(slot);
        engine.execute(slot, &[b"HELLO", b"3"]);
        engine.execute(slot, &[b"FAULT.EXEMPT", b"ON"]);
        engine.take_output(slot, &mut Outbox::default());
        Caller { id, slot }
    }
}
