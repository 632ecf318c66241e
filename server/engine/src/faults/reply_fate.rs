//! The actions on replies, applied to the output of a client.

use super::action::{ReplyAction, Substitute};
use super::held::{HeldPart, SlicedReply};
use crate::clients::{Closing, OpenReply, Session};

/// The result of an action on a reply.
#[derive(Debug)]
pub(crate) enum ReplyFate {
    Ended,
    /// A reply was written although none may be sent.
    Refused,
    /// The reply is complete, and the connection is a black hole from now on.
    Lost {
        /// The milliseconds until the connection is cut. `None`: it is not cut.
        cut_after_ms: Option<u64>,
    },
    Held {
        part: HeldPart,
        /// The time until the part is sent, in milliseconds. `None`: until the test releases it.
        delay_ms: Option<u64>,
    },
}

impl ReplyAction {
    /// Acts on a written reply of a session.
    pub(crate) fn act(self, session: &mut Session, mut open: OpenReply) -> ReplyFate {
        match self {
            ReplyAction::Drop { cut_after_ms } => {
                open.truncate(0);
                session.delivery.end(open, false);
                // The close of a connection by the server is lost with its last reply.
                session.closing = session.closing.filter(|how| *how == Closing::Now);
                ReplyFate::Lost { cut_after_ms }
            }
            ReplyAction::Replace(substitute) => {
                open.truncate(0);
                substitute.write(session, &mut open);
                if open.is_refused() {
                    return ReplyFate::Refused;
                }
                session.delivery.end(open, false);
                ReplyFate::Ended
            }
            ReplyAction::Slice(slices) => {
                let reply = SlicedReply::new(session.delivery.hold(open), slices);
                match reply.send_piece(&mut session.delivery) {
                    Some((rest, then_ms)) => {
                        ReplyFate::Held { part: HeldPart::Slices(rest), delay_ms: Some(then_ms) }
                    }
                    None => ReplyFate::Ended,
                }
            }
            ReplyAction::Close | ReplyAction::Reset | ReplyAction::Truncate(_) => {
                session.resets = self == ReplyAction::Reset;
                open.truncate(if let ReplyAction::Truncate(bytes) = self { bytes } else { 0 });
                session.delivery.end_last(open);
                session.close(Closing::AfterOutput);
                // Output after the truncated reply is discarded.
                ReplyFate::Lost { cut_after_ms: None }
            }
            ReplyAction::Delay(_) | ReplyAction::Hold => {
                let delay_ms = if let ReplyAction::Delay(latency) = self { Some(latency.ms) } else { None };
                ReplyFate::Held { part: HeldPart::Reply(session.delivery.hold(open)), delay_ms }
            }
        }
    }
}

impl Substitute {
    fn write(&self, session: &Session, open: &mut OpenReply) {
        let protocol = session.protocol;
        match self {
            Substitute::Raw(bytes) => open.append(bytes),
            Substitute::Null => open.write(protocol, |reply| reply.null()),
            Substitute::Ok => open.write(protocol, |reply| reply.ok()),
            Substitute::Integer(value) => open.write(protocol, |reply| reply.integer(*value)),
            Substitute::Bulk(bytes) => open.write(protocol, |reply| reply.bulk(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::action::{FaultDelay, Slices};
    use super::*;
    use crate::acl::Login;
    use crate::clients::{Outbox, Peer, Sessions};
    use lockwheel_store::memory::MemoryAccount;
    use lockwheel_store::time::Now;

    /// Acts on the reply `+abcd`. Returns the result, and the session with its output.
    fn act(action: ReplyAction) -> (ReplyFate, Sessions) {
        let (mut sessions, account) = (Sessions::default(), MemoryAccount::default());
        let slot = sessions.add(1, |slot| {
            Session::new(1, slot, Peer::default(), Login::None, Now::default(), &account.clients)
        });
        let session = sessions.get_mut(slot);
        let mut open = session.delivery.begin();
        open.write(session.protocol, |reply| reply.status(b"abcd"));
        (action.act(session, open), sessions)
    }

    /// Takes the output of the session, and how it is closed.
    fn sent(mut sessions: Sessions) -> (Vec<u8>, Option<Closing>) {
        let (slot, mut output) = (sessions.find(1).expect("it is connected"), Outbox::default());
        let session = sessions.get_mut(slot);
        session.delivery.take(&mut output);
        (output.bytes().to_vec(), session.closing)
    }

    #[test]
    fn a_reply_is_replaced_truncated_or_dropped() {
        let (fate, sessions) = act(ReplyAction::Replace(Substitute::Integer(7)));
        assert!(matches!(fate, ReplyFate::Ended));
        assert_eq!(sent(sessions), (b":7\r\n".to_vec(), None));
        let (fate, sessions) = act(ReplyAction::Truncate(3));
        assert!(matches!(fate, ReplyFate::Lost { cut_after_ms: None }));
        assert_eq!(sent(sessions), (b"+ab".to_vec(), Some(Closing::AfterOutput)));
        let (fate, sessions) = act(ReplyAction::Drop { cut_after_ms: Some(5) });
        assert!(matches!(fate, ReplyFate::Lost { cut_after_ms: Some(5) }));
        assert_eq!(sent(sessions), (b"".to_vec(), None));
    }

    #[test]
    fn a_reply_is_held_as_a_whole_or_behind_its_first_piece() {
        let (fate, sessions) = act(ReplyAction::Delay(FaultDelay { ms: 9, jitter_ms: 0 }));
        let ReplyFate::Held { part: HeldPart::Reply(bytes), delay_ms: Some(9) } = fate else {
            panic!("{fate:?}")
        };
        assert_eq!((&*bytes, &*sent(sessions).0), (&b"+abcd\r\n"[..], &b""[..]));
        let (fate, sessions) = act(ReplyAction::Slice(Slices { bytes: 2, every_ms: 4 }));
        assert!(matches!(fate, ReplyFate::Held { part: HeldPart::Slices(_), delay_ms: Some(4) }), "{fate:?}");
        assert_eq!(sent(sessions).0, b"+a");
        let (fate, sessions) = act(ReplyAction::Slice(Slices { bytes: 100, every_ms: 4 }));
        assert!(matches!(fate, ReplyFate::Ended), "{fate:?}");
        assert_eq!(sent(sessions).0, b"+abcd\r\n");
    }
}
