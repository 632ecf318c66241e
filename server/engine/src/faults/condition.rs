//! What a rule matches.

use super::group::{Client, Group};
use crate::spec::Args;
use lockwheel_store::keyspace::glob;
use memchr::memmem;

/// A request, as rules see it.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    /// The full name of its command, in lower case; empty when no request is the cause.
    pub(crate) command: &'a str,
    /// Its arguments, the command's name first.
    pub(crate) args: Args<'a>,
    /// Its keys.
    pub(crate) keys: Vec<&'a [u8]>,
    /// The channels that it names.
    pub(crate) channels: Vec<&'a [u8]>,
    /// The script that it runs, or that it comes from.
    pub(crate) script: Option<Script<'a>>,
    /// Whose it is.
    pub(crate) client: Client<'a>,
}

/// A script that is cached or sent along.
#[derive(Clone, Debug)]
pub(crate) struct Script<'a> {
    /// Its digest, in lower case.
    pub(crate) sha: [u8; 40],
    /// Its text.
    pub(crate) text: &'a [u8],
}

/// What kind of reply a request was given.
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
    /// The kind of a reply that begins with these bytes; `None` when there is none.
    pub(crate) fn of(reply: &[u8]) -> Option<Self> {
        match reply {
            [] => None,
            [b'-' | b'!', ..] => Some(ReplyKind::Error),
            [b'_', ..] | [b'$' | b'*', b'-', ..] => Some(ReplyKind::Nil),
            _ => Some(ReplyKind::Ok),
        }
    }
}

/// What a request must be for a rule to match: all that is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// The full name of its command in lower case, or of the container that has it.
    pub(super) command: Option<Box<str>>,
    /// The digest of its script, in lower case.
    pub(super) script: Option<[u8; 40]>,
    /// What the text of its script contains.
    pub(super) contains: Option<Box<[u8]>>,
    /// A pattern that one of its keys matches.
    pub(super) key: Option<Box<[u8]>>,
    /// A pattern that a channel matches.
    pub(super) channel: Option<Box<[u8]>>,
    /// An argument, and what it is.
    pub(super) argument: Option<(usize, Box<[u8]>)>,
    /// Whose it is.
    pub(super) client: Option<Group>,
}

impl Conditions {
    /// Whether a request is such.
    pub(super) fn hold(&self, subject: &Subject<'_>) -> bool {
        self.hold_but_for_channel(subject)
            && holds(&self.channel, |pattern| any(pattern, &subject.channels))
            && self.client.as_ref().is_none_or(|group| group.has(subject.client))
    }

    /// Whether a message to this channel, which one of these requests has caused, is such; the client is who would
    /// receive it.
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

    /// The clients that it names.
    pub(crate) fn clients(&self) -> Option<&Group> {
        self.client.as_ref()
    }

    /// Bytes of memory that its texts take.
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

/// Whether a text has a part in it. O(n), n the bytes of both.
fn contains(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_stands_for_its_subcommands() {
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
