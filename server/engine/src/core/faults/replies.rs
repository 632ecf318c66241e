//! Replies on their way to a client, as rules want them.

use super::super::engine::{Engine, Retry};
use super::super::parked::Blocked;
use super::super::progress::Progress;
use super::acted::ActedOn;
use super::held::{Held, HeldPart, SlicedReply};
use crate::clients::{Closing, OpenReply, Request, Slot};
use crate::faults::{ReplyAction, ReplyKind, ReplyRule, RuleId, Substitute};
use crate::spec::{Args, CommandId};
use lockwheel_resp::Reply;

impl Engine {
    /// Runs a request on whose reply one of these rules may act.
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
            self.never_answered(&on_reply);
        } else if progress == Progress::Blocked {
            session.delivery.end(open, true);
            let id = session.id;
            if let Some(blocked) = self.parked.get_mut(id) {
                blocked.on_reply = on_reply;
            }
        } else {
            self.end_reply(slot, open, command, Request::new(args.all()), &on_reply);
        }
        let progress = self.finish_request(slot, progress);
        match self.sessions.get(slot).blocked {
            true => Progress::Blocked,
            // What is behind a lost reply is lost.
            false if self.is_lost(slot) => Progress::Stop,
            false => progress,
        }
    }

    /// Answers a request that has waited, as rules want its reply.
    pub(in crate::core) fn answer_blocked(
        &mut self,
        slot: Slot,
        blocked: Blocked<Retry>,
        write: impl FnOnce(&mut dyn Reply),
    ) {
        if blocked.on_reply.is_empty() && blocked.again.is_none() {
            return self.answer(slot, write);
        }
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return self.never_answered(&blocked.on_reply);
        }
        let protocol = session.protocol;
        let mut open = session.delivery.begin();
        open.write(protocol, write);
        match blocked.again {
            Some(rule) => self.answered_once(slot, open, rule, &blocked),
            None => self.end_reply(slot, open, blocked.command, blocked.request, &blocked.on_reply),
        }
        self.wake(slot);
    }

    /// The client that waits, if it does, is gone: rules that were to act on its reply may act on another.
    pub(in crate::core) fn give_up_wait(&mut self, slot: Slot) {
        if let Some(blocked) = self.unblock(slot) {
            self.never_answered(&blocked.on_reply);
        }
    }

    fn never_answered(&mut self, on_reply: &[ReplyRule]) {
        if !on_reply.is_empty() {
            self.faults.rules.give_back(on_reply);
            self.note_rules();
        }
    }

    /// Ends a reply as the first of these rules wants that takes it.
    pub(in crate::core) fn end_reply(
        &mut self,
        slot: Slot,
        mut open: OpenReply,
        command: CommandId,
        request: Request,
        rules: &[ReplyRule],
    ) {
        let taken = self.faults.rules.judge_reply(rules, ReplyKind::of(open.bytes()));
        self.note_rules();
        let Some((rule, action)) = taken else {
            return self.end_contained(slot, open, false);
        };
        self.rule_acted(rule, ActedOn::Reply(slot, command, Args::new(&request.argv())));
        let session = self.sessions.get_mut(slot);
        let protocol = session.protocol;
        match action {
            ReplyAction::Drop { cut_after_ms } => {
                open.truncate(0);
                self.end_contained(slot, open, false);
                self.lose_connection(slot, cut_after_ms);
            }
            ReplyAction::Replace(substitute) => {
                open.truncate(0);
                match substitute {
                    Substitute::Raw(bytes) => open.append(&bytes),
                    substitute => open.write(protocol, |reply| write(&substitute, reply)),
                }
                self.end_contained(slot, open, false);
            }
            ReplyAction::Slice(slices) => {
                let rest = session.delivery.hold(open);
                self.send_slice(slot, command, request, rule, SlicedReply { rest, slices });
            }
            ReplyAction::Close | ReplyAction::Reset | ReplyAction::Truncate(_) => {
                session.resets = action == ReplyAction::Reset;
                open.truncate(if let ReplyAction::Truncate(bytes) = action { bytes } else { 0 });
                session.delivery.end_last(open);
                session.close(Closing::AfterOutput);
                // What else it would be sent comes too late.
                self.lose_connection(slot, None);
            }
            ReplyAction::Delay(_) | ReplyAction::Hold => {
                let delay_ms = if let ReplyAction::Delay(latency) = action { Some(latency.ms) } else { None };
                let held = Held { rule, part: HeldPart::Reply(session.delivery.hold(open)) };
                self.park_held(slot, command, request, held, delay_ms);
            }
        }
    }
}

impl Engine {
    /// Sends the next piece of a reply; the rest of it waits.
    pub(super) fn send_slice(
        &mut self,
        slot: Slot,
        command: CommandId,
        request: Request,
        rule: RuleId,
        mut reply: SlicedReply,
    ) {
        let delivery = &mut self.sessions.get_mut(slot).delivery;
        if reply.rest.len() <= reply.slices.bytes {
            return delivery.release(&reply.rest);
        }
        let rest = reply.rest.split_off(reply.slices.bytes);
        delivery.release_piece(&std::mem::replace(&mut reply.rest, rest));
        let every_ms = reply.slices.every_ms;
        let held = Held { rule, part: HeldPart::Slices(reply) };
        self.park_held(slot, command, request, held, Some(every_ms));
    }
}

fn write(substitute: &Substitute, reply: &mut dyn Reply) {
    match substitute {
        Substitute::Null => reply.null(),
        Substitute::Ok => reply.ok(),
        Substitute::Integer(value) => reply.integer(*value),
        Substitute::Bulk(bytes) | Substitute::Raw(bytes) => reply.bulk(bytes),
    }
}
