//! Reading and writing the parts of messages between nodes.

use super::super::node::NodeId;
use super::super::slot_set::SlotSet;
/// The unread rest of a message.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    pub(super) fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_be_bytes)
    }

    pub(super) fn id(&mut self) -> Option<NodeId> {
        NodeId::parse(self.take(NodeId::LEN)?)
    }

    pub(super) fn slots(&mut self) -> Option<SlotSet> {
        SlotSet::from_bytes(self.take(SlotSet::LEN)?)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = self.byte()?;
        std::str::from_utf8(self.take(usize::from(len))?).ok()
    }

    /// Reads an epoch. It is at most [`MAX_EPOCH`].
    pub(super) fn epoch(&mut self) -> Option<u64> {
        self.number().filter(|epoch| *epoch <= MAX_EPOCH)
    }

    /// Reads the address or the name of a host; the text may be empty.
    pub(super) fn host(&mut self) -> Option<String> {
        self.text().filter(|text| is_host(text)).map(str::to_owned)
    }
}

/// The highest epoch that is accepted. A higher one always remains for an election.
const MAX_EPOCH: u64 = i64::MAX as u64;

/// Whether a text is empty or can be the address or the name of a host.
fn is_host(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':'))
}

pub(super) fn put_id(id: NodeId, out: &mut Vec<u8>) {
    out.extend(id.as_bytes());
}

/// Writes the address or the name of a host. A text that cannot be either is written as an empty one.
pub(super) fn put_host(text: &str, out: &mut Vec<u8>) {
    let len = u8::try_from(text.len()).ok().filter(|_| is_host(text));
    out.push(len.unwrap_or(0));
    if len.is_some() {
        out.extend(text.as_bytes());
    }
}
