//! The pushes by which clients learn that keys have changed.

use super::prefixes::ChangedKeys;
use lockwheel_resp::{Protocol, Reply};

/// The channel on which a client in RESP2 is notified for another one.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// A message to a client: names of keys that have changed, or that all are gone.
#[derive(Clone, Debug)]
pub(crate) enum Invalidation<'a> {
    /// Every key.
    All,
    Keys(Vec<&'a [u8]>),
}

impl<'a> Invalidation<'a> {
    pub(crate) fn of(key: Option<&'a [u8]>) -> Self {
        key.map_or(Invalidation::All, |key| Invalidation::Keys(vec![key]))
    }

    /// Returns the invalidation of changed keys, except those that the client `except_by` has changed last, if any.
    pub(crate) fn of_changed(keys: &'a ChangedKeys, except_by: Option<u64>) -> Option<Self> {
        let is_news = |by: &Option<u64>| except_by.is_none() || *by != except_by;
        let keys: Vec<&[u8]> = keys.iter().filter(|(_, by)| is_news(by)).map(|(key, _)| &**key).collect();
        (!keys.is_empty()).then_some(Invalidation::Keys(keys))
    }

    /// Returns the approximate length of the message, in bytes.
    pub(crate) fn len(&self) -> usize {
        const AROUND: usize = 16;
        match self {
            Invalidation::All => AROUND,
            Invalidation::Keys(keys) => keys.iter().map(|key| key.len() + AROUND).sum(),
        }
    }

    /// Writes the invalidation: a push in RESP3, a message in RESP2.
    pub(crate) fn write(&self, reply: &mut dyn Reply) {
        if reply.protocol() == Protocol::Resp3 {
            reply.push(2);
            reply.bulk(b"invalidate");
        } else {
            reply.array(3);
            reply.bulk(b"message");
            reply.bulk(CHANNEL);
        }
        match self {
            Invalidation::All => reply.null(),
            Invalidation::Keys(keys) => {
                reply.array(keys.len());
                keys.iter().for_each(|key| reply.bulk(key));
            }
        }
    }
}

/// Writes the push about a broken redirection: the client that it leads to is gone.
pub(crate) fn write_broken_redirect(redirect: u64, reply: &mut dyn Reply) {
    reply.push(2);
    reply.bulk(b"tracking-redir-broken");
    reply.integer(redirect as i64);
}
