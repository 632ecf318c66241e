//! The opening, the greeting and the closing of connections.

use super::effect::{EventLevel, InstanceLinkId, SentinelAction};
use super::link::{Channel, Connection, ExpectedReply};
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{InstanceLogin, Who};
use lockwheel_resp::{ReplyStream, write_request};
use std::collections::VecDeque;

/// The channel of hello messages, by which sentinels find each other.
pub(super) const HELLO: &str = "__sentinel__:hello";

impl Sentinel {
    /// Opens the missing connections, at most once in each PING period.
    pub(super) fn reconnect(&mut self, who: Who) {
        let now = self.now;
        let pause = self.period(Period::Ping);
        let Some(at) = self.instance_mut(who) else { return };
        if !at.link.disconnected || at.address.port == 0 || now - at.link.last_reconnect < pause {
            return;
        }
        at.link.last_reconnect = now;
        let lacks_commands = at.link.commands.is_none();
        let lacks_messages = at.link.messages.is_none() && !matches!(who, Who::Peer(..));
        at.link.disconnected = false;
        if lacks_commands {
            self.resolve_again(who);
            self.open(who, Channel::Commands);
            self.send_ping(who);
        }
        if lacks_messages {
            self.open(who, Channel::Messages);
            self.send(who, Channel::Messages, &[b"SUBSCRIBE", HELLO.as_bytes()], ExpectedReply::Nothing);
        }
    }

    /// Resolves the name of a server again, because its address may have changed.
    fn resolve_again(&mut self, who: Who) {
        let Some(at) = self.instance(who).filter(|_| self.own.resolve_hostnames) else { return };
        if let Some(ip) = self.resolver.ip(&at.address.host, true)
            && let Some(at) = self.instance_mut(who)
        {
            at.address.ip = ip;
        }
    }

    /// Requests a connection, logs in and names it.
    fn open(&mut self, who: Who, channel: Channel) {
        let (link, now) = (self.next_id(), self.now);
        let Some(at) = self.instance_mut(who) else { return };
        let connection =
            Connection { id: link, since: now, expected: VecDeque::new(), incoming: ReplyStream::default() };
        *at.link.connection(channel) = Some(connection);
        let (ip, port) = (at.address.ip.clone(), at.address.port);
        self.links.insert(link, (who, channel));
        self.effect(SentinelAction::Connect { link, ip, port });
        self.log_in(who, channel);
        let suffix = if channel == Channel::Commands { "cmd" } else { "pubsub" };
        let name = format!("sentinel-{}-{suffix}", &self.own.id[..8]);
        let client = self.called(who, "CLIENT");
        self.send(who, channel, &[&client, b"SETNAME", name.as_bytes()], ExpectedReply::Nothing);
    }

    /// The name of a command at a server. Only masters and replicas can have other names for commands.
    pub(super) fn called(&self, who: Who, command: &str) -> Vec<u8> {
        match (who, self.master(who.master())) {
            (Who::Master(_) | Who::Replica(..), Some(master)) => master.called(command).to_vec(),
            _ => command.as_bytes().to_vec(),
        }
    }

    fn log_in(&mut self, who: Who, channel: Channel) {
        let login = match (who, self.master(who.master())) {
            (Who::Peer(..), _) if self.own.login.password.is_some() => self.own.login.clone(),
            (Who::Peer(..), _) if !self.own.requirepass.is_empty() => {
                InstanceLogin { user: None, password: Some(self.own.requirepass.clone()) }
            }
            (Who::Master(_) | Who::Replica(..), Some(master)) => master.login.clone(),
            _ => InstanceLogin::default(),
        };
        let Some(password) = login.password else { return };
        let auth = self.called(who, "AUTH");
        match login.user {
            Some(user) => self.send(who, channel, &[&auth, &user, &password], ExpectedReply::Nothing),
            None => self.send(who, channel, &[&auth, &password], ExpectedReply::Nothing),
        };
    }

    /// Sends a request, if there is a connection. Returns whether it was sent.
    pub(super) fn send(
        &mut self,
        who: Who,
        channel: Channel,
        words: &[&[u8]],
        expected: ExpectedReply,
    ) -> bool {
        let Some(at) = self.instance_mut(who) else { return false };
        let Some(connection) = at.link.connection(channel) else { return false };
        connection.expected.push_back(expected);
        let link = connection.id;
        let mut bytes = Vec::new();
        write_request(words, &mut bytes);
        self.effect(SentinelAction::Send { link, bytes });
        true
    }

    /// Records that a connection is open. `local_ip` is the IP at this end.
    pub(crate) fn opened(&mut self, link: InstanceLinkId, local_ip: Option<&str>) {
        let Some((who, Channel::Commands)) = self.links.get(&link).copied() else { return };
        if let Some(at) = self.instance_mut(who) {
            at.link.local_ip = local_ip.map(Into::into);
        }
    }

    /// Records that a connection could not be made, or has ended.
    pub(crate) fn closed(&mut self, link: InstanceLinkId, reason: &str) {
        let Some((who, channel)) = self.links.remove(&link) else { return };
        let Some(at) = self.instance_mut(who) else { return };
        let connection = at.link.connection(channel);
        if connection.as_ref().is_none_or(|connection| connection.id != link) {
            return;
        }
        *connection = None;
        at.link.disconnected = true;
        let was_opened = reason.is_empty() || at.link.local_ip.is_some();
        if !was_opened {
            let name = match channel {
                Channel::Commands => "-cmd-link-reconnection",
                Channel::Messages => "-pubsub-link-reconnection",
            };
            self.event_with(EventLevel::Debug, name, who, &format!(" #{reason}"));
        }
    }

    /// Closes a connection, if there is one.
    pub(super) fn close(&mut self, who: Who, channel: Channel) {
        let Some(at) = self.instance_mut(who) else { return };
        if let Some(connection) = at.link.connection(channel).take() {
            at.link.disconnected = true;
            self.links.remove(&connection.id);
            self.effect(SentinelAction::Close { link: connection.id });
        }
    }

    pub(super) fn close_both(&mut self, who: Who) {
        self.close(who, Channel::Commands);
        self.close(who, Channel::Messages);
    }

    /// Closes the connections to all servers of a master, so that they are opened again with another password.
    pub(super) fn drop_connections(&mut self, master: u64) {
        self.close_both(Who::Master(master));
        for id in self.replica_ids(master) {
            self.close_both(Who::Replica(master, id));
        }
    }
}
