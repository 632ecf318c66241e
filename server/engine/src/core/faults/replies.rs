//! Replies on which rules act.

use super::super::engine::Engine;
use super::super::progress::Progress;
use super::acted::ActedOn;
use crate::clients::{Closing, OpenReply, Request, Slot};
use crate::faults::{HeldTraffic, ReplyFate, ReplyRule};
use crate::limits::OutputEnd;
use crate::spec::{Args, CommandId};
use crate::waits::Blocked;
use lockwheel_resp::{Reply, allocation};

impl Engine {
    /// Runs a request on whose reply these rules may act.
    pub(super) fn execute_for_reply(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
        on_reply: Vec<ReplyRule>,
    ) -> Progress {
        let Some((open, progress)) = self.answer_seen(slot, args.all()) else { return Progress::Stop };
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            session.delivery.cut_reply();
            self.change_faults(|control, _| control.never_answered(&on_reply));
        } else if progress == Progress::Blocked {
            let id = session.id;
            self.change_output(slot, |output, slot| output.end_reply(slot, open, true));
            if let Some(blocked) = self.waits.get_mut(id) {
                blocked.on_reply = on_reply;
            }
        } else {
            self.end_reply(slot, open, command, Request::new(args.all()), &on_reply);
        }
        let progress = self.finish_request(slot, progress);
        match self.sessions.get(slot).blocked {
            true => Progress::Blocked,
            // Later traffic of a lost connection is lost too.
            false if self.faults.is_lost(self.sessions.get(slot)) => Progress::Stop,
            false => progress,
        }
    }

    /// Answers a waiting request, applying rules to the reply.
    pub(in crate::core) fn answer_blocked(
        &mut self,
        slot: Slot,
        blocked: Blocked,
        write: impl FnOnce(&mut dyn Reply),
    ) {
        if blocked.on_reply.is_empty() && blocked.again.is_none() {
            return self.change_output(slot, |output, slot| output.answer(slot, write));
        }
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return self.change_faults(|control, _| control.never_answered(&blocked.on_reply));
        }
        let protocol = session.protocol;
        let mut open = session.delivery.begin();
        if allocation::contain(|| open.write(protocol, write)).is_err() {
            self.cut_off(slot);
            return self.change_faults(|control, _| control.never_answered(&blocked.on_reply));
        }
        match blocked.again {
            Some(rule) => self.answered_once(slot, open, rule, &blocked),
            None => self.end_reply(slot, open, blocked.command, blocked.request, &blocked.on_reply),
        }
        self.sessions.wake(slot);
    }

    /// Gives up the wait of a disconnected client. Rules for its reply may act on another.
    pub(in crate::core) fn give_up_wait(&mut self, slot: Slot) {
        if let Some(blocked) = self.unblock(slot) {
            self.change_faults(|control, _| control.never_answered(&blocked.on_reply));
        }
    }

    /// Ends a reply as the first rule that takes it requires, or disconnects the client if memory lacks. The client
    /// must not be running a command.
    pub(in crate::core) fn end_reply(
        &mut self,
        slot: Slot,
        open: OpenReply,
        command: CommandId,
        request: Request,
        rules: &[ReplyRule],
    ) {
        if open.is_refused() {
            return self.end_output(slot, OutputEnd::Refused);
        }
        let taken = self.change_faults(|control, _| control.judge_reply(rules, open.bytes()));
        let Some((rule, action)) = taken else {
            return self.change_output(slot, |output, slot| output.end_reply(slot, open, false));
        };
        self.history().rule_acted(rule, ActedOn::Reply(slot, command, Args::new(&request.argv())));
        let patience_ms = self.config.replication.patience_ms();
        let ended = allocation::contain(|| match action.act(self.sessions.get_mut(slot), open) {
            ReplyFate::Ended => {}
            ReplyFate::Refused => self.end_output(slot, OutputEnd::Refused),
            ReplyFate::Lost { cut_after_ms } => {
                self.change_faults(|control, _| control.lose_connection(slot, cut_after_ms, patience_ms));
            }
            ReplyFate::Held { part, delay_ms } => {
                self.park_held(slot, (command, request), HeldTraffic { rule, part }, delay_ms);
            }
        });
        if ended.is_err() {
            self.cut_off(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use lockwheel_resp::allocation::OutOfMemory;
    use lockwheel_store::time::Now;

    #[test]
    fn a_waiter_without_memory_for_its_reply_is_disconnected() {
        for action in ["HOLDREPLY", "SLICE 1 EVERY 10", "REPLY OK"] {
            let mut engine = Engine::new(Config::default(), 7, Now::default());
            let [other, waiter] = [(); 2].map(|()| engine.connect(Peer::default()));
            let line = format!("FAULT.ADD rule ON blpop DO {action}");
            engine.execute(other, &line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
            assert_eq!(engine.execute(waiter, &[b"BLPOP", b"list", b"0"]), Progress::Blocked);
            let blocked = engine.unblock(waiter).expect("it waits");
            assert!(!blocked.on_reply.is_empty(), "{action}");
            engine.answer_blocked(waiter, blocked, |reply| {
                reply.status(b"a part");
                OutOfMemory { bytes: 1 }.unwind()
            });
            assert_eq!(engine.sessions().get(waiter).closing(), Some(Closing::Now));
            assert_eq!(engine.sessions().get(other).closing(), None);
            let mut output = Outbox::default();
            engine.take_output(waiter, &mut output);
            assert!(output.is_empty(), "{action}");
        }
    }
}
