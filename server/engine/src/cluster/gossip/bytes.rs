//! Parts of messages between nodes, written and read.

use super::super::node::NodeId;
use super::super::slot_set::SlotSet;
use std::net::IpAddr;

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

    /// An address, or nothing.
    pub(super) fn ip(&mut self) -> Option<String> {
        let text = self.text()?;
        (text.is_empty() || text.parse::<IpAddr>().is_ok()).then(|| text.to_owned())
    }

    /// The name of a host, or nothing.
    pub(super) fn hostname(&mut self) -> Option<String> {
        let text = self.text()?;
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        text.bytes().all(is_fine).then(|| text.to_owned())
    }
}

pub(super) fn put_id(id: NodeId, out: &mut Vec<u8>) {
    out.extend(id.as_bytes());
}

/// A text that is too long is none that is read.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    out.extend(text.as_bytes());
}
