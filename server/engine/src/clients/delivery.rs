//! The gate for a client's output. It knows the beginning and the end of each reply, and sends or drops it, as CLIENT
//! REPLY asked. Messages and confirmations of subscriptions are no replies: they are always sent, behind a reply that
//! is being written.

use super::buffers::ClientBuffers;
use super::outbox::{Message, Outbox};
use lockwheel_resp::{Protocol, Reply, Writer, allocation};
use lockwheel_store::memory::{ClientBytes, SharedBytes};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyMode {
    /// No reply is sent.
    off: bool,
    /// The reply to the present request is skipped.
    skip: bool,
    /// The reply to the next request will be skipped.
    skip_next: bool,
    /// The client is a replica, which is sent the stream and no replies.
    of_replica: bool,
}

impl ReplyMode {
    pub(crate) fn turn_on(&mut self) {
        (self.off, self.skip) = (false, false);
    }

    pub(crate) fn turn_off(&mut self) {
        self.off = true;
    }

    /// CLIENT REPLY SKIP. It has no effect while replies are off.
    pub(crate) fn skip_next(&mut self) {
        self.skip_next |= !self.off;
    }

    /// Sends only the stream from now on, because a replica would take replies for parts of the stream.
    pub(crate) fn serve_replica(&mut self) {
        self.of_replica = true;
    }

    /// RESET. Its own reply may still be skipped.
    pub(crate) fn reset(&mut self) {
        (self.off, self.skip_next) = (false, false);
    }

    /// Whether the reply to the present request is sent.
    #[inline]
    pub(crate) fn verdict(self) -> ReplyDecision {
        match self.of_replica {
            _ if self.off || self.skip => ReplyDecision::Drop,
            true => ReplyDecision::Refuse,
            false => ReplyDecision::Send,
        }
    }
}

/// Whether a reply is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyDecision {
    /// The reply is sent.
    Send,
    /// The reply is dropped.
    Drop,
    /// The reply is dropped, and a client that causes a reply is disconnected.
    Refuse,
}

/// A reply from its beginning to its end.
#[derive(Debug)]
pub(crate) struct OpenReply {
    buffer: Vec<u8>,
    /// The offset of the reply in the buffer.
    start: usize,
    verdict: ReplyDecision,
}

impl OpenReply {
    /// Writes the reply by `write`.
    #[inline(always)]
    pub(crate) fn write<T>(&mut self, protocol: Protocol, write: impl FnOnce(&mut dyn Reply) -> T) -> T {
        let mut writer = self.writer(protocol);
        let written = write(&mut writer);
        writer.mute(false);
        written
    }

    /// The writer of the reply. The caller must not leave the writer muted.
    #[inline(always)]
    pub(crate) fn writer(&mut self, protocol: Protocol) -> Writer<'_> {
        let mut writer = Writer::new(&mut self.buffer, protocol);
        if self.verdict == ReplyDecision::Drop {
            writer.mute(true);
        }
        writer
    }

    /// The bytes written so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Appends bytes unchanged.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        if self.verdict != ReplyDecision::Drop {
            allocation::append(&mut self.buffer, bytes);
        }
    }

    /// Whether bytes were written although no reply may be sent.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.verdict == ReplyDecision::Refuse && self.len() > 0
    }

    /// Drops all but the first `len` bytes of the reply.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.buffer.truncate(self.start.saturating_add(len));
    }

    /// The number of bytes written so far.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.buffer.len().saturating_sub(self.start)
    }
}

/// The output of a client, and the mode that decides whether replies are sent.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) mode: ReplyMode,
    out: Outbox,
    /// Whether a reply is being written or held. Its buffer is taken, and pushes are queued behind the reply.
    replying: bool,
    behind_reply: Option<Box<Outbox>>,
    /// The sizes that the connection reports. A write reduces the count of taken output.
    buffers: Arc<ClientBuffers>,
}

impl Delivery {
    pub(crate) fn new(account: &ClientBytes) -> Self {
        Delivery {
            mode: ReplyMode::default(),
            out: Outbox::default(),
            replying: false,
            behind_reply: None,
            buffers: Arc::new(ClientBuffers::new(account.clone())),
        }
    }

    /// Begins a reply.
    #[inline]
    pub(crate) fn begin(&mut self) -> OpenReply {
        self.replying = true;
        let buffer = self.out.take_tail();
        OpenReply { start: buffer.len(), buffer, verdict: self.mode.verdict() }
    }

    /// Ends a reply and queues it, followed by the pushes that arrived meanwhile. If `is_left_open`, nothing of the
    /// reply has been written, and the request will be answered later.
    #[inline]
    pub(crate) fn end(&mut self, reply: OpenReply, is_left_open: bool) {
        self.replying = false;
        self.out.put_tail(reply.buffer);
        if self.behind_reply.is_some() {
            self.append_behind_reply();
        }
        if !is_left_open {
            self.next_request();
        }
    }

    /// Ends the last reply of a connection that is cut after it. Pushes that arrived meanwhile are not sent.
    pub(crate) fn end_last(&mut self, reply: OpenReply) {
        self.behind_reply = None;
        self.end(reply, false);
    }

    /// Whether a reply is being written, or held back.
    pub(crate) fn is_replying(&self) -> bool {
        self.replying
    }

    /// Holds back a whole reply and returns it for [`Delivery::release`]. Later pushes are queued behind it.
    pub(crate) fn hold(&mut self, mut reply: OpenReply) -> Vec<u8> {
        let held = allocation::copy(reply.bytes()).into_vec();
        reply.buffer.truncate(reply.start);
        self.out.put_tail(reply.buffer);
        self.count();
        held
    }

    /// Sends a held reply, followed by the pushes that arrived meanwhile.
    pub(crate) fn release(&mut self, held: &[u8]) {
        let mut reply = self.begin();
        allocation::append(&mut reply.buffer, held);
        self.end(reply, false);
        self.count();
    }

    /// Sends a piece of a held reply. More pieces follow.
    pub(crate) fn release_piece(&mut self, piece: &[u8]) {
        let mut buffer = self.out.take_tail();
        allocation::append(&mut buffer, piece);
        self.out.put_tail(buffer);
        self.count();
    }

    #[cold]
    fn append_behind_reply(&mut self) {
        if let Some(mut behind) = self.behind_reply.take() {
            self.out.append(&mut behind);
        }
    }

    /// Ends a request that has been answered. CLIENT REPLY SKIP now applies to the next request.
    #[inline]
    fn next_request(&mut self) {
        self.mode.skip = std::mem::take(&mut self.mode.skip_next);
    }

    /// Answers a request that was left open with a whole reply. Returns whether the reply is sent.
    pub(crate) fn answer(&mut self, protocol: Protocol, write: impl FnOnce(&mut dyn Reply)) -> ReplyDecision {
        let verdict = self.mode.verdict();
        self.next_request();
        if verdict == ReplyDecision::Send {
            self.push(protocol, write);
        }
        verdict
    }

    pub(crate) fn push(&mut self, protocol: Protocol, write: impl FnOnce(&mut dyn Reply)) {
        self.incoming().reply(protocol, write);
        self.count();
    }

    /// Sends a push whose bytes are written already.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.incoming().written(bytes);
        self.count();
    }

    /// Sends bytes that are shared with other clients.
    pub(crate) fn push_shared(&mut self, bytes: &SharedBytes) {
        self.incoming().share(bytes.clone());
        self.count();
    }

    pub(crate) fn push_message(&mut self, message: &mut Message<'_>, protocol: Protocol) {
        self.incoming().message(message, protocol);
        self.count();
    }

    fn incoming(&mut self) -> &mut Outbox {
        if self.replying { self.behind_reply.get_or_insert_default() } else { &mut self.out }
    }

    /// Moves the queued output to the end of `into`, which holds the unwritten output.
    pub(crate) fn take(&mut self, into: &mut Outbox) {
        into.append(&mut self.out);
        self.buffers.set_taken(into);
        self.count();
    }

    /// Drops the untaken output. A reply that is being written must then be cut, not ended.
    pub(crate) fn cut(&mut self) {
        self.out = Outbox::default();
        self.behind_reply = None;
        self.count();
    }

    /// Drops a reply that was begun, and the untaken output.
    pub(crate) fn cut_reply(&mut self) {
        self.replying = false;
        self.cut();
    }

    /// Bytes that the client has not been sent.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        let behind = self.behind_reply.as_ref().map_or(0, |behind| behind.len());
        self.out.len() + behind + self.buffers.unwritten()
    }

    #[inline]
    pub(crate) fn out(&self) -> &Outbox {
        &self.out
    }

    /// The buffer sizes, shared with the connection.
    pub(crate) fn buffers(&self) -> &Arc<ClientBuffers> {
        &self.buffers
    }

    /// Updates the account with the memory of the untaken output. O(1).
    #[inline]
    pub(crate) fn count(&self) {
        let behind = self.behind_reply.as_ref().map_or(0, |behind| behind.memory());
        self.buffers.set_untaken(self.out.memory() + behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(delivery: &mut Delivery, text: &[u8]) {
        let mut reply = delivery.begin();
        reply.write(Protocol::Resp2, |reply| reply.status(text));
        delivery.end(reply, false);
    }

    fn sent(delivery: &mut Delivery) -> String {
        let mut sent = Outbox::default();
        delivery.take(&mut sent);
        String::from_utf8_lossy(sent.bytes()).into_owned()
    }

    #[test]
    fn pushes_during_a_reply_are_sent_after_it() {
        let mut delivery = Delivery::new(&ClientBytes::default());
        let mut reply = delivery.begin();
        delivery.push(Protocol::Resp2, |push| push.status(b"message"));
        reply.write(Protocol::Resp2, |reply| reply.status(b"reply"));
        assert_eq!(reply.len(), "+reply\r\n".len());
        delivery.end(reply, false);
        assert_eq!(sent(&mut delivery), "+reply\r\n+message\r\n");
    }

    #[test]
    fn client_reply_drops_replies_and_no_messages() {
        let mut delivery = Delivery::new(&ClientBytes::default());
        delivery.mode.skip_next();
        status(&mut delivery, b"one");
        status(&mut delivery, b"skipped");
        status(&mut delivery, b"two");
        delivery.mode.turn_off();
        status(&mut delivery, b"off");
        delivery.push(Protocol::Resp2, |push| push.status(b"message"));
        assert_eq!(delivery.answer(Protocol::Resp2, |reply| reply.status(b"later")), ReplyDecision::Drop);
        delivery.mode.turn_on();
        assert_eq!(delivery.answer(Protocol::Resp2, |reply| reply.status(b"three")), ReplyDecision::Send);
        assert_eq!(sent(&mut delivery), "+one\r\n+two\r\n+message\r\n+three\r\n");
    }

    #[test]
    fn an_open_reply_keeps_its_reply_mode() {
        let mut delivery = Delivery::new(&ClientBytes::default());
        delivery.mode.skip_next();
        status(&mut delivery, b"one");
        let open = delivery.begin();
        delivery.end(open, true);
        assert_eq!(delivery.answer(Protocol::Resp2, |reply| reply.status(b"skipped")), ReplyDecision::Drop);
        status(&mut delivery, b"two");
        assert_eq!(sent(&mut delivery), "+one\r\n+two\r\n");
    }

    #[test]
    fn a_cut_off_reply_is_discarded() {
        let mut delivery = Delivery::new(&ClientBytes::default());
        status(&mut delivery, b"one");
        let _open = delivery.begin();
        delivery.push(Protocol::Resp2, |push| push.status(b"message"));
        delivery.cut_reply();
        assert_eq!((delivery.pending(), sent(&mut delivery)), (0, String::new()));
    }
}
