//! Parts of messages between nodes, written and read.

use super::super::node::NodeId;
use super::super::slot_set::SlotSet;
/// What is left of a message.
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

    /// An epoch, which never comes near the end of the numbers.
    pub(super) fn epoch(&mut self) -> Option<u64> {
        self.number().filter(|epoch| *epoch <= EPOCH_MAX)
    }

    /// The address or the name of a host, or nothing.
    pub(super) fn host(&mut self) -> Option<String> {
        self.text().filter(|text| is_host(text)).map(str::to_owned)
    }
}

/// The latest epoch that is believed: there is always a later one.
const EPOCH_MAX: u64 = i64::MAX as u64;

/// Whether a text can be an address or the name of a host, or is empty.
fn is_host(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':'))
}

pub(super) fn put_id(id: NodeId, out: &mut Vec<u8>) {
    out.extend(id.as_bytes());
}

/// The address or the name of a host; a text that can be neither is not told.
pub(super) fn put_host(text: &str, out: &mut Vec<u8>) {
    let len = u8::try_from(text.len()).ok().filter(|_| is_host(text));
    out.push(len.unwrap_or(0));
    if len.is_some() {
        out.extend(text.as_bytes());
    }
}
