//! The conditions of a rule.

use super::group::{Client, Group};
use crate::spec::Args;
use lockwheel_store::keyspace::glob;
use memchr::memmem;

/// A request, as rules see it.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    /// The full name of the command, in lower case. Empty if no request is the cause.
    pub(crate) command: &'a str,
    /// The arguments, the command's name first.
    pub(crate) args: Args<'a>,
    pub(crate) keys: Vec<&'a [u8]>,
    /// The channels that the request names.
    pub(crate) channels: Vec<&'a [u8]>,
    /// The script that the request runs or comes from.
    pub(crate) script: Option<Script<'a>>,
    /// The client that has sent the request.
    pub(crate) client: Client<'a>,
}

/// A script that is cached or sent with the request.
#[derive(Clone, Debug)]
pub(crate) struct Script<'a> {
    /// The digest of the script, in lower case.
    pub(crate) sha: [u8; 40],
    pub(crate) text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// Neither an error nor null.
    Ok,
    /// An error.
    Error,
    /// Null.
    Nil,
}

impl ReplyKind {
    /// Returns the kind of a reply that begins with these bytes; `None` if there is no reply.
    pub(crate) fn of(reply: &[u8]) -> Option<Self> {
        match reply {
            [] => None,
            [b'-' | b'!', ..] => Some(ReplyKind::Error),
            [b'_', ..] | [b'$' | b'*', b'-', ..] => Some(ReplyKind::Nil),
            _ => Some(ReplyKind::Ok),
        }
    }
}

/// The conditions of a rule. A request matches if it meets each condition that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// The full name of the command, or of its container, in lower case.
    pub(super) command: Option<Box<str>>,
    /// The digest of the script, in lower case.
    pub(super) script: Option<[u8; 40]>,
    /// A part of the script's text.
    pub(super) contains: Option<Box<[u8]>>,
    /// A pattern that at least one key of the request matches.
    pub(super) key: Option<Box<[u8]>>,
    /// A pattern that at least one channel matches.
    pub(super) channel: Option<Box<[u8]>>,
    /// The index and the required value of an argument.
    pub(super) argument: Option<(usize, Box<[u8]>)>,
    /// The clients whose requests match.
    pub(super) client: Option<Group>,
}

impl Conditions {
    /// Whether a request meets all conditions.
    pub(super) fn hold(&self, subject: &Subject<'_>) -> bool {
        self.hold_but_for_channel(subject)
            && holds(&self.channel, |pattern| any(pattern, &subject.channels))
            && self.client.as_ref().is_none_or(|group| group.has(subject.client))
    }

    /// Whether a message to this channel meets all conditions, given the requests that have caused it. The client
    /// condition is ignored here: it selects the receivers of the message.
    pub(super) fn hold_for_message(&self, channel: &[u8], causes: &[Subject<'_>]) -> bool {
        holds(&self.channel, |pattern| glob::matches(pattern, channel, false))
            && (self.want_no_cause() || causes.iter().any(|cause| self.hold_but_for_channel(cause)))
    }

    fn want_no_cause(&self) -> bool {
        self.command.is_none()
            && self.script.is_none()
            && self.contains.is_none()
            && self.key.is_none()
            && self.argument.is_none()
    }

    fn hold_but_for_channel(&self, subject: &Subject<'_>) -> bool {
        let script = subject.script.as_ref();
        holds(&self.command, |name| is_command(name, subject.command))
            && holds(&self.script, |sha| script.is_some_and(|script| script.sha == *sha))
            && holds(&self.contains, |text| script.is_some_and(|script| contains(script.text, text)))
            && holds(&self.key, |pattern| any(pattern, &subject.keys))
            && holds(&self.argument, |(index, value)| subject.args.get(*index) == Some(&**value))
    }

    pub(crate) fn clients(&self) -> Option<&Group> {
        self.client.as_ref()
    }

    /// Returns the bytes of memory that the texts take.
    pub(super) fn memory(&self) -> usize {
        let texts = [&self.contains, &self.key, &self.channel].into_iter().flatten();
        texts.map(|text| text.len()).sum::<usize>()
            + self.command.as_ref().map_or(0, |name| name.len())
            + self.argument.as_ref().map_or(0, |(_, value)| value.len())
            + self.client.as_ref().map_or(0, Group::text_len)
    }
}

fn holds<T>(wanted: &Option<T>, is_met: impl FnOnce(&T) -> bool) -> bool {
    wanted.as_ref().is_none_or(is_met)
}

fn any(pattern: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|name| glob::matches(pattern, name, false))
}

fn is_command(wanted: &str, name: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('|'))
}

/// Whether a text contains a part. O(n), where n is the number of bytes of both.
fn contains(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_command_matches_its_subcommands() {
        for (wanted, name, is_it) in [
            ("get", "get", true),
            ("get", "getex", false),
            ("client", "client|list", true),
            ("client|list", "client|list", true),
            ("client|list", "client|info", false),
        ] {
            assert_eq!(is_command(wanted, name), is_it, "{wanted} {name}");
        }
    }

    #[test]
    fn replies_are_of_three_kinds() {
        for (reply, kind) in [
            ("+OK\r\n", Some(ReplyKind::Ok)),
            (":0\r\n", Some(ReplyKind::Ok)),
            ("$0\r\n\r\n", Some(ReplyKind::Ok)),
            ("*0\r\n", Some(ReplyKind::Ok)),
            ("-ERR x\r\n", Some(ReplyKind::Error)),
            ("$-1\r\n", Some(ReplyKind::Nil)),
            ("*-1\r\n", Some(ReplyKind::Nil)),
            ("_\r\n", Some(ReplyKind::Nil)),
            ("", None),
        ] {
            assert_eq!(ReplyKind::of(reply.as_bytes()), kind, "{reply}");
        }
    }
}
