//! The messages between nodes, and their encoding.
//!
//! A message is a header, in which a node describes itself, and a body. Reading takes no more memory than the bytes
//! have, whatever they are. Every text of a message that was read fits into a line of `nodes.conf`.

use super::super::node::NodeId;
use super::super::node_flags::NodeFlags;
use super::super::slot_set::SlotSet;
use super::bytes::{Bytes, put_host, put_id};

/// The first byte of a message: the version of the format.
const VERSION: u8 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeAddress {
    /// Empty if the node does not announce one.
    pub(crate) ip: String,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    pub(crate) bus_port: u16,
}

/// The description that a node gives of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sender: NodeId,
    /// The latest epoch that the sender knows.
    pub(crate) current_epoch: u64,
    /// The epoch of the slots of the sender or of its master.
    pub(crate) config_epoch: u64,
    /// The replication offset of the sender.
    pub(crate) offset: u64,
    /// Whether the data are complete, so that a replica can serve reads.
    pub(crate) is_synced: bool,
    pub(crate) flags: NodeFlags,
    /// Whether the sender's clients are paused because a replica of it takes over.
    pub(crate) is_paused: bool,
    /// Whether the sender asks for votes although its master is reachable.
    pub(crate) is_forced: bool,
    pub(crate) address: NodeAddress,
    pub(crate) hostname: String,
    pub(crate) master: Option<NodeId>,
    /// The slots of the sender or of its master.
    pub(crate) slots: SlotSet,
    /// The address at which the sender reaches the receiver, if it does.
    pub(crate) reached_at: String,
}

/// The description that a node gives of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rumour {
    pub(crate) id: NodeId,
    pub(crate) address: NodeAddress,
    pub(crate) flags: NodeFlags,
    /// The age of the last sign of life, in milliseconds. `None` if there was none.
    pub(crate) heard_ms_ago: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A request for a sign of life.
    Ping(Vec<Rumour>),
    /// A sign of life.
    Pong(Vec<Rumour>),
    /// A request to the receiver to add the sender to its nodes.
    Meet(Vec<Rumour>),
    /// A report that this node has failed, by agreement of most masters.
    Fail(NodeId),
    /// A correction for a receiver that is behind: this node has had these slots since this epoch.
    Update {
        id: NodeId,
        epoch: u64,
        slots: SlotSet,
    },
    /// The request of a replica for a vote in the epoch of its header.
    AskVote,
    Vote,
    /// The request of a replica to take over from the receiver, which pauses its clients.
    StartFailover,
    Publish {
        channel: Vec<u8>,
        message: Vec<u8>,
        is_shard: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GossipMessage {
    pub(crate) header: Header,
    pub(crate) body: Body,
}

const SYNCED: u8 = 1;
const PAUSED: u8 = 1 << 1;
const FORCED: u8 = 1 << 2;

impl GossipMessage {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        self.header.write(&mut out);
        match &self.body {
            Body::Ping(rumours) => put_rumours(0, rumours, &mut out),
            Body::Pong(rumours) => put_rumours(1, rumours, &mut out),
            Body::Meet(rumours) => put_rumours(2, rumours, &mut out),
            Body::Fail(id) => {
                out.push(3);
                put_id(*id, &mut out);
            }
            Body::Update { id, epoch, slots } => {
                out.push(4);
                put_id(*id, &mut out);
                out.extend(epoch.to_be_bytes());
                out.extend(slots.as_bytes());
            }
            Body::AskVote => out.push(5),
            Body::Vote => out.push(6),
            Body::StartFailover => out.push(7),
            Body::Publish { channel, message, is_shard } => {
                out.push(if *is_shard { 9 } else { 8 });
                out.extend((channel.len() as u64).to_be_bytes());
                out.extend(channel);
                out.extend(message);
            }
        }
        out
    }

    /// Decodes a message. Returns `None` if the bytes are not a valid one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        if bytes.byte()? != VERSION {
            return None;
        }
        let header = Header::read(&mut bytes)?;
        let body = match bytes.byte()? {
            0 => Body::Ping(read_rumours(&mut bytes)?),
            1 => Body::Pong(read_rumours(&mut bytes)?),
            2 => Body::Meet(read_rumours(&mut bytes)?),
            3 => Body::Fail(bytes.id()?),
            4 => Body::Update { id: bytes.id()?, epoch: bytes.epoch()?, slots: bytes.slots()? },
            5 => Body::AskVote,
            6 => Body::Vote,
            7 => Body::StartFailover,
            kind @ (8 | 9) => {
                let len = usize::try_from(bytes.number()?).ok()?;
                let channel = bytes.take(len)?.to_vec();
                let message = std::mem::take(&mut bytes.0).to_vec();
                Body::Publish { channel, message, is_shard: kind == 9 }
            }
            _ => return None,
        };
        bytes.0.is_empty().then_some(GossipMessage { header, body })
    }
}

impl Header {
    fn write(&self, out: &mut Vec<u8>) {
        put_id(self.sender, out);
        [self.current_epoch, self.config_epoch, self.offset]
            .iter()
            .for_each(|number| out.extend(number.to_be_bytes()));
        out.extend(self.flags.bits().to_be_bytes());
        let bits = [(self.is_synced, SYNCED), (self.is_paused, PAUSED), (self.is_forced, FORCED)];
        out.push(bits.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit));
        self.address.write(out);
        put_host(&self.hostname, out);
        out.push(u8::from(self.master.is_some()));
        self.master.iter().for_each(|master| put_id(*master, out));
        out.extend(self.slots.as_bytes());
        put_host(&self.reached_at, out);
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let sender = bytes.id()?;
        let [current_epoch, config_epoch, offset] = [bytes.epoch()?, bytes.epoch()?, bytes.number()?];
        let flags = NodeFlags::from_bits_truncate(bytes.short()?);
        let bits = bytes.byte()?;
        Some(Header {
            sender,
            current_epoch,
            config_epoch,
            offset,
            is_synced: bits & SYNCED != 0,
            flags,
            is_paused: bits & PAUSED != 0,
            is_forced: bits & FORCED != 0,
            address: NodeAddress::read(bytes)?,
            hostname: bytes.host()?,
            master: if bytes.byte()? == 0 { None } else { Some(bytes.id()?) },
            slots: bytes.slots()?,
            reached_at: bytes.host()?,
        })
    }
}

impl NodeAddress {
    fn write(&self, out: &mut Vec<u8>) {
        put_host(&self.ip, out);
        [self.port, self.tls_port, self.bus_port].iter().for_each(|port| out.extend(port.to_be_bytes()));
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(NodeAddress {
            ip: bytes.host()?,
            port: bytes.short()?,
            tls_port: bytes.short()?,
            bus_port: bytes.short()?,
        })
    }
}

fn put_rumours(kind: u8, rumours: &[Rumour], out: &mut Vec<u8>) {
    out.push(kind);
    for rumour in rumours {
        put_id(rumour.id, out);
        rumour.address.write(out);
        out.extend(rumour.flags.bits().to_be_bytes());
        out.extend(rumour.heard_ms_ago.unwrap_or(u64::MAX).to_be_bytes());
    }
}

/// Reads rumours up to the end of the message. Returns `None` if the last one is incomplete.
fn read_rumours(bytes: &mut Bytes<'_>) -> Option<Vec<Rumour>> {
    let mut rumours = Vec::new();
    while !bytes.0.is_empty() {
        rumours.push(Rumour {
            id: bytes.id()?,
            address: NodeAddress::read(bytes)?,
            flags: NodeFlags::from_bits_truncate(bytes.short()?),
            heard_ms_ago: Some(bytes.number()?).filter(|ago| *ago != u64::MAX),
        });
    }
    Some(rumours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::keyspace::Rng;

    fn message(body: Body) -> GossipMessage {
        let id = |letter: &str| NodeId::parse(letter.repeat(NodeId::LEN).as_bytes()).unwrap();
        let mut slots = SlotSet::default();
        slots.set(77, true);
        let address = NodeAddress { ip: "127.0.0.1".to_owned(), port: 1, tls_port: 2, bus_port: 3 };
        let header = Header {
            sender: id("a"),
            current_epoch: 7,
            config_epoch: 3,
            offset: 900,
            is_synced: true,
            flags: NodeFlags::REPLICA,
            is_paused: false,
            is_forced: true,
            address,
            hostname: "h.example".to_owned(),
            master: Some(id("b")),
            slots,
            reached_at: "::1".to_owned(),
        };
        GossipMessage { header, body }
    }

    fn bodies() -> Vec<Body> {
        let id = NodeId::parse(&[b'c'; NodeId::LEN]).unwrap();
        let rumour =
            Rumour { id, address: NodeAddress::default(), flags: NodeFlags::MASTER, heard_ms_ago: Some(5) };
        vec![
            Body::Ping(vec![]),
            Body::Pong(vec![rumour.clone(), Rumour { heard_ms_ago: None, ..rumour.clone() }]),
            Body::Meet(vec![rumour]),
            Body::Fail(id),
            Body::Update { id, epoch: 9, slots: SlotSet::default() },
            Body::AskVote,
            Body::Vote,
            Body::StartFailover,
            Body::Publish { channel: b"c".to_vec(), message: b"hello".to_vec(), is_shard: true },
            Body::Publish { channel: vec![], message: vec![], is_shard: false },
        ]
    }

    #[test]
    fn a_written_message_is_read_back() {
        for body in bodies() {
            let message = message(body);
            assert_eq!(GossipMessage::read(&message.write()).as_ref(), Some(&message));
        }
    }

    /// A message with altered or missing bytes is refused, or is read as a message that can be written again.
    #[test]
    fn malformed_messages_are_refused_or_survive_a_round_trip() {
        let mut rng = Rng::new(7);
        for body in bodies() {
            let whole = message(body).write();
            for _ in 0..2000 {
                let mut bytes = whole.clone();
                bytes.truncate(rng.below(whole.len() as u64 + 1) as usize);
                for _ in 0..rng.below(4) {
                    let len = bytes.len() as u64;
                    if len > 0 {
                        bytes[rng.below(len) as usize] = rng.below(256) as u8;
                    }
                }
                if let Some(message) = GossipMessage::read(&bytes) {
                    assert_eq!(GossipMessage::read(&message.write()), Some(message));
                }
            }
        }
    }

    #[test]
    fn names_that_break_a_line_are_refused() {
        for wrong in ["a b", "a\nb", "a,b"] {
            let mut message = message(Body::AskVote);
            message.header.hostname = "a-b".to_owned();
            let mut bytes = message.write();
            let at = bytes.windows(3).position(|part| part == b"a-b").expect("it is told");
            bytes[at..at + 3].copy_from_slice(wrong.as_bytes());
            assert_eq!(GossipMessage::read(&bytes), None, "{wrong}");
        }
    }

    #[test]
    fn invalid_host_names_are_read_as_empty() {
        for wrong in ["a b", "a\n", "a,b", &"x".repeat(300)] {
            let mut message = message(Body::AskVote);
            message.header.hostname = wrong.to_owned();
            message.header.address.ip = wrong.to_owned();
            let read = GossipMessage::read(&message.write()).expect("the rest is told");
            assert_eq!((&*read.header.hostname, &*read.header.address.ip), ("", ""), "{wrong}");
        }
    }
}
