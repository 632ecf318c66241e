//! The replies and messages that arrive over connections.

use super::effect::{EventLevel, InstanceLinkId};
use super::instance::InstanceFlags;
use super::link::{Channel, ExpectedReply, LIMITS, SentinelReply};
use super::links::HELLO;
use super::state::Sentinel;
use super::watched::Who;

impl Sentinel {
    /// Processes bytes that have arrived over a connection, in pieces of any length.
    pub(crate) fn received(&mut self, link: InstanceLinkId, bytes: &[u8]) {
        let Some((who, channel)) = self.links.get(&link).copied() else { return };
        let Some(at) = self.instance_mut(who) else { return };
        let Some(connection) = at.link.connection(channel) else { return };
        let (answers, readable) = connection.incoming.receive(bytes, &LIMITS, SentinelReply::of);
        for answer in answers {
            match channel {
                Channel::Commands => self.command_answered(who, link, answer),
                Channel::Messages => self.message(who, answer),
            }
            // The reply may have ended the connection.
            if !self.links.contains_key(&link) {
                return;
            }
        }
        if !readable {
            self.close(who, channel);
        }
    }

    fn command_answered(&mut self, who: Who, link: InstanceLinkId, answer: SentinelReply) {
        let Some(at) = self.instance_mut(who) else { return };
        let Some(connection) = at.link.commands.as_mut().filter(|one| one.id == link) else { return };
        match connection.expected.pop_front() {
            Some(ExpectedReply::Ping) => self.ponged(who, &answer),
            Some(ExpectedReply::Info) => {
                if let SentinelReply::Bulk(text) = answer {
                    self.refresh(who, text);
                }
            }
            Some(ExpectedReply::Publish) => {
                if !matches!(answer, SentinelReply::Error(_)) {
                    let now = self.now;
                    self.instance_mut(who).into_iter().for_each(|at| at.last_publish = now);
                }
            }
            Some(ExpectedReply::IsDown) => self.told_whether_down(who, answer),
            Some(ExpectedReply::Nothing) | None => {}
        }
    }

    fn ponged(&mut self, who: Who, answer: &SentinelReply) {
        let now = self.now;
        let Some(at) = self.instance_mut(who) else { return };
        let (SentinelReply::Text(text) | SentinelReply::Error(text)) = answer else { return };
        let says = |word: &str| text.starts_with(word.as_bytes());
        at.link.last_pong = now;
        if says("PONG") || says("LOADING") || says("MASTERDOWN") {
            at.link.last_available = now;
            at.link.pending_ping = 0;
            if says("PONG") {
                at.flags.clear(InstanceFlags::MASTER_REBOOT);
            }
        } else if says("BUSY")
            && at.flags.has(InstanceFlags::S_DOWN)
            && !at.flags.has(InstanceFlags::SCRIPT_KILL_SENT)
        {
            let script = self.called(who, "SCRIPT");
            self.send(who, Channel::Commands, &[&script, b"KILL"], ExpectedReply::Nothing);
            self.instance_mut(who).into_iter().for_each(|at| at.flags.set(InstanceFlags::SCRIPT_KILL_SENT));
        }
    }

    /// Processes a message from the connection for messages.
    fn message(&mut self, who: Who, answer: SentinelReply) {
        let SentinelReply::Array(words) = answer else { return };
        let now = self.now;
        if let Some(at) = self.instance_mut(who) {
            at.link.last_message = now;
        }
        let [SentinelReply::Bulk(kind), SentinelReply::Bulk(channel), SentinelReply::Bulk(text)] = &*words
        else {
            return;
        };
        let is_own = text.windows(self.own.id.len()).any(|part| part == self.own.id.as_bytes());
        if kind == b"message" && channel == HELLO.as_bytes() && !is_own {
            self.hear(text);
        }
    }

    /// Processes the answer of a sentinel: whether it sees a master down, and its vote.
    fn told_whether_down(&mut self, who: Who, answer: SentinelReply) {
        let SentinelReply::Array(words) = answer else { return };
        let [SentinelReply::Integer(down), SentinelReply::Bulk(leader), SentinelReply::Integer(epoch)] =
            &*words
        else {
            return;
        };
        let (Who::Peer(master, id), now) = (who, self.now) else { return };
        let Some(peer) = self.peer_mut(master, id) else { return };
        peer.last_reply = now;
        if *down == 1 {
            peer.at.flags.set(InstanceFlags::MASTER_DOWN);
        } else {
            peer.at.flags.clear(InstanceFlags::MASTER_DOWN);
        }
        if leader != b"*" {
            let (leader, epoch) = (String::from_utf8_lossy(leader).into_owned(), epoch.unsigned_abs());
            let is_new = peer.leader_epoch != epoch;
            let told = format!("{} voted for {leader} {epoch}", peer.at.name);
            (peer.leader, peer.leader_epoch) = (Some(leader), epoch);
            if is_new {
                self.log(EventLevel::Warning, told);
            }
        }
    }
}
